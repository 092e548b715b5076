//! IF.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::simplify::ExprSimplifyResult;
use datafusion_expr::{Expr, ScalarFunctionArgs, ScalarUDF, when};

use crate::common_type::common_type;
use crate::scalar::arguments::array;
use crate::scalar::plain::{Nullable, Plain};

/// `IF(condition, a, b)`: planned as `CASE WHEN condition THEN a ELSE b END`.
pub(super) fn if_() -> ScalarUDF {
    Plain::new("if", "IF(<BOOLEAN>, <ANY>, <ANY>)", types, evaluate)
        .nullable(Nullable::Always)
        .planned_as(|args, _| match <[Expr; 3]>::try_from(args) {
            Ok([condition, then, otherwise]) => {
                match when(condition.clone(), then.clone()).otherwise(otherwise.clone()) {
                    Ok(case) => ExprSimplifyResult::Simplified(case),
                    Err(_) => ExprSimplifyResult::Original(vec![condition, then, otherwise]),
                }
            }
            Err(args) => ExprSimplifyResult::Original(args),
        })
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [DataType::Boolean | DataType::Null, then, otherwise] = args else { return None };
    if then.is_null() || otherwise.is_null() {
        return None;
    }
    let result = common_type(then, otherwise)?;
    Some((vec![DataType::Boolean, result.clone(), result.clone()], result))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let condition = cast(&array(args, 0)?, &DataType::Boolean)?;
    Ok(zip(condition.as_boolean(), &array(args, 1)?, &array(args, 2)?)?)
}

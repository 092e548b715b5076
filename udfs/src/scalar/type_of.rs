//! TYPEOF.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    Volatility, lit,
};

use crate::types::{TypeNames, field_type_name};

/// `TYPEOF(x [, full])`: the Flink type of an expression as text, such as `BIGINT NOT NULL`. With a
/// constant TRUE as second argument STRING and BYTES are spelled out, `VARCHAR(2147483647)`.
///
/// It depends on no row and is planned as a constant.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TypeOf {
    signature: Signature,
}

impl Default for TypeOf {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// The name of the type of an argument; `full` is the second argument.
fn name(field: &Field, full: Option<&ScalarValue>) -> String {
    let full = matches!(full, Some(ScalarValue::Boolean(Some(true))));
    field_type_name(field, if full { TypeNames::Full } else { TypeNames::Short })
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [_] | [_, DataType::Boolean] => Ok(arg_types.to_vec()),
            _ => plan_err!("TYPEOF takes an expression, and optionally a constant TRUE or FALSE"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), DataType::Utf8, false)))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let full = match args.get(1) {
            None => None,
            Some(Expr::Literal(full, _)) => Some(full),
            Some(_) => return Ok(ExprSimplifyResult::Original(args)),
        };
        let (_, field) = args[0].to_field(info.schema().as_ref())?;
        Ok(ExprSimplifyResult::Simplified(lit(name(&field, full))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let full = match args.args.get(1) {
            None => None,
            Some(ColumnarValue::Scalar(full)) => Some(full),
            Some(_) => return plan_err!("the second argument of TYPEOF must be a constant"),
        };
        Ok(ColumnarValue::Scalar(ScalarValue::from(name(&args.arg_fields[0], full))))
    }
}

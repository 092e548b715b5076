//! NULLIF.

use arrow::array::ArrayRef;
use arrow::compute::kernels::cmp::eq;
use arrow::compute::{cast, nullif};
use arrow::datatypes::DataType;
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::common_type::common_type;
use crate::scalar::arguments::array;
use crate::scalar::plain::{Nullable, Plain};

/// `NULLIF(value, other)`: the value, or NULL where it equals the other one. Under Flink SQL it is planned as a CASE, in which the two
/// are compared as `=` compares them.
pub(super) fn null_if() -> ScalarUDF {
    Plain::new("nullif", "NULLIF(<ANY>, <ANY>)", types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [value, _] = args else { return None };
    Some((args.to_vec(), value.clone()))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (values, others) = (array(args, 0)?, array(args, 1)?);
    let Some(common) = common_type(values.data_type(), others.data_type()) else {
        return internal_err!("{} is not comparable with {}", values.data_type(), others.data_type());
    };
    let equal = eq(&cast(&values, &common)?, &cast(&others, &common)?)?;
    Ok(nullif(&values, &equal)?)
}

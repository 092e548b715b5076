//! UNION.

use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::Union;
use datafusion_streaming_udfs::common_type::common_type;

use super::kinds::{is_datetime, is_number, is_text};

/// Refuses columns that have no type in common.
pub(super) fn check(union: &Union) -> Result<()> {
    let Some((first, others)) = union.inputs.split_first() else { return Ok(()) };
    for other in others {
        for (index, (left, right)) in first.schema().fields().iter().zip(other.schema().fields()).enumerate()
        {
            let (left, right) = (left.data_type(), right.data_type());
            if simple(left) && simple(right) && common_type(left, right).is_none() {
                return plan_err!("Type mismatch in column {} of UNION ALL", index + 1);
            }
        }
    }
    Ok(())
}

fn simple(data_type: &DataType) -> bool {
    is_number(data_type) || is_text(data_type) || is_datetime(data_type) || data_type == &DataType::Boolean
}

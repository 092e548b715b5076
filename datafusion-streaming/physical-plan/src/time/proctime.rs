//! `PROCTIME()`: the processing time of a row.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::Clock;

/// The name of [`proctime_udf`], by which the planner knows processing-time attributes.
pub const PROCTIME_FUNCTION: &str = "proctime";

/// Flink's `PROCTIME()`: the time at which a row is processed, a `TIMESTAMP_LTZ(3)`. Read from
/// `clock` for every batch; never folded into a constant.
pub fn proctime_udf(clock: Arc<dyn Clock>) -> ScalarUDF {
    ScalarUDF::new_from_impl(ProctimeFunction { clock, signature: Signature::nullary(Volatility::Volatile) })
}

#[derive(Debug)]
struct ProctimeFunction {
    clock: Arc<dyn Clock>,
    signature: Signature,
}

impl PartialEq for ProctimeFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.clock, &other.clock)
    }
}

impl Eq for ProctimeFunction {}

impl Hash for ProctimeFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        PROCTIME_FUNCTION.hash(state);
    }
}

impl ScalarUDFImpl for ProctimeFunction {
    fn name(&self) -> &str {
        PROCTIME_FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let now = ScalarValue::TimestampMillisecond(Some(self.clock.now()), Some("UTC".into()));
        Ok(ColumnarValue::Scalar(now))
    }
}

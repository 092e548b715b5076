//! The mean of a group whose sum and count are known.

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err, internal_datafusion_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::{AggregateArgs, Avg, StreamingAggregate};

/// `mean_of_parts(sum, count)`: what [`Avg`] makes of them, as `result`; NULL where the count is 0 or the sum
/// has overflown. It joins the two halves into which a split aggregation takes AVG apart.
pub fn mean_of_parts_udf(result: DataType) -> ScalarUDF {
    ScalarUDF::new_from_impl(MeanOfParts { result, signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MeanOfParts {
    result: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for MeanOfParts {
    fn name(&self) -> &str {
        "mean_of_parts"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match ColumnarValue::values_to_arrays(&args.args)?.as_slice() {
            [sums, counts] => Ok(ColumnarValue::Array(means(sums, counts, &self.result)?)),
            _ => exec_err!("mean_of_parts takes a sum and a count"),
        }
    }
}

/// The means: a state of AVG is made of the parts, and asked for its values.
fn means(sums: &ArrayRef, counts: &ArrayRef, result: &DataType) -> Result<ArrayRef> {
    let arg_types = [sums.data_type().clone()];
    let args = AggregateArgs {
        arg_types: &arg_types,
        return_type: result,
        retracting: true,
        in_order: false,
        ignore_nulls: false,
    };
    let mut state = Avg.state(&args)?;
    let slots: Vec<u32> = (0..sums.len() as u32).collect();
    state.grow(slots.len());
    let fields = state.state_fields();
    let sum = fields.first().ok_or_else(|| internal_datafusion_err!("AVG keeps no sum"))?;
    state.restore(&slots, &[cast(sums, sum.data_type())?, counts.clone()])?;
    state.evaluate(&slots)
}

//! Buckets of values, by which DISTINCT aggregations are split.

use std::sync::Arc;

use arrow::array::Int32Array;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::state::key_group::stable_hashes;

/// Flink's `MOD(HASH_CODE(value), buckets)`: the bucket of a value, an INT from 0 on that is the same for
/// equal values in every run. Which one it is differs from Flink's, and shows nowhere.
pub fn distinct_bucket_udf(buckets: u32) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(DistinctBucket { buckets: buckets.max(1), signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DistinctBucket {
    buckets: u32,
    signature: Signature,
}

impl ScalarUDFImpl for DistinctBucket {
    fn name(&self) -> &str {
        "distinct_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bucket = |hash: u64| ((hash >> 32) % u64::from(self.buckets)) as i32;
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => {
                let hashes = stable_hashes(std::slice::from_ref(values), values.len())?;
                let buckets = Int32Array::from_iter_values(hashes.into_iter().map(bucket));
                Ok(ColumnarValue::Array(Arc::new(buckets)))
            }
            [ColumnarValue::Scalar(value)] => {
                let hashes = stable_hashes(&[value.to_array()?], 1)?;
                Ok(ColumnarValue::Scalar(ScalarValue::Int32(hashes.first().copied().map(bucket))))
            }
            _ => exec_err!("distinct_bucket takes one value"),
        }
    }
}

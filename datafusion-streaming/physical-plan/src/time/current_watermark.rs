//! `CURRENT_WATERMARK(rowtime)`: the watermark when a row comes.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion_physical_expr::expressions::Literal;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::Watermark;

/// Flink's `CURRENT_WATERMARK(rowtime)`: the watermark that an operator has seen when the row comes, of the
/// type of the rowtime with milliseconds; NULL before the first.
pub fn current_watermark_udf() -> ScalarUDF {
    ScalarUDF::new_from_impl(CurrentWatermark { signature: Signature::any(1, Volatility::Volatile) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CurrentWatermark {
    signature: Signature,
}

impl ScalarUDFImpl for CurrentWatermark {
    fn name(&self) -> &str {
        "current_watermark"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [DataType::Timestamp(_, zone)] => Ok(DataType::Timestamp(TimeUnit::Millisecond, zone.clone())),
            _ => plan_err!(
                "CURRENT_WATERMARK takes a rowtime column, a TIMESTAMP or TIMESTAMP_LTZ with a watermark"
            ),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!(
            "CURRENT_WATERMARK can only be used in SELECT and WHERE of a query over a table with a watermark"
        )
    }
}

fn watermark_call(expression: &Arc<dyn PhysicalExpr>) -> Option<&ScalarFunctionExpr> {
    let function = expression.downcast_ref::<ScalarFunctionExpr>()?;
    function.fun().inner().downcast_ref::<CurrentWatermark>().map(|_| function)
}

/// Whether an expression asks for the watermark.
pub fn reads_watermark(expression: &Arc<dyn PhysicalExpr>) -> bool {
    watermark_call(expression).is_some() || expression.children().into_iter().any(reads_watermark)
}

/// The expression with the watermark put in.
pub fn with_watermark(
    expression: &Arc<dyn PhysicalExpr>,
    watermark: Watermark,
) -> Result<Arc<dyn PhysicalExpr>> {
    let millis = (watermark != Watermark::MIN).then_some(watermark.0);
    let put = |expression: Arc<dyn PhysicalExpr>| match watermark_call(&expression) {
        Some(function) => {
            let zone = match function.return_type() {
                DataType::Timestamp(_, zone) => zone.clone(),
                _ => None,
            };
            let value = ScalarValue::TimestampMillisecond(millis, zone);
            Ok(Transformed::yes(Arc::new(Literal::new(value)) as Arc<dyn PhysicalExpr>))
        }
        None => Ok(Transformed::no(expression)),
    };
    Arc::clone(expression).transform_up(put).data()
}

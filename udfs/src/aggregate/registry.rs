//! The functions by their names.

use std::sync::Arc;

use datafusion_expr::AggregateUDF;
use datafusion_functions_aggregate::{average, count, min_max, sum};

use super::{Avg, Count, FlinkAggregateUdf, Max, Min, StreamingAggregate, Sum, Sum0};

/// Flink's aggregate functions, to be registered in a session that speaks Flink's SQL.
pub fn flink_aggregates() -> Vec<Arc<AggregateUDF>> {
    let functions: [Arc<dyn StreamingAggregate>; 6] =
        [Arc::new(Count), Arc::new(Sum), Arc::new(Sum0), Arc::new(Avg), Arc::new(Min), Arc::new(Max)];
    functions.into_iter().map(|function| FlinkAggregateUdf::new(function).into_udf()).collect()
}

/// The streaming implementation of an aggregate function: one of Flink's, or of those of DataFusion
/// that have the same meaning and only other result types.
pub fn streaming_aggregate_of(udf: &AggregateUDF) -> Option<Arc<dyn StreamingAggregate>> {
    let function = udf.inner();
    if let Some(flink) = function.downcast_ref::<FlinkAggregateUdf>() {
        return Some(Arc::clone(flink.function()));
    }
    if function.downcast_ref::<count::Count>().is_some() {
        Some(Arc::new(Count))
    } else if function.downcast_ref::<sum::Sum>().is_some() {
        Some(Arc::new(Sum))
    } else if function.downcast_ref::<average::Avg>().is_some() {
        Some(Arc::new(Avg))
    } else if function.downcast_ref::<min_max::Min>().is_some() {
        Some(Arc::new(Min))
    } else if function.downcast_ref::<min_max::Max>().is_some() {
        Some(Arc::new(Max))
    } else {
        None
    }
}

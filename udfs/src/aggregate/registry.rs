//! The functions by their names.

use std::sync::Arc;

use datafusion_expr::AggregateUDF;
use datafusion_functions_aggregate::{average, count, min_max, sum};

use super::{
    ArrayAgg, Avg, Collect, Count, FirstValue, FlinkAggregateUdf, JsonArrayAgg, JsonObjectAgg, LastValue,
    ListAgg, Max, Min, OnNull, Percentile, SingleValue, Statistic, StreamingAggregate, Sum, Sum0,
};

/// Flink's aggregate functions, to be registered in a session that speaks Flink's SQL.
pub fn flink_aggregates() -> Vec<Arc<AggregateUDF>> {
    let mut functions: Vec<Arc<dyn StreamingAggregate>> = vec![
        Arc::new(ArrayAgg),
        Arc::new(Avg),
        Arc::new(Collect),
        Arc::new(Count),
        Arc::new(FirstValue),
        Arc::new(JsonArrayAgg(OnNull::Null)),
        Arc::new(JsonArrayAgg(OnNull::Absent)),
        Arc::new(JsonObjectAgg(OnNull::Null)),
        Arc::new(JsonObjectAgg(OnNull::Absent)),
        Arc::new(LastValue),
        Arc::new(ListAgg),
        Arc::new(Max),
        Arc::new(Min),
        Arc::new(Percentile),
        Arc::new(SingleValue),
        Arc::new(Sum),
        Arc::new(Sum0),
    ];
    functions.extend(Statistic::all().map(|statistic| Arc::new(statistic) as Arc<dyn StreamingAggregate>));
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

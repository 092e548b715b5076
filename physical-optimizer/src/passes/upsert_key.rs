//! Changelogs under the keys by which nodes take them.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::config::UpsertMaterialize;
use datafusion_streaming_physical_plan::operators::upsert_materialize::UpsertMaterializeNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, StreamTraits};

use super::PlanContext;

/// Brings the inputs of a node under the keys that it takes their changes by: a sink with a primary key
/// cannot tell which of several rows under one key is gone. Inserts alone need nothing: each replaces
/// the one before it.
pub(super) fn under_required_keys(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    context: &PlanContext,
) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(inputs) };
    let strategy = context.options.upsert_materialize;
    let keyed = |(number, input): (usize, Arc<dyn ExecutionPlan>)| {
        let Some(key) = stream.node().required_upsert_key(number) else { return Ok(input) };
        let traits = input.downcast_ref::<StreamExec>().map(StreamExec::traits);
        let is_needed = match strategy {
            UpsertMaterialize::None => false,
            UpsertMaterialize::Auto => traits.is_some_and(|traits| !is_under(traits, &key)),
            UpsertMaterialize::Force => true,
        };
        match is_needed {
            true => StreamExec::plan(UpsertMaterializeNode::new(key, input.schema()), vec![input]),
            false => Ok(input),
        }
    };
    inputs.into_iter().enumerate().map(keyed).collect()
}

/// Whether a key identifies the rows of a stream, or the stream only grows.
fn is_under(traits: &StreamTraits, key: &[usize]) -> bool {
    let is_key = |known: &Vec<usize>| {
        known.iter().all(|column| key.contains(column)) && key.iter().all(|column| known.contains(column))
    };
    traits.mode.is_insert_only() || traits.upsert_keys.iter().any(is_key)
}

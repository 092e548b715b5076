//! LIMIT, OFFSET and ORDER BY.
//!
//! | plan | becomes |
//! |---|---|
//! | limit over a sort | SortLimit: a Top-N of the whole input |
//! | limit over appends | Limit |
//! | limit over a changelog | Limit: a Top-N without an order |
//! | sort by a rowtime | TemporalSort |

use std::sync::Arc;

use datafusion_common::{Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::repartition::RepartitionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::limit::LimitNode;
use datafusion_streaming_physical_plan::operators::sort::TemporalSortNode;
use datafusion_streaming_physical_plan::operators::top_n::{RankEnd, RankRange, TopNNode};
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};

use super::PlanContext;
use super::appended::{Appended, first_columns, traits_of, with_upsert_key};

/// Plans a limit or a sort; `None` for any other plan. `input` makes the plan below streaming.
pub(super) fn plan_sort_limit(
    plan: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
    input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some((skip, fetch, below)) = limit_of(plan) {
        let Some(fetch) = fetch else {
            return plan_err!(
                "OFFSET without LIMIT has no streaming form: every row behind the first {skip} would be kept; \
                 add a LIMIT"
            );
        };
        return match SortedInput::of(below) {
            Some(sorted) => sorted.plan(skip, fetch, context, input).map(Some),
            None => plan_limit(skip, fetch, input(Arc::clone(below))?, context).map(Some),
        };
    }
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
    if let Some(fetch) = sort.fetch() {
        let sorted = SortedInput { sort, projections: vec![] };
        return sorted.plan(0, fetch, context, input).map(Some);
    }
    plan_sort(sort, input(Arc::clone(sort.input()))?).map(Some)
}

/// A plan without the sorts and exchanges on top of it: the order in which rows come to a streaming
/// node is that of their arrival.
pub(super) fn without_sort(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_none()) {
        Some(sort) => without_sort(sort.input()),
        None => match without_exchange(plan) {
            Some(below) => without_sort(below),
            None => Arc::clone(plan),
        },
    }
}

/// The input of a node that only moves rows between partitions.
fn without_exchange(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let is_exchange = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>();
    if is_exchange { plan.children().into_iter().next() } else { None }
}

/// A limit: the rows to pass over, those to let through, and its input.
fn limit_of(plan: &Arc<dyn ExecutionPlan>) -> Option<(usize, Option<usize>, &Arc<dyn ExecutionPlan>)> {
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        return Some((limit.skip(), limit.fetch(), limit.input()));
    }
    let limit = plan.downcast_ref::<LocalLimitExec>()?;
    Some((0, Some(limit.fetch()), limit.input()))
}

fn range(skip: usize, fetch: usize) -> RankRange {
    RankRange { start: skip.saturating_add(1), end: RankEnd::Constant(skip.saturating_add(fetch)) }
}

fn plan_limit(
    skip: usize,
    fetch: usize,
    input: Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let traits = traits_of(&input)?;
    let schema = input.schema();
    if traits.mode.is_insert_only() {
        return StreamExec::plan(LimitNode::new(skip, fetch, schema), vec![input]);
    }
    let range = range(skip, fetch);
    let node =
        TopNNode::new("Limit", vec![], vec![], range, Arc::clone(&schema), schema, context.state_ttl())
            .with_strategy_for(traits);
    StreamExec::plan(node, vec![input])
}

/// A sort, and the projections of its result, from the outermost on.
struct SortedInput<'a> {
    sort: &'a SortExec,
    projections: Vec<&'a ProjectionExec>,
}

impl<'a> SortedInput<'a> {
    fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mut projections = vec![];
        let mut below = plan;
        loop {
            if let Some(sort) = below.downcast_ref::<SortExec>() {
                return Some(SortedInput { sort, projections });
            }
            below = match below.downcast_ref::<ProjectionExec>() {
                Some(projection) => {
                    projections.push(projection);
                    projection.input()
                }
                None => without_exchange(below)?,
            };
        }
    }

    fn plan(
        self,
        skip: usize,
        fetch: usize,
        context: &PlanContext,
        input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = input(Arc::clone(self.sort.input()))?;
        let schema = input.schema();
        let input = with_upsert_key(input)?;
        let mut columns = Appended::to(&input.schema());
        let order = columns.sort_places(self.sort.expr())?;
        let input = columns.calc(input)?;
        let sorted = input.schema();
        let node = TopNNode::new(
            "SortLimit",
            vec![],
            order,
            range(skip, fetch),
            Arc::clone(&sorted),
            sorted,
            context.state_ttl(),
        )
        .with_strategy_for(traits_of(&input)?);
        let mut plan = first_columns(StreamExec::plan(node, vec![input])?, &schema)?;
        for projection in self.projections.into_iter().rev() {
            let expressions: Vec<Arc<dyn PhysicalExpr>> =
                projection.expr().iter().map(|it| Arc::clone(&it.expr)).collect();
            plan = StreamExec::plan(CalcNode::project(expressions, projection.schema()), vec![plan])?;
        }
        Ok(plan)
    }
}

fn plan_sort(sort: &SortExec, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = input.schema();
    let mut columns = Appended::to(&schema);
    let order = columns.sort_places(sort.expr())?;
    let input = columns.calc(input)?;
    match order.split_first() {
        Some(((time, options), then_by))
            if !options.descending
                && traits_of(&input)?.time_attribute(*time) == Some(TimeAttributeKind::Rowtime) =>
        {
            let node = TemporalSortNode::new(*time, then_by.to_vec(), input.schema());
            first_columns(StreamExec::plan(node, vec![input])?, &schema)
        }
        _ => plan_err!(
            "ORDER BY {} has no streaming form, since it would wait for the end of the input: order by a rowtime \
             (ascending, as the first column), add a LIMIT, or order the result where it is read",
            sort.expr()
        ),
    }
}

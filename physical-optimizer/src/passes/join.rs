//! Joins.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion_common::{JoinType, NullEquality, Result, internal_err, plan_err};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary, is_null};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::{
    CrossJoinExec, HashJoinExec, JoinOnRef, NestedLoopJoinExec, SymmetricHashJoinExec,
};
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::operators::join::Residual;
use datafusion_streaming_physical_plan::operators::join::interval::IntervalJoinNode;
use datafusion_streaming_physical_plan::operators::join::regular::{
    JoinSpec, RegularJoinNode, has_unique_key_in,
};
use datafusion_streaming_physical_plan::operators::join::{LEFT, RIGHT};
use datafusion_streaming_physical_plan::runtime::{StreamExec, StreamTraits};

use super::PlanContext;
use super::interval::interval_of;
use super::state_ttl::hinted_ttl;

/// The streaming form of a join over streaming inputs; `None` for a plan that is no join.
pub(super) fn plan_join(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
    context: &PlanContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(spec) = join_spec(plan, inputs)? else { return Ok(None) };
    let is_outer_or_inner =
        matches!(spec.join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    if is_outer_or_inner
        && let [Some(left), Some(right)] = [&inputs[LEFT], &inputs[RIGHT]].map(stream_traits)
        && let Some((interval, residual)) = interval_of(&spec, [left, right])?
    {
        let node = IntervalJoinNode::try_new(JoinSpec { residual, ..spec }, interval)?;
        return StreamExec::plan(node, inputs.to_vec()).map(Some);
    }
    let mode = |input: &Arc<dyn ExecutionPlan>| {
        stream_traits(input).map_or(ChangelogMode::INSERT_ONLY, |traits| traits.mode)
    };
    let modes = [mode(&inputs[LEFT]), mode(&inputs[RIGHT])];
    let ttl = |input| hinted_ttl(input).unwrap_or_else(|| context.state_ttl());
    let is_unique = |port: usize| {
        stream_traits(&inputs[port]).is_some_and(|traits| has_unique_key_in(traits, &spec.keys[port]))
    };
    let unique = [is_unique(LEFT), is_unique(RIGHT)];
    let node = RegularJoinNode::try_new(spec, modes, [ttl(&inputs[LEFT]), ttl(&inputs[RIGHT])])?
        .with_unique_join_keys(unique);
    let unique_key = |input| stream_traits(input).and_then(|traits| traits.upsert_keys.first().cloned());
    let node = match context.bundling() {
        Some(bundling) => {
            node.with_bundling(bundling, [unique_key(&inputs[LEFT]), unique_key(&inputs[RIGHT])])
        }
        None => node,
    };
    StreamExec::plan(node, inputs.to_vec()).map(Some)
}

fn stream_traits(input: &Arc<dyn ExecutionPlan>) -> Option<&StreamTraits> {
    input.downcast_ref::<StreamExec>().map(StreamExec::traits)
}

/// What a native join does.
fn join_spec(plan: &Arc<dyn ExecutionPlan>, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<Option<JoinSpec>> {
    let [left, right] = inputs else { return Ok(None) };
    let schemas = [left.schema(), right.schema()];
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let projection = join.contains_projection().then(|| projection_of(plan, join.join_schema()));
        let spec = JoinSpec {
            join_type: *join.join_type(),
            keys: key_columns(join.on())?,
            null_safe: join.null_equality() == NullEquality::NullEqualsNull,
            residual: join.filter().map(Residual::of),
            inputs: schemas,
            schema: plan.schema(),
            projection: projection.transpose()?,
        };
        return match join.null_aware {
            true => null_aware(spec).map(Some),
            false => Ok(Some(spec)),
        };
    }
    let (join_type, residual, projection) = if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let projection = join.projection().as_ref().map(|projection| projection.to_vec());
        (*join.join_type(), join.filter().map(Residual::of), projection)
    } else if plan.is::<CrossJoinExec>() {
        (JoinType::Inner, None, None)
    } else if plan.is::<SymmetricHashJoinExec>() {
        return plan_err!("SymmetricHashJoinExec was planned before the streaming rule");
    } else {
        return Ok(None);
    };
    Ok(Some(JoinSpec {
        join_type,
        keys: [vec![], vec![]],
        null_safe: false,
        residual,
        inputs: schemas,
        schema: plan.schema(),
        projection,
    }))
}

/// The join's own columns that are those of a projecting hash join.
fn projection_of(plan: &Arc<dyn ExecutionPlan>, full: &Schema) -> Result<Vec<usize>> {
    let join = plan.downcast_ref::<HashJoinExec>().and_then(|join| join.projection.as_ref());
    match join {
        Some(projection) if projection.iter().all(|place| *place < full.fields().len()) => {
            Ok(projection.to_vec())
        }
        _ => internal_err!("a join projects columns that it does not have"),
    }
}

/// The key columns of both sides: DataFusion puts a projection below a join on expressions.
fn key_columns(on: JoinOnRef<'_>) -> Result<[Vec<usize>; 2]> {
    let column = |key: &Arc<dyn PhysicalExpr>| match key.downcast_ref::<Column>() {
        Some(column) => Ok(column.index()),
        None => internal_err!("the join key {key} is not a column"),
    };
    Ok([
        on.iter().map(|(left, _)| column(left)).collect::<Result<_>>()?,
        on.iter().map(|(_, right)| column(right)).collect::<Result<_>>()?,
    ])
}

/// NOT IN: a NULL on either side may be equal to anything, so it matches every row. Without a key,
/// as a NULL on the right takes back what is kept of all keys.
fn null_aware(spec: JoinSpec) -> Result<JoinSpec> {
    let ([left], [right]) = (spec.keys[LEFT].as_slice(), spec.keys[RIGHT].as_slice()) else {
        return plan_err!("NOT IN over several columns has no streaming form: use NOT EXISTS");
    };
    let mut columns = vec![(LEFT, *left), (RIGHT, *right)];
    let field = |port: usize, place: usize| spec.inputs[port].field(place).clone().with_nullable(true);
    let mut fields: Vec<Field> = vec![field(LEFT, *left), field(RIGHT, *right)];
    if let Some(residual) = &spec.residual {
        columns.extend(residual.columns());
        fields.extend(residual.schema().fields().iter().map(|field| field.as_ref().clone()));
    }
    let schema = Arc::new(Schema::new(fields));
    let column = |place: usize| Arc::new(Column::new(schema.field(place).name(), place)) as _;
    let equal = binary(column(0), Operator::Eq, column(1), &schema)?;
    let nulls = binary(is_null(column(0))?, Operator::Or, is_null(column(1))?, &schema)?;
    let mut condition = binary(equal, Operator::Or, nulls, &schema)?;
    if let Some(residual) = &spec.residual {
        let moved = moved_by(residual.expression(), 2)?;
        condition = binary(condition, Operator::And, moved, &schema)?;
    }
    let residual = Some(Residual::new(condition, columns, schema));
    Ok(JoinSpec { keys: [vec![], vec![]], residual, ..spec })
}

/// An expression whose columns have moved by some places.
fn moved_by(expression: &Arc<dyn PhysicalExpr>, places: usize) -> Result<Arc<dyn PhysicalExpr>> {
    use datafusion_common::tree_node::{Transformed, TreeNode};
    let moved = Arc::clone(expression).transform_up(|expression| {
        Ok(match expression.downcast_ref::<Column>() {
            Some(column) => {
                Transformed::yes(Arc::new(Column::new(column.name(), column.index() + places)) as _)
            }
            None => Transformed::no(expression),
        })
    })?;
    Ok(moved.data)
}

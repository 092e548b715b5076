//! The columns of a plan, and behind them what a node needs computed of them.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion_common::{Result, internal_err, plan_err};
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::top_n::TopNNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, StreamTraits};

/// Appends computed columns to those of a plan. What the plan has keeps its place.
pub(super) struct Appended {
    input: SchemaRef,
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
}

impl Appended {
    pub(super) fn to(input: &SchemaRef) -> Self {
        let column = |(place, field): (usize, &FieldRef)| {
            Arc::new(Column::new(field.name(), place)) as Arc<dyn PhysicalExpr>
        };
        Appended {
            input: Arc::clone(input),
            expressions: input.fields().iter().enumerate().map(column).collect(),
            fields: input.fields().iter().cloned().collect(),
        }
    }

    /// The place of an expression, which is appended unless it is there already.
    pub(super) fn place(&mut self, expression: &Arc<dyn PhysicalExpr>) -> Result<usize> {
        if let Some(place) = self.expressions.iter().position(|known| known == expression) {
            return Ok(place);
        }
        let field = expression.return_field(&self.input)?.as_ref().clone();
        self.fields.push(Arc::new(field.with_name(format!("${}", self.expressions.len()))));
        self.expressions.push(Arc::clone(expression));
        Ok(self.expressions.len() - 1)
    }

    pub(super) fn places<'a>(
        &mut self,
        expressions: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
    ) -> Result<Vec<usize>> {
        expressions.into_iter().map(|expression| self.place(expression)).collect()
    }

    pub(super) fn sort_places<'a>(
        &mut self,
        sort: impl IntoIterator<Item = &'a PhysicalSortExpr>,
    ) -> Result<Vec<(usize, SortOptions)>> {
        let place = |sort: &PhysicalSortExpr| {
            let place = self.place(&sort.expr)?;
            match self.fields[place].data_type() {
                DataType::Map(_, _) => plan_err!("{} is a map, and maps have no order to sort by", sort.expr),
                _ => Ok((place, sort.options)),
            }
        };
        sort.into_iter().map(place).collect()
    }

    /// The plan with the columns; itself if there are none more.
    pub(super) fn calc(self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.expressions.len() == self.input.fields().len() {
            return Ok(input);
        }
        StreamExec::plan(CalcNode::project(self.expressions, Arc::new(Schema::new(self.fields))), vec![input])
    }
}

/// The plan, with the columns of its upsert key behind its own where DataFusion has dropped them as
/// unused: Flink keeps them, and they decide how a Top-N over the plan works. A Top-N below keeps its rank,
/// which is part of its key.
pub(super) fn with_upsert_key(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(plan) };
    if stream.traits().mode.is_insert_only() {
        return Ok(plan);
    }
    if let Some(top_n) = stream.node().downcast_ref::<TopNNode>() {
        return match top_n.with_rank() {
            Some(ranked) => StreamExec::plan(ranked, stream.inputs().to_vec()),
            None => Ok(plan),
        };
    }
    let Some(calc) = stream.node().downcast_ref::<CalcNode>() else { return Ok(plan) };
    let [below] = stream.inputs() else { return Ok(plan) };
    let below = with_upsert_key(Arc::clone(below))?;
    let is_passed = |column: &usize| {
        calc.projection().is_none_or(|projection| {
            let mut columns = projection.iter().filter_map(|it| it.downcast_ref::<Column>());
            columns.any(|passed| passed.index() == *column)
        })
    };
    let key = traits_of(&below)?.upsert_keys.first().cloned().unwrap_or_default();
    let dropped: Vec<usize> = key.into_iter().filter(|column| !is_passed(column)).collect();
    StreamExec::plan(calc.with_columns(&dropped, &below.schema()), vec![below])
}

/// What is known of a streaming plan.
pub(super) fn traits_of(plan: &Arc<dyn ExecutionPlan>) -> Result<&StreamTraits> {
    match plan.downcast_ref::<StreamExec>() {
        Some(stream) => Ok(stream.traits()),
        None => internal_err!("{} does not stream", plan.name()),
    }
}

/// The plan with its first columns only, under the names of `schema`.
pub(super) fn first_columns(
    plan: Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.schema().fields().len() == schema.fields().len() {
        return Ok(plan);
    }
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    StreamExec::plan(CalcNode::columns(&columns, &plan.schema())?, vec![plan])
}

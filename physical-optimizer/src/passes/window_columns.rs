//! Where the windows of a stream are, and taking them out again.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::GroupColumn;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, StreamNode};

/// A plan from which the window function at its bottom has been taken out, so that the operator above
/// can assign the windows itself.
pub(super) struct WithoutWindows {
    /// The rows, and at the end the time column.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The window function, whose time and partition are columns of the plan now.
    pub function: WindowFunction,
    /// For each column of the plan as it was, its place now; `None` if it is the window's.
    pub places: Vec<Option<usize>>,
    /// For each column of the plan now, the column of the window function's input that it is.
    pub origins: Vec<Option<usize>>,
    /// The place of the time.
    pub time: usize,
}

/// A window function in a plan.
pub(super) enum WindowFunction {
    Fixed(WindowTvfNode),
    Session(SessionTvfNode),
}

/// Takes out the window function below a chain of projections and filters. `None` if there is none, or
/// if the chain computes with the window's columns.
pub(super) fn without_windows(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<WithoutWindows>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(None) };
    let node = stream.node();
    let Some(input) = stream.inputs().first() else { return Ok(None) };
    if let Some(calc) = node.downcast_ref::<CalcNode>() {
        let Some(below) = without_windows(input)? else { return Ok(None) };
        return through_calc(calc, below);
    }
    let (function, time) = if let Some(function) = node.downcast_ref::<WindowTvfNode>() {
        (WindowFunction::Fixed(function.clone()), function.time_column())
    } else if let Some(function) = node.downcast_ref::<SessionTvfNode>() {
        (WindowFunction::Session(function.clone()), function.windows().time_column())
    } else {
        return Ok(None);
    };
    let width = input.schema().fields().len();
    let place = |column: usize| (column < width).then_some(column);
    Ok(Some(WithoutWindows {
        plan: Arc::clone(input),
        function,
        places: (0..stream.schema().fields().len()).map(place).collect(),
        origins: (0..width).map(Some).collect(),
        time,
    }))
}

impl WithoutWindows {
    /// Group columns at their new places.
    pub(super) fn group(&self, group: &[GroupColumn]) -> Option<Vec<GroupColumn>> {
        let moved = |column: &GroupColumn| match column {
            GroupColumn::Key(key) => self.places[*key].map(GroupColumn::Key),
            window => Some(*window),
        };
        group.iter().map(moved).collect()
    }

    /// A call over the columns at their new places; `None` if it reads the window's.
    pub(super) fn call(&self, call: &AggregateCall) -> Option<AggregateCall> {
        let args = call.args.iter().map(|arg| self.places[*arg]).collect::<Option<_>>()?;
        let filter = match call.filter {
            Some(filter) => Some(self.places[filter]?),
            None => None,
        };
        Some(AggregateCall { args, filter, ..call.clone() })
    }
}

fn through_calc(calc: &CalcNode, below: WithoutWindows) -> Result<Option<WithoutWindows>> {
    let (filter, projection) = calc.parts();
    let reads_window = |expression: &Arc<dyn PhysicalExpr>| {
        collect_columns(expression).iter().any(|column| below.places[column.index()].is_none())
    };
    if filter.is_some_and(reads_window) {
        return Ok(None);
    }
    let schema = below.plan.schema();
    let moved = |expression: &Arc<dyn PhysicalExpr>| moved(expression, &below.places, &schema);
    let filter = filter.map(moved).transpose()?;
    let Some(projection) = projection else {
        let node = CalcNode::from_parts(filter, None, Arc::clone(&schema));
        return Ok(Some(WithoutWindows { plan: StreamExec::plan(node, vec![below.plan])?, ..below }));
    };
    let names = calc.schema();
    let names = names.fields().iter().map(|field| field.name().clone());
    let (mut expressions, mut fields, mut places, mut origins) = (vec![], vec![], vec![], vec![]);
    for (expression, name) in projection.iter().zip(names) {
        if reads_window(expression) {
            if !expression.is::<Column>() {
                return Ok(None);
            }
            places.push(None);
            continue;
        }
        let expression = moved(expression)?;
        places.push(Some(expressions.len()));
        let column = expression.downcast_ref::<Column>();
        origins.push(column.and_then(|column| below.origins[column.index()]));
        fields.push(expression.return_field(&schema)?.as_ref().clone().with_name(name));
        expressions.push(expression);
    }
    // the window function's own columns must be there
    let time = expressions.len();
    let needed = std::iter::once(below.time).chain(below.function.partition().iter().map(|column| {
        below.origins.iter().position(|origin| *origin == Some(*column)).unwrap_or(below.time)
    }));
    for column in needed {
        let field = schema.field(column);
        expressions.push(Arc::new(Column::new(field.name(), column)));
        origins.push(below.origins[column]);
        fields.push(field.clone());
    }
    let node = CalcNode::from_parts(filter, Some(expressions), Arc::new(Schema::new(fields)));
    let plan = StreamExec::plan(node, vec![Arc::clone(&below.plan)])?;
    Ok(Some(WithoutWindows { plan, function: below.function, places, origins, time }))
}

/// An expression over the columns at their new places.
fn moved(
    expression: &Arc<dyn PhysicalExpr>,
    places: &[Option<usize>],
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    let expression = Arc::clone(expression);
    let column = |expression: Arc<dyn PhysicalExpr>| match expression.downcast_ref::<Column>() {
        Some(column) => match places[column.index()] {
            Some(place) => {
                let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(place).name(), place));
                Ok(Transformed::yes(column))
            }
            None => Ok(Transformed::no(expression)),
        },
        None => Ok(Transformed::no(expression)),
    };
    expression.transform_up(column).data()
}

impl WindowFunction {
    /// The columns of PARTITION BY, of the function's input.
    pub(super) fn partition(&self) -> &[usize] {
        match self {
            WindowFunction::Fixed(_) => &[],
            WindowFunction::Session(sessions) => sessions.partition(),
        }
    }
}

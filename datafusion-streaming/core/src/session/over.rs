//! OVER as Flink plans it.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    AggregateUDF, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Window,
    WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

/// Refuses what Flink refuses of OVER, and plans `AVG(x) OVER w` as `SUM(x) OVER w / COUNT(x) OVER w`:
/// so does Flink, with the sum in the type of `x`, where it may overflow.
#[derive(Debug)]
pub(super) struct FlinkOver {
    sum: Arc<AggregateUDF>,
    count: Arc<AggregateUDF>,
}

impl FlinkOver {
    /// With Flink's functions of these names.
    pub(super) fn new(sum: Arc<AggregateUDF>, count: Arc<AggregateUDF>) -> Self {
        FlinkOver { sum, count }
    }

    fn plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        check(&window)?;
        let input = window.input.schema();
        let is_average = |expr: &Expr| average_of(expr).is_some_and(|call| is_divided(call, input));
        if !window.window_expr.iter().any(is_average) {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let mut calls: Vec<Expr> = vec![];
        let mut columns: Vec<Expr> = input.columns().into_iter().map(Expr::Column).collect();
        let own = window.schema.iter().skip(input.fields().len());
        for (expr, (qualifier, field)) in window.window_expr.iter().zip(own) {
            let mut call = |call: Expr| {
                let column = Expr::Column(Column::from_name(call.schema_name().to_string()));
                if !calls.contains(&call) {
                    calls.push(call);
                }
                column
            };
            match average_of(expr).filter(|call| is_divided(call, input)) {
                Some(average) => {
                    let of = |function: &Arc<AggregateUDF>| {
                        let fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(function));
                        Expr::from(WindowFunction { fun, params: average.params.clone() })
                    };
                    let quotient = call(of(&self.sum)) / call(of(&self.count));
                    let average = Expr::Cast(Cast::new(Box::new(quotient), field.data_type().clone()));
                    columns.push(average.alias_qualified(qualifier.cloned(), field.name()));
                }
                None => {
                    let column = match expr {
                        Expr::Alias(_) => {
                            calls.push(expr.clone());
                            Expr::Column(Column::new(qualifier.cloned(), field.name()))
                        }
                        expr => call(expr.clone()),
                    };
                    columns.push(column);
                }
            }
        }
        let planned = LogicalPlanBuilder::from(window.input.as_ref().clone()).window(calls)?;
        Ok(Transformed::yes(planned.project(columns)?.build()?))
    }
}

impl AnalyzerRule for FlinkOver {
    fn name(&self) -> &str {
        "flink_over"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.plan(plan)).map(|plan| plan.data)
    }
}

fn average_of(expr: &Expr) -> Option<&WindowFunction> {
    match expr {
        Expr::Alias(alias) => average_of(&alias.expr),
        Expr::WindowFunction(call) if call.fun.name() == "avg" => Some(call),
        _ => None,
    }
}

/// Whether an average is that of numbers that are not DECIMAL.
fn is_divided(average: &WindowFunction, input: &DFSchema) -> bool {
    let data_type = average.params.args.first().map(|argument| argument.get_type(input));
    match data_type {
        Some(Ok(data_type)) => {
            data_type.is_signed_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
        }
        _ => false,
    }
}

fn check(window: &Window) -> Result<()> {
    let params = |expr: &Expr| call_of(expr).map(|call| call.params.clone());
    for call in window.window_expr.iter().filter_map(call_of) {
        let name = call.fun.name();
        if call.params.null_treatment == Some(NullTreatment::IgnoreNulls)
            && matches!(name, "first_value" | "last_value")
        {
            return plan_err!(
                "Cannot specify IGNORE NULLS or RESPECT NULLS following '{}'",
                name.to_ascii_uppercase()
            );
        }
    }
    let LogicalPlan::Window(below) = window.input.as_ref() else { return Ok(()) };
    let is_same = |a: &WindowFunctionParams, b: &WindowFunctionParams| {
        a.partition_by == b.partition_by && a.order_by == b.order_by
    };
    match (window.window_expr.first().and_then(params), below.window_expr.first().and_then(params)) {
        (Some(a), Some(b)) if !is_same(&a, &b) => plan_err!(
            "Over Agg: Unsupported use of OVER windows. All aggregates must be computed on the same window: put one of them \
             in a subquery"
        ),
        _ => Ok(()),
    }
}

fn call_of(expr: &Expr) -> Option<&WindowFunction> {
    match expr {
        Expr::Alias(alias) => call_of(&alias.expr),
        Expr::WindowFunction(call) => Some(call),
        _ => None,
    }
}

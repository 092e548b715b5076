//! Flink's types of operators, functions and casts.
//!
//! | part | plans |
//! |---|---|
//! | [`arithmetic`] | `+ - * / %` and intervals |
//! | [`comparison`] | `= <> < <= > >=`, IS DISTINCT FROM, BETWEEN, IN |
//! | [`choices`] | CASE, NULLIF, and functions that choose among their arguments |
//! | [`constants`] | what constants stand for |
//! | [`float_logic`] | AND and OR of comparisons of floating numbers |
//! | [`logic`] | AND and OR that stop where the answer is clear, NOT, IS NULL |
//! | [`functions`] | other functions, LIKE, SIMILAR TO and `\|\|` |
//! | [`unions`] | UNION |
//! | [`values`] | VALUES |
//! | [`exact`] | TYPEOF |

mod arithmetic;
mod choices;
mod comparison;
mod constants;
mod exact;
mod float_logic;
mod functions;
mod kinds;
mod logic;
mod planner;
mod unions;
mod values;

pub(crate) use planner::Arithmetic;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{InSubquery, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF,
    ScalarUDFImpl, TryCast,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion_streaming_udfs::common_type::common_type;
use datafusion_streaming_udfs::scalar::FlinkCast;
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;

/// Plans operators and casts whose Flink meaning is not DataFusion's as calls of Flink's functions, and casts
/// operands to the types in which Flink computes. It runs before DataFusion's type coercion, which leaves what has
/// equal types alone.
#[derive(Debug)]
pub(super) struct FlinkTypes;

impl AnalyzerRule for FlinkTypes {
    fn name(&self) -> &str {
        "flink_types"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(plan_types)?.data)
    }
}

fn plan_types(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Union(union) = plan {
        return unions::typed(union);
    }
    if let LogicalPlan::Values(rows) = plan {
        return values::typed(rows);
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let names = NamePreserver::new(&plan);
    let joins = matches!(&plan, LogicalPlan::Join(_))
        || matches!(&plan, LogicalPlan::Filter(filter) if matches!(*filter.input, LogicalPlan::Join(_)));
    let planned = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = functions::cut_constants(expr, &schema)?;
        let planned = if joins { join_condition(expr.data, &schema)? } else { typed(expr.data, &schema)? };
        Ok(Transformed::new(planned.data, planned.transformed || expr.transformed, planned.tnr)
            .update_data(|expr| name.restore(expr)))
    })?;
    let planned = planned.map_data(|plan| match plan {
        LogicalPlan::Join(join) => Ok(LogicalPlan::Join(with_keys_of_one_type(join)?)),
        other => Ok(other),
    })?;
    // the types of the inputs may be others now
    planned.map_data(LogicalPlan::recompute_schema)
}

/// Casts keys of a join to the timestamps that they have in common, where DataFusion would not.
fn with_keys_of_one_type(mut join: Join) -> Result<Join> {
    for (left, right) in &mut join.on {
        let (Ok(left_type), Ok(right_type)) =
            (left.get_type(join.left.schema()), right.get_type(join.right.schema()))
        else {
            continue;
        };
        if left_type != right_type
            && (has_wide_timestamps(&left_type) || has_wide_timestamps(&right_type))
            && let Some(common) = common_type(&left_type, &right_type)
        {
            *left = *cast(Box::new(std::mem::take(left)), &left_type, &common);
            *right = *cast(Box::new(std::mem::take(right)), &right_type, &common);
        }
    }
    Ok(join)
}

/// `x IN (SELECT …)` of timestamps that have another type.
fn in_subquery(predicate: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, mut subquery, negated } = predicate;
    let field = subquery.subquery.schema().fields().first().cloned();
    let (Ok(value_type), Some(field)) = (expr.get_type(schema), field) else {
        return Ok(Transformed::no(Expr::InSubquery(InSubquery { expr, subquery, negated })));
    };
    let found_type = field.data_type();
    let wide = has_wide_timestamps(&value_type) || has_wide_timestamps(found_type);
    let common = if wide && &value_type != found_type { common_type(&value_type, found_type) } else { None };
    let Some(common) = common else {
        return Ok(Transformed::no(Expr::InSubquery(InSubquery { expr, subquery, negated })));
    };
    let expr = cast(expr, &value_type, &common);
    if found_type != &common {
        let column = subquery.subquery.schema().columns().into_iter().map(Expr::Column).next();
        let column = cast(Box::new(column.unwrap_or_default()), found_type, &common).alias(field.name());
        let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([column])?.build()?;
        subquery = subquery.with_plan(Arc::new(plan));
    }
    Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated })))
}

fn typed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| expr_types(expr, schema))
}

/// A condition that is evaluated over two inputs: what says that a column of one is equal to one of the other is left
/// alone, since it becomes a key of the join. Keys are compared by their bits, in Flink, too.
fn join_condition(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let (left, right) = (join_condition(*left, schema)?, join_condition(*right, schema)?);
            let transformed = left.transformed || right.transformed;
            let both =
                BinaryExpr { left: Box::new(left.data), op: Operator::And, right: Box::new(right.data) };
            Ok(Transformed::new_transformed(Expr::BinaryExpr(both), transformed))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match key_types(&left, op, &right, schema) {
            Some((left_type, right_type)) => {
                let common = comparison::float_type(op, &left_type, &right_type);
                let is_cast = left_type != right_type;
                let operation = Operation { left, op, right }.cast_to(&common, &left_type, &right_type);
                Ok(Transformed::new_transformed(operation.plain(), is_cast))
            }
            None => typed(Expr::BinaryExpr(BinaryExpr { left, op, right }), schema),
        },
        other => typed(other, schema),
    }
}

/// The types of two columns of different tables that are a floating number and a number, if that is what these are and
/// they are compared as keys of a join are.
fn key_types(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<(DataType, DataType)> {
    let (Expr::Column(left_column), Expr::Column(right_column)) = (left, right) else { return None };
    let (left, right) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    let are_numbers = kinds::is_number(&left) && kinds::is_number(&right);
    let is_key = match op {
        Operator::Eq => are_numbers && (kinds::is_float(&left) || kinds::is_float(&right)),
        Operator::IsNotDistinctFrom => left == right && kinds::is_float(&left),
        _ => false,
    };
    (is_key && left_column.relation != right_column.relation).then_some((left, right))
}

fn expr_types(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if matches!(op, Operator::And | Operator::Or) {
                return logic::connective(*left, op, *right, schema);
            }
            // what refers to an outer query or is not typed yet is left to DataFusion
            let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            };
            let operation = Operation { left, op, right };
            match op {
                Operator::StringConcat => functions::concatenation(operation, &left_type, &right_type),
                Operator::Plus
                | Operator::Minus
                | Operator::Multiply
                | Operator::Divide
                | Operator::Modulo => arithmetic::arithmetic(operation, &left_type, &right_type, schema),
                _ if comparison::is_comparison(op) => {
                    comparison::comparison(operation, &left_type, &right_type)
                }
                _ => Ok(Transformed::no(operation.plain())),
            }
        }
        Expr::Cast(Cast { expr, field }) => {
            if let Some(literal) = constants::cast_literal(&expr, field.data_type()) {
                return Ok(Transformed::yes(literal));
            }
            if let Some(number) = functions::text_and_back(&expr, field.data_type(), schema) {
                return Ok(Transformed::yes(number));
            }
            let Ok(from) = expr.get_type(schema) else {
                return Ok(Transformed::no(Expr::Cast(Cast { expr, field })));
            };
            // a cast time is no time attribute any more, even one that is cast to its own type
            let is_same_time = from == *field.data_type() && kinds::is_timestamp(&from);
            if !FlinkCast::differs(&from, &field)? && !is_same_time {
                return Ok(Transformed::no(Expr::Cast(Cast { expr, field })));
            }
            Ok(Transformed::yes(call(FlinkCast::new(field, false), vec![*expr])))
        }
        Expr::TryCast(TryCast { expr, field }) => {
            let Ok(from) = expr.get_type(schema) else {
                return Ok(Transformed::no(Expr::TryCast(TryCast { expr, field })));
            };
            if !FlinkCast::differs(&from, &field)? {
                return Ok(Transformed::no(Expr::TryCast(TryCast { expr, field })));
            }
            Ok(Transformed::yes(call(FlinkCast::new(field, true), vec![*expr])))
        }
        Expr::Not(operand) => logic::negation(operand),
        Expr::Negative(operand)
            if operand.get_type(schema).is_ok_and(|data_type| kinds::is_timestamp(&data_type)) =>
        {
            plan_err!(
                "Cannot apply '-' to arguments of type '-<TIMESTAMP>': {operand} is no number or interval"
            )
        }
        Expr::IsNull(operand) => Ok(logic::null_test(*operand, true)),
        Expr::IsNotNull(operand) => Ok(logic::null_test(*operand, false)),
        Expr::Between(between) => comparison::between(between, schema),
        Expr::InList(list) => comparison::in_list(list, schema),
        Expr::InSubquery(predicate) => in_subquery(predicate, schema),
        Expr::Case(case) => choices::case(case, schema),
        Expr::Like(like) => functions::like(like),
        Expr::SimilarTo(similar) => functions::similar_to(similar),
        Expr::ScalarFunction(function) => functions::function(function, schema),
        other => Ok(Transformed::no(other)),
    }
}

/// A binary expression in parts.
struct Operation {
    left: Box<Expr>,
    op: Operator,
    right: Box<Expr>,
}

impl Operation {
    fn plain(self) -> Expr {
        Expr::BinaryExpr(BinaryExpr { left: self.left, op: self.op, right: self.right })
    }

    /// Both operands cast to a type.
    fn cast_to(self, data_type: &DataType, left_type: &DataType, right_type: &DataType) -> Self {
        let left = cast(self.left, left_type, data_type);
        let right = cast(self.right, right_type, data_type);
        Self { left, op: self.op, right }
    }

    fn call(self, function: impl ScalarUDFImpl + 'static) -> Expr {
        call(function, vec![*self.left, *self.right])
    }
}

fn call(function: impl ScalarUDFImpl + 'static, args: Vec<Expr>) -> Expr {
    call_udf(ScalarUDF::from(function), args)
}

fn call_udf(function: ScalarUDF, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), args))
}

/// An expression cast to a type, as CAST does it.
fn cast(expr: Box<Expr>, from: &DataType, to: &DataType) -> Box<Expr> {
    if from == to {
        return expr;
    }
    let cast = Cast::new(expr, to.clone());
    match FlinkCast::differs(from, &cast.field) {
        Ok(true) => Box::new(call(FlinkCast::new(cast.field, false), vec![*cast.expr])),
        _ => Box::new(Expr::Cast(cast)),
    }
}

/// Whether an expression is NULL as it is written, without a type.
fn is_bare_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Null, _))
}

/// Refuses a NULL without a type.
fn refuse_null(expr: &Expr) -> Result<()> {
    if is_bare_null(expr) { plan_err!("Illegal use of 'NULL'") } else { Ok(()) }
}

/// Whether an expression depends on no row.
fn is_constant(expr: &Expr) -> bool {
    expr.column_refs().is_empty()
        && !expr.is_volatile()
        && !expr
            .exists(|part| {
                Ok(matches!(
                    part,
                    Expr::OuterReferenceColumn(_, _)
                        | Expr::ScalarSubquery(_)
                        | Expr::AggregateFunction(_)
                        | Expr::WindowFunction(_)
                        | Expr::Placeholder(_)
                ))
            })
            .unwrap_or(true)
}

//! Flink's types of operators and casts.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, TryCast,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion_streaming_udfs::scalar::{
    DecimalArithmetic, DecimalOperator, FlinkCast, JsonString, Modulo, extract_udf,
};
use datafusion_streaming_udfs::types::type_name;

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
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let names = NamePreserver::new(&plan);
    let planned = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let planned = expr.transform_up(|expr| expr_types(expr, &schema))?;
        Ok(planned.update_data(|expr| name.restore(expr)))
    })?;
    if planned.transformed { planned.map_data(LogicalPlan::recompute_schema) } else { Ok(planned) }
}

fn expr_types(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            // what refers to an outer query or is not typed yet is left to DataFusion
            let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            };
            let operation = Operation { left, op, right };
            if is_arithmetic(op) {
                arithmetic(operation, &left_type, &right_type)
            } else if op.supports_propagation() {
                comparison(operation, &left_type, &right_type)
            } else {
                Ok(Transformed::no(operation.plain()))
            }
        }
        Expr::Cast(Cast { expr, field }) => {
            let Ok(from) = expr.get_type(schema) else {
                return Ok(Transformed::no(Expr::Cast(Cast { expr, field })));
            };
            // a cast time is no time attribute any more, even one that is cast to its own type
            let is_same_time = from == *field.data_type() && matches!(from, DataType::Timestamp(_, _));
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
        Expr::ScalarFunction(function) if matches!(function.func.name(), "json_object" | "json_array") => {
            json_constructor(function, schema)
        }
        Expr::ScalarFunction(mut function) if function.func.name() == "date_part" => {
            function.func = Arc::new(extract_udf());
            Ok(Transformed::yes(Expr::ScalarFunction(function)))
        }
        Expr::ScalarFunction(function) => Ok(function_types(function, schema)),
        other => Ok(Transformed::no(other)),
    }
}

/// `TIMESTAMPADD` of a unit below the day makes a TIMESTAMP(6) of a DATE.
fn function_types(mut function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let below_day = |unit: &Expr| match unit {
        Expr::Literal(unit, _) => matches!(unit.try_as_str(), Some(Some("SECOND" | "MINUTE" | "HOUR"))),
        _ => false,
    };
    if function.func.name() == "flink_timestampadd"
        && function.args.first().is_some_and(below_day)
        && function.args.get(2).is_some_and(|time| matches!(time.get_type(schema), Ok(DataType::Date32)))
        && let Some(date) = function.args.pop()
    {
        let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
        function.args.push(Expr::Cast(Cast::new(Box::new(date), timestamp)));
        return Transformed::yes(Expr::ScalarFunction(function));
    }
    Transformed::no(Expr::ScalarFunction(function))
}

/// The values of JSON_OBJECT and JSON_ARRAY as JSON: those that these functions make are so already.
fn json_constructor(mut function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let object = function.func.name() == "json_object";
    let is_json = |value: &Expr| match value {
        Expr::ScalarFunction(function) => {
            matches!(function.func.name(), "json_object" | "json_array" | "json" | "json_string")
        }
        _ => false,
    };
    let mut changed = false;
    for (index, arg) in function.args.iter_mut().enumerate().skip(1) {
        if object && index % 2 == 1 {
            if arg.nullable(schema).unwrap_or(false) {
                return plan_err!("the key {arg} of JSON_OBJECT must not be NULL");
            }
        } else if !is_json(arg) {
            *arg = call(JsonString::default(), vec![std::mem::take(arg)]);
            changed = true;
        }
    }
    let function = Expr::ScalarFunction(function);
    Ok(if changed { Transformed::yes(function) } else { Transformed::no(function) })
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
    fn cast_to(self, data_type: &DataType, left_type: &DataType, right_type: &DataType) -> Expr {
        let left = cast(self.left, left_type, data_type);
        let right = cast(self.right, right_type, data_type);
        Expr::BinaryExpr(BinaryExpr { left, op: self.op, right })
    }

    fn call(self, function: impl datafusion::logical_expr::ScalarUDFImpl + 'static) -> Expr {
        call(function, vec![*self.left, *self.right])
    }
}

fn call(function: impl datafusion::logical_expr::ScalarUDFImpl + 'static, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(function)), args))
}

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

fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, _))
}

fn is_exact(data_type: &DataType) -> bool {
    is_decimal(data_type) || data_type.is_signed_integer()
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_datetime(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date32 | DataType::Timestamp(_, _) | DataType::Time32(_) | DataType::Time64(_)
    )
}

fn arithmetic(operation: Operation, left: &DataType, right: &DataType) -> Result<Transformed<Expr>> {
    let op = operation.op;
    if is_datetime(left) && (is_exact(right) || is_float(right) || is_datetime(right)) {
        return plan_err!(
            "Cannot apply '{op}' to arguments of type '<{}> {op} <{}>'. Supported form(s): '<NUMERIC> {op} <NUMERIC>'",
            type_name(left),
            type_name(right)
        );
    }
    let decimal = (is_decimal(left) || is_decimal(right)) && is_exact(left) && is_exact(right);
    Ok(Transformed::yes(match op {
        Operator::Modulo if is_exact(left) && is_exact(right) && (decimal || left != right) => {
            operation.call(Modulo::default())
        }
        Operator::Plus if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Plus)),
        Operator::Minus if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Minus)),
        Operator::Multiply if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Times)),
        Operator::Divide if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Divide)),
        _ if (is_decimal(left) && is_float(right)) || (is_float(left) && is_decimal(right)) => {
            operation.cast_to(&DataType::Float64, left, right)
        }
        // computed as DOUBLE, but what stands on the left gives the type
        _ if left == &DataType::Float32 && right == &DataType::Float64 => {
            let double = Box::new(operation.cast_to(&DataType::Float64, left, right));
            Expr::Cast(Cast::new(double, DataType::Float32))
        }
        _ => return Ok(Transformed::no(operation.plain())),
    }))
}

fn comparison(operation: Operation, left: &DataType, right: &DataType) -> Result<Transformed<Expr>> {
    Ok(Transformed::yes(match (left, right) {
        _ if (is_decimal(left) && is_float(right)) || (is_float(left) && is_decimal(right)) => {
            operation.cast_to(&DataType::Float64, left, right)
        }
        _ if is_text(left) && is_datetime(right) => operation.cast_to(right, left, right),
        _ if is_datetime(left) && is_text(right) => operation.cast_to(left, left, right),
        _ => return Ok(Transformed::no(operation.plain())),
    }))
}

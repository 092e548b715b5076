//! Comparisons.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::functions::core::expr_ext::FieldAccessor;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator, lit, when};
use datafusion_streaming_udfs::common_type::common_type;
use datafusion_streaming_udfs::scalar::{FloatComparison, FloatOperator};
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;
use datafusion_streaming_udfs::types::type_name;

use super::choices::least_restrictive;
use super::constants::number;
use super::kinds::{is_datetime, is_decimal, is_float, is_number, is_text, is_timestamp};
use super::{Operation, cast, float_logic, is_bare_null, is_constant};

pub(super) fn is_comparison(op: Operator) -> bool {
    float_operator(op).is_some()
}

fn float_operator(op: Operator) -> Option<FloatOperator> {
    Some(match op {
        Operator::Eq => FloatOperator::Equal,
        Operator::NotEq => FloatOperator::NotEqual,
        Operator::Lt => FloatOperator::Less,
        Operator::LtEq => FloatOperator::LessOrEqual,
        Operator::Gt => FloatOperator::Greater,
        Operator::GtEq => FloatOperator::GreaterOrEqual,
        Operator::IsDistinctFrom => FloatOperator::Distinct,
        Operator::IsNotDistinctFrom => FloatOperator::NotDistinct,
        _ => return None,
    })
}

/// Whether an operator asks for equality and not for an order.
fn is_equality(op: Operator) -> bool {
    matches!(op, Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

fn is_distinctness(op: Operator) -> bool {
    matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

/// Whether an expression is NULL as a ROW. As in Flink a row of NULLs is not distinct from it.
fn is_null_row(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast(Cast { expr, .. }) if is_bare_null(expr))
        || matches!(expr, Expr::Literal(value, _) if value.is_null())
}

pub(super) fn comparison(
    operation: Operation,
    left: &DataType,
    right: &DataType,
) -> Result<Transformed<Expr>> {
    let op = operation.op;
    let refused = || {
        plan_err!(
            "Cannot apply '{op}' to arguments of type '<{}> {op} <{}>'. \
             Supported form(s): '<COMPARABLE_TYPE> {op} <COMPARABLE_TYPE>'",
            type_name(left),
            type_name(right)
        )
    };
    Ok(Transformed::yes(match (left, right) {
        _ if is_number(left) && is_number(right) && (is_float(left) || is_float(right)) => {
            let common = float_type(op, left, right);
            let total = is_decimal(left) || is_decimal(right);
            floats(operation.cast_to(&common, left, right), total)?
        }
        _ if is_text(left) && is_number(right) || is_number(left) && is_text(right) => {
            if is_equality(op) {
                return plan_err!(
                    "implicit type conversion between {} and {} is not supported now",
                    type_name(left),
                    type_name(right)
                );
            }
            let number = if is_number(left) { left } else { right };
            let operation = operation.cast_to(number, left, right);
            if is_float(number) { floats(operation, false)? } else { operation.plain() }
        }
        (DataType::Boolean, text) | (text, DataType::Boolean) if is_text(text) => never_equal(operation)?,
        _ if left != right && (has_wide_timestamps(left) || has_wide_timestamps(right)) => {
            match common_type(left, right) {
                Some(common) => operation.cast_to(&common, left, right).plain(),
                None if is_text(left) => operation.cast_to(right, left, right).plain(),
                None if is_text(right) => operation.cast_to(left, left, right).plain(),
                None => return refused(),
            }
        }
        _ if is_text(left) && is_datetime(right) => operation.cast_to(right, left, right).plain(),
        _ if is_datetime(left) && is_text(right) => operation.cast_to(left, left, right).plain(),
        (DataType::Date32, _) if is_timestamp(right) => return refused(),
        (_, DataType::Date32) if is_timestamp(left) => return refused(),
        _ if is_number(left) && is_datetime(right) || is_datetime(left) && is_number(right) => {
            return refused();
        }
        (DataType::Struct(fields), DataType::Struct(_))
            if is_null_row(&operation.right) && is_distinctness(op) =>
        {
            let empty = fields
                .iter()
                .map(|field| operation.left.as_ref().clone().field(field.name().as_str()).is_null())
                .reduce(Expr::and)
                .unwrap_or_else(|| lit(true));
            if op == Operator::IsDistinctFrom { !empty } else { empty }
        }
        (DataType::List(_), DataType::List(_)) if !is_equality(op) => {
            return plan_err!("Comparable type expected, but was '{}'.", type_name(left));
        }
        (DataType::List(_) | DataType::Struct(_), _) if left != right && !right.is_null() => {
            match common_type(left, right) {
                Some(common) => operation.cast_to(&common, left, right).plain(),
                None => return refused(),
            }
        }
        _ => return Ok(Transformed::no(operation.plain())),
    }))
}

/// In which type numbers of which one is floating are compared. FLOAT and DOUBLE are equal as FLOATs, and in order as
/// DOUBLEs.
pub(super) fn float_type(op: Operator, left: &DataType, right: &DataType) -> DataType {
    let narrow = |other: &DataType| !is_decimal(other) && (other != &DataType::Float64 || is_equality(op));
    match (left, right) {
        (DataType::Float32, other) | (other, DataType::Float32) if narrow(other) => DataType::Float32,
        _ => DataType::Float64,
    }
}

/// A comparison of two FLOATs or two DOUBLEs, in the total order if it asks for an order and one was a DECIMAL.
fn floats(operation: Operation, total: bool) -> Result<Expr> {
    let Some(operator) = float_operator(operation.op) else { return Ok(operation.plain()) };
    let is_nan = |side: &Expr| is_constant(side) && names_nan(side);
    let distinct = matches!(operator, FloatOperator::Distinct | FloatOperator::NotDistinct);
    if distinct && operation.left != operation.right && (is_nan(&operation.left) || is_nan(&operation.right))
    {
        return plan_err!("Infinite or NaN: IS DISTINCT FROM takes no constant of these");
    }
    if operation.left != operation.right || operation.left.is_volatile() {
        return Ok(operation.call(match total {
            true => FloatComparison::total(operator),
            false => FloatComparison::new(operator),
        }));
    }
    // Flink's optimizer takes a value for equal to itself, even NaN
    let holds = matches!(
        operator,
        FloatOperator::Equal
            | FloatOperator::LessOrEqual
            | FloatOperator::GreaterOrEqual
            | FloatOperator::NotDistinct
    );
    if distinct {
        return Ok(lit(holds));
    }
    when(operation.left.is_null(), lit(ScalarValue::Boolean(None))).otherwise(lit(holds))
}

/// Whether a constant is a text such as NaN that is cast to a number.
fn names_nan(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
            text.parse::<f64>().is_ok_and(|value| !value.is_finite())
        }
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => !value.is_finite(),
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => !value.is_finite(),
        Expr::Cast(cast) => names_nan(&cast.expr),
        Expr::ScalarFunction(function) if function.func.name() == "flink_cast" => {
            function.args.first().is_some_and(names_nan)
        }
        _ => false,
    }
}

/// A BOOLEAN and a text are never equal, whatever the text says.
pub(super) fn never_equal(operation: Operation) -> Result<Expr> {
    let differs = match operation.op {
        Operator::Eq => false,
        Operator::NotEq => true,
        _ => return Ok(operation.plain()),
    };
    let unknown = operation.left.is_null().or(operation.right.is_null());
    when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(differs))
}

/// A comparison whose operands may have any types.
pub(super) fn compare(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let (left_type, right_type) = (left.get_type(schema)?, right.get_type(schema)?);
    let operation = Operation { left: Box::new(left), op, right: Box::new(right) };
    Ok(comparison(operation, &left_type, &right_type)?.data)
}

/// BETWEEN as two comparisons, where a plain one would not do.
pub(super) fn between(between: Between, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let types = [&between.expr, &between.low, &between.high].map(|expr| expr.get_type(schema));
    let [Ok(value), Ok(low), Ok(high)] = types else { return Ok(Transformed::no(Expr::Between(between))) };
    if value == low && value == high && !is_float(&value) {
        return Ok(Transformed::no(Expr::Between(between)));
    }
    let Between { expr, negated, low, high } = between;
    let (above, below, both) = match negated {
        false => (Operator::GtEq, Operator::LtEq, Operator::And),
        true => (Operator::Lt, Operator::Gt, Operator::Or),
    };
    let left = compare(expr.as_ref().clone(), above, *low, schema)?;
    let right = compare(*expr, below, *high, schema)?;
    if let Some(merged) = float_logic::merged(&left, both, &right)? {
        return Ok(Transformed::yes(merged));
    }
    Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
        left: Box::new(left),
        op: both,
        right: Box::new(right),
    })))
}

/// `x IN (a, b)` in the type that all have in common, where Flink does not take that of `x`. Finite floating
/// constants are found by their bits; for others the list stands for comparisons.
pub(super) fn in_list(list: InList, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let types = list.list.iter().map(|item| item.get_type(schema)).collect::<Result<Vec<_>>>();
    let (Ok(value_type), Ok(types)) = (list.expr.get_type(schema), types) else {
        return Ok(Transformed::no(Expr::InList(list)));
    };
    let common =
        if value_type.is_signed_integer() && types.iter().all(|item| is_number(item) || item.is_null()) {
            // numbers of the list lose their fraction, or wrap, to be of the type on the left
            Some(value_type.clone())
        } else {
            types.iter().try_fold(value_type.clone(), |common, next| {
                // text and numbers meet as numbers
                match (&common, next) {
                    (number, text) if is_number(number) && is_text(text) => Some(number.clone()),
                    (text, number) if is_text(text) && is_number(number) => Some(number.clone()),
                    (time, text) if is_datetime(time) && is_text(text) => Some(time.clone()),
                    (text, time) if is_text(text) && is_datetime(time) => Some(time.clone()),
                    (common, next) => least_restrictive(common, next),
                }
            })
        };
    let Some(common) = common else { return Ok(Transformed::no(Expr::InList(list))) };
    let InList { expr, list, negated } = list;
    let expr = cast(expr, &value_type, &common);
    if common == DataType::Binary && several(&list) {
        return never_found(*expr, negated).map(Transformed::yes);
    }
    let items = list.into_iter().zip(&types).map(|(item, from)| *cast(Box::new(item), from, &common));
    if !is_float(&common) {
        let list = items.collect();
        return Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })));
    }
    let finite = |item: &Expr| number(item).is_some_and(f64::is_finite);
    let (constants, others): (Vec<_>, Vec<_>) = items.partition(finite);
    let (op, join) = if negated { (Operator::NotEq, Operator::And) } else { (Operator::Eq, Operator::Or) };
    let mut compared = others
        .into_iter()
        .map(|item| compare(expr.as_ref().clone(), op, item, schema))
        .collect::<Result<Vec<_>>>()?;
    if !constants.is_empty() {
        compared.insert(0, float_logic::points(&expr, constants, negated));
    }
    let Some(last) = compared.pop() else { return Ok(Transformed::yes(lit(negated))) };
    let joined = compared.into_iter().rfold(last, |right, left| {
        Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op: join, right: Box::new(right) })
    });
    Ok(Transformed::yes(joined))
}

/// Whether these are constants of which two are different.
fn several(list: &[Expr]) -> bool {
    let constants = list.iter().all(|item| matches!(item, Expr::Literal(value, _) if !value.is_null()));
    constants && list.iter().any(|item| item != &list[0])
}

/// `x IN (X'01', X'02')`: Flink looks up the arrays of bytes by their identity, and finds none.
fn never_found(value: Expr, negated: bool) -> Result<Expr> {
    when(value.is_null(), lit(ScalarValue::Boolean(None))).otherwise(lit(negated))
}

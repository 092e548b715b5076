//! CASE, NULLIF and functions that choose among their arguments.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Case, Expr, ExprSchemable, Operator};
use datafusion_streaming_udfs::common_type::{common_type, common_type_of};

use super::comparison::compare;
use super::kinds::is_float;
use super::{cast, is_bare_null};

/// The type in common of values that stand side by side, as in CASE, VALUES and IN: of a FLOAT and a DOUBLE the first.
pub(super) fn least_restrictive(left: &DataType, right: &DataType) -> Option<DataType> {
    if is_float(left) && is_float(right) { Some(left.clone()) } else { common_type(left, right) }
}

pub(super) fn in_common<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let mut types = types.into_iter();
    let first = types.next()?.clone();
    types.try_fold(first, |common, next| least_restrictive(&common, next))
}

/// CASE with results of one type, and conditions of their own instead of an operand.
pub(super) fn case(case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Case { expr: operand, when_then_expr, else_expr } = case;
    let mut changed = false;
    let mut branches = Vec::with_capacity(when_then_expr.len());
    for (condition, result) in when_then_expr {
        let condition = match &operand {
            Some(operand) if operand.get_type(schema).is_ok() && condition.get_type(schema).is_ok() => {
                changed = true;
                Box::new(compare(operand.as_ref().clone(), Operator::Eq, *condition, schema)?)
            }
            _ => condition,
        };
        branches.push((condition, result));
    }
    let operand = if changed { None } else { operand };
    let results: Vec<&Expr> =
        branches.iter().map(|(_, result)| result.as_ref()).chain(else_expr.as_deref()).collect();
    let Ok(types) = results.iter().map(|result| result.get_type(schema)).collect::<Result<Vec<_>>>() else {
        let case = Case { expr: operand, when_then_expr: branches, else_expr };
        return Ok(Transformed::new_transformed(Expr::Case(case), changed));
    };
    if results.iter().all(|result| is_bare_null(result)) {
        return plan_err!("ELSE clause or at least one THEN clause must be non-NULL");
    }
    let Some(common) = in_common(&types) else {
        return plan_err!("Illegal mixing of types in CASE or COALESCE statement");
    };
    changed |= types.iter().any(|data_type| data_type != &common);
    let mut types = types.iter();
    let mut typed = |result: Box<Expr>| match types.next() {
        Some(_) if is_bare_null(&result) => typed_null(&common),
        Some(data_type) => cast(result, data_type, &common),
        None => result,
    };
    let when_then_expr = branches.into_iter().map(|(condition, result)| (condition, typed(result))).collect();
    let else_expr = else_expr.map(typed);
    let case = Case { expr: operand, when_then_expr, else_expr };
    Ok(Transformed::new_transformed(Expr::Case(case), changed))
}

fn typed_null(data_type: &DataType) -> Box<Expr> {
    Box::new(Expr::Literal(ScalarValue::try_from(data_type).unwrap_or(ScalarValue::Null), None))
}

/// `NULLIF(a, b)` as `CASE WHEN a = b THEN NULL ELSE a END`.
pub(super) fn null_if(mut function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (Some(other), Some(value)) = (function.args.pop(), function.args.pop()) else {
        return plan_err!("NULLIF takes two arguments");
    };
    let data_type = value.get_type(schema)?;
    let equal = compare(value.clone(), Operator::Eq, other, schema)?;
    Ok(Transformed::yes(Expr::Case(Case {
        expr: None,
        when_then_expr: vec![(Box::new(equal), typed_null(&data_type))],
        else_expr: Some(Box::new(value)),
    })))
}

/// Whether a CASE is what [`null_if`] makes.
pub(super) fn is_null_if(case: &Case) -> Option<&Expr> {
    let ([(_, then)], Some(value)) = (case.when_then_expr.as_slice(), &case.else_expr) else { return None };
    matches!(then.as_ref(), Expr::Literal(null, _) if null.is_null() && !null.data_type().is_null())
        .then_some(value)
}

/// COALESCE and IFNULL, without what stands behind a literal: that is never needed.
pub(super) fn first_valid(function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let literal = |arg: &Expr| matches!(arg, Expr::Literal(value, _) if !value.is_null());
    let last = function.args.iter().position(literal).filter(|last| last + 1 < function.args.len());
    let typed = in_one_type(function, 0, schema)?;
    let Some(last) = last else { return Ok(typed) };
    Ok(Transformed::yes(match typed.data {
        Expr::ScalarFunction(mut function) if last == 0 => function.args.swap_remove(0),
        Expr::ScalarFunction(mut function) => {
            function.args.truncate(last + 1);
            Expr::ScalarFunction(function)
        }
        other => other,
    }))
}

/// The arguments from `first` on cast to the type that they have in common.
pub(super) fn in_one_type(
    mut function: ScalarFunction,
    first: usize,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    let types = function.args.iter().skip(first).map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>();
    let Ok(types) = types else { return Ok(Transformed::no(Expr::ScalarFunction(function))) };
    let Some(common) = common_type_of(&types) else {
        return Ok(Transformed::no(Expr::ScalarFunction(function)));
    };
    if common.is_null() || types.iter().all(|data_type| data_type == &common) {
        return Ok(Transformed::no(Expr::ScalarFunction(function)));
    }
    for (arg, data_type) in function.args.iter_mut().skip(first).zip(&types) {
        if !is_bare_null(arg) {
            *arg = *cast(Box::new(std::mem::take(arg)), data_type, &common);
        }
    }
    Ok(Transformed::yes(Expr::ScalarFunction(function)))
}

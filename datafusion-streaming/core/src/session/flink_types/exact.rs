//! The exact Flink types of expressions, of which Arrow tells less: lengths of texts, kinds of intervals, what is NOT
//! NULL inside of arrays.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, Operator};

use super::choices::is_null_if;
use super::is_bare_null;
use crate::sql::{FlinkType, MAX_LENGTH, RowField, TypeKind};

/// The Flink type of an expression whose operators and functions are typed.
pub(super) fn exact_type(expr: &Expr, schema: &DFSchema) -> Result<FlinkType> {
    let known = match expr {
        Expr::Alias(alias) => return exact_type(&alias.expr, schema),
        Expr::Literal(value, _) => literal(value),
        Expr::Case(case) => return of_case(case, expr, schema),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            sum_of_lengths(&exact_type(left, schema)?.kind, &exact_type(right, schema)?.kind)
        }
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::IsDistinctFrom | Operator::IsNotDistinctFrom, ..
        }) => {
            return Ok(FlinkType { kind: TypeKind::Boolean, nullable: false });
        }
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            let sides = [exact_type(left, schema)?.kind, exact_type(right, schema)?.kind];
            let months = sides.contains(&TypeKind::IntervalMonths);
            let interval = matches!(expr.get_type(schema), Ok(DataType::Interval(_)));
            (interval && months).then_some(TypeKind::IntervalMonths)
        }
        Expr::Negative(operand) => return exact_type(operand, schema),
        Expr::ScalarFunction(function) => return of_function(function, expr, schema),
        _ => None,
    };
    let field = expr.to_field(schema)?.1;
    Ok(match known {
        Some(kind) => FlinkType { kind, nullable: field.is_nullable() },
        None => FlinkType::from_field(&field)?,
    })
}

/// What the value of a literal tells.
fn literal(value: &ScalarValue) -> Option<TypeKind> {
    Some(match value {
        ScalarValue::Utf8(Some(text)) => TypeKind::Char(text.chars().count() as u32),
        ScalarValue::Binary(Some(bytes)) => TypeKind::Binary(bytes.len() as u32),
        ScalarValue::IntervalMonthDayNano(Some(value)) if value.months != 0 => TypeKind::IntervalMonths,
        _ => return None,
    })
}

/// The length of a text type, and whether it is fixed.
fn length(kind: &TypeKind) -> Option<(u32, bool)> {
    match kind {
        TypeKind::Char(length) => Some((*length, true)),
        TypeKind::VarChar(length) => Some((*length, false)),
        _ => None,
    }
}

/// The text type of `a || b`.
fn sum_of_lengths(left: &TypeKind, right: &TypeKind) -> Option<TypeKind> {
    let ((left, left_fixed), (right, right_fixed)) = (length(left)?, length(right)?);
    let sum = left.saturating_add(right).min(MAX_LENGTH);
    Some(if left_fixed && right_fixed { TypeKind::Char(sum) } else { TypeKind::VarChar(sum) })
}

/// The type that two have in common, given that of their Arrow types.
fn merged(left: FlinkType, right: FlinkType) -> FlinkType {
    let nullable = left.nullable || right.nullable;
    let kind = match (left.kind, right.kind) {
        (left, TypeKind::Null) => left,
        (TypeKind::Null, right) => right,
        (left, right) if left == right => left,
        (left, right) => match (length(&left), length(&right)) {
            (Some((left, _)), Some((right, _))) => TypeKind::VarChar(left.max(right)),
            _ => more_digits(left, right),
        },
    };
    FlinkType { kind, nullable }
}

/// Of two timestamps of one Arrow type the one with more digits; else the first.
fn more_digits(left: TypeKind, right: TypeKind) -> TypeKind {
    match (&left, &right) {
        (TypeKind::Timestamp(digits), TypeKind::Timestamp(others))
        | (TypeKind::TimestampLtz(digits), TypeKind::TimestampLtz(others))
            if others > digits =>
        {
            right
        }
        _ => left,
    }
}

/// The type in common of several expressions that have the same Arrow type.
pub(super) fn merged_types<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<Option<FlinkType>> {
    let mut types = exprs.into_iter().map(|expr| exact_type(expr, schema));
    let Some(first) = types.next() else { return Ok(None) };
    types.try_fold(first?, |common, next| Ok(merged(common, next?))).map(Some)
}

fn of_case(case: &Case, expr: &Expr, schema: &DFSchema) -> Result<FlinkType> {
    if let Some(value) = is_null_if(case) {
        return exact_type(value, schema);
    }
    let results =
        case.when_then_expr.iter().map(|(_, result)| result.as_ref()).chain(case.else_expr.as_deref());
    let results = results.filter(|result| !matches!(result, Expr::Literal(value, _) if value.is_null()));
    let nullable = expr.nullable(schema)?;
    Ok(match merged_types(results, schema)? {
        Some(merged) => FlinkType { nullable, ..merged },
        None => FlinkType::from_field(&expr.to_field(schema)?.1)?,
    })
}

fn of_function(function: &ScalarFunction, expr: &Expr, schema: &DFSchema) -> Result<FlinkType> {
    let field = expr.to_field(schema)?.1;
    let default = FlinkType::from_field(&field)?;
    let argument = |index: usize| function.args.get(index).map(|arg| exact_type(arg, schema)).transpose();
    let text = |index: usize| {
        Ok::<_, datafusion::error::DataFusionError>(argument(index)?.and_then(|arg| length(&arg.kind)))
    };
    let kind = match function.func.name() {
        "upper" | "lower" | "initcap" => {
            argument(0)?.map(|arg| arg.kind).filter(|kind| length(kind).is_some())
        }
        "substring" | "substr" | "trim" | "btrim" | "ltrim" | "rtrim" | "left" | "right" => {
            text(0)?.map(|(length, _)| TypeKind::VarChar(length))
        }
        "overlay" => match (text(0)?, text(1)?) {
            (Some((text, _)), Some((new, _))) => {
                Some(TypeKind::VarChar(text.saturating_add(new).min(MAX_LENGTH)))
            }
            _ => None,
        },
        "md5" => Some(TypeKind::Char(32)),
        "sha1" => Some(TypeKind::Char(40)),
        "sha224" => Some(TypeKind::Char(56)),
        "sha256" => Some(TypeKind::Char(64)),
        "sha384" => Some(TypeKind::Char(96)),
        "sha512" => Some(TypeKind::Char(128)),
        "sha2" => Some(TypeKind::VarChar(128)),
        "coalesce" | "ifnull" | "greatest" | "least" => {
            let valued = function.args.iter().filter(|arg| !is_bare_null(arg));
            merged_types(valued, schema)?.map(|merged| merged.kind)
        }
        "if" => merged_types(function.args.iter().skip(1), schema)?.map(|merged| merged.kind),
        "make_array" => {
            merged_types(&function.args, schema)?.map(|element| TypeKind::Array(Box::new(element)))
        }
        "make_map" => {
            let keys = merged_types(function.args.iter().step_by(2), schema)?;
            let values = merged_types(function.args.iter().skip(1).step_by(2), schema)?;
            keys.zip(values).map(|(key, value)| TypeKind::Map(Box::new(key), Box::new(value)))
        }
        "map_from_arrays" => match (argument(0)?.map(|arg| arg.kind), argument(1)?.map(|arg| arg.kind)) {
            (Some(TypeKind::Array(key)), Some(TypeKind::Array(value))) => Some(TypeKind::Map(key, value)),
            _ => None,
        },
        "struct" | "row" => {
            let fields = function.args.iter().enumerate().map(|(index, arg)| {
                Ok(RowField { name: format!("EXPR${index}"), data_type: exact_type(arg, schema)? })
            });
            Some(TypeKind::Row(fields.collect::<Result<_>>()?))
        }
        "array_distinct" | "array_reverse" | "array_sort" | "array_slice" | "array_remove" => {
            argument(0)?.map(|arg| arg.kind).filter(|kind| matches!(kind, TypeKind::Array(_)))
        }
        "map_keys" | "map_values" => match argument(0)?.map(|arg| arg.kind) {
            Some(TypeKind::Map(key, value)) => {
                Some(TypeKind::Array(if function.func.name() == "map_keys" { key } else { value }))
            }
            _ => None,
        },
        "map_entries" => match argument(0)?.map(|arg| arg.kind) {
            Some(TypeKind::Map(key, value)) => {
                let field = |name: &str, data_type| RowField { name: name.to_string(), data_type };
                let entry = TypeKind::Row(vec![field("key", *key), field("value", *value)]);
                Some(TypeKind::Array(Box::new(FlinkType::nullable(entry))))
            }
            _ => None,
        },
        "flink_interval_times" => argument(0)?.map(|arg| arg.kind),
        _ => None,
    };
    let nullable = match function.func.name() {
        "make_array" | "make_map" | "struct" | "row" => false,
        // DataFusion does not say that they, or constructors of arrays in them, give NULL for NULL only
        "array_join" | "character_length" | "lower" | "upper" | "reverse" | "btrim" | "ltrim" | "rtrim" => {
            let nullable = function.args.iter().map(|arg| Ok(exact_type(arg, schema)?.nullable));
            nullable.collect::<Result<Vec<_>>>()?.contains(&true)
        }
        _ => default.nullable,
    };
    Ok(FlinkType { kind: kind.unwrap_or(default.kind), nullable })
}

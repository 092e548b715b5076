//! Functions and predicates.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Like, ScalarUDF, lit, when};
use datafusion_streaming_udfs::common_type::common_type;
use datafusion_streaming_udfs::scalar::{self, FlinkCast, JsonString, extract_udf};
use datafusion_streaming_udfs::types::{FLINK_TYPE, type_name};

use super::exact::exact_type;
use super::kinds::{is_float, is_text};
use super::{Operation, call, call_udf, cast, choices, is_constant};
use crate::sql::TypeKind;
use std::sync::Arc;

pub(super) fn function(mut function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match function.func.name() {
        "json_object" | "json_array" => json_constructor(function, schema),
        "date_part" => {
            function.func = Arc::new(extract_udf());
            Ok(Transformed::yes(Expr::ScalarFunction(function)))
        }
        "flink_timestampadd" => Ok(timestamp_add(function, schema)),
        "cardinality" => cardinality(function, schema),
        "typeof" => Ok(type_of(function, schema)),
        "flink_item" => item(function, schema),
        "array_contains" | "array_position" | "array_remove" => row_needle(function, schema),
        "nullif" => choices::null_if(function, schema),
        "coalesce" | "ifnull" => choices::first_valid(function, schema),
        "greatest" | "least" | "make_array" => choices::in_one_type(function, 0, schema),
        "if" => choices::in_one_type(function, 1, schema),
        _ => Ok(Transformed::no(Expr::ScalarFunction(function))),
    }
}

/// A ROW that is looked for in an array, with the names that the fields have there.
fn row_needle(mut function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let types = function.args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>();
    if let Ok(types) = types
        && let [DataType::List(item), needle @ DataType::Struct(_)] = types.as_slice()
        && item.data_type() != needle
        && common_type(item.data_type(), needle).as_ref() == Some(item.data_type())
        && let Some(value) = function.args.pop()
    {
        function.args.push(*cast(Box::new(value), needle, item.data_type()));
        return Ok(Transformed::yes(Expr::ScalarFunction(function)));
    }
    Ok(Transformed::no(Expr::ScalarFunction(function)))
}

/// CARDINALITY does not take a MULTISET, which is a map whose values are never NULL.
fn cardinality(function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_multiset = |data_type: &DataType| match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.get(1).is_some_and(|count| !count.is_nullable()),
            _ => false,
        },
        _ => false,
    };
    match function.args.first().map(|arg| arg.get_type(schema)) {
        Some(Ok(data_type)) if is_multiset(&data_type) => {
            plan_err!("CARDINALITY takes an ARRAY or a MAP, not the MULTISET {}", function.args[0])
        }
        _ => Ok(Transformed::no(Expr::ScalarFunction(function))),
    }
}

/// `TYPEOF(x)`, which depends on no row.
fn type_of(function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    match function.args.as_slice() {
        [value] => match exact_type(value, schema) {
            Ok(data_type) => Transformed::yes(lit(data_type.to_string())),
            Err(_) => Transformed::no(Expr::ScalarFunction(function)),
        },
        _ => Transformed::no(Expr::ScalarFunction(function)),
    }
}

/// `TIMESTAMPADD` of a unit below the day makes a TIMESTAMP(6) of a DATE.
fn timestamp_add(mut function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let below_day = |unit: &Expr| match unit {
        Expr::Literal(unit, _) => matches!(unit.try_as_str(), Some(Some("SECOND" | "MINUTE" | "HOUR"))),
        _ => false,
    };
    if function.args.first().is_some_and(below_day)
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
    Ok(Transformed::new_transformed(Expr::ScalarFunction(function), changed))
}

/// `map[key]`. As in Flink a key that is missing gives a default, and not NULL, where the type of the values says NOT
/// NULL.
fn item(function: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some(map) = function.args.first() else { return Ok(Transformed::no(Expr::ScalarFunction(function))) };
    let value = match exact_type(map, schema).map(|data_type| data_type.kind) {
        Ok(TypeKind::Map(_, value)) if !value.nullable => value,
        _ => return Ok(Transformed::no(Expr::ScalarFunction(function))),
    };
    let default = match value.kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => lit(""),
        TypeKind::Boolean => lit(false),
        TypeKind::TinyInt => lit(-1_i8),
        TypeKind::SmallInt => lit(-1_i16),
        TypeKind::Int => lit(-1),
        TypeKind::BigInt => lit(-1_i64),
        TypeKind::Float => lit(-1.0_f32),
        TypeKind::Double => lit(-1.0),
        _ => return Ok(Transformed::no(Expr::ScalarFunction(function))),
    };
    let found = Expr::ScalarFunction(function);
    Ok(Transformed::yes(when(found.clone().is_not_null(), found).otherwise(default)?))
}

/// `a || b`, of texts only.
pub(super) fn concatenation(
    operation: Operation,
    left: &DataType,
    right: &DataType,
) -> Result<Transformed<Expr>> {
    let fits = |side: &DataType| {
        is_text(side)
            || side.is_null()
            || matches!(side, DataType::Binary | DataType::List(_) | DataType::FixedSizeBinary(_))
    };
    if !fits(left) || !fits(right) {
        return plan_err!(
            "Cannot apply '||' to arguments of type '<{}> || <{}>'. Supported form(s): '<STRING> || <STRING>'",
            type_name(left),
            type_name(right)
        );
    }
    Ok(Transformed::no(operation.plain()))
}

/// `x LIKE pattern`, which without ESCAPE has no escape character.
pub(super) fn like(like: Like) -> Result<Transformed<Expr>> {
    if like.case_insensitive {
        return Ok(Transformed::no(Expr::Like(like)));
    }
    Ok(pattern_predicate(like, scalar::like()))
}

/// `x SIMILAR TO pattern`.
pub(super) fn similar_to(similar: Like) -> Result<Transformed<Expr>> {
    Ok(pattern_predicate(similar, scalar::similar()))
}

/// The `x` of `CAST(CAST(x AS STRING) AS type)`, if `x` is a FLOAT or DOUBLE of that type: the text tells all of it.
/// Flink's optimizer takes both casts away, so that NaN is compared with itself.
pub(super) fn text_and_back(text: &Expr, target: &DataType, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(cast) = text else { return None };
    let field = text.to_field(schema).ok()?.1;
    let unlimited = is_text(field.data_type()) && !field.metadata().contains_key(FLINK_TYPE);
    match cast.args.as_slice() {
        [number] if unlimited && cast.func.name() == "flink_cast" && is_float(target) => {
            (number.get_type(schema).ok()? == *target).then(|| number.clone())
        }
        _ => None,
    }
}

fn pattern_predicate(predicate: Like, function: ScalarUDF) -> Transformed<Expr> {
    let mut args = vec![*predicate.expr, *predicate.pattern];
    args.extend(predicate.escape_char.map(|escape| lit(escape.to_string())));
    let matches = call_udf(function, args);
    Transformed::yes(if predicate.negated { !matches } else { matches })
}

/// Cuts UPPER and LOWER of a text literal, where they stand alone, to the length of the literal. That is their type,
/// and the constant that Flink's optimizer puts in their place is of this type.
pub(super) fn cut_constants(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_down(|expr| {
        if !is_constant(&expr) {
            return Ok(Transformed::no(expr));
        }
        let kind = match &expr {
            Expr::Alias(_) => return Ok(Transformed::no(expr)),
            Expr::ScalarFunction(function)
                if matches!(function.func.name(), "upper" | "lower" | "initcap")
                    && matches!(function.args.as_slice(), [Expr::Literal(ScalarValue::Utf8(Some(_)), _)]) =>
            {
                exact_type(&expr, schema)?.kind
            }
            _ => return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        };
        let TypeKind::Char(length @ 1..) = kind else {
            return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump));
        };
        let target = Field::new("", DataType::Utf8, false)
            .with_metadata([(FLINK_TYPE.to_string(), format!("VARCHAR({length})"))].into());
        let cut = call(FlinkCast::new(Arc::new(target), false), vec![expr]);
        Ok(Transformed::new(cut, true, TreeNodeRecursion::Jump))
    })
}

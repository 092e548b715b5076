//! JSON_VALUE and JSON_QUERY.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, ListBuilder, StringArray, StringBuilder};
use arrow::array::{Float64Array, Int32Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::document::Json;
use super::{Found, failed, find_rows};
use crate::scalar::arguments::{constant_text, is_text, result_of, strings};

/// `JSON_VALUE`, a scalar at a path, and `JSON_QUERY`, an object or array as JSON text. What is missing in lax mode
/// is empty, and an error in strict mode, which paths have unless they say so.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct JsonPathFunction {
    query: bool,
    signature: Signature,
}

impl JsonPathFunction {
    /// JSON_QUERY or JSON_VALUE.
    pub fn new(query: bool) -> Self {
        Self { query, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn text_list() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
}

fn returned(name: &str) -> Result<DataType> {
    Ok(match name {
        "BOOLEAN" => DataType::Boolean,
        "INT" | "INTEGER" => DataType::Int32,
        "DOUBLE" => DataType::Float64,
        name if name == "STRING" || name.starts_with("VARCHAR") || name.starts_with("CHAR") => DataType::Utf8,
        name if name.starts_with("ARRAY<STRING") || name.starts_with("ARRAY<VARCHAR") => text_list(),
        other => {
            return plan_err!("JSON functions do not return {other}: use STRING, BOOLEAN, INTEGER or DOUBLE");
        }
    })
}

impl ScalarUDFImpl for JsonPathFunction {
    fn name(&self) -> &str {
        if self.query { "json_query" } else { "json_value" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        if arg_types.len() < 6 || !is_text(&arg_types[0]) || !is_text(&arg_types[1]) {
            return plan_err!("{} takes a text and a path", self.name().to_ascii_uppercase());
        }
        Ok(vec![DataType::Utf8; arg_types.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let data_type = match args.scalar_arguments.get(2) {
            Some(Some(ScalarValue::Utf8(Some(name)))) => returned(name)?,
            _ => DataType::Utf8,
        };
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result_type = args.return_field.data_type().clone();
        let found = if self.query { query(&args)? } else { value(&args)? };
        result_of(&args, typed(found, &result_type)?)
    }
}

/// What JSON_VALUE finds in each row.
fn value(args: &ScalarFunctionArgs) -> Result<Vec<Option<Json>>> {
    let choice = |index| constant_text(args, index).flatten().unwrap_or("NULL").to_owned();
    let (on_empty, on_error) = (choice(3), choice(5));
    let (empty, error) = (strings(args, 4)?, strings(args, 6)?);
    let default = |values: &StringArray, row: usize| {
        values.is_valid(row).then(|| Json::Text(values.value(row).to_owned()))
    };
    let mut rows = Vec::with_capacity(args.number_rows);
    let lax = constant_text(args, 1).flatten().is_some_and(|path| path.trim_start().starts_with("lax "));
    find_rows(args, |found| {
        let row = rows.len();
        let found = match found {
            Found::Value(value) if value.is_scalar() => {
                rows.push(Some(value));
                return Ok(());
            }
            Found::Value(_) if lax => Found::Empty,
            Found::Value(_) => Found::Error,
            other => other,
        };
        let empty_row = matches!(found, Found::Empty);
        let (choice, values) = match found {
            Found::Null => {
                rows.push(None);
                return Ok(());
            }
            Found::Empty => (&on_empty, &empty),
            _ => (&on_error, &error),
        };
        rows.push(match choice.as_str() {
            "DEFAULT" => default(values, row),
            "ERROR" => return failed("JSON_VALUE", empty_row),
            _ => None,
        });
        Ok(())
    })?;
    Ok(rows)
}

/// What JSON_QUERY finds in each row.
fn query(args: &ScalarFunctionArgs) -> Result<Vec<Option<Json>>> {
    let choice = |index| constant_text(args, index).flatten().unwrap_or("NULL").to_owned();
    let (wrapper, on_empty, on_error) = (choice(3), choice(4), choice(5));
    let mut rows = Vec::with_capacity(args.number_rows);
    find_rows(args, |found| {
        let found = match found {
            Found::Value(value @ Json::Array(_)) if wrapper.contains(" CONDITIONAL") => Found::Value(value),
            Found::Value(value) if !wrapper.starts_with("WITHOUT") => Found::Value(Json::Array(vec![value])),
            Found::Value(value) if value.is_scalar() => Found::Error,
            other => other,
        };
        let empty = matches!(found, Found::Empty);
        let choice = match found {
            Found::Null => {
                rows.push(None);
                return Ok(());
            }
            Found::Value(value) => {
                rows.push(Some(value));
                return Ok(());
            }
            Found::Empty => &on_empty,
            Found::Error => &on_error,
        };
        rows.push(match choice.as_str() {
            "EMPTY ARRAY" => Some(Json::Array(vec![])),
            "EMPTY OBJECT" => Some(Json::Object(Default::default())),
            "ERROR" => return failed("JSON_QUERY", empty),
            _ => None,
        });
        Ok(())
    })?;
    Ok(rows)
}

/// Values as a column of the type that is asked for.
fn typed(values: Vec<Option<Json>>, data_type: &DataType) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Boolean => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Some(Json::Bool(value)) => Ok(Some(*value)),
                    other => mismatch(other.as_ref(), data_type),
                })
                .collect::<Result<BooleanArray>>()?,
        ),
        DataType::Int32 => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Some(Json::Number(digits)) if digits.parse::<i32>().is_ok() => Ok(digits.parse().ok()),
                    other => mismatch(other.as_ref(), data_type),
                })
                .collect::<Result<Int32Array>>()?,
        ),
        DataType::Float64 => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Some(Json::Number(digits)) => Ok(digits.parse().ok()),
                    other => mismatch(other.as_ref(), data_type),
                })
                .collect::<Result<Float64Array>>()?,
        ),
        DataType::List(_) => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for value in &values {
                match value {
                    Some(Json::Array(items)) => {
                        items.iter().for_each(|item| lists.values().append_option(item.to_text()));
                        lists.append(true);
                    }
                    _ => lists.append(false),
                }
            }
            Arc::new(lists.finish())
        }
        _ => Arc::new(
            values.iter().map(|value| value.as_ref().and_then(Json::to_text)).collect::<StringArray>(),
        ),
    })
}

fn mismatch<T>(value: Option<&Json>, data_type: &DataType) -> Result<Option<T>> {
    match value.and_then(Json::to_text) {
        None => Ok(None),
        Some(text) => {
            exec_err!("JSON_VALUE found '{text}', which is no {}", crate::types::type_name(data_type))
        }
    }
}

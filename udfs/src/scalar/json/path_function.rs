//! What JSON_VALUE and JSON_QUERY share: their arguments, and the types that they return.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, ListBuilder, StringArray, StringBuilder};
use arrow::array::{Float64Array, Int32Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::document::Json;
use crate::scalar::arguments::{is_text, result_of};

/// The evaluation of a function: what is found in each row, `None` for NULL.
type Find = fn(&ScalarFunctionArgs) -> Result<Vec<Option<Json>>>;

/// A function that finds something at a path of a document: `name(document, path, returned type, …)`.
#[derive(Debug)]
pub(in crate::scalar) struct JsonPathFunction {
    name: &'static str,
    find: Find,
    signature: Signature,
}

impl JsonPathFunction {
    pub(super) fn new(name: &'static str, find: Find) -> Self {
        Self { name, find, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl PartialEq for JsonPathFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JsonPathFunction {}

impl Hash for JsonPathFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
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
        self.name
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
        result_of(&args, typed((self.find)(&args)?, &result_type)?)
    }
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

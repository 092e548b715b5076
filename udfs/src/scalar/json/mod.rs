//! JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS JSON, JSON_OBJECT, JSON_ARRAY, JSON, JSON_STRING, JSON_QUOTE and
//! JSON_UNQUOTE.

mod document;
mod is_json;
mod json_array;
mod json_exists;
mod json_object;
mod json_query;
mod json_quote;
mod json_string;
mod json_text;
mod json_unquote;
mod json_value;
mod members;
mod path;
mod path_function;

use arrow::array::Array;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use self::document::Json;
use self::path::Path;
use super::arguments::strings;
pub use json_string::JsonString;
pub(super) use path_function::JsonPathFunction;

/// The functions on JSON.
pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(JsonString::default()),
        is_json::is_json(),
        json_array::json_array(),
        json_exists::json_exists(),
        json_object::json_object(),
        json_query::json_query(),
        json_quote::json_quote(),
        json_text::json(),
        json_unquote::json_unquote(),
        json_value::json_value(),
    ]
}

/// What is at a path of a document.
enum Found {
    /// The document is NULL.
    Null,
    /// Nothing, which a lax path allows.
    Empty,
    /// No document, or nothing at a strict path.
    Error,
    /// This, which is not null.
    Value(Json),
}

/// Looks up the path of each row in its document. Documents and paths are read once as long as they stay the same.
fn find_rows(args: &ScalarFunctionArgs, mut each: impl FnMut(Found) -> Result<()>) -> Result<()> {
    let (documents, paths) = (strings(args, 0)?, strings(args, 1)?);
    let mut known: Option<(String, Option<Path>)> = None;
    for row in 0..documents.len() {
        if documents.is_null(row) || paths.is_null(row) {
            each(Found::Null)?;
            continue;
        }
        let text = paths.value(row);
        if known.as_ref().is_none_or(|(known, _)| known != text) {
            known = Some((text.to_owned(), Path::parse(text)));
        }
        let Some(path) = known.as_ref().and_then(|(_, path)| path.as_ref()) else {
            each(Found::Error)?;
            continue;
        };
        each(find(path, documents.value(row)))?;
    }
    Ok(())
}

fn find(path: &Path, document: &str) -> Found {
    match Json::parse(document) {
        Some(Json::Null) => Found::Error,
        None if path.lax => Found::Empty,
        None => Found::Error,
        Some(document) => match path.find(&document) {
            Some(Json::Null) | None if path.lax => Found::Empty,
            Some(Json::Null) | None => Found::Error,
            Some(value) => Found::Value(value),
        },
    }
}

/// The error of `ERROR ON EMPTY` and `ERROR ON ERROR`.
fn failed<T>(function: &str, empty: bool) -> Result<T> {
    if empty {
        return exec_err!("Empty result of {function} function is not allowed");
    }
    exec_err!("{function} has no result, and ERROR ON ERROR was asked for")
}

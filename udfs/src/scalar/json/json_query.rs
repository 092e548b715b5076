//! JSON_QUERY.

use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::document::Json;
use super::path_function::JsonPathFunction;
use super::{Found, failed, find_rows};
use crate::scalar::arguments::constant_text;

/// `JSON_QUERY`: an object or array at a path, as JSON text or as an array of texts. What is missing in lax mode is
/// empty, and an error in strict mode, which paths have unless they say so.
pub(super) fn json_query() -> ScalarUDF {
    ScalarUDF::from(JsonPathFunction::new("json_query", query))
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

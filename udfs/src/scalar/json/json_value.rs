//! JSON_VALUE.

use arrow::array::{Array, StringArray};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::document::Json;
use super::path_function::JsonPathFunction;
use super::{Found, failed, find_rows};
use crate::scalar::arguments::{constant_text, strings};

/// `JSON_VALUE`: a scalar at a path. What is missing in lax mode is empty, and an error in strict mode, which paths
/// have unless they say so.
pub(super) fn json_value() -> ScalarUDF {
    ScalarUDF::from(JsonPathFunction::new("json_value", value))
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

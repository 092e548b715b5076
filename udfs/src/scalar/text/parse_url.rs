//! PARSE_URL.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::url::Url;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::write_rows;

/// `PARSE_URL(url, part [, key])`: the HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO of a URL, or the value
/// of a key of the QUERY. NULL if there is no such part, and if the text is no URL to Java: one of http, https, ftp, file,
/// jar or mailto.
pub(super) fn parse_url() -> ScalarUDF {
    let form = "PARSE_URL(<CHARACTER>, <CHARACTER>, <CHARACTER>)";
    Plain::new("parse_url", form, types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "tt").or_else(|| texts_and_ints(args, "ttt"))?, DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (urls, parts) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let keys = if args.args.len() == 3 { Some(Text::new(args, 2)?) } else { None };
    write_rows(args.number_rows, urls.bytes(args.number_rows), |row, result| {
        let mut write = || {
            let (url, part) = (Url::parse(urls.get(row)?)?, parts.get(row)?);
            if let Some(keys) = &keys {
                let key = keys.get(row)?;
                result.push_str(if part == "QUERY" { value(url.query?, key)? } else { return None });
                return Some(());
            }
            match part {
                "HOST" => result.push_str(url.host?),
                "PATH" => result.push_str(&url.path),
                "QUERY" => result.push_str(url.query?),
                "REF" => result.push_str(url.reference?),
                "PROTOCOL" => result.push_str(&url.protocol),
                "FILE" => {
                    result.push_str(&url.path);
                    if let Some(query) = url.query {
                        result.push('?');
                        result.push_str(query);
                    }
                }
                "AUTHORITY" => result.push_str(url.authority?),
                "USERINFO" => result.push_str(url.user?),
                _ => return None,
            }
            Some(())
        };
        Ok(write())
    })
}

/// The value of the first pair with a key.
fn value<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

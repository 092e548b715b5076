//! STR_TO_MAP.

use std::sync::Arc;

use arrow::array::{ArrayRef, MapBuilder, MapFieldNames, StringBuilder};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::regex::Patterns;

/// `STR_TO_MAP(text [, pair separator, value separator])`: the pairs of a text such as `a=1,b=2` as a map. The
/// separators are regular expressions, by default `,` and `=`. A pair without a value has NULL; of a key that comes
/// twice the last counts; empty pairs at the end do not count.
pub(super) fn str_to_map() -> ScalarUDF {
    Plain::new("str_to_map", "STR_TO_MAP(<CHARACTER>, <CHARACTER>, <CHARACTER>)", types, evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let entries = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]);
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false);
    Some((texts_and_ints(args, "t").or_else(|| texts_and_ints(args, "ttt"))?, map))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let texts = Text::new(args, 0)?;
    let separator = |index: usize, default: &'static str| match args.args.len() {
        1 => Ok(Text::Constant(Some(default))),
        _ => Text::new(args, index),
    };
    let (between_pairs, before_values) = (separator(1, ",")?, separator(2, "=")?);
    let (mut pair_patterns, mut value_patterns) = (Patterns::default(), Patterns::default());
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    let malformed = |pattern: &str| exec_datafusion_err!("STR_TO_MAP: '{pattern}' is no regular expression");
    for row in 0..args.number_rows {
        let arguments = (texts.get(row), between_pairs.get(row), before_values.get(row));
        let (Some(text), Some(pair_pattern), Some(value_pattern)) = arguments else {
            maps.append(false)?;
            continue;
        };
        if !text.is_empty() {
            let between_pairs = pair_patterns.get(pair_pattern).ok_or_else(|| malformed(pair_pattern))?;
            let before_value = value_patterns.get(value_pattern).ok_or_else(|| malformed(value_pattern))?;
            let mut pairs: Vec<(&str, Option<&str>)> = vec![];
            for pair in between_pairs.split(text)? {
                let (key, value) = match before_value.find(pair)? {
                    Some((start, end)) => (&pair[..start], Some(&pair[end..])),
                    None => (pair, None),
                };
                match pairs.iter_mut().find(|(known, _)| *known == key) {
                    Some(known) => known.1 = value,
                    None => pairs.push((key, value)),
                }
            }
            for (key, value) in pairs {
                maps.keys().append_value(key);
                maps.values().append_option(value);
            }
        }
        maps.append(true)?;
    }
    Ok(Arc::new(maps.finish()))
}

//! REGEXP_EXTRACT_ALL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::Patterns;
use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};

/// `REGEXP_EXTRACT_ALL(text, pattern [, group])`: a group of every match as an array, by default the first group. A malformed
/// pattern and a group that it has not are errors.
pub(super) fn regexp_extract_all() -> ScalarUDF {
    let form = "REGEXP_EXTRACT_ALL(<CHARACTER>, <CHARACTER>, <INTEGER>)";
    Plain::new("regexp_extract_all", form, types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    Some((texts_and_ints(args, "tt").or_else(|| texts_and_ints(args, "tti"))?, list))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let groups = if args.args.len() == 3 { Integer::new(args, 2)? } else { Integer::Constant(Some(1)) };
    let mut known = Patterns::default();
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..args.number_rows {
        let arguments = (texts.get(row), patterns.get(row), groups.get(row));
        let (Some(text), Some(pattern), Some(group)) = arguments else {
            lists.append(false);
            continue;
        };
        let regex = known.get(pattern).ok_or_else(|| {
            exec_datafusion_err!("REGEXP_EXTRACT_ALL: '{pattern}' is no regular expression")
        })?;
        let Some(group) = usize::try_from(group).ok().filter(|group| *group <= regex.groups()) else {
            return exec_err!(
                "REGEXP_EXTRACT_ALL: the group {group} is out of the range 0 to {}",
                regex.groups()
            );
        };
        regex.each(text, |captures| {
            lists.values().append_option(captures.get(group).map(|found| found.as_str()));
            Ok(())
        })?;
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

//! ARRAY_JOIN.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::lists::{element_type, elements, list, list_of};
use crate::scalar::arguments::{Text, is_text};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `ARRAY_JOIN(array, separator [, replacement])`: the texts of an array with a separator between them. NULL elements are left
/// out, or replaced. NULL if separator or replacement is.
pub(super) fn array_join() -> ScalarUDF {
    Plain::new("array_join", "ARRAY_JOIN(<ARRAY<CHARACTER>>, <CHARACTER>, <CHARACTER>)", types, evaluate)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (list, texts) = args.split_first()?;
    let fits = is_text(element_type(list)?) && matches!(texts.len(), 1 | 2) && texts.iter().all(is_text);
    let mut types = vec![list_of(DataType::Utf8)];
    types.resize(args.len(), DataType::Utf8);
    fits.then_some((types, DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, separators) = (list(args, 0)?, Text::new(args, 1)?);
    let replacements = if args.args.len() == 3 { Some(Text::new(args, 2)?) } else { None };
    let texts = cast(lists.values(), &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    write_rows(args.number_rows, texts.value_data().len() * 2, |row, result| {
        let mut write = || {
            let (elements, separator) = (elements(&lists, row)?, separators.get(row)?);
            let replacement = match &replacements {
                Some(replacements) => Some(replacements.get(row)?),
                None => None,
            };
            let members = elements.filter_map(|element| {
                if texts.is_valid(element) { Some(texts.value(element)) } else { replacement }
            });
            for (index, member) in members.enumerate() {
                if index > 0 {
                    result.push_str(separator);
                }
                result.push_str(member);
            }
            Some(())
        };
        Ok(write())
    })
}

//! TRANSLATE.

use std::collections::HashMap;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Text, is_text};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `TRANSLATE(text, from, to)`: every character of `from` replaced by that at the same place of `to`, or dropped if there
/// is none. Of a character that comes twice in `from` the first counts. As in Flink a NULL `from` changes nothing, and
/// a NULL `to` is empty.
pub(super) fn translate() -> ScalarUDF {
    Plain::new("translate", "TRANSLATE(<CHARACTER>, <CHARACTER>, <CHARACTER>)", types, evaluate)
        .of_first()
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 3 && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; 3], DataType::Utf8))
}

/// What becomes of characters, kept as long as the sets stay the same.
#[derive(Default)]
struct Dictionary {
    sets: (String, String),
    partners: HashMap<char, Option<char>>,
}

impl Dictionary {
    fn of(&mut self, from: &str, to: &str) -> &HashMap<char, Option<char>> {
        if self.sets.0 != from || self.sets.1 != to {
            self.sets = (from.to_owned(), to.to_owned());
            self.partners.clear();
            let mut partners = to.chars();
            for letter in from.chars() {
                let partner = partners.next();
                self.partners.entry(letter).or_insert(partner);
            }
        }
        &self.partners
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, from, to) = (Text::new(args, 0)?, Text::new(args, 1)?, Text::new(args, 2)?);
    let mut dictionary = Dictionary::default();
    write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
        let Some(text) = texts.get(row) else { return Ok(None) };
        let partners = dictionary.of(from.get(row).unwrap_or_default(), to.get(row).unwrap_or_default());
        result
            .extend(text.chars().filter_map(|letter| partners.get(&letter).copied().unwrap_or(Some(letter))));
        Ok(Some(()))
    })
}

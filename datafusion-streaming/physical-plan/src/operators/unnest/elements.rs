//! The elements of collections, as places in columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::{Result, internal_err, plan_err};

/// The name of the position column of WITH ORDINALITY.
pub const ORDINALITY_COLUMN: &str = "ORDINALITY";

/// The columns that the elements of a collection make, as in Flink: the fields of rows, KEY and VALUE
/// of a map, else one column. An error for what is no collection.
pub fn element_fields(collection: &DataType) -> Result<Vec<Field>> {
    match collection {
        DataType::List(element) | DataType::LargeList(element) => Ok(columns_of(element)),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if is_multiset(collection) => Ok(columns_of(&fields[0])),
            DataType::Struct(fields) => Ok(vec![
                fields[0].as_ref().clone().with_name("KEY").with_nullable(true),
                fields[1].as_ref().clone().with_name("VALUE").with_nullable(true),
            ]),
            other => internal_err!("a map of {other}"),
        },
        other => plan_err!("UNNEST takes an ARRAY, a MAP or a MULTISET, not a value of type {other}"),
    }
}

fn columns_of(element: &Field) -> Vec<Field> {
    match element.data_type() {
        DataType::Struct(fields) => {
            fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect()
        }
        data_type => {
            vec![Field::new("EXPR$0", data_type.clone(), true).with_metadata(element.metadata().clone())]
        }
    }
}

/// A multiset is a map from its elements to how often they are in it, which is an INT NOT NULL.
fn is_multiset(collection: &DataType) -> bool {
    match collection {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                fields.len() == 2 && fields[1].data_type() == &DataType::Int32 && !fields[1].is_nullable()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Elements: pairs of a row and a place in columns.
pub(super) struct Elements {
    pub columns: Vec<ArrayRef>,
    pub pairs: Pairs,
}

/// Rows and elements that belong together, in the order of the rows. A pad has no element.
#[derive(Default)]
pub(super) struct Pairs {
    pub rows: Vec<u32>,
    pub places: Vec<Option<u32>>,
    pub ordinals: Vec<Option<i32>>,
}

impl Pairs {
    fn push(&mut self, row: usize, place: usize, ordinal: i32) {
        self.rows.push(row as u32);
        self.places.push(Some(place as u32));
        self.ordinals.push(Some(ordinal));
    }

    /// Keeps some pairs, asked by number.
    pub(super) fn retain_by(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.rows.len()).filter(|pair| keep(*pair)).collect();
        self.rows = kept.iter().map(|pair| self.rows[*pair]).collect();
        self.places = kept.iter().map(|pair| self.places[*pair]).collect();
        self.ordinals = kept.iter().map(|pair| self.ordinals[*pair]).collect();
    }

    /// Adds a pad for each of `rows` rows that has no pair.
    pub(super) fn pad(&mut self, rows: usize) {
        let mut padded = Pairs::default();
        let mut pair = 0;
        for row in 0..rows as u32 {
            let first = pair;
            while self.rows.get(pair) == Some(&row) {
                padded.rows.push(row);
                padded.places.push(self.places[pair]);
                padded.ordinals.push(self.ordinals[pair]);
                pair += 1;
            }
            if pair == first {
                padded.rows.push(row);
                padded.places.push(None);
                padded.ordinals.push(None);
            }
        }
        *self = padded;
    }
}

/// The elements of a column of collections. A NULL or empty collection has none, and a NULL row in
/// an array of rows is none.
pub(super) fn elements_of(collection: &ArrayRef) -> Result<Elements> {
    match collection.data_type() {
        DataType::List(_) => Ok(list_elements::<i32>(collection)),
        DataType::LargeList(_) => Ok(list_elements::<i64>(collection)),
        DataType::Map(_, _) => map_elements(collection),
        other => internal_err!("UNNEST of a value of type {other}"),
    }
}

fn list_elements<O: OffsetSizeTrait>(collection: &ArrayRef) -> Elements {
    let lists = collection.as_list::<O>();
    let values = lists.values();
    let (columns, skips_null) = flat(values);
    let mut pairs = Pairs::default();
    for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
        let (start, end) = (lists.value_offsets()[row].as_usize(), lists.value_offsets()[row + 1].as_usize());
        for (place, ordinal) in (start..end).zip(1..) {
            if !(skips_null && values.is_null(place)) {
                pairs.push(row, place, ordinal);
            }
        }
    }
    Elements { columns, pairs }
}

fn map_elements(collection: &ArrayRef) -> Result<Elements> {
    let maps = collection.as_map();
    let (keys, values) = (maps.keys(), maps.values());
    let mut pairs = Pairs::default();
    let rows = (0..maps.len()).filter(|row| maps.is_valid(*row));
    let range = |row: usize| maps.value_offsets()[row] as usize..maps.value_offsets()[row + 1] as usize;
    if !is_multiset(collection.data_type()) {
        for row in rows {
            for (place, ordinal) in range(row).zip(1..) {
                pairs.push(row, place, ordinal);
            }
        }
        return Ok(Elements { columns: vec![Arc::clone(keys), Arc::clone(values)], pairs });
    }
    let (columns, skips_null) = flat(keys);
    let counts = values.as_primitive::<Int32Type>();
    for row in rows {
        let mut ordinal = 0;
        for place in range(row) {
            for _ in 0..counts.value(place) {
                ordinal += 1;
                if !(skips_null && keys.is_null(place)) {
                    pairs.push(row, place, ordinal);
                }
            }
        }
    }
    Ok(Elements { columns, pairs })
}

/// The columns of elements, and whether they are rows.
fn flat(elements: &ArrayRef) -> (Vec<ArrayRef>, bool) {
    match elements.as_struct_opt() {
        Some(rows) => (rows.columns().to_vec(), true),
        None => (vec![Arc::clone(elements)], false),
    }
}

//! Lists of entries: how a snapshot holds the collection of a slot.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, internal_datafusion_err};

use super::column::state_column;

/// The type of a list of entries with these fields.
pub(super) fn list_type(fields: Fields) -> DataType {
    DataType::List(Arc::new(entry_field(fields)))
}

fn entry_field(fields: Fields) -> Field {
    Field::new("item", DataType::Struct(fields), false)
}

/// The fields of entries that are a value with a number.
pub(super) fn numbered_value(value: &DataType, number: &str) -> Fields {
    Fields::from(vec![Field::new("value", value.clone(), false), Field::new(number, DataType::Int64, false)])
}

/// Lists of the given lengths over the entries of all slots, one behind the other.
pub(super) fn entry_lists(lengths: Vec<usize>, fields: Fields, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    let total = lengths.iter().try_fold(0_usize, |total, length| total.checked_add(*length));
    if total.is_none_or(|total| i32::try_from(total).is_err()) {
        return Err(internal_datafusion_err!("a snapshot of an aggregate has more than 2^31 entries"));
    }
    let entries = StructArray::try_new(fields.clone(), columns, None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(Arc::new(entry_field(fields)), offsets, Arc::new(entries), None)?))
}

/// A column of [`entry_lists`].
#[derive(Debug)]
pub(super) struct EntryLists<'a> {
    lists: &'a ListArray,
    entries: &'a StructArray,
}

impl<'a> EntryLists<'a> {
    /// Column `index` of a snapshot.
    pub(super) fn new(state: &'a [ArrayRef], index: usize) -> Result<Self> {
        let lists = state_column(state, index)?.as_list_opt::<i32>();
        let lists =
            lists.ok_or_else(|| internal_datafusion_err!("column {index} of a snapshot is no list"))?;
        let entries = lists.values().as_struct_opt();
        let entries =
            entries.ok_or_else(|| internal_datafusion_err!("column {index} of a snapshot has no entries"))?;
        Ok(Self { lists, entries })
    }

    /// A field of all entries.
    pub(super) fn column(&self, index: usize) -> Result<&'a ArrayRef> {
        state_column(self.entries.columns(), index)
    }

    /// The entries of a row.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        let offsets = self.lists.value_offsets();
        offsets[row] as usize..offsets[row + 1] as usize
    }
}

//! Columns of maps.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, MapArray, NullBufferBuilder, StructArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, exec_datafusion_err, exec_err, internal_err};

/// The type of a map.
pub(super) fn map_of(key: DataType, value: DataType) -> DataType {
    let entries = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

/// The types of the keys and values of a map.
pub(super) fn key_and_value(data_type: &DataType) -> Option<(&DataType, &DataType)> {
    match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                Some((fields[0].data_type(), fields[1].data_type()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Where the entries of a row are; `None` for NULL.
pub(super) fn entries(maps: &MapArray, row: usize) -> Option<Range<usize>> {
    let offsets = maps.value_offsets();
    maps.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
}

/// A column of maps whose entries are picked from other columns. Of a key that comes twice the last one counts.
pub(super) struct MapRows {
    picked: Vec<(usize, usize)>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl MapRows {
    pub(super) fn with_capacity(rows: usize, entries: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { picked: Vec::with_capacity(entries), offsets, nulls: NullBufferBuilder::new(rows) }
    }

    /// Puts an entry of a source into the current map, instead of one whose key is equal.
    pub(super) fn put(
        &mut self,
        entry: (usize, usize),
        equal: impl Fn((usize, usize), (usize, usize)) -> bool,
    ) {
        let start = self.offsets.last().copied().unwrap_or(0) as usize;
        match self.picked[start..].iter_mut().find(|known| equal(**known, entry)) {
            Some(known) => *known = entry,
            None => self.picked.push(entry),
        }
    }

    /// Ends the map of a row.
    pub(super) fn end(&mut self) -> Result<()> {
        let end = i32::try_from(self.picked.len()).map_err(|_| {
            exec_datafusion_err!("the maps of a batch have too many entries; use smaller batches")
        })?;
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    /// A row without a map.
    pub(super) fn null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
        self.nulls.append_null();
    }

    /// The column; each source has a column of keys and one of values.
    pub(super) fn finish(
        mut self,
        data_type: &DataType,
        keys: &[&dyn Array],
        values: &[&dyn Array],
    ) -> Result<ArrayRef> {
        let DataType::Map(field, sorted) = data_type else { return internal_err!("{data_type} is no map") };
        let DataType::Struct(fields) = field.data_type() else {
            return internal_err!("{data_type} is no map");
        };
        let (keys, values) = (interleave(keys, &self.picked)?, interleave(values, &self.picked)?);
        if keys.null_count() > 0 {
            return exec_err!("a key of a map must not be NULL");
        }
        let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, self.nulls.finish(), *sorted)?))
    }
}

//! ARRAYs, MAPs, ROWs, BYTES and what else has no native value, as members of collections.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::{Result, internal_datafusion_err, not_impl_err};

use super::members::Members;

/// Values of one type as rows of Arrow's row format. A last byte tells whether the value equals itself.
#[derive(Debug)]
pub(super) struct Nested {
    converter: RowConverter,
    data_type: DataType,
}

impl Nested {
    pub(super) fn try_new(data_type: &DataType) -> Result<Self> {
        let fields = vec![SortField::new(data_type.clone())];
        if !RowConverter::supports_fields(&fields) {
            return not_impl_err!("aggregates that keep values of type {data_type}");
        }
        Ok(Self { converter: RowConverter::new(fields)?, data_type: data_type.clone() })
    }

    fn rows(&self, array: &ArrayRef) -> Result<Rows> {
        Ok(self.converter.convert_columns(std::slice::from_ref(array))?)
    }
}

/// Byte strings one behind the other.
#[derive(Debug, Default)]
pub(super) struct ByteStrings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ByteStrings {
    fn push(&mut self, parts: [&[u8]; 2]) {
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.ends.push(self.bytes.len());
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

/// The mark of a nested value: its number of changes, and whether it equals itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct NestedMark {
    changes: u64,
    equals_itself: bool,
}

impl PartialEq for NestedMark {
    fn eq(&self, other: &Self) -> bool {
        self.equals_itself && other.equals_itself && self.changes == other.changes
    }
}

impl Members for Nested {
    type Batch = ByteStrings;
    type Probe = [u8];
    type Borrowed<'a> = &'a [u8];
    type Key = Box<[u8]>;
    type Mark = NestedMark;
    type Output = ByteStrings;

    fn batch(&self, array: &ArrayRef) -> Result<ByteStrings> {
        let array = &with_sorted_maps(array)?;
        let rows = self.rows(array)?;
        let mut batch = ByteStrings::default();
        for (index, row) in rows.iter().enumerate() {
            batch.push([row.data(), &[u8::from(equals_itself(array, index))]]);
        }
        Ok(batch)
    }

    fn get(batch: &ByteStrings, row: usize) -> &[u8] {
        batch.get(row)
    }

    fn key(probe: &[u8]) -> Box<[u8]> {
        probe.into()
    }

    fn owned(probe: &[u8]) -> usize {
        probe.len()
    }

    fn equals_itself(key: &Box<[u8]>) -> bool {
        key.last() == Some(&1)
    }

    fn mark(value: Option<&Box<[u8]>>, changes: u64) -> NestedMark {
        NestedMark { changes, equals_itself: value.is_none_or(Self::equals_itself) }
    }

    fn output(&self, _: usize) -> ByteStrings {
        ByteStrings::default()
    }

    fn put(&self, _: usize, value: Option<&Box<[u8]>>, output: &mut ByteStrings) {
        let row = value.and_then(|key| key.split_last()).map_or(&[][..], |(_, row)| row);
        output.push([row, &[]]);
    }

    fn finish(&self, output: ByteStrings, _: &DataType) -> Result<ArrayRef> {
        let null = self.rows(&new_null_array(&self.data_type, 1))?;
        let parser = self.converter.parser();
        let rows = (0..output.ends.len()).map(|index| match output.get(index) {
            [] => null.row(0),
            row => parser.parse(row),
        });
        let mut columns = self.converter.convert_rows(rows)?;
        columns.pop().ok_or_else(|| internal_datafusion_err!("rows of {} are no column", self.data_type))
    }
}

/// The values with the entries of all maps in them in the order of their keys: a map is the same however its
/// entries are written.
fn with_sorted_maps(array: &ArrayRef) -> Result<ArrayRef> {
    if !has_maps(array.data_type()) {
        return Ok(Arc::clone(array));
    }
    Ok(match array.data_type() {
        DataType::Map(field, sorted) => {
            let map = array.as_map();
            let (keys, values) = (with_sorted_maps(map.keys())?, with_sorted_maps(map.values())?);
            let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
            let key_rows = converter.convert_columns(&[Arc::clone(&keys)])?;
            let mut entries: Vec<u32> = Vec::with_capacity(keys.len());
            for row in map.value_offsets().windows(2) {
                let start = entries.len();
                entries.extend(row[0] as u32..row[1] as u32);
                entries[start..].sort_by_key(|&entry| key_rows.row(entry as usize));
            }
            let entries = UInt32Array::from(entries);
            let columns = vec![take(&keys, &entries, None)?, take(&values, &entries, None)?];
            let entries = StructArray::try_new(map.entries().fields().clone(), columns, None)?;
            let offsets =
                OffsetBuffer::from_lengths((0..map.len()).map(|row| map.value_length(row) as usize));
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, map.nulls().cloned(), *sorted)?)
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(with_sorted_maps).collect::<Result<_>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?)
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let items = with_sorted_maps(list.values())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, nulls)?)
        }
        _ => Arc::clone(array),
    })
}

fn has_maps(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_maps(field.data_type())),
        DataType::List(item) => has_maps(item.data_type()),
        _ => false,
    }
}

/// Whether a value equals itself in Flink's comparison of results: not NaN, nor a MAP with a NULL or a
/// NaN as value, nor a ROW with such a field. ARRAYs do.
fn equals_itself(array: &ArrayRef, row: usize) -> bool {
    if array.is_null(row) {
        return true;
    }
    match array.data_type() {
        DataType::Float32 => !array.as_primitive::<Float32Type>().value(row).is_nan(),
        DataType::Float64 => !array.as_primitive::<Float64Type>().value(row).is_nan(),
        DataType::Struct(_) => array.as_struct().columns().iter().all(|field| equals_itself(field, row)),
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entries = map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize;
            entries
                .into_iter()
                .all(|entry| map.values().is_valid(entry) && equals_itself(map.values(), entry))
        }
        _ => true,
    }
}

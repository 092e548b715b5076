//! Groups that keep their values, from which an accumulator is filled whenever its value is wanted.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use arrow::row::{RowConverter, SortField};
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};

use super::{Call, Groups};

/// The values of each group, as arrow-row bytes.
#[derive(Debug)]
pub(super) struct ValueGroups {
    call: Call,
    converter: RowConverter,
    groups: Vec<Values>,
    owned: usize,
}

/// The values of a group in the order in which they came, and those that were taken before they came.
#[derive(Debug, Default)]
struct Values {
    rows: Vec<Box<[u8]>>,
    owed: HashMap<Box<[u8]>, i64>,
}

impl Values {
    /// Adds a value, or takes the first equal one back; returns by how many bytes the group grows.
    fn apply(&mut self, row: &[u8], retract: bool) -> isize {
        let bytes = (row.len() + size_of::<Box<[u8]>>()) as isize;
        if retract {
            if let Some(place) = self.rows.iter().position(|known| known.as_ref() == row) {
                self.rows.remove(place);
                return -bytes;
            }
            *self.owed.entry(row.into()).or_default() += 1;
            return bytes;
        }
        match self.owed.get_mut(row) {
            Some(owed) => {
                *owed -= 1;
                if *owed == 0 {
                    self.owed.remove(row);
                }
                -bytes
            }
            None => {
                self.rows.push(row.into());
                bytes
            }
        }
    }
}

impl ValueGroups {
    pub(super) fn try_new(call: Call) -> Result<Self> {
        let fields = call.fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        Ok(ValueGroups { converter: RowConverter::new(fields)?, call, groups: vec![], owned: 0 })
    }

    fn apply_row(&mut self, slot: usize, row: &[u8], retract: bool) {
        let grown = self.groups[slot].apply(row, retract);
        self.owned = self.owned.saturating_add_signed(grown);
    }

    fn columns<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> Result<Vec<ArrayRef>> {
        let parser = self.converter.parser();
        Ok(self.converter.convert_rows(rows.map(|row| parser.parse(row)))?)
    }

    /// The fields of a value in a snapshot: the arguments, and how often it is there. Less than zero:
    /// it was taken before it came.
    fn value_fields(&self) -> Fields {
        let count = Arc::new(Field::new("$count", DataType::Int64, false));
        self.call.fields.iter().cloned().chain([count]).collect()
    }
}

impl Groups for ValueGroups {
    fn grow(&mut self, slots: usize) {
        self.groups.resize_with(slots, Values::default);
    }

    fn clear(&mut self, slot: usize) {
        let values = std::mem::take(&mut self.groups[slot]);
        let owed = values.owed.into_iter().map(|(row, owed)| (row.len(), owed as usize));
        let held = values.rows.iter().map(|row| (row.len(), 1)).chain(owed);
        let bytes: usize = held.map(|(len, times)| (len + size_of::<Box<[u8]>>()) * times).sum();
        self.owned = self.owned.saturating_sub(bytes);
    }

    fn apply(&mut self, slot: usize, args: &[ArrayRef], row: usize, retract: bool) -> Result<()> {
        let rows = self.converter.convert_columns(&super::row_of(args, row))?;
        self.apply_row(slot, rows.row(0).as_ref(), retract);
        Ok(())
    }

    fn value(&self, slot: usize) -> Result<ScalarValue> {
        let mut accumulator = self.call.accumulator()?;
        if let Some(values) = self.groups.get(slot).filter(|values| !values.rows.is_empty()) {
            accumulator.update_batch(&self.columns(values.rows.iter().map(AsRef::as_ref))?)?;
        }
        accumulator.evaluate()
    }

    fn state_fields(&self) -> Vec<Field> {
        let value = Field::new("item", DataType::Struct(self.value_fields()), false);
        vec![Field::new("values", DataType::List(Arc::new(value)), false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let groups = slots.iter().map(|slot| &self.groups[*slot as usize]);
        let offsets =
            OffsetBuffer::from_lengths(groups.clone().map(|values| values.rows.len() + values.owed.len()));
        let values = groups.flat_map(|values| {
            let rows = values.rows.iter().map(|row| (row.as_ref(), 1));
            rows.chain(values.owed.iter().map(|(row, owed)| (row.as_ref(), -owed)))
        });
        let (rows, counts): (Vec<&[u8]>, Vec<i64>) = values.unzip();
        let len = rows.len();
        let mut columns = self.columns(rows.into_iter())?;
        columns.push(Arc::new(Int64Array::from(counts)));
        let fields = self.value_fields();
        let values = StructArray::try_new_with_length(fields.clone(), columns, None, len)?;
        let item = Arc::new(Field::new("item", DataType::Struct(fields), false));
        Ok(vec![Arc::new(ListArray::try_new(item, offsets, Arc::new(values), None)?)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let wrong = || internal_datafusion_err!("the state of {:?} has another form", self.call);
        let lists = state.first().and_then(|state| state.as_list_opt::<i32>()).ok_or_else(wrong)?;
        let values = lists.values().as_struct_opt().ok_or_else(wrong)?;
        let width = self.call.fields.len();
        let counts = values.columns().get(width).and_then(|counts| counts.as_primitive_opt::<Int64Type>());
        let counts = counts.ok_or_else(wrong)?.clone();
        let rows = self.converter.convert_columns(&values.columns()[..width])?;
        for (slot, range) in slots.iter().zip(lists.offsets().windows(2)) {
            for place in range[0] as usize..range[1] as usize {
                let count = counts.value(place);
                for _ in 0..count.unsigned_abs() {
                    self.apply_row(*slot as usize, rows.row(place).as_ref(), count < 0);
                }
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.owned + self.groups.capacity() * size_of::<Values>()
    }
}

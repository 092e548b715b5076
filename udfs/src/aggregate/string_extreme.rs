//! MIN and MAX of strings that are never retracted.

use std::marker::PhantomData;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use datafusion_common::Result;

use super::cells::{Cells, Retraction};
use super::column::{grow, state_column, vec_size};
use super::min_max::Extreme;
use super::text::{TextOutput, TextValues};

/// The extremes of strings that are never retracted. A string is only copied when it becomes one.
#[derive(Debug)]
pub(super) struct StringExtremes<X> {
    data_type: DataType,
    extremes: Vec<Option<Box<str>>>,
    /// Bytes that the strings take.
    owned: usize,
    /// How often a group has got another extreme.
    changes: u64,
    extreme: PhantomData<X>,
}

impl<X: Extreme> StringExtremes<X> {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self {
            data_type: data_type.clone(),
            extremes: Vec::new(),
            owned: 0,
            changes: 0,
            extreme: PhantomData,
        }
    }

    #[inline]
    fn offer(&mut self, slot: usize, value: &str) {
        let extreme = &mut self.extremes[slot];
        if extreme.as_deref().is_none_or(|extreme| X::beats(value, extreme)) {
            self.owned += value.len();
            self.owned -= extreme.as_deref().map_or(0, str::len);
            *extreme = Some(value.into());
            self.changes += 1;
        }
    }
}

impl<X: Extreme> Cells for StringExtremes<X> {
    type Args = TextValues;
    type Value = u64;
    type Output = TextOutput;

    const RETRACTION: Retraction = Retraction::Ignored;

    fn args(&mut self, args: &[ArrayRef]) -> Result<TextValues> {
        TextValues::new(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, _: u64, args: &TextValues, row: usize) -> u64 {
        self.offer(slot, args.get(row));
        self.changes
    }

    fn retract(&mut self, _: usize, before: u64, _: &TextValues, _: usize) -> u64 {
        before
    }

    #[inline(always)]
    fn value(&self, _: usize) -> u64 {
        self.changes
    }

    fn output(&self, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    #[inline]
    fn put(&self, _: usize, slot: usize, _: u64, output: &mut TextOutput) {
        output.push(self.extremes[slot].as_deref());
    }

    fn finish(&self, output: TextOutput) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow(&mut self.extremes, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.owned -= self.extremes[slot].take().map_or(0, |extreme| extreme.len());
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("extreme", self.data_type.clone(), true)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut extremes = TextOutput::with_capacity(slots.len());
        for &slot in slots {
            extremes.push(self.extremes[slot as usize].as_deref());
        }
        Ok(vec![extremes.finish(&self.data_type)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let extremes = state_column(state, 0)?;
        let values = TextValues::new(extremes)?;
        for (row, &slot) in slots.iter().enumerate() {
            if extremes.is_valid(row) {
                self.offer(slot as usize, values.get(row));
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.extremes) + self.owned
    }
}

//! LISTAGG.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, plan_err};

use super::cells::{CellState, Cells, Retraction};
use super::column::{grow, state_column, vec_size};
use super::lists::{Form, List, Lists};
use super::members::Text;
use super::signature::storage_type;
use super::text::{TextOutput, TextValues, is_text};
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};
use crate::types::type_name;

/// `LISTAGG(text [, separator])`: the texts of a group that are not NULL, in the order of their arrival,
/// joined by a separator, a comma unless given; of no text NULL. A retraction takes the first of
/// equal texts.
#[derive(Debug)]
pub struct ListAgg;

impl StreamingAggregate for ListAgg {
    fn name(&self) -> &str {
        "listagg"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::ListAgg
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let types: Vec<_> = arg_types.iter().map(storage_type).collect();
        if matches!(types.len(), 1 | 2) && types.iter().all(|arg| is_text(arg)) {
            return Ok(types.into_iter().cloned().collect());
        }
        let types: Vec<_> = types.iter().map(|arg| format!("<{}>", type_name(arg))).collect();
        plan_err!(
            "Cannot apply 'LISTAGG' to arguments of type 'LISTAGG({})'. Supported form(s): 'LISTAGG(<CHARACTER>)'",
            types.join(", ")
        )
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let separator = Separator::default();
        if args.retracting {
            let form = Joined { separator, data_type: args.return_type.clone() };
            CellState::boxed(Lists::new(Text, form, &DataType::Utf8))
        } else {
            let data_type = args.return_type.clone();
            CellState::boxed(RunningText { separator, data_type, texts: Vec::new(), owned: 0, changes: 0 })
        }
    }
}

/// The separator of a call, a constant that comes with the arguments.
#[derive(Debug, Clone)]
struct Separator(String);

impl Default for Separator {
    fn default() -> Self {
        Self(",".to_owned())
    }
}

impl Separator {
    fn learn(&mut self, args: &[ArrayRef]) -> Result<()> {
        if let Some(separators) = args.get(1)
            && !separators.is_empty()
            && separators.is_valid(0)
        {
            self.0 = TextValues::new(separators)?.get(0).to_owned();
        }
        Ok(())
    }
}

/// Texts that only grow.
#[derive(Debug)]
struct RunningText {
    separator: Separator,
    data_type: DataType,
    texts: Vec<Option<String>>,
    /// Bytes that the texts take.
    owned: usize,
    /// How often a text has changed.
    changes: u64,
}

impl RunningText {
    fn append(&mut self, slot: usize, value: &str) {
        match &mut self.texts[slot] {
            Some(text) => {
                let (capacity, length) = (text.capacity(), text.len());
                text.push_str(&self.separator.0);
                text.push_str(value);
                self.owned += text.capacity() - capacity;
                self.changes += u64::from(text.len() > length);
            }
            text => {
                self.owned += text.insert(value.to_owned()).capacity();
                self.changes += 1;
            }
        }
    }
}

impl Cells for RunningText {
    type Args = TextValues;
    type Value = u64;
    type Output = TextOutput;

    const RETRACTION: Retraction = Retraction::Refused;

    fn args(&mut self, args: &[ArrayRef]) -> Result<TextValues> {
        self.separator.learn(args)?;
        TextValues::new(state_column(args, 0)?)
    }

    fn taken(&self, args: &[ArrayRef]) -> Option<NullBuffer> {
        args.first()?.logical_nulls()
    }

    fn add(&mut self, slot: usize, _: u64, args: &TextValues, row: usize) -> u64 {
        self.append(slot, args.get(row));
        self.changes
    }

    fn retract(&mut self, _: usize, before: u64, _: &TextValues, _: usize) -> u64 {
        before
    }

    fn value(&self, _: usize) -> u64 {
        self.changes
    }

    fn output(&self, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    fn put(&self, _: usize, slot: usize, _: u64, output: &mut TextOutput) {
        output.push(self.texts[slot].as_deref());
    }

    fn finish(&self, output: TextOutput) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow(&mut self.texts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.owned -= self.texts[slot].take().map_or(0, |text| text.capacity());
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("text", self.data_type.clone(), true), Field::new("separator", DataType::Utf8, false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut texts = TextOutput::with_capacity(slots.len());
        for &slot in slots {
            texts.push(self.texts[slot as usize].as_deref());
        }
        let separators = StringArray::from_iter_values(slots.iter().map(|_| &self.separator.0));
        Ok(vec![texts.finish(&self.data_type)?, Arc::new(separators)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let texts = state_column(state, 0)?;
        self.separator.learn(state)?;
        let values = TextValues::new(texts)?;
        for (row, &slot) in slots.iter().enumerate() {
            if texts.is_valid(row) {
                self.append(slot as usize, values.get(row));
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.texts) + self.owned
    }
}

/// Texts joined by a separator.
#[derive(Debug)]
struct Joined {
    separator: Separator,
    data_type: DataType,
}

impl Form<Text> for Joined {
    type Output = TextOutput;

    const BY_VALUE: bool = false;

    fn values(&mut self, args: &[ArrayRef]) -> Result<ArrayRef> {
        self.separator.learn(args)?;
        state_column(args, 0).cloned()
    }

    fn takes_nulls(&self) -> bool {
        false
    }

    fn output(&self, _: &Text, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    fn push(&self, _: &Text, list: &List<Box<str>>, output: &mut TextOutput) {
        if list.values.is_empty() {
            return output.push(None);
        }
        for (index, value) in list.values.iter().enumerate() {
            if index > 0 {
                output.append(&self.separator.0);
            }
            output.append(value.as_deref().unwrap_or_default());
        }
        output.end();
    }

    fn finish(&self, _: &Text, output: TextOutput) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn shows(&self, value: Option<&Box<str>>, others: bool) -> bool {
        !others || !self.separator.0.is_empty() || value.is_some_and(|value| !value.is_empty())
    }

    fn learnt(&self) -> Option<&str> {
        Some(&self.separator.0)
    }

    fn learn(&mut self, separator: &str) {
        self.separator.0 = separator.to_owned();
    }
}

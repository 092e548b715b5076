//! Groups of accumulators that can be asked for their value again and again.

use arrow::array::ArrayRef;
use arrow::datatypes::Field;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::Accumulator;
use parking_lot::Mutex;

use super::{Call, Groups, row_of};

/// An accumulator for each group; `None` for groups without rows.
#[derive(Debug)]
pub(super) struct AccumulatorGroups {
    call: Call,
    fields: Vec<Field>,
    /// Behind locks because `evaluate` and `state` take a mutable accumulator.
    groups: Vec<Option<Mutex<Box<dyn Accumulator>>>>,
    owned: usize,
}

impl AccumulatorGroups {
    pub(super) fn try_new(call: Call) -> Result<Self> {
        if !call.accumulator()?.supports_retract_batch() {
            return exec_err!("{} is registered as retractable, but its accumulator is not", call.udf.name());
        }
        let fields = call.state_fields()?.iter().map(|field| field.as_ref().clone()).collect();
        Ok(AccumulatorGroups { call, fields, groups: vec![], owned: 0 })
    }

    /// Changes the accumulator of a group, which is made if there is none.
    fn change(&mut self, slot: usize, change: impl FnOnce(&mut dyn Accumulator) -> Result<()>) -> Result<()> {
        let group = match &mut self.groups[slot] {
            Some(group) => group.get_mut(),
            none => none.insert(Mutex::new(self.call.accumulator()?)).get_mut(),
        };
        let before = group.size();
        change(group.as_mut())?;
        self.owned = (self.owned + group.size()).saturating_sub(before);
        Ok(())
    }
}

impl Groups for AccumulatorGroups {
    fn grow(&mut self, slots: usize) {
        self.groups.resize_with(slots, || None);
    }

    fn clear(&mut self, slot: usize) {
        if let Some(group) = self.groups[slot].take() {
            self.owned = self.owned.saturating_sub(group.into_inner().size());
        }
    }

    fn apply(&mut self, slot: usize, args: &[ArrayRef], row: usize, retract: bool) -> Result<()> {
        let row = row_of(args, row);
        self.change(slot, |accumulator| match retract {
            true => accumulator.retract_batch(&row),
            false => accumulator.update_batch(&row),
        })
    }

    fn value(&self, slot: usize) -> Result<ScalarValue> {
        match self.groups.get(slot) {
            Some(Some(group)) => group.lock().evaluate(),
            _ => self.call.accumulator()?.evaluate(),
        }
    }

    fn state_fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut columns: Vec<Vec<ScalarValue>> = vec![vec![]; self.fields.len()];
        for slot in slots {
            let state = match &self.groups[*slot as usize] {
                Some(group) => group.lock().state()?,
                None => self.call.accumulator()?.state()?,
            };
            columns.iter_mut().zip(state).for_each(|(column, value)| column.push(value));
        }
        let array = |(values, field): (Vec<ScalarValue>, &Field)| match values.is_empty() {
            true => Ok(arrow::array::new_empty_array(field.data_type())),
            false => ScalarValue::iter_to_array(values),
        };
        columns.into_iter().zip(&self.fields).map(array).collect()
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        for (row, slot) in slots.iter().enumerate() {
            let state = row_of(state, row);
            self.change(*slot as usize, |accumulator| accumulator.merge_batch(&state))?;
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.owned + self.groups.capacity() * size_of::<Option<Mutex<Box<dyn Accumulator>>>>()
    }
}

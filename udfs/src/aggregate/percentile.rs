//! PERCENTILE.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion_common::{Result, exec_err, plan_err};

use super::cells::{CellState, Cells};
use super::column::{Element, NullMask, grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type, numbered_value};
use super::members::Ordered;
use super::multiset::Multiset;
use super::signature::{numeric_argument, storage_type};
use super::text::too_large;
use super::{AggregateArgs, AggregateState, StreamingAggregate};

/// `PERCENTILE(value, fraction [, frequency])`: the value below which the fraction of a group lies, from
/// 0.0 to 1.0, interpolated between neighbours; an array of them for an array of fractions, which are
/// constants. A value counts as often as its frequency says, not at all if that is NULL or not
/// positive. NULL values are skipped; of no value the percentile is NULL. A DOUBLE.
#[derive(Debug)]
pub struct Percentile;

impl StreamingAggregate for Percentile {
    fn name(&self) -> &str {
        "percentile"
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let (value, fraction, frequency) = match arg_types {
            [value, fraction] => (value, fraction, None),
            [value, fraction, frequency] if frequency.is_integer() => {
                (value, fraction, Some(DataType::Int64))
            }
            _ => {
                return plan_err!(
                    "PERCENTILE takes a number, a fraction or an array of them, and an integer"
                );
            }
        };
        numeric_argument("PERCENTILE", std::slice::from_ref(value))?;
        let fraction = match storage_type(fraction) {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)
                if item.data_type().is_numeric() =>
            {
                DataType::new_list(DataType::Float64, true)
            }
            number if number.is_numeric() => DataType::Float64,
            other => return plan_err!("the fraction of PERCENTILE is no number: {other}"),
        };
        Ok([DataType::Float64, fraction].into_iter().chain(frequency).collect())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types.get(1) {
            Some(DataType::List(_)) => Ok(DataType::new_list(DataType::Float64, true)),
            _ => Ok(DataType::Float64),
        }
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        CellState::boxed(Percentiles {
            data_type: args.return_type.clone(),
            fractions: Vec::new(),
            groups: Vec::new(),
            owned: 0,
            changes: 0,
        })
    }
}

/// The values of a group and its percentiles.
#[derive(Debug, Default)]
struct Group {
    values: Multiset<i64>,
    /// `None`: there is no value.
    percentiles: Option<Box<[f64]>>,
}

#[derive(Debug)]
struct Percentiles {
    data_type: DataType,
    /// The fractions of the call, constants that come with the arguments.
    fractions: Vec<f64>,
    groups: Vec<Group>,
    /// Bytes that the groups own.
    owned: usize,
    /// How often the percentiles of a group have changed.
    changes: u64,
}

/// The arguments of a batch.
pub(super) struct PercentileArgs {
    values: ScalarBuffer<f64>,
    frequencies: Option<Int64Array>,
}

impl PercentileArgs {
    fn frequency(&self, row: usize) -> i64 {
        match &self.frequencies {
            Some(frequencies) if frequencies.is_null(row) => 0,
            Some(frequencies) => frequencies.value(row).max(0),
            None => 1,
        }
    }
}

/// The mark of percentiles: the number of changes, and whether they equal themselves.
#[derive(Debug, Clone, Copy)]
pub(super) struct PercentileMark {
    changes: u64,
    equals_itself: bool,
}

impl PartialEq for PercentileMark {
    fn eq(&self, other: &Self) -> bool {
        self.equals_itself && other.equals_itself && self.changes == other.changes
    }
}

impl Percentiles {
    /// Takes the fractions from the first rows that come.
    fn learn(&mut self, fractions: &ArrayRef) -> Result<()> {
        if !self.fractions.is_empty() || fractions.is_empty() || fractions.is_null(0) {
            return Ok(());
        }
        let learnt = match fractions.as_list_opt::<i32>() {
            Some(lists) => lists.value(0),
            None => fractions.slice(0, 1),
        };
        let learnt = cast(&learnt, &DataType::Float64)?;
        let learnt = learnt.as_primitive::<Float64Type>().values().to_vec();
        if let Some(wrong) = learnt.iter().find(|fraction| !(0.0..=1.0).contains(*fraction)) {
            return exec_err!("Percentage of PERCENTILE should be between [0.0, 1.0], but was '{wrong}'.");
        }
        self.fractions = learnt;
        Ok(())
    }

    fn count(&mut self, slot: usize, value: i64, delta: i64) {
        let group = &mut self.groups[slot];
        let before = group.values.heap_size();
        group.values.add(&value, delta, |value| *value);
        self.owned = self.owned + group.values.heap_size() - before;
    }

    fn look_up(&mut self, slot: usize) {
        let size =
            |percentiles: &Option<Box<[f64]>>| percentiles.as_ref().map_or(0, |found| size_of_val(&**found));
        let percentiles = percentiles(&self.groups[slot].values, &self.fractions);
        let old = &mut self.groups[slot].percentiles;
        self.changes += u64::from(*old != percentiles);
        self.owned = self.owned + size(&percentiles) - size(old);
        *old = percentiles;
    }
}

/// The percentiles of a multiset, `None` if it has no values.
fn percentiles(values: &Multiset<i64>, fractions: &[f64]) -> Option<Box<[f64]>> {
    let total: i64 = values.iter().map(|(_, count)| count).sum();
    if total <= 0 || fractions.is_empty() {
        return None;
    }
    let value_at = |position: i64| {
        let mut seen = 0;
        let found = values.iter().find(|(_, count)| {
            seen += count;
            seen >= position
        });
        found.or_else(|| values.iter().last()).map_or(f64::NAN, |(value, _)| f64::from_key(*value))
    };
    let percentile = |fraction: &f64| {
        let position = fraction * (total - 1) as f64 + 1.0;
        let (lower, higher) = (position.floor(), position.ceil());
        let (below, above) = (value_at(lower as i64), value_at(higher as i64));
        if below.to_bits() == above.to_bits() {
            below
        } else {
            (higher - position) * below + (position - lower) * above
        }
    };
    Some(fractions.iter().map(percentile).collect())
}

/// Percentiles on their way into an array.
#[derive(Debug)]
pub(super) struct PercentileOutput {
    values: Vec<f64>,
    lengths: Vec<usize>,
    nulls: NullMask,
}

impl Cells for Percentiles {
    type Args = PercentileArgs;
    type Value = PercentileMark;
    type Output = PercentileOutput;

    fn args(&mut self, args: &[ArrayRef]) -> Result<PercentileArgs> {
        self.learn(state_column(args, 1)?)?;
        let frequencies = args.get(2).map(|frequencies| cast(frequencies, &DataType::Int64)).transpose()?;
        Ok(PercentileArgs {
            values: f64::values(state_column(args, 0)?)?,
            frequencies: frequencies.map(|frequencies| frequencies.as_primitive::<Int64Type>().clone()),
        })
    }

    fn taken(&self, args: &[ArrayRef]) -> Option<NullBuffer> {
        args.first()?.logical_nulls()
    }

    fn add(&mut self, slot: usize, _: PercentileMark, args: &PercentileArgs, row: usize) -> PercentileMark {
        self.count(slot, args.values[row].key(), args.frequency(row));
        self.look_up(slot);
        self.value(slot)
    }

    fn retract(
        &mut self,
        slot: usize,
        _: PercentileMark,
        args: &PercentileArgs,
        row: usize,
    ) -> PercentileMark {
        self.count(slot, args.values[row].key(), -args.frequency(row));
        self.look_up(slot);
        self.value(slot)
    }

    fn value(&self, slot: usize) -> PercentileMark {
        let percentiles = &self.groups[slot].percentiles;
        let equals_itself = !percentiles.iter().flatten().any(|percentile| percentile.is_nan());
        PercentileMark { changes: self.changes, equals_itself }
    }

    fn output(&self, len: usize) -> PercentileOutput {
        PercentileOutput {
            values: Vec::with_capacity(len * self.fractions.len().max(1)),
            lengths: Vec::with_capacity(len),
            nulls: NullMask::new(len),
        }
    }

    fn put(&self, _: usize, slot: usize, _: PercentileMark, output: &mut PercentileOutput) {
        match &self.groups[slot].percentiles {
            Some(percentiles) => {
                output.values.extend_from_slice(percentiles);
                output.lengths.push(percentiles.len());
            }
            None => {
                output.nulls.set_null(output.lengths.len());
                output.lengths.push(0);
            }
        }
    }

    fn finish(&self, output: PercentileOutput) -> Result<ArrayRef> {
        if let DataType::List(item) = &self.data_type {
            if i32::try_from(output.values.len()).is_err() {
                return Err(too_large("the arrays of PERCENTILE", output.values.len(), "elements"));
            }
            let nulls = output.nulls.finish(output.lengths.len());
            let values: ArrayRef = Arc::new(Float64Array::from(output.values));
            let offsets = OffsetBuffer::from_lengths(output.lengths);
            return Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?));
        }
        let mut values = output.values.into_iter();
        let percentiles = output.lengths.iter().map(|&length| if length == 0 { None } else { values.next() });
        Ok(Arc::new(percentiles.collect::<Float64Array>()))
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        let group = std::mem::take(&mut self.groups[slot]);
        self.owned -= group.values.heap_size() + group.percentiles.map_or(0, |found| size_of_val(&*found));
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("values", list_type(entry_fields()), false),
            Field::new("fractions", DataType::new_list(DataType::Float64, true), false),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let (mut values, mut counts, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(slots.len()));
        for &slot in slots {
            let start = values.len();
            for (value, count) in self.groups[slot as usize].values.iter() {
                values.push(f64::from_key(*value));
                counts.push(count);
            }
            lengths.push(values.len() - start);
        }
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Float64Array::from(values)), Arc::new(Int64Array::from(counts))];
        let fractions = slots.iter().map(|_| Some(self.fractions.iter().map(|fraction| Some(*fraction))));
        let fractions = ListArray::from_iter_primitive::<Float64Type, _, _>(fractions);
        Ok(vec![entry_lists(lengths, entry_fields(), columns)?, Arc::new(fractions)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.learn(state_column(state, 1)?)?;
        let lists = EntryLists::new(state, 0)?;
        let values = f64::values(lists.column(0)?)?;
        let counts = i64::values(lists.column(1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            for entry in lists.entries(row) {
                self.count(slot as usize, values[entry].key(), counts[entry]);
            }
            self.look_up(slot as usize);
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.owned
    }
}

/// The fields of a value in snapshots.
fn entry_fields() -> Fields {
    numbered_value(&DataType::Float64, "count")
}

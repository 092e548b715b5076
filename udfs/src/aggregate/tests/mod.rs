//! Aggregates as a group aggregation drives them: their changelog beside Flink's.

mod basic;
mod collections;
mod distinct;
mod restore;
mod statistics;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int32Array, StringArray, UInt32Array,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::*;

/// One aggregate call over all rows of a test.
struct Call {
    function: Arc<dyn StreamingAggregate>,
    args: Vec<ArrayRef>,
    filter: Option<BooleanArray>,
    distinct: bool,
    ignore_nulls: bool,
}

fn call(function: impl StreamingAggregate + 'static, args: Vec<ArrayRef>) -> Call {
    Call { function: Arc::new(function), args, filter: None, distinct: false, ignore_nulls: false }
}

fn one(function: impl StreamingAggregate + 'static, arg: impl Array + 'static) -> Call {
    call(function, vec![Arc::new(arg)])
}

impl Call {
    fn filtered(mut self, filter: impl Into<BooleanArray>) -> Self {
        self.filter = Some(filter.into());
        self
    }

    fn distinct(mut self) -> Self {
        self.distinct = true;
        self
    }

    fn ignore_nulls(mut self) -> Self {
        self.ignore_nulls = true;
        self
    }

    fn state(&self, retracting: bool) -> Box<dyn AggregateState> {
        let arg_types: Vec<_> = self.args.iter().map(|arg| arg.data_type().clone()).collect();
        let arg_types = self.function.coerce_types(&arg_types).unwrap();
        let return_type = self.function.return_type(&arg_types).unwrap();
        self.function
            .state(&AggregateArgs {
                arg_types: &arg_types,
                return_type: &return_type,
                retracting,
                in_order: false,
                ignore_nulls: self.ignore_nulls,
            })
            .unwrap()
    }

    /// The arguments of some rows as the function is planned to get them.
    fn take_args(&self, rows: &UInt32Array) -> Vec<ArrayRef> {
        let arg_types: Vec<_> = self.args.iter().map(|arg| arg.data_type().clone()).collect();
        let arg_types = self.function.coerce_types(&arg_types).unwrap();
        let taken = self.args.iter().map(|arg| arrow::compute::take(arg, rows, None).unwrap());
        taken.zip(&arg_types).map(|(arg, to)| arrow::compute::cast(&arg, to).unwrap()).collect()
    }
}

/// How a test is run: every way gives the same changelog.
#[derive(Debug, Clone, Copy)]
struct Mode {
    batch: usize,
    layout: OutputLayout,
    /// Whether the states are written and read back after each batch.
    restore: bool,
    retracting: bool,
}

fn text(array: &ArrayRef) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(array, &options).unwrap();
    (0..array.len()).map(|row| formatter.value(row).to_string()).collect()
}

/// The states of some calls; those of DISTINCT over one column share a membership.
struct States<'a> {
    calls: &'a [Call],
    states: Vec<Box<dyn AggregateState>>,
    /// The memberships and the calls that they serve.
    memberships: Vec<(DistinctMembership, Vec<usize>)>,
}

impl<'a> States<'a> {
    fn new(calls: &'a [Call], slots: usize, retracting: bool) -> Self {
        let mut states: Vec<_> = calls.iter().map(|call| call.state(retracting)).collect();
        states.iter_mut().for_each(|state| state.grow(slots));
        let mut served: Vec<Vec<usize>> = Vec::new();
        for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.distinct) {
            let same = |other: &Vec<usize>| Arc::ptr_eq(&calls[other[0]].args[0], &call.args[0]);
            match served.iter_mut().find(|other| same(other)) {
                Some(other) => other.push(index),
                None => served.push(vec![index]),
            }
        }
        let membership = |served: Vec<usize>| {
            let data_type = calls[served[0]].args[0].data_type();
            let mut membership = DistinctMembership::try_new(data_type, served.len(), retracting).unwrap();
            membership.grow(slots);
            (membership, served)
        };
        let memberships = served.into_iter().map(membership).collect();
        Self { calls, states, memberships }
    }

    /// Folds rows and returns the values of each call.
    fn fold(&mut self, fold: &Fold<'_>, rows: &UInt32Array, changed: &mut [bool]) -> Vec<Vec<String>> {
        let calls = self.calls;
        let filter = |call: &Call| {
            let filter = call.filter.as_ref().map(|filter| arrow::compute::take(filter, rows, None).unwrap());
            filter.map(|filter| filter.as_boolean().clone())
        };
        let mut filters: Vec<_> = calls.iter().map(filter).collect();
        for (membership, served) in &mut self.memberships {
            let values = calls[served[0]].take_args(rows).remove(0);
            let passing: Vec<_> = served.iter().map(|&call| filters[call].as_ref()).collect();
            let distinct =
                DistinctRows { slots: fold.rows.slots, retract: fold.rows.retract, fates: Some(fold.fates) };
            let masks = membership.apply(&distinct, &values, &passing).unwrap();
            for (&call, mask) in served.iter().zip(masks) {
                filters[call] = Some(mask);
            }
        }
        let mut values = Vec::new();
        for ((call, state), filter) in calls.iter().zip(&mut self.states).zip(&filters) {
            let fold = Fold { rows: Rows { filter: filter.as_ref(), ..fold.rows }, ..*fold };
            values.push(text(&state.fold(&fold, &call.take_args(rows), changed).unwrap()));
        }
        values
    }

    /// Writes all states and reads them into new ones.
    fn restore(&self, slots: &[u32], retracting: bool) -> Self {
        let mut restored = Self::new(self.calls, slots.len(), retracting);
        for (old, new) in self.states.iter().zip(&mut restored.states) {
            let snapshot = old.snapshot(slots).unwrap();
            for (field, column) in old.state_fields().iter().zip(&snapshot) {
                assert_eq!(field.data_type(), column.data_type());
                assert!(field.is_nullable() || column.null_count() == 0);
            }
            new.restore(slots, &snapshot).unwrap();
            assert_eq!(new.snapshot(slots).unwrap(), snapshot);
        }
        for ((old, _), (new, _)) in self.memberships.iter().zip(&mut restored.memberships) {
            let snapshot = old.snapshot(slots).unwrap();
            assert_eq!(old.state_fields()[0].data_type(), snapshot[0].data_type());
            new.merge(slots, &snapshot).unwrap();
        }
        restored
    }
}

/// A little group aggregation with a slot for each key. `rows` is `+` or `-` and a key a row.
fn changelog(calls: &[Call], rows: &[(char, u32)], mode: Mode) -> Vec<String> {
    let slots = rows.iter().map(|row| row.1).max().unwrap_or(0) + 1;
    let all: Vec<u32> = (0..slots).collect();
    let mut states = States::new(calls, all.len(), mode.retracting);
    let mut counts = HashMap::<u32, i64>::new();
    let mut log = Vec::new();
    let row_numbers: Vec<usize> = (0..rows.len()).collect();
    for batch in row_numbers.chunks(mode.batch) {
        // what is taken from a group without rows is ignored
        let mut kept = Vec::new();
        let mut fates = Vec::new();
        for &row in batch {
            let (sign, key) = rows[row];
            let count = counts.entry(key).or_default();
            let fate = match (*count, sign) {
                (0, '-') => continue,
                (0, _) => Fate::First,
                (1, '-') => Fate::Last,
                _ => Fate::Update,
            };
            *count += if sign == '-' { -1 } else { 1 };
            kept.push(row);
            fates.push(fate);
        }
        let indices = UInt32Array::from_iter_values(kept.iter().map(|&row| row as u32));
        let slots: Vec<u32> = kept.iter().map(|&row| rows[row].1).collect();
        let retract: Vec<bool> = kept.iter().map(|&row| rows[row].0 == '-').collect();
        let mut changed = vec![false; kept.len()];
        let retract = mode.retracting.then_some(&*retract);
        let fold =
            Fold { rows: Rows { slots: &slots, retract, filter: None }, fates: &fates, layout: mode.layout };
        let values = states.fold(&fold, &indices, &mut changed);
        let line = |kind: &str, key: u32, at: usize| {
            let values: Vec<_> = values.iter().map(|values| values[at].as_str()).collect();
            format!("{kind} {key} {}", values.join(" "))
        };
        for (row, &fate) in fates.iter().enumerate() {
            let (before, after) = match mode.layout {
                OutputLayout::Pairs => (2 * row, 2 * row + 1),
                OutputLayout::Single => (row, row),
            };
            match fate {
                Fate::First => log.push(line("+I", slots[row], after)),
                Fate::Last => log.push(line("-D", slots[row], before)),
                Fate::Update if changed[row] => {
                    if mode.layout == OutputLayout::Pairs {
                        log.push(line("-U", slots[row], before));
                    }
                    log.push(line("+U", slots[row], after));
                }
                Fate::Update => {}
            }
        }
        if mode.restore {
            states = states.restore(&all, mode.retracting);
        }
    }
    for (key, count) in counts {
        if count == 0 {
            continue;
        }
        // a window that fires shows what the changelog has come to
        let last = log.iter().rev().find(|line| line[3..].starts_with(&format!("{key} "))).unwrap();
        let values: Vec<_> =
            states.states.iter().map(|state| text(&state.evaluate(&[key]).unwrap()).remove(0)).collect();
        assert_eq!(last[3..], format!("{key} {}", values.join(" ")));
    }
    log
}

/// Runs calls over rows in every mode and compares the changelog.
fn check(calls: &[Call], rows: &str, expected: &[&str]) {
    let rows: Vec<(char, u32)> =
        rows.split_whitespace().map(|row| (row.chars().next().unwrap(), row[1..].parse().unwrap())).collect();
    let retracting = rows.iter().any(|row| row.0 == '-');
    for call in calls {
        assert!(call.args.iter().all(|arg| arg.len() == rows.len()), "{}", call.function.name());
    }
    let variants: &[bool] = if retracting { &[true] } else { &[false, true] };
    for &retracting in variants {
        for batch in [rows.len(), 1, 3] {
            for restore in [false, true] {
                let mode = Mode { batch, layout: OutputLayout::Pairs, restore, retracting };
                assert_eq!(changelog(calls, &rows, mode), expected, "{mode:?}");
                let mode = Mode { layout: OutputLayout::Single, ..mode };
                let single: Vec<_> = expected.iter().filter(|line| !line.starts_with("-U")).collect();
                assert_eq!(changelog(calls, &rows, mode).iter().collect::<Vec<_>>(), single, "{mode:?}");
            }
        }
    }
}

/// [`check`] with what each row has come to, for a single group: the kinds of changes are added.
fn check_values(calls: &[Call], rows: &str, values: &[&str]) {
    let mut expected = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            expected.push(format!("-U 0 {}", values[index - 1]));
        }
        expected.push(format!("{} 0 {value}", if index == 0 { "+I" } else { "+U" }));
    }
    check(calls, rows, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

fn decimals(values: &[Option<i128>], precision: u8, scale: i8) -> Decimal128Array {
    Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap()
}

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

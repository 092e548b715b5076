//! The loop that folds rows into slots, once for all functions.

use std::fmt::Debug;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::Field;
use datafusion_common::{Result, internal_err};

use super::{AggregateState, Fate, Fold, OutputLayout, Rows};

/// What a state does with a row that takes its value back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retraction {
    /// Takes the value back.
    Supported,
    /// Leaves the state alone, as Flink's insert-only MIN and MAX do: they are only planned where
    /// the input is insert-only or moves one way, so that what is taken back cannot be the extreme.
    Ignored,
    /// Is an error: the planner has promised that there are none.
    Refused,
}

/// The columns of one aggregate call and what one row does to one slot: all that tells one function
/// from another. [`CellState`] makes an [`AggregateState`] of it.
pub(super) trait Cells: Send + Sync + Debug {
    /// The arguments of a batch, ready for access by row.
    type Args;
    /// The value of a slot, or what tells one value of a slot from another.
    type Value: Copy + PartialEq;
    /// The values of a batch on their way into an array.
    type Output;

    /// What becomes of retractions.
    const RETRACTION: Retraction = Retraction::Supported;

    /// The arguments of a batch.
    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args>;

    /// The rows that the function takes: by default those without a NULL in their arguments.
    fn taken(&self, args: &[ArrayRef]) -> Option<NullBuffer> {
        args.iter().fold(None, |taken, arg| NullBuffer::union(taken.as_ref(), arg.logical_nulls().as_ref()))
    }

    /// The value of a slot.
    fn value(&self, slot: usize) -> Self::Value;

    /// Adds the value of a row to a slot that has the value `before`. Returns the value after it.
    fn add(&mut self, slot: usize, before: Self::Value, args: &Self::Args, row: usize) -> Self::Value;

    /// Takes the value of a row from a slot that has the value `before`. Returns the value after it.
    fn retract(&mut self, slot: usize, before: Self::Value, args: &Self::Args, row: usize) -> Self::Value;

    /// An output of `len` values.
    fn output(&self, len: usize) -> Self::Output;

    /// Puts the present value of a slot, as [`Cells::value`] returned it, into the output. `at` counts
    /// up from zero.
    fn put(&self, at: usize, slot: usize, value: Self::Value, output: &mut Self::Output);

    /// The array of the values.
    fn finish(&self, output: Self::Output) -> Result<ArrayRef>;

    /// The error that a row has led to since the last call.
    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    /// See [`AggregateState::grow`].
    fn grow(&mut self, slots: usize);

    /// Clears a slot.
    fn clear(&mut self, slot: usize);

    /// See [`AggregateState::state_fields`].
    fn state_fields(&self) -> Vec<Field>;

    /// See [`AggregateState::snapshot`].
    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>>;

    /// See [`AggregateState::merge`].
    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()>;

    /// See [`AggregateState::restore`].
    fn restore(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.merge(slots, state)
    }

    /// See [`AggregateState::merge_slots`].
    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        let state = self.snapshot(from)?;
        self.merge(into, &state)
    }

    /// See [`AggregateState::memory_size`].
    fn memory_size(&self) -> usize;
}

/// The [`AggregateState`] of some [`Cells`].
#[derive(Debug)]
pub(super) struct CellState<C>(pub(super) C);

impl<C: Cells + 'static> CellState<C> {
    pub(super) fn boxed(cells: C) -> Result<Box<dyn AggregateState>> {
        Ok(Box::new(Self(cells)))
    }
}

/// A batch of rows and which of them count.
struct Batch<'a, A> {
    slots: &'a [u32],
    /// Empty if no row retracts.
    retract: &'a [bool],
    /// Empty if all rows count.
    counts: BooleanBuffer,
    args: A,
}

impl<'a, A> Batch<'a, A> {
    fn new<C: Cells<Args = A>>(cells: &mut C, rows: &Rows<'a>, args: &[ArrayRef]) -> Result<Self> {
        let len = rows.slots.len();
        let retract = rows.retract.unwrap_or(&[]);
        if args.iter().any(|arg| arg.len() != len) || (!retract.is_empty() && retract.len() != len) {
            return internal_err!("the arguments of an aggregate are not as long as its {len} rows");
        }
        let mut counts = cells.taken(args).map(NullBuffer::into_inner);
        if let Some(filter) = rows.filter {
            let passes = match filter.nulls() {
                Some(nulls) => filter.values() & nulls.inner(),
                None => filter.values().clone(),
            };
            counts = Some(counts.map_or_else(|| passes.clone(), |counts| &counts & &passes));
        }
        if C::RETRACTION != Retraction::Supported && !retract.is_empty() {
            if C::RETRACTION == Retraction::Refused && retract.contains(&true) {
                return internal_err!("{cells:?} was made for insert-only input and got a retraction");
            }
            let kept = retract.iter().map(|retracts| !retracts).collect::<BooleanBuffer>();
            counts = Some(counts.map_or_else(|| kept.clone(), |counts| &counts & &kept));
        }
        let counts = counts.unwrap_or_else(|| BooleanBuffer::new_unset(0));
        Ok(Self { slots: rows.slots, retract, counts, args: cells.args(args)? })
    }

    /// Folds one row and returns the value after it. `SELECT`: not all rows count. `RETRACT`: some
    /// rows retract.
    #[inline(always)]
    fn step<C: Cells<Args = A>, const SELECT: bool, const RETRACT: bool>(
        &self,
        cells: &mut C,
        slot: usize,
        before: C::Value,
        row: usize,
    ) -> C::Value {
        if SELECT && !self.counts.value(row) {
            before
        } else if RETRACT && self.retract[row] {
            cells.retract(slot, before, &self.args, row)
        } else {
            cells.add(slot, before, &self.args, row)
        }
    }

    fn accumulate<C: Cells<Args = A>, const SELECT: bool, const RETRACT: bool>(&self, cells: &mut C) {
        for (row, &slot) in self.slots.iter().enumerate() {
            let slot = slot as usize;
            self.step::<C, SELECT, RETRACT>(cells, slot, cells.value(slot), row);
        }
    }

    fn fold<C: Cells<Args = A>, const PAIRS: bool, const SELECT: bool, const RETRACT: bool>(
        &self,
        cells: &mut C,
        fates: &[Fate],
        changed: &mut [bool],
        output: &mut C::Output,
    ) {
        for (row, ((&slot, &fate), changed)) in self.slots.iter().zip(fates).zip(changed).enumerate() {
            let slot = slot as usize;
            let (before_at, after_at) = if PAIRS { (2 * row, 2 * row + 1) } else { (row, row) };
            let before = cells.value(slot);
            if PAIRS || fate == Fate::Last {
                cells.put(before_at, slot, before, output);
            }
            if fate == Fate::Last {
                cells.clear(slot);
                if PAIRS {
                    cells.put(after_at, slot, cells.value(slot), output);
                }
                continue;
            }
            let after = self.step::<C, SELECT, RETRACT>(cells, slot, before, row);
            cells.put(after_at, slot, after, output);
            *changed |= (fate == Fate::Update) & (before != after);
        }
    }
}

impl<C: Cells + 'static> AggregateState for CellState<C> {
    fn grow(&mut self, slots: usize) {
        self.0.grow(slots);
    }

    fn clear(&mut self, slots: &[u32]) {
        for &slot in slots {
            self.0.clear(slot as usize);
        }
    }

    fn accumulate(&mut self, rows: &Rows<'_>, args: &[ArrayRef]) -> Result<()> {
        let cells = &mut self.0;
        let batch = Batch::new(cells, rows, args)?;
        match (!batch.counts.is_empty(), !batch.retract.is_empty()) {
            (false, false) => batch.accumulate::<C, false, false>(cells),
            (false, true) => batch.accumulate::<C, false, true>(cells),
            (true, false) => batch.accumulate::<C, true, false>(cells),
            (true, true) => batch.accumulate::<C, true, true>(cells),
        }
        cells.check()
    }

    fn fold(&mut self, fold: &Fold<'_>, args: &[ArrayRef], changed: &mut [bool]) -> Result<ArrayRef> {
        let cells = &mut self.0;
        let rows = fold.rows.slots.len();
        if fold.fates.len() != rows || changed.len() != rows {
            return internal_err!(
                "the fates or the changes of an aggregate are not as long as its {rows} rows"
            );
        }
        let batch = Batch::new(cells, &fold.rows, args)?;
        let pairs = fold.layout == OutputLayout::Pairs;
        let mut output = cells.output(if pairs { 2 * rows } else { rows });
        let (fates, out) = (fold.fates, &mut output);
        match (pairs, !batch.counts.is_empty(), !batch.retract.is_empty()) {
            (false, false, false) => batch.fold::<C, false, false, false>(cells, fates, changed, out),
            (false, false, true) => batch.fold::<C, false, false, true>(cells, fates, changed, out),
            (false, true, false) => batch.fold::<C, false, true, false>(cells, fates, changed, out),
            (false, true, true) => batch.fold::<C, false, true, true>(cells, fates, changed, out),
            (true, false, false) => batch.fold::<C, true, false, false>(cells, fates, changed, out),
            (true, false, true) => batch.fold::<C, true, false, true>(cells, fates, changed, out),
            (true, true, false) => batch.fold::<C, true, true, false>(cells, fates, changed, out),
            (true, true, true) => batch.fold::<C, true, true, true>(cells, fates, changed, out),
        }
        cells.check()?;
        cells.finish(output)
    }

    fn evaluate(&self, slots: &[u32]) -> Result<ArrayRef> {
        let mut output = self.0.output(slots.len());
        for (at, &slot) in slots.iter().enumerate() {
            let slot = slot as usize;
            self.0.put(at, slot, self.0.value(slot), &mut output);
        }
        self.0.finish(output)
    }

    fn state_fields(&self) -> Vec<Field> {
        self.0.state_fields()
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.0.snapshot(slots)
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.0.merge(slots, state)
    }

    fn restore(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.0.restore(slots, state)
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        self.0.merge_slots(into, from)
    }

    fn memory_size(&self) -> usize {
        self.0.memory_size()
    }
}

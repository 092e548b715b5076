//! DISTINCT: which rows bring a new value to their group, and which take the last of a value away.

mod keyed;

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_streaming_udfs::aggregate::{DistinctMembership, DistinctRows};

use self::keyed::KeyedValues;

/// The values of some columns in every group, and how often each of them is there.
///
/// All DISTINCT calls over the same columns share one: a value has a count for each of their FILTERs. A
/// call's state then sees only the rows that make a count go from 0 to 1, or from 1 to 0. A count may
/// be negative, as in Flink: a value that was taken before it came does not count when it comes.
#[derive(Debug)]
pub(super) struct DistinctValues {
    /// The columns of the input.
    columns: Vec<usize>,
    /// The boolean columns of the FILTERs, `None` for calls without.
    filters: Vec<Option<usize>>,
    members: Members,
}

/// What distinct values are kept for.
#[derive(Debug, Clone, Copy)]
pub(super) enum DistinctUse {
    /// To be there for rows to come, for so many milliseconds after their last write; 0: for ever.
    Kept {
        /// The time to live.
        ttl: i64,
    },
    /// To be merged into others.
    Partial,
}

#[derive(Debug)]
enum Members {
    /// Values of one column.
    Typed(DistinctMembership),
    /// Of several, of other types, or with a time to live.
    Keyed(Box<KeyedValues>),
}

/// The members of partial states as rows: what calls must fold when the partials are merged.
pub(super) struct MergedValues {
    /// The group of each row.
    pub slots: Vec<u32>,
    /// The columns of the values.
    pub values: Vec<ArrayRef>,
    /// For each filter, which rows count and which of them take their value away.
    pub passing: Vec<(BooleanArray, Vec<bool>)>,
}

impl DistinctValues {
    /// For calls over these columns of an input of these types.
    pub(super) fn try_new(
        columns: Vec<usize>,
        filters: Vec<Option<usize>>,
        input: &[DataType],
        retracting: bool,
        use_of: DistinctUse,
    ) -> Result<Self> {
        let types: Vec<_> = columns.iter().map(|column| input[*column].clone()).collect();
        let typed = match types.as_slice() {
            [one] => match use_of {
                DistinctUse::Kept { ttl: 0 } => {
                    DistinctMembership::try_new(one, filters.len(), retracting).ok()
                }
                DistinctUse::Kept { .. } => None,
                DistinctUse::Partial => DistinctMembership::for_partials(one, filters.len(), retracting).ok(),
            },
            _ => None,
        };
        let ttl = match use_of {
            DistinctUse::Kept { ttl } => ttl,
            DistinctUse::Partial => 0,
        };
        let members = match typed {
            Some(members) => Members::Typed(members),
            None => Members::Keyed(Box::new(KeyedValues::try_new(&types, filters.len(), retracting, ttl)?)),
        };
        Ok(DistinctValues { columns, filters, members })
    }

    pub(super) fn grow(&mut self, slots: usize) {
        match &mut self.members {
            Members::Typed(members) => members.grow(slots),
            Members::Keyed(members) => members.grow(slots),
        }
    }

    /// Counts the values of a batch, row by row, and returns which rows pass on, for each filter.
    pub(super) fn observe(
        &mut self,
        batch: &RecordBatch,
        rows: &DistinctRows<'_>,
        now: i64,
    ) -> Result<Vec<BooleanArray>> {
        let filter = |filter: &Option<usize>| filter.map(|column| batch.column(column).as_boolean());
        let filters: Vec<_> = self.filters.iter().map(filter).collect();
        let mut values: Vec<_> =
            self.columns.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        match (&mut self.members, values.as_slice()) {
            (Members::Typed(members), [values]) => members.apply(rows, values, &filters),
            (Members::Typed(_), _) => Err(internal_datafusion_err!("DISTINCT of one column got others")),
            (Members::Keyed(members), _) => members.observe(rows, std::mem::take(&mut values), &filters, now),
        }
    }

    /// Clears groups.
    pub(super) fn clear(&mut self, slots: &[u32]) {
        match &mut self.members {
            Members::Typed(members) => members.clear(slots),
            Members::Keyed(members) => members.clear(slots),
        }
    }

    /// Gives back the members whose time to live is over.
    pub(super) fn sweep(&mut self, now: i64) {
        if let Members::Keyed(members) = &mut self.members {
            members.sweep(now);
        }
    }

    /// The fields of [`DistinctValues::snapshot`].
    pub(super) fn state_fields(&self) -> Vec<Field> {
        match &self.members {
            Members::Typed(members) => members.state_fields(),
            Members::Keyed(members) => vec![members.state_field()],
        }
    }

    /// The members of each of these groups.
    pub(super) fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        match &self.members {
            Members::Typed(members) => members.snapshot(slots),
            Members::Keyed(members) => Ok(vec![members.snapshot(slots)?]),
        }
    }

    /// Takes back members saved by [`DistinctValues::snapshot`].
    pub(super) fn restore(&mut self, slots: &[u32], saved: &[ArrayRef]) -> Result<()> {
        match (&mut self.members, saved) {
            (Members::Typed(members), saved) => members.merge(slots, saved).map(|_| ()),
            (Members::Keyed(members), [saved]) => members.restore(slots, saved),
            _ => Err(internal_datafusion_err!("the state of distinct values has another form")),
        }
    }

    /// Adds the members of partial states, and tells what that means for the calls.
    pub(super) fn merge(&mut self, slots: &[u32], partial: &[ArrayRef], now: i64) -> Result<MergedValues> {
        match (&mut self.members, partial) {
            (Members::Typed(members), partial) => {
                let merged = members.merge(slots, partial)?;
                let passing = merged.masks.into_iter().map(|mask| (mask, merged.retract.clone())).collect();
                Ok(MergedValues { slots: merged.slots, values: vec![merged.values], passing })
            }
            (Members::Keyed(members), [partial]) => members.merge(slots, partial, now),
            _ => Err(internal_datafusion_err!("the state of distinct values has another form")),
        }
    }

    pub(super) fn memory_size(&self) -> usize {
        match &self.members {
            Members::Typed(members) => members.memory_size(),
            Members::Keyed(members) => members.memory_size(),
        }
    }
}

//! What groups emit that emit at times, not with every row: the difference to what they emitted last.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::{interleave, take};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type, SchemaRef};
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, RowKind};

/// A group that may have changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Changed {
    pub slot: u32,
    /// The place of what it emitted last among the values before; `None`: it has nothing out.
    pub before: Option<u32>,
    /// The place of its values among those after; `None`: it has no rows any more.
    pub after: Option<u32>,
}

/// The rows to emit: for each its group, where its values are, and its kind.
#[derive(Default)]
pub(crate) struct NetChanges {
    slots: Vec<u32>,
    /// Before (0) or after (1), and the place there.
    values: Vec<(usize, usize)>,
    kinds: Vec<RowKind>,
}

impl NetChanges {
    /// The changes of groups, in their order; updates that change nothing are left out, and the `-U` of
    /// the others unless it is needed.
    pub(crate) fn of(
        groups: &[Changed],
        before: &[ArrayRef],
        after: &[ArrayRef],
        update_before: bool,
    ) -> Result<Self> {
        let updates: Vec<(u32, u32)> =
            groups.iter().filter_map(|group| Some((group.before?, group.after?))).collect();
        let mut changed = rows_that_differ(&updates, before, after)?.into_iter();
        let mut changes = NetChanges::default();
        for Changed { slot, before, after } in groups {
            match (*before, *after) {
                (None, None) => {}
                (None, Some(is)) => changes.push(*slot, (1, is), RowKind::Insert),
                (Some(was), None) => changes.push(*slot, (0, was), RowKind::Delete),
                (Some(was), Some(is)) => {
                    if changed.next().unwrap_or_default() {
                        if update_before {
                            changes.push(*slot, (0, was), RowKind::UpdateBefore);
                        }
                        changes.push(*slot, (1, is), RowKind::UpdateAfter);
                    }
                }
            }
        }
        Ok(changes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The groups of the rows.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// The rows; `keys` are the key columns of [`NetChanges::slots`].
    pub(crate) fn batch(
        self,
        keys: Vec<ArrayRef>,
        before: &[ArrayRef],
        after: &[ArrayRef],
        schema: &SchemaRef,
    ) -> Result<ChangelogBatch> {
        let mut columns = keys;
        for (before, after) in before.iter().zip(after) {
            columns.push(interleave(&[before, after], &self.values)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.kinds.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        ChangelogBatch::try_new(batch, self.kinds.into())
    }

    fn push(&mut self, slot: u32, (side, place): (usize, u32), kind: RowKind) {
        self.slots.push(slot);
        self.values.push((side, place as usize));
        self.kinds.push(kind);
    }
}

/// For each pair of rows whether any column differs.
fn rows_that_differ(pairs: &[(u32, u32)], before: &[ArrayRef], after: &[ArrayRef]) -> Result<Vec<bool>> {
    let (befores, afters): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let (befores, afters) = (UInt32Array::from(befores), UInt32Array::from(afters));
    let mut differ = vec![false; pairs.len()];
    for (before, after) in before.iter().zip(after) {
        let (before, after) = (take(before, &befores, None)?, take(after, &afters, None)?);
        let same = same_values(&before, &after)?;
        differ.iter_mut().zip(same.values()).for_each(|(differ, same)| *differ |= !same);
    }
    Ok(differ)
}

/// Which rows agree, NULL with NULL; floats as Java's `==` has it, so that a NaN does not even agree
/// with itself.
fn same_values(before: &ArrayRef, after: &ArrayRef) -> Result<BooleanArray> {
    Ok(match before.data_type() {
        DataType::Float32 => same_floats::<Float32Type>(before, after),
        DataType::Float64 => same_floats::<Float64Type>(before, after),
        data_type if data_type.is_nested() => {
            let same = |row: usize| before.slice(row, 1).as_ref() == after.slice(row, 1).as_ref();
            BooleanArray::from((0..before.len()).map(same).collect::<Vec<bool>>())
        }
        _ => not_distinct(before, after)?,
    })
}

fn same_floats<T: ArrowPrimitiveType>(before: &ArrayRef, after: &ArrayRef) -> BooleanArray {
    let (before, after) = (before.as_primitive::<T>(), after.as_primitive::<T>());
    before.iter().zip(after).map(|(before, after)| Some(before == after)).collect()
}

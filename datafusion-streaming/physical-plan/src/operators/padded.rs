//! Rows that may be padded with NULLs.

use arrow::array::UInt32Array;

/// In place of a row: NULLs.
pub(super) const NO_ROW: u32 = u32::MAX;

/// Indices for `take`, NULL for [`NO_ROW`].
pub(super) fn padded_indices(rows: &[u32]) -> UInt32Array {
    match rows.contains(&NO_ROW) {
        true => rows.iter().map(|row| (*row != NO_ROW).then_some(*row)).collect(),
        false => UInt32Array::from(rows.to_vec()),
    }
}

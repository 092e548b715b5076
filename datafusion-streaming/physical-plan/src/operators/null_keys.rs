//! Keys that are equal to none.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;

/// Where any of the key columns is NULL; `None`: nowhere.
pub(super) fn null_keys(keys: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls = keys.iter().fold(None, |nulls: Option<NullBuffer>, key| {
        NullBuffer::union(nulls.as_ref(), key.logical_nulls().as_ref())
    });
    nulls.filter(|nulls| nulls.null_count() > 0)
}

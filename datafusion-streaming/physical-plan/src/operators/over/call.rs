//! What is computed over a frame.

use std::fmt;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::kernels::zip::zip;
use datafusion_common::{Result, ScalarValue};

use crate::operators::aggregate::AggregateCall;
use crate::state::{Place, RowStore};

/// A function over a frame, its arguments being columns of the operator's input.
#[derive(Debug, Clone)]
pub enum OverCall {
    /// An aggregate.
    Aggregate(AggregateCall),
    /// The number of the row among those of its key.
    RowNumber,
    /// One more than the rows before the row and its peers.
    Rank,
    /// The number of different times up to the row.
    DenseRank,
    /// The value of a row before: in Flink the frame of LAG has peers, which share the value `offset` rows
    /// before the last of them.
    Lag {
        /// The column of the value.
        column: usize,
        /// How many rows before.
        offset: usize,
        /// The value where there is no such row; NULL by default.
        default: Option<ScalarValue>,
    },
    /// The value of a row behind, in the order of time and arrival. Flink has no LEAD in a stream.
    Lead {
        /// The column of the value.
        column: usize,
        /// How many rows behind.
        offset: usize,
        /// The value where there is no such row; NULL by default.
        default: Option<ScalarValue>,
    },
}

impl OverCall {
    /// The column and the default of LAG and LEAD.
    pub(super) fn as_shift(&self) -> Option<(usize, Option<&ScalarValue>)> {
        match self {
            OverCall::Lag { column, default, .. } | OverCall::Lead { column, default, .. } => {
                Some((*column, default.as_ref()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for OverCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverCall::Aggregate(call) => call.fmt(f),
            OverCall::RowNumber => f.write_str("row_number()"),
            OverCall::Rank => f.write_str("rank()"),
            OverCall::DenseRank => f.write_str("dense_rank()"),
            OverCall::Lag { column, offset, .. } => write!(f, "lag(${column}, {offset})"),
            OverCall::Lead { column, offset, .. } => write!(f, "lead(${column}, {offset})"),
        }
    }
}

/// The values of a LAG or LEAD call, given where they are, and the rows that they are for.
pub(super) fn shifted_column(
    store: &RowStore,
    column: usize,
    found: &[Option<Place>],
    own: &[Place],
    default: Option<&ScalarValue>,
) -> Result<ArrayRef> {
    let is_there: BooleanArray = found.iter().map(|place| Some(place.is_some())).collect();
    let places: Vec<Place> = found.iter().zip(own).map(|(place, own)| place.unwrap_or(*own)).collect();
    let values = store.gather_column(column, &places)?;
    let default = match default {
        Some(default) => default.cast_to(values.data_type())?,
        None => ScalarValue::try_from(values.data_type())?,
    };
    Ok(zip(&is_there, &values, &default.to_scalar()?)?)
}

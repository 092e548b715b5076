//! The sort columns of rows as keys that compare in one step.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion_common::Result;

/// The sort columns of a row, as arrow-row bytes: they compare as the columns do, direction and
/// place of NULLs included.
pub trait SortKey: Ord + Clone + Debug + Send + 'static {
    /// The key of encoded columns.
    fn of(row: Row<'_>) -> Self;

    /// How the key compares with encoded columns, without making a key of them.
    fn cmp_row(&self, row: Row<'_>) -> std::cmp::Ordering;
}

/// A key of at most 16 bytes, which needs no memory of its own.
pub type InlineKey = u128;

/// A key of any length.
pub type LongKey = Box<[u8]>;

impl SortKey for InlineKey {
    #[inline]
    fn of(row: Row<'_>) -> Self {
        let mut bytes = [0; 16];
        let row = row.as_ref();
        let length = row.len().min(16);
        bytes[..length].copy_from_slice(&row[..length]);
        u128::from_be_bytes(bytes)
    }

    #[inline]
    fn cmp_row(&self, row: Row<'_>) -> std::cmp::Ordering {
        self.cmp(&InlineKey::of(row))
    }
}

impl SortKey for LongKey {
    fn of(row: Row<'_>) -> Self {
        Box::from(row.as_ref())
    }

    fn cmp_row(&self, row: Row<'_>) -> std::cmp::Ordering {
        self.as_ref().cmp(row.as_ref())
    }
}

/// Whether the keys of columns of these types are [`InlineKey`]s.
pub fn is_inline(types: &[DataType]) -> bool {
    let width = |data_type: &DataType| match data_type {
        DataType::Boolean => Some(2),
        other => other.primitive_width().map(|width| width + 1),
    };
    types.iter().map(width).sum::<Option<usize>>().is_some_and(|width| width <= 16)
}

/// The column with one zero: -0.0 sorts as 0.0, while arrow-row tells them apart.
fn with_one_zero(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| v + 0.0))
        }
        DataType::Float64 => {
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| v + 0.0))
        }
        _ => Arc::clone(column),
    }
}

/// Makes the keys of the sort columns of a batch.
#[derive(Debug, Clone)]
pub struct SortKeys {
    columns: Vec<(usize, SortOptions)>,
    converter: Arc<RowConverter>,
}

impl SortKeys {
    /// Keys of the columns `(column, direction)` of rows of these types.
    pub fn try_new(columns: Vec<(usize, SortOptions)>, types: &[DataType]) -> Result<Self> {
        let field = |(column, options): &(usize, SortOptions)| {
            SortField::new_with_options(types[*column].clone(), *options)
        };
        let mut fields: Vec<_> = columns.iter().map(field).collect();
        if fields.is_empty() {
            // rows have no order: a constant stands for it
            fields.push(SortField::new(DataType::Boolean));
        }
        Ok(SortKeys { columns, converter: Arc::new(RowConverter::new(fields)?) })
    }

    /// The encoded sort columns of each of `rows` rows.
    pub fn encode(&self, columns: &[ArrayRef], rows: usize) -> Result<Rows> {
        let mut sorted: Vec<ArrayRef> =
            self.columns.iter().map(|(column, _)| with_one_zero(&columns[*column])).collect();
        if sorted.is_empty() {
            sorted.push(Arc::new(BooleanArray::new_null(rows)));
        }
        Ok(self.converter.convert_columns(&sorted)?)
    }
}

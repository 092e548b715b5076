//! Elements compared as Flink compares them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::Result;

/// Makes values of one type comparable.
pub(super) struct Equality {
    converter: RowConverter,
}

/// Values of a column that can be compared. NULL is equal to NULL, -0.0 to 0.0, and NaN to nothing.
pub(super) struct Comparable {
    rows: Rows,
    nan: Option<BooleanBuffer>,
}

impl Equality {
    pub(super) fn new(data_type: &DataType) -> Result<Self> {
        Ok(Self { converter: RowConverter::new(vec![SortField::new(data_type.clone())])? })
    }

    pub(super) fn comparable(&self, values: &ArrayRef) -> Result<Comparable> {
        let (values, nan) = match values.data_type() {
            DataType::Float64 => {
                let doubles = values.as_primitive::<Float64Type>();
                let nan = flags(doubles.len(), |row| doubles.is_valid(row) && doubles.value(row).is_nan());
                (Arc::new(doubles.unary::<_, Float64Type>(|value| value + 0.0)) as ArrayRef, nan)
            }
            DataType::Float32 => {
                let floats = values.as_primitive::<Float32Type>();
                let nan = flags(floats.len(), |row| floats.is_valid(row) && floats.value(row).is_nan());
                (Arc::new(floats.unary::<_, Float32Type>(|value| value + 0.0)) as ArrayRef, nan)
            }
            _ => (Arc::clone(values), None),
        };
        Ok(Comparable { rows: self.converter.convert_columns(&[values])?, nan })
    }
}

/// The rows for which something holds, if there are any.
fn flags(rows: usize, holds: impl Fn(usize) -> bool) -> Option<BooleanBuffer> {
    let mut flags = BooleanBufferBuilder::new(rows);
    (0..rows).for_each(|row| flags.append(holds(row)));
    Some(flags.finish()).filter(|flags| flags.count_set_bits() > 0)
}

impl Comparable {
    fn is_nan(&self, row: usize) -> bool {
        self.nan.as_ref().is_some_and(|nan| nan.value(row))
    }

    /// Whether a value is equal to one of another column.
    pub(super) fn equals(&self, row: usize, other: &Comparable, other_row: usize) -> bool {
        self.rows.row(row) == other.rows.row(other_row) && !self.is_nan(row) && !other.is_nan(other_row)
    }
}

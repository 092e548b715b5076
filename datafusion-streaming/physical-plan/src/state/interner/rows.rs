//! Keys of any columns, as arrow-row bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;

use super::bytes::ByteKeys;

/// Keys of any number of columns.
#[derive(Debug)]
pub struct RowKeys {
    converter: RowConverter,
    keys: ByteKeys,
}

impl RowKeys {
    pub(super) fn try_new(types: &[DataType]) -> Result<Self> {
        let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
        Ok(RowKeys { converter: RowConverter::new(fields)?, keys: ByteKeys::new() })
    }

    pub(super) fn slots(&self) -> usize {
        self.keys.slots()
    }

    pub(super) fn free(&self) -> &[u32] {
        self.keys.free()
    }

    pub(super) fn memory_size(&self) -> usize {
        self.keys.memory_size() + self.converter.size()
    }

    pub(super) fn intern(&mut self, columns: &[ArrayRef], slots: &mut Vec<u32>) -> Result<()> {
        let columns: Vec<_> = columns.iter().map(with_one_nan).collect();
        let rows = self.converter.convert_columns(&columns)?;
        for row in rows.iter() {
            slots.push(self.keys.intern(row.as_ref())?);
        }
        Ok(())
    }

    pub(super) fn release(&mut self, slots: &[u32]) {
        for slot in slots {
            self.keys.release(*slot);
        }
    }

    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let parser = self.converter.parser();
        let rows = slots.iter().map(|slot| parser.parse(self.keys.get(*slot)));
        Ok(self.converter.convert_rows(rows)?)
    }
}

/// The column with the NaNs made alike, since arrow-row tells them apart by their bits.
fn with_one_nan(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 if column.as_primitive::<Float32Type>().values().iter().any(|v| v.is_nan()) => {
            let array: Float32Array =
                column.as_primitive::<Float32Type>().unary(|v| if v.is_nan() { f32::NAN } else { v });
            Arc::new(array)
        }
        DataType::Float64 if column.as_primitive::<Float64Type>().values().iter().any(|v| v.is_nan()) => {
            let array: Float64Array =
                column.as_primitive::<Float64Type>().unary(|v| if v.is_nan() { f64::NAN } else { v });
            Arc::new(array)
        }
        _ => Arc::clone(column),
    }
}

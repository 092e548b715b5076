//! Casts of arrays, rows and maps, whose elements are cast.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, NullBufferBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion_common::Result;

use super::{Casting, FlinkCast, arrow_cast};

/// Whether elements cannot be cast by Arrow alone; an error if they cannot be cast at all.
pub(super) fn differs(from: &Field, to: &Field) -> Result<bool> {
    let by_flink = FlinkCast::differs(from.data_type(), &Field::new("", to.data_type().clone(), true))?;
    Ok(by_flink || from.data_type() != to.data_type())
}

/// Casts every element. With TRY_CAST an element that cannot be cast makes the whole value NULL, as in Flink.
pub(super) fn cast(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    match (from.data_type(), casting.target) {
        (DataType::List(_), DataType::List(field)) => {
            let lists = from.as_list::<i32>();
            let (offsets, elements) = own_elements(lists.offsets(), lists.values());
            let values = super::cast(&elements, &casting.to(field.data_type()))?;
            let failed =
                |row: usize| failed(&elements, &values, offsets[row] as usize..offsets[row + 1] as usize);
            let nulls = without_failed(from, casting, failed);
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let rows = from.as_struct();
            let columns = rows.columns().iter().zip(fields);
            let columns: Vec<_> = columns
                .map(|(column, field)| super::cast(column, &casting.to(field.data_type())))
                .collect::<Result<_>>()?;
            let failed = |row: usize| {
                rows.columns().iter().zip(&columns).any(|(from, to)| failed(from, to, row..row + 1))
            };
            let nulls = without_failed(from, casting, failed);
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?))
        }
        (DataType::Map(_, _), DataType::Map(field, sorted)) => {
            let maps = from.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let (offsets, entries) = own_elements(maps.offsets(), &entries);
            let values = super::cast(&entries, &casting.to(field.data_type()))?;
            let nulls = from.nulls().cloned();
            let entries = values.as_struct().clone();
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?))
        }
        (_, target) => arrow_cast(from, target, casting.lenient),
    }
}

/// The elements of these lists alone, and where each list begins in them. A slice has those of all lists, of which others may be of
/// no use for the cast.
fn own_elements(offsets: &OffsetBuffer<i32>, elements: &ArrayRef) -> (OffsetBuffer<i32>, ArrayRef) {
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return (offsets.clone(), Arc::clone(elements));
    };
    if first == 0 && last as usize == elements.len() {
        return (offsets.clone(), Arc::clone(elements));
    }
    let moved = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(moved), elements.slice(first as usize, (last - first) as usize))
}

/// Whether one of the elements in a range became NULL by the cast.
fn failed(from: &ArrayRef, to: &ArrayRef, range: std::ops::Range<usize>) -> bool {
    to.null_count() > from.null_count()
        && range.into_iter().any(|element| from.is_valid(element) && to.is_null(element))
}

/// The rows that are NULL, among them those of TRY_CAST that failed.
fn without_failed(
    from: &ArrayRef,
    casting: &Casting<'_>,
    failed: impl Fn(usize) -> bool,
) -> Option<arrow::buffer::NullBuffer> {
    if !casting.lenient {
        return from.nulls().cloned();
    }
    let mut nulls = NullBufferBuilder::new(from.len());
    (0..from.len()).for_each(|row| nulls.append(from.is_valid(row) && !failed(row)));
    nulls.finish()
}

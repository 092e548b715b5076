//! Which rows of a store are equal: NULL equals NULL, and floats are compared by their bits.

use arrow::array::{Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::array::{downcast_primitive, downcast_primitive_array};
use arrow::datatypes::{ArrowNativeTypeOp, DataType};

use super::{Place, RowStore};

impl RowStore {
    /// For each pair of places, whether the rows there are equal in these columns.
    pub fn equal_pairs(&self, pairs: &[(Place, Place)], columns: &[usize]) -> Vec<bool> {
        let mut equal = vec![true; pairs.len()];
        for column in columns {
            let mut compare = Comparison { store: self, column: *column, pairs, equal: &mut equal };
            macro_rules! primitives {
                ($t:ty) => {
                    compare.run(|array| array.as_primitive::<$t>(), |left, right| left.is_eq(right))
                };
            }
            downcast_primitive! {
                self.schema().field(*column).data_type() => (primitives),
                DataType::Boolean => compare.run(|array| array.as_boolean(), |left, right| left == right),
                DataType::Utf8 => compare.run(|array| array.as_string::<i32>(), |left, right| left == right),
                DataType::Utf8View => compare.run(|array| array.as_string_view(), |left, right| left == right),
                DataType::Binary => compare.run(|array| array.as_binary::<i32>(), |left, right| left == right),
                _ => compare.one_by_one()
            }
        }
        equal
    }
}

/// Looks at one column of pairs of rows.
struct Comparison<'a, 'b> {
    store: &'a RowStore,
    column: usize,
    pairs: &'b [(Place, Place)],
    equal: &'b mut [bool],
}

impl<'a> Comparison<'a, '_> {
    /// Compares values read by `typed` by `is_same`.
    fn run<A: ArrayAccessor + Copy>(
        &mut self,
        typed: impl Fn(&'a ArrayRef) -> A,
        is_same: impl Fn(A::Item, A::Item) -> bool,
    ) {
        let (store, column) = (self.store, self.column);
        let mut arrays: Vec<Option<A>> = vec![None; store.chunks()];
        let mut array_of = |place: Place| {
            *arrays[place.chunk as usize].get_or_insert_with(|| typed(store.column(place.chunk, column)))
        };
        for ((left, right), equal) in self.pairs.iter().zip(self.equal.iter_mut()) {
            let (lefts, rights) = (array_of(*left), array_of(*right));
            let (left, right) = (left.row as usize, right.row as usize);
            *equal &= match (lefts.is_null(left), rights.is_null(right)) {
                (false, false) => is_same(lefts.value(left), rights.value(right)),
                (is_left_null, is_right_null) => is_left_null == is_right_null,
            };
        }
    }

    /// The same for values of any type.
    fn one_by_one(&mut self) {
        for ((left, right), equal) in self.pairs.iter().zip(self.equal.iter_mut()) {
            let lefts = self.store.column(left.chunk, self.column);
            let rights = self.store.column(right.chunk, self.column);
            *equal = *equal && equal_values(lefts, left.row as usize, rights, right.row as usize);
        }
    }
}

/// Whether two values of the same type are equal: NULL equals NULL, floats by their bits.
pub fn equal_values(left: &ArrayRef, left_row: usize, right: &ArrayRef, right_row: usize) -> bool {
    fn primitive<T: ArrowPrimitiveType>(
        left: &PrimitiveArray<T>,
        i: usize,
        right: &ArrayRef,
        j: usize,
    ) -> bool {
        left.value(i).is_eq(right.as_primitive::<T>().value(j))
    }
    match (left.is_null(left_row), right.is_null(right_row)) {
        (true, true) => return true,
        (false, false) => {}
        _ => return false,
    }
    let array = left.as_ref();
    downcast_primitive_array!(
        array => primitive(array, left_row, right, right_row),
        DataType::Boolean => array.as_boolean().value(left_row) == right.as_boolean().value(right_row),
        DataType::Utf8 => array.as_string::<i32>().value(left_row) == right.as_string::<i32>().value(right_row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(left_row) == right.as_string::<i64>().value(right_row),
        DataType::Utf8View => array.as_string_view().value(left_row) == right.as_string_view().value(right_row),
        DataType::Binary => array.as_binary::<i32>().value(left_row) == right.as_binary::<i32>().value(right_row),
        // nested values are rare, and compared as arrays of one
        _ => left.slice(left_row, 1).as_ref() == right.slice(right_row, 1).as_ref()
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
    use arrow::datatypes::Int32Type;
    use datafusion_common::Result;

    use super::*;

    /// A row of every kind of type, from two batches.
    #[test]
    fn rows_are_compared_column_by_column() -> Result<()> {
        let batch = |numbers: [Option<i64>; 4], float: f64, text: &str, list: i32| {
            let columns: Vec<(&str, ArrayRef)> = vec![
                ("number", Arc::new(Int64Array::from(numbers.to_vec()))),
                ("flag", Arc::new(BooleanArray::from(vec![true; 4]))),
                ("float", Arc::new(Float64Array::from(vec![float; 4]))),
                ("text", Arc::new(StringArray::from(vec![text; 4]))),
                (
                    "list",
                    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some([Some(list)]); 4])),
                ),
            ];
            RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
        };
        let numbers = [Some(1), None, Some(3), None];
        let mut store = RowStore::new(batch(numbers, 0.0, "a", 1)?.schema());
        let all = [0, 1, 2, 3, 4];
        let mut equal_to = |numbers, float, text, list, columns: &[usize]| -> Result<Vec<bool>> {
            store.open(&batch([Some(1), None, Some(3), Some(4)], f64::NAN, "a", 1)?);
            let kept: Vec<_> = (0..4).map(|row| store.add(row)).collect();
            store.close()?;
            store.open(&batch(numbers, float, text, list)?);
            let pairs: Vec<_> = kept
                .iter()
                .enumerate()
                .map(|(row, id)| (store.place(*id), store.place_in_batch(row)))
                .collect();
            let equal = store.equal_pairs(&pairs, columns);
            let singly: Vec<_> =
                kept.iter().enumerate().map(|(row, id)| store.equals(*id, row, columns)).collect();
            assert_eq!(equal, singly);
            kept.into_iter().for_each(|id| store.remove(id));
            store.close()?;
            Ok(equal)
        };
        assert_eq!(equal_to(numbers, f64::NAN, "a", 1, &all)?, [true, true, true, false]);
        assert_eq!(
            equal_to([None, Some(1), Some(2), Some(4)], f64::NAN, "a", 1, &all)?,
            [false, false, false, true]
        );
        assert_eq!(equal_to(numbers, 0.0, "a", 1, &all)?, [false; 4]);
        assert_eq!(equal_to(numbers, f64::NAN, "b", 1, &all)?, [false; 4]);
        assert_eq!(equal_to(numbers, f64::NAN, "a", 2, &all)?, [false; 4]);
        assert_eq!(equal_to(numbers, 0.0, "b", 2, &[1])?, [true; 4]);
        Ok(())
    }
}

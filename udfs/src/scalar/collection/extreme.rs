//! What ARRAY_MAX and ARRAY_MIN share.

use arrow::array::{Array, ArrayRef, UInt32Array, make_comparator};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;
use std::cmp::Ordering;

use super::equality::Equality;
use super::lists::{element_type, elements, list, list_of};

pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [list] = args else { return None };
    let element = element_type(list)?;
    Some((vec![list_of(element.clone())], element.clone()))
}

/// The greatest or least element of every array.
pub(super) fn extreme(args: &ScalarFunctionArgs, greatest: bool) -> Result<ArrayRef> {
    let lists = list(args, 0)?;
    let values = lists.values();
    let compare = make_comparator(values, values, SortOptions::default())?;
    let comparable = Equality::new(values.data_type())?.comparable(values)?;
    let is_nan = |element: usize| !comparable.equals(element, &comparable, element);
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let row = |row| {
        let valid = elements(&lists, row)?.filter(|element| values.is_valid(*element));
        let better = |best: usize, next: usize| {
            let better = !is_nan(best) && !is_nan(next) && compare(next, best) == wanted;
            if better { next } else { best }
        };
        valid.reduce(better).map(|element| element as u32)
    };
    let picked: UInt32Array = (0..args.number_rows).map(row).collect();
    Ok(take(values, &picked, None)?)
}

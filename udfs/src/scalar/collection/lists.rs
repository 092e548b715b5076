//! Arguments that are arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, AsArray, ListArray};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::ScalarFunctionArgs;

use crate::common_type::common_type;
use crate::scalar::arguments::array;

/// An argument as a column of arrays.
pub(super) fn list(args: &ScalarFunctionArgs, index: usize) -> Result<ListArray> {
    let lists = array(args, index)?;
    lists
        .as_list_opt::<i32>()
        .cloned()
        .ok_or_else(|| exec_datafusion_err!("{} is no array", lists.data_type()))
}

/// Where the elements of a row are; `None` for NULL.
pub(super) fn elements(lists: &ListArray, row: usize) -> Option<Range<usize>> {
    let offsets = lists.value_offsets();
    lists.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
}

/// The type of an array of these elements.
pub(super) fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The type of the elements of an array.
pub(super) fn element_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type())
        }
        _ => None,
    }
}

/// An array and a value to look for among its elements, which must fit without a CAST.
pub(super) fn list_and_needle(args: &[DataType]) -> Option<Vec<DataType>> {
    let [list, needle] = args else { return None };
    let element = element_type(list)?;
    // the names of the fields of a ROW do not matter
    let fits = common_type(element, needle).as_ref() == Some(element);
    fits.then(|| vec![list_of(element.clone()), element.clone()])
}

/// An array and one more element, which both become wider if they must.
pub(super) fn list_and_element(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [list, value] = args else { return None };
    let element = common_type(element_type(list)?, value)?;
    let list = list_of(element.clone());
    Some((vec![list.clone(), element], list))
}

/// Arrays of elements that have a type in common.
pub(super) fn lists_of_one_type(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let element =
        crate::common_type::common_type_of(args.iter().map(element_type).collect::<Option<Vec<_>>>()?)?;
    let list = list_of(element);
    Some((vec![list.clone(); args.len()], list))
}

/// An array, and an array of that type as result.
pub(super) fn one_list(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [list] => {
            element_type(list).map(|element| (vec![list_of(element.clone())], list_of(element.clone())))
        }
        _ => None,
    }
}

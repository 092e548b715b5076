//! ARRAY_SORT.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{SortOptions, cast, sort_to_indices};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::list_rows::ListRows;
use super::lists::{element_type, elements, list, list_of};
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `ARRAY_SORT(array [, ascending [, nulls first]])`: the elements in order, by default ascending. NULLs come first if
/// ascending, else last, unless the third argument says otherwise.
pub(super) fn array_sort() -> ScalarUDF {
    Plain::new("array_sort", "ARRAY_SORT(<ARRAY>, <BOOLEAN>, <BOOLEAN>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (list, flags) = args.split_first()?;
    let list = list_of(element_type(list)?.clone());
    let fits =
        flags.len() <= 2 && flags.iter().all(|flag| matches!(flag, DataType::Boolean | DataType::Null));
    let mut types = vec![list.clone()];
    types.resize(args.len(), DataType::Boolean);
    fits.then_some((types, list))
}

fn flags(args: &ScalarFunctionArgs, index: usize) -> Result<Option<BooleanArray>> {
    match args.args.get(index) {
        Some(_) => Ok(Some(cast(&array(args, index)?, &DataType::Boolean)?.as_boolean().clone())),
        None => Ok(None),
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, ascending, nulls_first) = (list(args, 0)?, flags(args, 1)?, flags(args, 2)?);
    let flag = |flags: &Option<BooleanArray>, row: usize, default: bool| match flags {
        Some(flags) => flags.is_valid(row).then(|| flags.value(row)),
        None => Some(default),
    };
    let mut result = ListRows::with_capacity(args.number_rows, lists.values().len());
    for row in 0..args.number_rows {
        let order = || {
            let ascending = flag(&ascending, row, true)?;
            Some((elements(&lists, row)?, ascending, flag(&nulls_first, row, ascending)?))
        };
        let Some((elements, ascending, nulls_first)) = order() else {
            result.null();
            continue;
        };
        let values = lists.values().slice(elements.start, elements.len());
        let order =
            sort_to_indices(&values, Some(SortOptions { descending: !ascending, nulls_first }), None)?;
        order.values().iter().for_each(|index| result.pick(0, elements.start + *index as usize));
        result.end()?;
    }
    result.finish(args.return_type(), &[lists.values().as_ref()])
}

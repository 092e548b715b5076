//! What functions that choose among their arguments share.

use arrow::array::{Array, ArrayRef, make_comparator, new_null_array};
use arrow::compute::{SortOptions, interleave};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::common_type::common_type_of;
use crate::scalar::arguments::array;

/// Values of a type in common, of which one at least is not a bare NULL.
pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let common = common_type_of(args)?;
    (!common.is_null()).then(|| (vec![common.clone(); args.len()], common))
}

fn columns(args: &ScalarFunctionArgs) -> Result<Vec<ArrayRef>> {
    (0..args.args.len()).map(|index| array(args, index)).collect()
}

/// The first value of each row that is not NULL.
pub(super) fn first_valid(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let columns = columns(args)?;
    if columns[0].logical_null_count() == 0 {
        return Ok(Arc::clone(&columns[0]));
    }
    let nulls: Vec<_> = columns.iter().map(|column| column.logical_nulls()).collect();
    let picked: Vec<_> = (0..args.number_rows)
        .map(|row| {
            let valid = nulls.iter().position(|nulls| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
            (valid.unwrap_or(0), row)
        })
        .collect();
    let sources: Vec<&dyn Array> = columns.iter().map(Arc::as_ref).collect();
    Ok(interleave(&sources, &picked)?)
}

/// The greatest or least value of each row, NULL where one is. NaN is the greatest.
pub(super) fn extreme(args: &ScalarFunctionArgs, wanted: Ordering) -> Result<ArrayRef> {
    let mut columns = columns(args)?;
    let count = columns.len();
    let mut comparators = vec![];
    for left in &columns {
        let row = columns.iter().map(|right| make_comparator(left, right, SortOptions::default()));
        comparators.push(row.collect::<Result<Vec<_>, _>>()?);
    }
    let nulls: Vec<_> = columns.iter().map(|column| column.logical_nulls()).collect();
    columns.push(new_null_array(columns[0].data_type(), 1));
    let picked: Vec<_> = (0..args.number_rows)
        .map(|row| {
            if nulls.iter().flatten().any(|nulls| nulls.is_null(row)) {
                return (count, 0);
            }
            let better = |best: usize, next: usize| {
                if comparators[next][best](row, row) == wanted { next } else { best }
            };
            ((1..count).fold(0, better), row)
        })
        .collect();
    let sources: Vec<&dyn Array> = columns.iter().map(Arc::as_ref).collect();
    Ok(interleave(&sources, &picked)?)
}

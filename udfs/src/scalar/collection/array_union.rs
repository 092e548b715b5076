//! ARRAY_UNION.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::list_rows::ListRows;
use super::lists::{elements, list, lists_of_one_type};
use crate::scalar::plain::Plain;

/// `ARRAY_UNION(a, b)`: the elements of two arrays without repetitions; NULL if one of the arrays is.
pub(super) fn array_union() -> ScalarUDF {
    Plain::new("array_union", "ARRAY_UNION(<ARRAY>, <ARRAY>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    lists_of_one_type(args).filter(|_| args.len() == 2)
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let lists = [list(args, 0)?, list(args, 1)?];
    let equality = Equality::new(lists[0].values().data_type())?;
    let values = [equality.comparable(lists[0].values())?, equality.comparable(lists[1].values())?];
    let mut result = ListRows::with_capacity(args.number_rows, lists[0].values().len());
    for row in 0..args.number_rows {
        let (Some(left), Some(right)) = (elements(&lists[0], row), elements(&lists[1], row)) else {
            result.null();
            continue;
        };
        for (source, element) in left.map(|element| (0, element)).chain(right.map(|element| (1, element))) {
            let known = |(of, known): &(usize, usize)| values[*of].equals(*known, &values[source], element);
            if !result.current().iter().any(known) {
                result.pick(source, element);
            }
        }
        result.end()?;
    }
    result.finish(args.return_type(), &[lists[0].values().as_ref(), lists[1].values().as_ref()])
}

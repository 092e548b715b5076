//! The constructor of maps.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::{Comparable, Equality};
use super::maps::{MapRows, map_of};
use crate::common_type::common_type_of;
use crate::scalar::arguments::array;
use crate::scalar::plain::{Nullable, Plain};

/// `MAP[key, value, …]`, planned as `make_map(key, value, …)`. Of a key that comes twice the last value counts.
pub fn make_map() -> ScalarUDF {
    Plain::new("make_map", "MAP[<ANY>, <ANY>, …]", types, evaluate).nullable(Nullable::Never).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let key = common_type_of(args.iter().step_by(2))?;
    let value = common_type_of(args.iter().skip(1).step_by(2))?;
    let types = [key.clone(), value.clone()].into_iter().cycle().take(args.len()).collect();
    args.len().is_multiple_of(2).then(|| (types, map_of(key, value)))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let columns = (0..args.args.len()).map(|index| array(args, index)).collect::<Result<Vec<_>>>()?;
    let (keys, values): (Vec<_>, Vec<_>) = columns.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).unzip();
    let equality = Equality::new(keys[0].data_type())?;
    let comparable: Vec<Comparable> =
        keys.iter().map(|keys| equality.comparable(keys)).collect::<Result<_>>()?;
    let equal = |left: (usize, usize), right: (usize, usize)| {
        comparable[left.0].equals(left.1, &comparable[right.0], right.1)
    };
    let mut result = MapRows::with_capacity(args.number_rows, args.number_rows * keys.len());
    for row in 0..args.number_rows {
        (0..keys.len()).for_each(|pair| result.put((pair, row), equal));
        result.end()?;
    }
    let of = |columns: Vec<&ArrayRef>| columns.into_iter().cloned().collect::<Vec<_>>();
    let (keys, values) = (of(keys), of(values));
    let keys: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    result.finish(args.return_type(), &keys, &values)
}

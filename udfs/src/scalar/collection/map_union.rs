//! MAP_UNION.

use arrow::array::{Array, ArrayRef, AsArray, MapArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::{Comparable, Equality};
use super::maps::{MapRows, entries};
use crate::common_type::common_type_of;
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `MAP_UNION(map, …)`: the entries of several maps; of a key that comes twice that of the last map counts. NULL if one of the
/// maps is.
pub(super) fn map_union() -> ScalarUDF {
    Plain::new("map_union", "MAP_UNION(<MAP>, …)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let map = common_type_of(args)?;
    matches!(map, DataType::Map(_, _)).then(|| (vec![map.clone(); args.len()], map))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let columns = (0..args.args.len()).map(|index| array(args, index)).collect::<Result<Vec<_>>>()?;
    let maps: Vec<&MapArray> = columns.iter().map(|column| column.as_map()).collect();
    let equality = Equality::new(maps[0].keys().data_type())?;
    let comparable: Vec<Comparable> =
        maps.iter().map(|map| equality.comparable(map.keys())).collect::<Result<_>>()?;
    let equal = |left: (usize, usize), right: (usize, usize)| {
        comparable[left.0].equals(left.1, &comparable[right.0], right.1)
    };
    let mut result = MapRows::with_capacity(args.number_rows, maps.iter().map(|map| map.keys().len()).sum());
    for row in 0..args.number_rows {
        if maps.iter().any(|map| map.is_null(row)) {
            result.null();
            continue;
        }
        for (source, map) in maps.iter().enumerate() {
            entries(map, row).into_iter().flatten().for_each(|entry| result.put((source, entry), equal));
        }
        result.end()?;
    }
    let keys: Vec<&dyn Array> = maps.iter().map(|map| map.keys().as_ref()).collect();
    let values: Vec<&dyn Array> = maps.iter().map(|map| map.values().as_ref()).collect();
    result.finish(args.return_type(), &keys, &values)
}

//! Maps as keys: the order of their entries does not matter.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, MapArray, StructArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// A map with its entries in the order of their keys: equal maps become equal values.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MapKey {
    signature: Signature,
}

impl Default for MapKey {
    fn default() -> Self {
        MapKey { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MapKey {
    fn name(&self) -> &str {
        "flink_map_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [map @ DataType::Map(_, _)] => Ok(map.clone()),
            other => plan_err!("flink_map_key takes a map, not {other:?}"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [map]: [ArrayRef; 1] = match ColumnarValue::values_to_arrays(&args.args)?.try_into() {
            Ok(arrays) => arrays,
            Err(_) => return plan_err!("flink_map_key takes a map"),
        };
        match map.as_map_opt() {
            Some(map) => Ok(ColumnarValue::Array(Arc::new(sorted(map)?))),
            None => plan_err!("flink_map_key takes a map, not {}", map.data_type()),
        }
    }
}

fn sorted(map: &MapArray) -> Result<MapArray> {
    let DataType::Map(entries, _) = map.data_type() else {
        return plan_err!("{} is no map", map.data_type());
    };
    let keys = RowConverter::new(vec![SortField::new(map.key_type().clone())])?
        .convert_columns(&[Arc::clone(map.keys())])?;
    let mut order: Vec<u32> = (0..map.keys().len() as u32).collect();
    for bounds in map.value_offsets().windows(2) {
        if let [start, end] = bounds {
            let entries = &mut order[*start as usize..*end as usize];
            entries.sort_by(|a, b| keys.row(*a as usize).cmp(&keys.row(*b as usize)));
        }
    }
    let order = UInt32Array::from(order);
    let taken: StructArray = take(map.entries(), &order, None)?.as_struct().clone();
    Ok(MapArray::try_new(Arc::clone(entries), map.offsets().clone(), taken, map.nulls().cloned(), false)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Builder, MapBuilder, StringBuilder};

    use super::*;

    #[test]
    fn entries_are_in_the_order_of_their_keys() -> Result<()> {
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for entries in [vec![("k", 3), ("j", 4)], vec![], vec![("a", 1)]] {
            for (key, value) in entries {
                maps.keys().append_value(key);
                maps.values().append_value(value);
            }
            maps.append(true)?;
        }
        maps.append(false)?;
        let sorted = sorted(&maps.finish())?;
        assert_eq!(sorted.keys().as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["j", "k", "a"]);
        assert_eq!((sorted.len(), sorted.null_count()), (4, 1));
        Ok(())
    }
}

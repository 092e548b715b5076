//! From the values of a file to those of a table.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result as DataFusionResult, exec_err};
use datafusion_streaming_udfs::timestamps::{TimestampType, Timestamps};

use super::int96::{TWELVE_BYTES, from_int96};
use super::malformed;
use crate::formats::Malformed;

/// Values of a file as those of a column of type `to`; an error, without the name of the column, where the types
/// do not fit or a value does not.
pub(super) fn from_stored(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Malformed> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    if let Some(timestamp) = TimestampType::of(to) {
        return match from {
            from if *from == TWELVE_BYTES => from_int96(array.as_fixed_size_binary(), timestamp),
            DataType::Timestamp(_, _) => {
                let times = Timestamps::new(array).map_err(malformed)?;
                timestamps((0..array.len()).map(|row| Ok(times.millis(row))), timestamp)
            }
            from => Err(unfit(from, to)),
        };
    }
    match (from, to) {
        (DataType::List(_), DataType::List(item)) => {
            let lists = array.as_list::<i32>();
            let values = from_stored(lists.values(), item.data_type())?;
            let nulls = lists.nulls().cloned();
            let lists = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), values, nulls);
            Ok(Arc::new(lists.map_err(malformed)?))
        }
        (DataType::Map(_, _), DataType::Map(entries, ordered)) => {
            let DataType::Struct(fields) = entries.data_type() else { return Err(unfit(from, to)) };
            let maps = array.as_map();
            let pairs = maps.entries().columns().iter().zip(fields);
            let pairs = pairs.map(|(column, field)| from_stored(column, field.data_type()));
            let pairs = StructArray::try_new(fields.clone(), pairs.collect::<Result<_, _>>()?, None);
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            let pairs = pairs.map_err(malformed)?;
            let maps = MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *ordered);
            Ok(Arc::new(maps.map_err(malformed)?))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => struct_from_stored(array.as_struct(), fields),
        (from, to) if is_held(from, to) => {
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, to, &strict).map_err(malformed)
        }
        (from, to) => Err(unfit(from, to)),
    }
}

/// The fields of a ROW by their names; those that the file has not are NULL.
fn struct_from_stored(rows: &StructArray, fields: &Fields) -> Result<ArrayRef, Malformed> {
    let column = |field: &FieldRef| match rows.column_by_name(field.name()) {
        Some(column) => from_stored(column, field.data_type()).map_err(|error| error.within(field.name())),
        None => Ok(new_null_array(field.data_type(), rows.len())),
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let rows = StructArray::try_new_with_length(fields.clone(), columns, rows.nulls().cloned(), rows.len());
    Ok(Arc::new(rows.map_err(malformed)?))
}

/// Timestamps of a type, from milliseconds and the nanoseconds beyond them; digits that it does not have are cut
/// off, and a time that it does not hold is an error.
pub(super) fn timestamps(
    times: impl Iterator<Item = DataFusionResult<Option<(i64, i64)>>>,
    to: TimestampType,
) -> Result<ArrayRef, Malformed> {
    let beyond = |_| exec_err!("a timestamp is beyond what {} holds", to.data_type());
    to.collect(times, beyond).map_err(|error| Malformed::new(error.message().to_string()))
}

/// Whether a column of type `to` is read from values of type `from`. Of integers, texts and decimals each value
/// is looked at whether it fits; the digits of times beyond those of the column are cut off.
fn is_held(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) => from <= to,
        (from, DataType::Decimal128(_, _)) => from.is_integer(),
        (DataType::Int32, DataType::Date32) => true,
        (DataType::Float32, DataType::Float64) => true,
        (DataType::Utf8 | DataType::Binary, DataType::Utf8 | DataType::Binary) => true,
        (DataType::FixedSizeBinary(_), DataType::Binary) => true,
        (DataType::Time32(_) | DataType::Time64(_), DataType::Time32(_) | DataType::Time64(_)) => true,
        (from, to) => from.is_integer() && to.is_integer(),
    }
}

fn unfit(from: &DataType, to: &DataType) -> Malformed {
    let from = if *from == TWELVE_BYTES {
        "INT96 or FIXED_LEN_BYTE_ARRAY(12)".to_string()
    } else {
        from.to_string()
    };
    Malformed::new(format!("it is {from} in the file, which a column of {to} cannot hold"))
}

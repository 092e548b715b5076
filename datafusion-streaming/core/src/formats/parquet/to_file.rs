//! From the values of a table to those that are stored.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, PrimitiveArray, StructArray, Time32MillisecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Time64MicrosecondType, Time64NanosecondType, TimeUnit};
use datafusion_streaming_udfs::timestamps::{TimestampType, Timestamps};

use super::int96::{TWELVE_BYTES, to_int96};
use super::{from_file, malformed};
use crate::formats::Malformed;

/// Values as they are stored: of the type that [`stored_type`](super::schema::stored_type) gives for theirs. An
/// error tells what has no place there, without the name of the column.
pub(super) fn to_stored(array: &ArrayRef, stored: &DataType) -> Result<ArrayRef, Malformed> {
    match (array.data_type(), stored) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (_, to) if *to == TWELVE_BYTES => to_int96(array),
        (_, DataType::Timestamp(_, _)) => {
            let Some(to) = TimestampType::of(stored) else { return Ok(Arc::clone(array)) };
            let times = Timestamps::new(array).map_err(malformed)?;
            from_file::timestamps((0..array.len()).map(|row| Ok(times.millis(row))), to)
        }
        (DataType::Time64(TimeUnit::Microsecond), _) => millis_of_day::<Time64MicrosecondType>(array, 1_000),
        (DataType::Time64(TimeUnit::Nanosecond), _) => {
            millis_of_day::<Time64NanosecondType>(array, 1_000_000)
        }
        (DataType::Time32(_), to) => cast(array, to).map_err(malformed),
        (DataType::List(_), DataType::List(item)) => {
            let lists = array.as_list::<i32>();
            let values = to_stored(lists.values(), item.data_type())?;
            let nulls = lists.nulls().cloned();
            let lists = ListArray::try_new(Arc::clone(item), lists.offsets().clone(), values, nulls);
            Ok(Arc::new(lists.map_err(malformed)?))
        }
        (DataType::Map(_, _), DataType::Map(entries, ordered)) => {
            let maps = array.as_map();
            let pairs: ArrayRef = Arc::new(maps.entries().clone());
            let pairs = to_stored(&pairs, entries.data_type())?.as_struct().clone();
            let (offsets, nulls) = (maps.offsets().clone(), maps.nulls().cloned());
            let maps = MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *ordered);
            Ok(Arc::new(maps.map_err(malformed)?))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let rows = array.as_struct();
            let column = |(column, field): (&ArrayRef, &arrow::datatypes::FieldRef)| {
                to_stored(column, field.data_type()).map_err(|error| error.within(field.name()))
            };
            let columns = rows.columns().iter().zip(fields).map(column).collect::<Result<Vec<_>, _>>()?;
            let (nulls, len) = (rows.nulls().cloned(), rows.len());
            let rows = StructArray::try_new_with_length(fields.clone(), columns, nulls, len);
            Ok(Arc::new(rows.map_err(malformed)?))
        }
        (from, to) => Err(Malformed::new(format!("values of {from} are not stored as {to}"))),
    }
}

/// Times of day in milliseconds. None may have finer digits.
fn millis_of_day<T: ArrowPrimitiveType<Native = i64>>(
    array: &ArrayRef,
    per_milli: i64,
) -> Result<ArrayRef, Malformed> {
    let times: &PrimitiveArray<T> = array.as_primitive();
    if times.iter().flatten().any(|time| time % per_milli != 0) {
        return Err(Malformed::new(
            "a TIME has digits beyond milliseconds, which Flink's Parquet files do not hold; CAST it to TIME(3)",
        ));
    }
    let millis: Time32MillisecondArray = times.unary(|time| (time / per_milli) as i32);
    Ok(Arc::new(millis))
}

//! Timestamp columns as milliseconds and back.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, TimestampMillisecondArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion_common::{Result, internal_err};

/// The values of a timestamp column of any unit as milliseconds since the epoch, rounded down; the
/// value of a NULL is unspecified. Milliseconds are borrowed.
pub fn millis_of(column: &ArrayRef) -> Result<Cow<'_, [i64]>> {
    fn mapped<T: ArrowPrimitiveType<Native = i64>>(
        column: &ArrayRef,
        f: impl Fn(i64) -> i64,
    ) -> Cow<'_, [i64]> {
        let array: &PrimitiveArray<T> = column.as_primitive();
        Cow::Owned(array.values().iter().map(|value| f(*value)).collect())
    }
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Ok(Cow::Borrowed(column.as_primitive::<TimestampMillisecondType>().values()))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            Ok(mapped::<TimestampSecondType>(column, |value| value.saturating_mul(1000)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(mapped::<TimestampMicrosecondType>(column, |value| value.div_euclid(1_000)))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ok(mapped::<TimestampNanosecondType>(column, |value| value.div_euclid(1_000_000)))
        }
        other => internal_err!("a time column must be a timestamp, not {other}"),
    }
}

/// A column of a timestamp type from milliseconds since the epoch.
pub fn timestamps_of(millis: Vec<i64>, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, zone) = data_type else {
        return internal_err!("a time column must be a timestamp, not {data_type}");
    };
    let scaled =
        |factor: i64| millis.iter().map(|value| value.saturating_mul(factor)).collect::<ScalarBuffer<i64>>();
    Ok(match unit {
        TimeUnit::Millisecond => {
            Arc::new(TimestampMillisecondArray::new(millis.into(), None).with_timezone_opt(zone.clone()))
        }
        TimeUnit::Second => {
            let values = millis.iter().map(|value| value.div_euclid(1000)).collect();
            Arc::new(PrimitiveArray::<TimestampSecondType>::new(values, None).with_timezone_opt(zone.clone()))
        }
        TimeUnit::Microsecond => Arc::new(
            PrimitiveArray::<TimestampMicrosecondType>::new(scaled(1_000), None)
                .with_timezone_opt(zone.clone()),
        ),
        TimeUnit::Nanosecond => Arc::new(
            PrimitiveArray::<TimestampNanosecondType>::new(scaled(1_000_000), None)
                .with_timezone_opt(zone.clone()),
        ),
    })
}

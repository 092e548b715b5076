//! How TIMESTAMP and TIMESTAMP_LTZ are held in Arrow.
//!
//! | Flink | Arrow | holds the years |
//! |---|---|---|
//! | `TIMESTAMP(0)` | `Timestamp(Second)` | all |
//! | `TIMESTAMP(1)` to `(3)` | `Timestamp(Millisecond)` | all |
//! | `TIMESTAMP(4)` to `(6)` | `Timestamp(Microsecond)` | -290000 to 294000 |
//! | `TIMESTAMP(7)` to `(9)` | `Decimal128(37, -9)`: nanoseconds since 1970-01-01 00:00:00 | all |
//! | `TIMESTAMP_LTZ(0)` to `(6)` | the same with the time zone `UTC` | |
//! | `TIMESTAMP_LTZ(7)` to `(9)` | `Decimal128(38, -9)`: nanoseconds since the epoch | all |
//!
//! Flink's timestamps reach from the year 0001 to 9999 at any precision. The nanoseconds of Arrow's own type are 64 bits, which end
//! in 1677 and 2262, so that those of more than six digits are held in 128. Of Arrow's types of this width only decimals are
//! compared, hashed, sorted and kept in state everywhere. That a decimal has a negative scale, which no DECIMAL of Flink has, says
//! that it is a timestamp; its digits say whether it is an instant. Only this module knows it: all else asks [`TimestampType::of`].
//!
//! Tables that come from DataFusion may have Arrow's `Timestamp(Nanosecond)`. It is a TIMESTAMP(9) or TIMESTAMP_LTZ(9), too, and is
//! taken wherever these are; what is made of it together with one of 128 bits has 128.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int64Array, ListArray, MapArray, StringBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, TimeUnit};
use datafusion_common::{Result, internal_err};

use crate::datetime::{LocalDateTime, write_date_time};

const NANOS_PER_MILLI: i128 = 1_000_000;

/// The scale of the decimals that are timestamps.
const SCALE: i8 = -9;
const LOCAL_PRECISION: u8 = 37;
const INSTANT_PRECISION: u8 = 38;

/// What the numbers of a timestamp array count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampUnit {
    /// A unit of Arrow's own timestamps: a number of 64 bits.
    Arrow(TimeUnit),
    /// Nanoseconds, a number of 128 bits.
    WideNanosecond,
}

/// A type of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampType {
    /// What its numbers count.
    pub unit: TimestampUnit,
    /// Whether it is TIMESTAMP_LTZ: instants, and not times on a wall clock.
    pub is_instant: bool,
}

impl TimestampType {
    /// The type of timestamps that an Arrow type is; `None` if it is none.
    pub fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Timestamp(unit, zone) => {
                Some(Self { unit: TimestampUnit::Arrow(*unit), is_instant: zone.is_some() })
            }
            DataType::Decimal128(precision, SCALE) => Some(Self {
                unit: TimestampUnit::WideNanosecond,
                is_instant: match *precision {
                    LOCAL_PRECISION => false,
                    INSTANT_PRECISION => true,
                    _ => return None,
                },
            }),
            _ => None,
        }
    }

    /// The type that holds TIMESTAMPs, or instants, of so many fractional digits (0 to 9).
    pub fn with_digits(digits: u8, is_instant: bool) -> Self {
        let unit = match digits {
            0 => TimestampUnit::Arrow(TimeUnit::Second),
            1..=3 => TimestampUnit::Arrow(TimeUnit::Millisecond),
            4..=6 => TimestampUnit::Arrow(TimeUnit::Microsecond),
            _ => TimestampUnit::WideNanosecond,
        };
        Self { unit, is_instant }
    }

    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match (self.unit, self.is_instant) {
            (TimestampUnit::Arrow(unit), false) => DataType::Timestamp(unit, None),
            (TimestampUnit::Arrow(unit), true) => DataType::Timestamp(unit, Some("UTC".into())),
            (TimestampUnit::WideNanosecond, false) => DataType::Decimal128(LOCAL_PRECISION, SCALE),
            (TimestampUnit::WideNanosecond, true) => DataType::Decimal128(INSTANT_PRECISION, SCALE),
        }
    }

    /// How many fractional digits of a second it holds.
    pub fn digits(self) -> u8 {
        match self.unit {
            TimestampUnit::Arrow(TimeUnit::Second) => 0,
            TimestampUnit::Arrow(TimeUnit::Millisecond) => 3,
            TimestampUnit::Arrow(TimeUnit::Microsecond) => 6,
            TimestampUnit::Arrow(TimeUnit::Nanosecond) | TimestampUnit::WideNanosecond => 9,
        }
    }

    /// Whether its numbers have 128 bits.
    pub fn is_wide(self) -> bool {
        self.unit == TimestampUnit::WideNanosecond
    }

    /// The type that holds the values of both, of the finer precision: TIMESTAMP_LTZ if both are.
    pub fn in_common(self, other: Self) -> Self {
        let finer =
            |one: Self, other: Self| (one.digits(), one.is_wide()) >= (other.digits(), other.is_wide());
        let unit = if finer(self, other) { self.unit } else { other.unit };
        Self { unit, is_instant: self.is_instant && other.is_instant }
    }

    /// An array of times, given as milliseconds since the epoch and nanoseconds beyond them; finer digits than the type's are cut
    /// off. What `beyond` gives for the milliseconds of a time that the type does not hold is NULL or an error.
    pub fn collect(
        self,
        rows: impl Iterator<Item = Result<Option<(i64, i64)>>>,
        beyond: impl Fn(i64) -> Result<()>,
    ) -> Result<ArrayRef> {
        let unit = match self.unit {
            TimestampUnit::WideNanosecond => {
                let nanos = rows.map(|row| Ok(row?.map(|(millis, nanos)| wide_nanos(millis, nanos))));
                return self.collect_nanos(nanos);
            }
            TimestampUnit::Arrow(unit) => unit,
        };
        let values = rows.map(|row| {
            let Some((millis, nanos)) = row? else { return Ok(None) };
            match in_unit(millis, nanos, unit) {
                Some(value) => Ok(Some(value)),
                None => beyond(millis).map(|()| None),
            }
        });
        let values: ArrayRef = Arc::new(values.collect::<Result<Int64Array>>()?);
        Ok(cast(&values, &self.data_type())?)
    }

    /// An array of this type, which must be wide, of nanoseconds since the epoch.
    pub fn collect_nanos(self, nanos: impl Iterator<Item = Result<Option<i128>>>) -> Result<ArrayRef> {
        if !self.is_wide() {
            return internal_err!("{} has no 128 bits", self.data_type());
        }
        let nanos = nanos.collect::<Result<Decimal128Array>>()?;
        Ok(Arc::new(nanos.with_data_type(self.data_type())))
    }
}

/// Whether an Arrow type is that of a TIMESTAMP or TIMESTAMP_LTZ.
pub fn is_timestamp(data_type: &DataType) -> bool {
    TimestampType::of(data_type).is_some()
}

/// Whether an Arrow type is that of timestamps of more than six digits in 128 bits.
pub fn is_wide_timestamp(data_type: &DataType) -> bool {
    TimestampType::of(data_type).is_some_and(TimestampType::is_wide)
}

/// Whether a type is, or has in it, timestamps of 128 bits.
pub fn has_wide_timestamps(data_type: &DataType) -> bool {
    let of = |field: &FieldRef| has_wide_timestamps(field.data_type());
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => of(item),
        DataType::Map(entries, _) => of(entries),
        DataType::Struct(fields) => fields.iter().any(of),
        other => is_wide_timestamp(other),
    }
}

/// Nanoseconds since the epoch of milliseconds and the nanoseconds beyond them.
pub fn wide_nanos(millis: i64, nanos: i64) -> i128 {
    i128::from(millis) * NANOS_PER_MILLI + i128::from(nanos)
}

/// Milliseconds and the nanoseconds beyond them in a unit of 64 bits. `None` if they do not fit.
fn in_unit(millis: i64, nanos: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => Some(millis.div_euclid(1_000)),
        TimeUnit::Millisecond => Some(millis),
        TimeUnit::Microsecond => millis.checked_mul(1_000)?.checked_add(nanos / 1_000),
        TimeUnit::Nanosecond => i64::try_from(wide_nanos(millis, nanos)).ok(),
    }
}

#[derive(Debug)]
enum Numbers {
    Narrow(ScalarBuffer<i64>, TimeUnit),
    Wide(ScalarBuffer<i128>),
}

/// A column of timestamps of any type, to be read by row.
#[derive(Debug)]
pub struct Timestamps {
    numbers: Numbers,
    nulls: Option<NullBuffer>,
}

impl Timestamps {
    /// Reads an array, which must be one of timestamps.
    pub fn new(array: &dyn Array) -> Result<Self> {
        let Some(of) = TimestampType::of(array.data_type()) else {
            return internal_err!("{} is no TIMESTAMP", array.data_type());
        };
        let data = array.to_data();
        let numbers = match of.unit {
            TimestampUnit::Arrow(unit) => {
                Numbers::Narrow(ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len()), unit)
            }
            TimestampUnit::WideNanosecond => {
                Numbers::Wide(array.as_primitive::<Decimal128Type>().values().clone())
            }
        };
        Ok(Self { numbers, nulls: array.logical_nulls() })
    }

    /// Milliseconds since the epoch and the nanoseconds beyond them. `None` for NULL.
    pub fn millis(&self, row: usize) -> Option<(i64, i64)> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(match &self.numbers {
            Numbers::Narrow(values, unit) => {
                let value = values[row];
                match unit {
                    TimeUnit::Second => (value.saturating_mul(1_000), 0),
                    TimeUnit::Millisecond => (value, 0),
                    TimeUnit::Microsecond => (value.div_euclid(1_000), value.rem_euclid(1_000) * 1_000),
                    TimeUnit::Nanosecond => (value.div_euclid(1_000_000), value.rem_euclid(1_000_000)),
                }
            }
            Numbers::Wide(values) => split(values[row]),
        })
    }

    /// Nanoseconds since the epoch. `None` for NULL.
    pub fn nanos(&self, row: usize) -> Option<i128> {
        self.millis(row).map(|(millis, nanos)| wide_nanos(millis, nanos))
    }
}

/// Milliseconds and the nanoseconds beyond them. Times that are made here have as many milliseconds as 64 bits hold.
fn split(nanos: i128) -> (i64, i64) {
    let millis = nanos.div_euclid(NANOS_PER_MILLI);
    let most = if millis < 0 { i64::MIN } else { i64::MAX };
    (i64::try_from(millis).unwrap_or(most), nanos.rem_euclid(NANOS_PER_MILLI) as i64)
}

/// The time of a number of nanoseconds since the epoch, read as a wall-clock time.
pub fn wall_clock(nanos: i128) -> LocalDateTime {
    let (millis, nanos) = split(nanos);
    LocalDateTime::from_millis(millis, nanos)
}

/// An array for people to read: timestamps of 128 bits, wherever they stand in it, are texts such as
/// `2024-01-01T10:00:00.123456789`, with a `Z` behind instants. All else is as it was.
pub fn readable(array: &ArrayRef) -> Result<ArrayRef> {
    let of_type = array.data_type();
    if !has_wide_timestamps(of_type) {
        return Ok(Arc::clone(array));
    }
    let with_type = |field: &FieldRef, array: &ArrayRef| {
        Arc::new(Field::new(field.name(), array.data_type().clone(), field.is_nullable()))
    };
    Ok(match of_type {
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let values = readable(lists.values())?;
            let item = with_type(item, &values);
            Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?)
        }
        DataType::Map(entries, sorted) => {
            let maps = array.as_map();
            let pairs = readable(&(Arc::new(maps.entries().clone()) as ArrayRef))?;
            let (entries, nulls) = (with_type(entries, &pairs), maps.nulls().cloned());
            let pairs = pairs.as_struct().clone();
            Arc::new(MapArray::try_new(entries, maps.offsets().clone(), pairs, nulls, *sorted)?)
        }
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().map(readable).collect::<Result<Vec<_>>>()?;
            let fields = fields.iter().zip(&columns).map(|(field, column)| with_type(field, column));
            Arc::new(StructArray::try_new(fields.collect(), columns, rows.nulls().cloned())?)
        }
        _ => {
            let zone = if TimestampType::of(of_type).is_some_and(|of| of.is_instant) { "Z" } else { "" };
            let times = Timestamps::new(array)?;
            let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 30);
            let mut text = String::new();
            for row in 0..array.len() {
                let Some(nanos) = times.nanos(row) else {
                    texts.append_null();
                    continue;
                };
                text.clear();
                let digits = match nanos.rem_euclid(1_000_000_000) {
                    0 => 0,
                    fraction if fraction % 1_000_000 == 0 => 3,
                    fraction if fraction % 1_000 == 0 => 6,
                    _ => 9,
                };
                write_date_time(wall_clock(nanos), 'T', digits, &mut text);
                text.push_str(zone);
                texts.append_value(&text);
            }
            Arc::new(texts.finish())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: TimestampType = TimestampType { unit: TimestampUnit::WideNanosecond, is_instant: false };
    const INSTANT: TimestampType = TimestampType { unit: TimestampUnit::WideNanosecond, is_instant: true };

    /// The first nanosecond of the year 1, and the last of 9999, in milliseconds and nanoseconds.
    const ENDS: [(i64, i64); 2] = [(-62_135_596_800_000, 0), (253_402_300_799_999, 999_999)];

    #[test]
    fn types_are_told_apart() {
        for digits in 0..=9 {
            for is_instant in [false, true] {
                let of = TimestampType::with_digits(digits, is_instant);
                assert_eq!(TimestampType::of(&of.data_type()), Some(of));
                assert!(of.digits() >= digits);
                assert_eq!(of.is_wide(), digits > 6);
            }
        }
        for other in [
            DataType::Decimal128(37, 9),
            DataType::Decimal128(38, 0),
            DataType::Decimal128(20, -9),
            DataType::Int64,
        ] {
            assert_eq!(TimestampType::of(&other), None, "{other}");
        }
        let list = DataType::List(Arc::new(Field::new_list_field(LOCAL.data_type(), true)));
        assert!(has_wide_timestamps(&list) && !is_timestamp(&list));
    }

    #[test]
    fn what_two_types_have_in_common() {
        let arrow = |unit| TimestampType { unit: TimestampUnit::Arrow(unit), is_instant: false };
        let (second, nano) = (arrow(TimeUnit::Second), arrow(TimeUnit::Nanosecond));
        assert_eq!(second.in_common(nano), nano);
        assert_eq!(nano.in_common(LOCAL), LOCAL);
        assert_eq!(INSTANT.in_common(second), LOCAL);
        assert_eq!(INSTANT.in_common(INSTANT), INSTANT);
    }

    #[test]
    fn the_ends_of_the_range_are_held() {
        let rows = || ENDS.map(|end| Ok(Some(end))).into_iter().chain([Ok(Some((-1, 999_999))), Ok(None)]);
        let wide = LOCAL.collect(rows(), |_| internal_err!("all fit")).unwrap();
        assert_eq!(wide.data_type(), &DataType::Decimal128(37, -9));
        let times = Timestamps::new(&wide).unwrap();
        for (row, end) in ENDS.into_iter().enumerate() {
            assert_eq!(times.millis(row), Some(end));
        }
        assert_eq!(times.nanos(2), Some(-1));
        assert_eq!(times.millis(3), None);
        let texts = readable(&wide).unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().collect();
        assert_eq!(
            texts,
            ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999999", "1969-12-31T23:59:59.999999999"]
        );
        // 64 bits of nanoseconds hold only the third
        let nano = TimestampType { unit: TimestampUnit::Arrow(TimeUnit::Nanosecond), is_instant: false };
        let narrow = nano.collect(rows(), |_| Ok(())).unwrap();
        assert_eq!(narrow.null_count(), 3);
        assert_eq!(Timestamps::new(&narrow).unwrap().nanos(2), Some(-1));
        assert!(nano.collect(rows(), |_| internal_err!("beyond")).is_err());
    }

    #[test]
    fn a_slice_is_read_from_its_start() {
        let rows = (0..4).map(|millis| Ok(Some((millis, 7))));
        let wide = INSTANT.collect(rows, |_| Ok(())).unwrap().slice(2, 2);
        assert_eq!(Timestamps::new(&wide).unwrap().millis(0), Some((2, 7)));
        let texts = readable(&wide).unwrap();
        assert_eq!(texts.as_string::<i32>().value(1), "1970-01-01T00:00:00.003000007Z");
    }

    #[test]
    fn nested_timestamps_are_readable() {
        let wide = LOCAL.collect([Ok(Some((0, 1))), Ok(None)].into_iter(), |_| Ok(())).unwrap();
        let field = Arc::new(Field::new("t", wide.data_type().clone(), true));
        let rows: ArrayRef =
            Arc::new(StructArray::try_new(vec![field].into(), vec![Arc::clone(&wide)], None).unwrap());
        let shown = readable(&rows).unwrap();
        assert_eq!(shown.as_struct().column(0).as_string::<i32>().value(0), "1970-01-01T00:00:00.000000001");
        assert!(shown.as_struct().column(0).is_null(1));
    }
}

//! The schema of the files that are written.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use datafusion_streaming_udfs::timestamps::{TimestampType, TimestampUnit};
use parquet::basic::{LogicalType, Repetition, TimeUnit as ParquetTimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

use super::int96::TWELVE_BYTES;
use super::options::ParquetTimestamps;
use crate::formats::Malformed;

/// The Arrow type of the values as they are stored, for a column of a table; an error (without the name of the
/// column) where Flink's Parquet files have no such values. Everything is nullable in it but the keys of maps.
pub(super) fn stored_type(
    data_type: &DataType,
    timestamps: ParquetTimestamps,
) -> Result<DataType, Malformed> {
    let nullable = |name: &str, field: &Field| -> Result<Field, Malformed> {
        let stored = stored_type(field.data_type(), timestamps);
        Ok(Field::new(name, stored.map_err(|error| error.within(field.name()))?, true))
    };
    if let Some(of) = TimestampType::of(data_type) {
        return Ok(match timestamps {
            ParquetTimestamps::Int96 => TWELVE_BYTES,
            ParquetTimestamps::Int64(unit) => {
                TimestampType { unit: TimestampUnit::Arrow(unit), ..of }.data_type()
            }
        });
    }
    Ok(match data_type {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(_, _)
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32 => data_type.clone(),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
        DataType::List(item) => DataType::List(Arc::new(nullable("element", item)?)),
        DataType::Map(entries, ordered) => {
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Malformed::new(format!("{data_type} is no map of keys to values")));
            };
            let [key, value] = fields.as_ref() else {
                return Err(Malformed::new(format!("{data_type} is no map of keys to values")));
            };
            let pair =
                Fields::from(vec![nullable("key", key)?.with_nullable(false), nullable("value", value)?]);
            DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(pair), false)), *ordered)
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|field| nullable(field.name(), field).map(Arc::new));
            DataType::Struct(fields.collect::<Result<Vec<FieldRef>, _>>()?.into())
        }
        other => return Err(Malformed::new(format!("its type {other} has no Parquet form"))),
    })
}

/// The Parquet type of a column, or of what is in one, whose values are stored as [`stored_type`] says.
pub(super) fn parquet_type(stored: &Field) -> Result<Type, ParquetError> {
    let name = stored.name();
    let repetition = if stored.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let primitive = |physical: PhysicalType, logical: Option<LogicalType>| {
        Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical)
    };
    let child = |field: &Field| parquet_type(field).map(Arc::new);
    match stored.data_type() {
        DataType::Boolean => primitive(PhysicalType::BOOLEAN, None).build(),
        DataType::Int8 => primitive(PhysicalType::INT32, Some(LogicalType::integer(8, true))).build(),
        DataType::Int16 => primitive(PhysicalType::INT32, Some(LogicalType::integer(16, true))).build(),
        DataType::Int32 => primitive(PhysicalType::INT32, None).build(),
        DataType::Int64 => primitive(PhysicalType::INT64, None).build(),
        DataType::Float32 => primitive(PhysicalType::FLOAT, None).build(),
        DataType::Float64 => primitive(PhysicalType::DOUBLE, None).build(),
        DataType::Decimal128(precision, scale) => {
            let (scale, digits) = (i32::from(*scale), i32::from(*precision));
            primitive(PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::decimal(scale, digits)))
                .with_length(decimal_bytes(*precision))
                .with_precision(digits)
                .with_scale(scale)
                .build()
        }
        DataType::Utf8 => primitive(PhysicalType::BYTE_ARRAY, Some(LogicalType::String)).build(),
        DataType::Binary => primitive(PhysicalType::BYTE_ARRAY, None).build(),
        DataType::Date32 => primitive(PhysicalType::INT32, Some(LogicalType::Date)).build(),
        DataType::Time32(_) => {
            let millis = LogicalType::time(true, ParquetTimeUnit::MILLIS);
            primitive(PhysicalType::INT32, Some(millis)).build()
        }
        DataType::FixedSizeBinary(_) => primitive(PhysicalType::INT96, None).build(),
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Nanosecond => ParquetTimeUnit::NANOS,
                TimeUnit::Microsecond => ParquetTimeUnit::MICROS,
                TimeUnit::Millisecond | TimeUnit::Second => ParquetTimeUnit::MILLIS,
            };
            primitive(PhysicalType::INT64, Some(LogicalType::timestamp(zone.is_some(), unit))).build()
        }
        DataType::List(item) => {
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![child(item)?])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(repetition)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
        DataType::Map(entries, _) => {
            let fields = match entries.data_type() {
                DataType::Struct(fields) => fields.iter().map(|field| child(field)).collect(),
                other => Err(ParquetError::General(format!("a map of {other}"))),
            };
            let pairs = Type::group_type_builder(entries.name())
                .with_repetition(Repetition::REPEATED)
                .with_fields(fields?)
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(repetition)
                .with_logical_type(Some(LogicalType::Map))
                .with_fields(vec![Arc::new(pairs)])
                .build()
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| child(field)).collect::<Result<Vec<_>, _>>()?;
            Type::group_type_builder(name).with_repetition(repetition).with_fields(fields).build()
        }
        other => Err(ParquetError::General(format!("{other} is not stored"))),
    }
}

/// The bytes of the decimals of so many digits.
fn decimal_bytes(precision: u8) -> i32 {
    // a sign and log2(10) bits a digit, rounded up
    ((f64::from(precision) * std::f64::consts::LOG2_10 + 1.0) / 8.0).ceil() as i32
}

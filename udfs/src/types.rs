//! Flink's names of Arrow types.

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};

use crate::timestamps::TimestampType;

/// The key of the field metadata that holds a column's exact Flink type where Arrow cannot tell it:
/// `CHAR(3)`, `TIMESTAMP(1)`, `MULTISET<STRING>`.
pub const FLINK_TYPE: &str = "flink.type";

/// How types are named that have a short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeNames {
    /// `STRING`, `BYTES`
    Short,
    /// `VARCHAR(2147483647)`, `VARBINARY(2147483647)`
    Full,
}

/// The Flink type of a column with its nullability, as `TYPEOF` shows it: `BIGINT NOT NULL`.
pub fn field_type_name(field: &Field, names: TypeNames) -> String {
    let name = match field.metadata().get(FLINK_TYPE) {
        Some(name) => exact_name(name.trim_end_matches(" NOT NULL"), names),
        None => name(field.data_type(), names),
    };
    if field.is_nullable() || *field.data_type() == DataType::Null { name } else { name + " NOT NULL" }
}

/// The Flink type that an Arrow type stands for, in Flink's words. Types that Flink has not keep
/// Arrow's name.
pub fn type_name(data_type: &DataType) -> String {
    name(data_type, TypeNames::Short)
}

/// The type of the keys of a map. In Arrow they are never NULL: only metadata tells whether they may be.
fn key_type_name(field: &Field, names: TypeNames) -> String {
    match field.metadata().get(FLINK_TYPE) {
        Some(name) => exact_name(name, names),
        None => name(field.data_type(), names),
    }
}

/// A name that metadata gives.
fn exact_name(name: &str, names: TypeNames) -> String {
    match (names, name) {
        (TypeNames::Full, "STRING") => "VARCHAR(2147483647)".to_owned(),
        (TypeNames::Full, "BYTES") => "VARBINARY(2147483647)".to_owned(),
        _ => name.to_owned(),
    }
}

fn name(data_type: &DataType, names: TypeNames) -> String {
    let digits = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    if let Some(of) = TimestampType::of(data_type) {
        let name = if of.is_instant { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
        return format!("{name}({})", of.digits());
    }
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => exact_name("STRING", names),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => exact_name("BYTES", names),
        DataType::FixedSizeBinary(length) => format!("BINARY({length})"),
        DataType::Date32 => "DATE".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("TIME({})", digits(unit)),
        DataType::Interval(IntervalUnit::YearMonth) => "INTERVAL MONTH".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL SECOND(3)".to_owned(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            format!("ARRAY<{}>", field_type_name(item, names))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP<{}, {}>", key_type_name(&fields[0], names), field_type_name(&fields[1], names))
            }
            other => format!("MAP<{other}>"),
        },
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|field| format!("`{}` {}", field.name(), field_type_name(field, names)))
                .collect();
            format!("ROW<{}>", fields.join(", "))
        }
        DataType::Dictionary(_, values) => name(values, names),
        other => other.to_string(),
    }
}

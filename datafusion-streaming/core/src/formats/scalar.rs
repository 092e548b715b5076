//! Columns of scalar types under construction: what each type makes of a text.

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use datafusion_streaming_udfs::timestamps::{TimestampType, is_wide_timestamp};

use super::Malformed;
use super::column::{Column, Fit, Value, abridged};
use super::json::compact;
use super::number::{parse_decimal, parse_float, parse_integer, trim};
use super::time::TimeForms;

/// The column for a scalar type; `None` for nested types and those that Flink does not have.
pub(super) fn scalar_column(data_type: &DataType, forms: TimeForms) -> Option<Box<dyn Column>> {
    use TimeUnit::*;
    Some(match data_type {
        DataType::Boolean => Box::new(Booleans::default()),
        DataType::Int8 => primitive::<Int8Type>(data_type, |value| integer(value, "TINYINT")),
        DataType::Int16 => primitive::<Int16Type>(data_type, |value| integer(value, "SMALLINT")),
        DataType::Int32 => primitive::<Int32Type>(data_type, |value| {
            let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
            truncated(value, "INT", |number| range.contains(&number).then_some(number as i32))
        }),
        DataType::Int64 => primitive::<Int64Type>(data_type, |value| {
            let range = i64::MIN as f64..=i64::MAX as f64;
            truncated(value, "BIGINT", |number| range.contains(&number).then_some(number as i64))
        }),
        DataType::Float32 => primitive::<Float32Type>(data_type, |value| {
            Ok(Some(parse_float(trim(value.text("FLOAT")?), "FLOAT")?))
        }),
        DataType::Float64 => primitive::<Float64Type>(data_type, |value| {
            Ok(Some(parse_float(trim(value.text("DOUBLE")?), "DOUBLE")?))
        }),
        wide if is_wide_timestamp(wide) => wide_timestamp(data_type, forms),
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            primitive::<Decimal128Type>(data_type, move |value| {
                parse_decimal(trim(value.text("DECIMAL")?), precision, scale)
            })
        }
        DataType::Utf8 => Box::new(Strings::default()),
        DataType::Binary => Box::new(Bytes::default()),
        DataType::Date32 => {
            primitive::<Date32Type>(data_type, move |value| forms.parse_date(value.text("DATE")?).map(Some))
        }
        DataType::Time32(Second) => time32::<Time32SecondType>(data_type, forms, Second),
        DataType::Time32(Millisecond) => time32::<Time32MillisecondType>(data_type, forms, Millisecond),
        DataType::Time64(Microsecond) => time64::<Time64MicrosecondType>(data_type, forms, Microsecond),
        DataType::Time64(Nanosecond) => time64::<Time64NanosecondType>(data_type, forms, Nanosecond),
        DataType::Timestamp(Second, _) => timestamp::<TimestampSecondType>(data_type, forms),
        DataType::Timestamp(Millisecond, _) => timestamp::<TimestampMillisecondType>(data_type, forms),
        DataType::Timestamp(Microsecond, _) => timestamp::<TimestampMicrosecondType>(data_type, forms),
        DataType::Timestamp(Nanosecond, _) => timestamp::<TimestampNanosecondType>(data_type, forms),
        _ => return None,
    })
}

fn integer<T: FromStr>(value: Value<'_>, sql_type: &str) -> Result<Option<T>, Malformed> {
    parse_integer(trim(value.text(sql_type)?), sql_type).map(Some)
}

/// An INT or BIGINT: of a number literal with a fraction or an exponent the whole part, as Jackson has it.
fn truncated<T: FromStr>(
    value: Value<'_>,
    sql_type: &str,
    truncate: impl Fn(f64) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    match value {
        Value::Number(text) if text.contains(['.', 'e', 'E']) => truncate(parse_float(text, sql_type)?)
            .map(Some)
            .ok_or_else(|| Malformed::new(format!("{text} is out of the range of {sql_type}"))),
        _ => integer(value, sql_type),
    }
}

fn time32<T>(data_type: &DataType, forms: TimeForms, unit: TimeUnit) -> Box<dyn Column>
where
    T: ArrowPrimitiveType<Native = i32>,
{
    primitive::<T>(data_type, move |value| {
        let time = forms.parse_time(value.text("TIME")?, unit)?;
        i32::try_from(time).map(Some).map_err(|error| Malformed::new(error.to_string()))
    })
}

fn time64<T>(data_type: &DataType, forms: TimeForms, unit: TimeUnit) -> Box<dyn Column>
where
    T: ArrowPrimitiveType<Native = i64>,
{
    primitive::<T>(data_type, move |value| forms.parse_time(value.text("TIME")?, unit).map(Some))
}

fn timestamp<T: ArrowTimestampType>(data_type: &DataType, forms: TimeForms) -> Box<dyn Column> {
    let zoned = matches!(data_type, DataType::Timestamp(_, Some(_)));
    let sql_type = if zoned { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
    primitive::<T>(data_type, move |value| {
        forms.parse_timestamp(value.text(sql_type)?, T::UNIT, zoned).map(Some)
    })
}

fn wide_timestamp(data_type: &DataType, forms: TimeForms) -> Box<dyn Column> {
    let zoned = TimestampType::of(data_type).is_some_and(|of| of.is_instant);
    let sql_type = if zoned { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
    primitive::<Decimal128Type>(data_type, move |value| {
        forms.parse_wide_timestamp(value.text(sql_type)?, zoned).map(Some)
    })
}

/// A column of fixed width, filled by a function from text to value.
struct Primitive<T: ArrowPrimitiveType, P> {
    builder: PrimitiveBuilder<T>,
    parse: P,
}

fn primitive<T: ArrowPrimitiveType>(
    data_type: &DataType,
    parse: impl Fn(Value<'_>) -> Result<Option<T::Native>, Malformed> + Send + 'static,
) -> Box<dyn Column> {
    Box::new(Primitive { builder: PrimitiveBuilder::<T>::new().with_data_type(data_type.clone()), parse })
}

impl<T, P> Column for Primitive<T, P>
where
    T: ArrowPrimitiveType,
    P: Fn(Value<'_>) -> Result<Option<T::Native>, Malformed> + Send,
{
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let Some(value) = (self.parse)(value)? else { return Ok(Fit::Null) };
        self.builder.append_value(value);
        Ok(Fit::Value)
    }

    fn append_placeholder(&mut self) {
        self.builder.append_value(T::Native::default());
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

/// BOOLEAN: of a text, `true` in any case is true and all else false, as Java has it.
#[derive(Default)]
struct Booleans(BooleanBuilder);

impl Column for Booleans {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        self.0.append_value(match value {
            Value::Boolean(value) => value,
            other => trim(other.text("BOOLEAN")?).eq_ignore_ascii_case("true"),
        });
        Ok(Fit::Value)
    }

    fn append_placeholder(&mut self) {
        self.0.append_value(false);
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.0.finish()))
    }
}

/// CHAR, VARCHAR, STRING: any scalar as it is written, arrays and objects as compact JSON.
#[derive(Default)]
struct Strings(StringBuilder);

impl Column for Strings {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        match value {
            Value::Nested(text) => self.0.append_value(compact(text)?),
            scalar => self.0.append_value(scalar.text("STRING")?),
        }
        Ok(Fit::Value)
    }

    fn append_placeholder(&mut self) {
        self.0.append_value("");
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.0.finish()))
    }
}

/// BINARY, VARBINARY, BYTES: a string in Base64.
#[derive(Default)]
struct Bytes {
    builder: BinaryBuilder,
    /// Kept for its memory.
    decoded: Vec<u8>,
}

impl Column for Bytes {
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed> {
        let Value::Text(text) = value else {
            return Err(Malformed::new("BYTES must be a string in Base64".to_string()));
        };
        self.decoded.clear();
        BASE64
            .decode_vec(text, &mut self.decoded)
            .map_err(|error| Malformed::new(format!("'{}' is not Base64: {error}", abridged(text))))?;
        self.builder.append_value(&self.decoded);
        Ok(Fit::Value)
    }

    fn append_placeholder(&mut self) {
        self.builder.append_value([]);
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

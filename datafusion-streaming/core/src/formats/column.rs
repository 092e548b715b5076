//! Columns under construction: each takes values as a format's text has them and builds a typed array.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Malformed;
use super::json::compact;
use super::number::{parse_decimal, parse_float, parse_integer, trim};
use super::time::{
    TimestampStandard, parse_date, parse_time, parse_timestamp, parse_timestamp_ltz, units_per_second,
};

/// A value as a text format tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// A literal `true` or `false`.
    Boolean(bool),
    /// The digits of a number literal.
    Number(&'a str),
    /// A string, without its quotes and escapes.
    Text(&'a str),
    /// The JSON text of an array or an object.
    Nested(&'a str),
}

impl<'a> Value<'a> {
    /// The text of a scalar.
    fn text(self, sql_type: &str) -> Result<&'a str, Malformed> {
        match self {
            Value::Boolean(true) => Ok("true"),
            Value::Boolean(false) => Ok("false"),
            Value::Number(text) | Value::Text(text) => Ok(text),
            Value::Nested(text) => Err(Malformed::new(format!("{} is not a {sql_type}", abridged(text)))),
        }
    }

    /// The text of an array (which `opening` bracket tells) or an object.
    pub(super) fn nested(self, opening: char, what: &str) -> Result<&'a str, Malformed> {
        let text = match self {
            Value::Nested(text) if text.starts_with(opening) => return Ok(text),
            Value::Nested(text) => text,
            scalar => scalar.text(what)?,
        };
        Err(Malformed::new(format!("{} is not {what}", abridged(text))))
    }
}

/// A text short enough for an error message.
pub(super) fn abridged(text: &str) -> String {
    const LIMIT: usize = 100;
    match text.char_indices().nth(LIMIT) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// What became of a value that a column was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is the column's last value now.
    Value,
    /// It counts as NULL, as a number too big for its DECIMAL does in Flink; nothing was appended.
    Null,
    /// Within it a NULL breaks a NOT NULL; a placeholder was appended, and the row must be dropped.
    Unfit,
}

/// A column under construction.
pub(super) trait Column: Send {
    /// Takes a value. After an error the column is as it was, unless [`FieldColumn::put`] tells otherwise.
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed>;

    /// Appends NULL.
    fn append_null(&mut self);

    /// Appends any value that is not NULL, for a row that will be dropped.
    fn append_placeholder(&mut self);

    /// The values so far; the column is empty afterwards.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;

    /// The number of fields within it that could not be read and became NULL.
    fn ignored(&self) -> u64 {
        0
    }
}

/// A column with the field it is for: the columns of a row, the parts of a nested type.
pub(super) struct FieldColumn {
    /// What messages call it: `column 'v'`.
    label: String,
    nullable: bool,
    /// Whether what cannot be read is NULL.
    lenient: bool,
    ignored: u64,
    column: Box<dyn Column>,
}

impl FieldColumn {
    pub(super) fn new(label: String, nullable: bool, lenient: bool, column: Box<dyn Column>) -> Self {
        FieldColumn { label, nullable, lenient, ignored: 0, column }
    }

    /// Appends one value: what `append` puts into the column, or NULL where there is nothing to append.
    ///
    /// Where the column is lenient, no error is given: what cannot be read is NULL, and a NULL that must
    /// not be is [`Fit::Unfit`]. Otherwise the first error is the end of it, and nested columns may then
    /// have parts of different lengths.
    #[inline]
    pub(super) fn put(
        &mut self,
        append: Option<impl FnOnce(&mut dyn Column) -> Result<Fit, Malformed>>,
    ) -> Result<Fit, Malformed> {
        let fit = match append.map(|append| append(self.column.as_mut())) {
            None => Fit::Null,
            Some(Ok(fit)) => fit,
            Some(Err(_)) if self.lenient => {
                self.ignored += 1;
                Fit::Null
            }
            Some(Err(error)) => return Err(error.within(&self.label)),
        };
        match fit {
            Fit::Null if self.nullable => self.column.append_null(),
            Fit::Null if self.lenient => {
                self.column.append_placeholder();
                return Ok(Fit::Unfit);
            }
            Fit::Null => return Err(Malformed::new("NULL in a place that is NOT NULL").within(&self.label)),
            Fit::Value | Fit::Unfit => {}
        }
        Ok(fit)
    }

    /// Appends NULL whatever the field says: for the parts of a nested value that is itself NULL.
    pub(super) fn put_null(&mut self) {
        self.column.append_null();
    }

    /// Appends a placeholder.
    pub(super) fn put_placeholder(&mut self) {
        self.column.append_placeholder();
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.column.finish()
    }

    pub(super) fn ignored(&self) -> u64 {
        self.ignored + self.column.ignored()
    }
}

/// The column for a scalar type; `None` for nested types and those that Flink does not have.
pub(super) fn scalar_column(data_type: &DataType, standard: TimestampStandard) -> Option<Box<dyn Column>> {
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
        DataType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            primitive::<Decimal128Type>(data_type, move |value| {
                parse_decimal(trim(value.text("DECIMAL")?), precision, scale)
            })
        }
        DataType::Utf8 => Box::new(Strings::default()),
        DataType::Binary => Box::new(Bytes::default()),
        DataType::Date32 => {
            primitive::<Date32Type>(data_type, |value| parse_date(value.text("DATE")?).map(Some))
        }
        DataType::Time32(Second) => primitive::<Time32SecondType>(data_type, |value| time32(value, Second)),
        DataType::Time32(Millisecond) => {
            primitive::<Time32MillisecondType>(data_type, |value| time32(value, Millisecond))
        }
        DataType::Time64(Microsecond) => {
            primitive::<Time64MicrosecondType>(data_type, |value| time64(value, Microsecond))
        }
        DataType::Time64(Nanosecond) => {
            primitive::<Time64NanosecondType>(data_type, |value| time64(value, Nanosecond))
        }
        DataType::Timestamp(unit, zone) => {
            let zoned = zone.is_some();
            match unit {
                Second => timestamp::<TimestampSecondType>(data_type, standard, zoned),
                Millisecond => timestamp::<TimestampMillisecondType>(data_type, standard, zoned),
                Microsecond => timestamp::<TimestampMicrosecondType>(data_type, standard, zoned),
                Nanosecond => timestamp::<TimestampNanosecondType>(data_type, standard, zoned),
            }
        }
        _ => return None,
    })
}

fn integer<T: std::str::FromStr>(value: Value<'_>, sql_type: &str) -> Result<Option<T>, Malformed> {
    parse_integer(trim(value.text(sql_type)?), sql_type).map(Some)
}

/// An INT or BIGINT: of a number literal with a fraction or an exponent the whole part, as Jackson has it.
fn truncated<T: std::str::FromStr>(
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

fn time32(value: Value<'_>, unit: TimeUnit) -> Result<Option<i32>, Malformed> {
    let time = time64(value, unit)?;
    time.map(i32::try_from).transpose().map_err(|error| Malformed::new(error.to_string()))
}

fn time64(value: Value<'_>, unit: TimeUnit) -> Result<Option<i64>, Malformed> {
    let nanos = parse_time(value.text("TIME")?)?;
    Ok(Some(nanos / (1_000_000_000 / units_per_second(unit))))
}

fn timestamp<T>(data_type: &DataType, standard: TimestampStandard, zoned: bool) -> Box<dyn Column>
where
    T: ArrowTimestampType,
{
    if zoned {
        primitive::<T>(data_type, move |value| {
            parse_timestamp_ltz(value.text("TIMESTAMP_LTZ")?, standard, T::UNIT).map(Some)
        })
    } else {
        primitive::<T>(data_type, move |value| {
            parse_timestamp(value.text("TIMESTAMP")?, standard, T::UNIT).map(Some)
        })
    }
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

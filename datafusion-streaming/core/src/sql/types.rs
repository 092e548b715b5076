//! Flink's SQL types: their text, and their Arrow counterparts, both ways.
//!
//! | Flink | Arrow |
//! |---|---|
//! | `TINYINT`, `SMALLINT`, `INT`, `BIGINT` | `Int8`, `Int16`, `Int32`, `Int64` |
//! | `FLOAT`, `DOUBLE` | `Float32`, `Float64` |
//! | `DECIMAL(p, s)` | `Decimal128(p, s)` |
//! | `CHAR(n)`, `VARCHAR(n)`, `STRING` | `Utf8` |
//! | `BINARY(n)`, `VARBINARY(n)`, `BYTES` | `Binary` |
//! | `DATE` | `Date32` |
//! | `TIME(p)` | `Time32(s)`, `Time32(ms)`, `Time64(us)`, `Time64(ns)` |
//! | `TIMESTAMP(p)`, `TIMESTAMP_LTZ(p)` | see [`timestamps`](datafusion_streaming_udfs::timestamps) |
//! | `INTERVAL …` | `Interval(MonthDayNano)` |
//! | `ARRAY<t>` | `List(item: t)` |
//! | `MAP<k, v>` | `Map(entries: {key: k, value: v})` |
//! | `MULTISET<t>` | `Map(entries: {key: t, value: Int32})` |
//! | `ROW<…>` | `Struct(…)` |
//!
//! Of `p`, the smallest unit that holds it is taken. What Arrow cannot tell (`CHAR(3)`, `TIMESTAMP(1)`,
//! `ARRAY<INT NOT NULL>`) is kept as text in the metadata of the column's field, under [`FLINK_TYPE_KEY`]. It
//! refines; nothing depends on it. Fields inside a nested type are always nullable and without metadata, since
//! Arrow takes both as part of the type and two arrays would not compare equal for their sake.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{DataType as SqlDataType, Ident, ObjectName};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use datafusion_streaming_udfs::timestamps::TimestampType;

use super::tokens;

/// The metadata key of a field that carries its exact Flink type, such as `CHAR(3)`, where Arrow cannot.
pub const FLINK_TYPE_KEY: &str = "flink.type";

/// The length of `STRING` and `BYTES`, which are `VARCHAR` and `VARBINARY` of this length.
pub const MAX_LENGTH: u32 = i32::MAX as u32;

const MAX_DECIMAL_PRECISION: u8 = 38;
const MAX_TIME_PRECISION: u8 = 9;

/// A Flink type with its nullability.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FlinkType {
    /// The type itself.
    pub kind: TypeKind,
    /// `false` for `NOT NULL`.
    pub nullable: bool,
}

/// A Flink type without its nullability. Lengths are in characters or bytes, precisions in digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// The type of a bare `NULL`.
    Null,
    /// `BOOLEAN`
    Boolean,
    /// `TINYINT`
    TinyInt,
    /// `SMALLINT`
    SmallInt,
    /// `INT`
    Int,
    /// `BIGINT`
    BigInt,
    /// `FLOAT`
    Float,
    /// `DOUBLE`
    Double,
    /// `DECIMAL(precision, scale)`
    Decimal(u8, u8),
    /// `CHAR(length)`
    Char(u32),
    /// `VARCHAR(length)`; `STRING` at [`MAX_LENGTH`].
    VarChar(u32),
    /// `BINARY(length)`
    Binary(u32),
    /// `VARBINARY(length)`; `BYTES` at [`MAX_LENGTH`].
    VarBinary(u32),
    /// `DATE`
    Date,
    /// `TIME(precision)`
    Time(u8),
    /// `TIMESTAMP(precision)`
    Timestamp(u8),
    /// `TIMESTAMP_LTZ(precision)`
    TimestampLtz(u8),
    /// Any interval of years and months: a number of months.
    IntervalMonths,
    /// Any interval of days, hours, minutes and seconds: a number of milliseconds.
    IntervalMillis,
    /// `ARRAY<element>`
    Array(Box<FlinkType>),
    /// `MAP<key, value>`
    Map(Box<FlinkType>, Box<FlinkType>),
    /// `MULTISET<element>`
    Multiset(Box<FlinkType>),
    /// `ROW<name type, …>`
    Row(Vec<RowField>),
}

/// One field of a [`TypeKind::Row`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowField {
    /// The field's name.
    pub name: String,
    /// The field's type.
    pub data_type: FlinkType,
}

impl FlinkType {
    /// The nullable type of this kind.
    pub fn nullable(kind: TypeKind) -> Self {
        Self { kind, nullable: true }
    }

    /// The type written as `text`, such as `MAP<STRING, ARRAY<INT>> NOT NULL`.
    ///
    /// # Errors
    /// If the text is not one of Flink's types.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = tokens::parser(text)?;
        let data_type = parse_type(&mut parser)?;
        parser.expect_token(&Token::EOF)?;
        Ok(data_type)
    }

    /// The type of an Arrow field: what [`FLINK_TYPE_KEY`] says if that fits the Arrow type, else the type that
    /// [`TypeKind::from_arrow`] makes of it.
    ///
    /// # Errors
    /// If Flink has no type for the field's Arrow type.
    pub fn from_field(field: &Field) -> Result<Self> {
        let stated = field.metadata().get(FLINK_TYPE_KEY).and_then(|text| Self::parse(text).ok());
        let kind = match stated {
            Some(stated) if stated.kind.to_arrow() == *field.data_type() => stated.kind,
            _ => TypeKind::from_arrow(field.data_type())?,
        };
        Ok(Self { kind, nullable: field.is_nullable() })
    }

    /// A column of this type, with [`FLINK_TYPE_KEY`] where Arrow's type says less.
    pub fn to_field(&self, name: impl Into<String>) -> Field {
        let data_type = self.kind.to_arrow();
        let told = TypeKind::from_arrow(&data_type).is_ok_and(|kind| kind == self.kind);
        let field = Field::new(name, data_type, self.nullable);
        if told {
            field
        } else {
            field.with_metadata([(FLINK_TYPE_KEY.to_string(), self.kind.to_string())].into())
        }
    }

    /// The type as sqlparser's AST carries it, to be read back by [`FlinkTypePlanner`].
    pub(super) fn to_sql(&self) -> SqlDataType {
        SqlDataType::Custom(ObjectName::from(vec![Ident::new(self.to_string())]), vec![])
    }
}

impl TypeKind {
    /// The Arrow type that holds values of this type.
    pub fn to_arrow(&self) -> DataType {
        match self {
            TypeKind::Null => DataType::Null,
            TypeKind::Boolean => DataType::Boolean,
            TypeKind::TinyInt => DataType::Int8,
            TypeKind::SmallInt => DataType::Int16,
            TypeKind::Int => DataType::Int32,
            TypeKind::BigInt => DataType::Int64,
            TypeKind::Float => DataType::Float32,
            TypeKind::Double => DataType::Float64,
            TypeKind::Decimal(precision, scale) => DataType::Decimal128(*precision, *scale as i8),
            TypeKind::Char(_) | TypeKind::VarChar(_) => DataType::Utf8,
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => DataType::Binary,
            TypeKind::Date => DataType::Date32,
            TypeKind::Time(precision) => match unit_of(*precision) {
                unit @ (TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(unit),
                unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => DataType::Time64(unit),
            },
            TypeKind::Timestamp(precision) => TimestampType::with_digits(*precision, false).data_type(),
            TypeKind::TimestampLtz(precision) => TimestampType::with_digits(*precision, true).data_type(),
            TypeKind::IntervalMonths | TypeKind::IntervalMillis => {
                DataType::Interval(IntervalUnit::MonthDayNano)
            }
            TypeKind::Array(element) => {
                DataType::List(Arc::new(Field::new_list_field(element.kind.to_arrow(), true)))
            }
            TypeKind::Map(key, value) => {
                map_of(key.kind.to_arrow(), Field::new("value", value.kind.to_arrow(), true))
            }
            TypeKind::Multiset(element) => {
                map_of(element.kind.to_arrow(), Field::new("value", DataType::Int32, false))
            }
            TypeKind::Row(fields) => {
                let field = |f: &RowField| Field::new(&f.name, f.data_type.kind.to_arrow(), true);
                DataType::Struct(fields.iter().map(field).collect())
            }
        }
    }

    /// The Flink type for an Arrow type, also for those that no Flink table has (views, dictionaries, other time
    /// zones, unsigned integers): the smallest type that holds every value.
    ///
    /// # Errors
    /// If there is none, for example for unions.
    pub fn from_arrow(data_type: &DataType) -> Result<Self> {
        let nested = |field: &FieldRef| FlinkType::from_field(field);
        if let Some(of) = TimestampType::of(data_type) {
            return Ok(match of.is_instant {
                true => TypeKind::TimestampLtz(of.digits()),
                false => TypeKind::Timestamp(of.digits()),
            });
        }
        Ok(match data_type {
            DataType::Null => TypeKind::Null,
            DataType::Boolean => TypeKind::Boolean,
            DataType::Int8 => TypeKind::TinyInt,
            DataType::Int16 | DataType::UInt8 => TypeKind::SmallInt,
            DataType::Int32 | DataType::UInt16 => TypeKind::Int,
            DataType::Int64 | DataType::UInt32 => TypeKind::BigInt,
            DataType::UInt64 => TypeKind::Decimal(20, 0),
            DataType::Float16 | DataType::Float32 => TypeKind::Float,
            DataType::Float64 => TypeKind::Double,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale)
                if *precision <= MAX_DECIMAL_PRECISION && *scale >= 0 =>
            {
                TypeKind::Decimal(*precision, *scale as u8)
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => TypeKind::VarChar(MAX_LENGTH),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                TypeKind::VarBinary(MAX_LENGTH)
            }
            DataType::FixedSizeBinary(length) => TypeKind::Binary((*length).max(1) as u32),
            DataType::Date32 => TypeKind::Date,
            DataType::Date64 => TypeKind::Timestamp(3),
            DataType::Time32(unit) | DataType::Time64(unit) => TypeKind::Time(precision_of(*unit)),
            DataType::Interval(IntervalUnit::YearMonth) => TypeKind::IntervalMonths,
            DataType::Interval(_) | DataType::Duration(_) => TypeKind::IntervalMillis,
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _) => TypeKind::Array(Box::new(nested(item)?)),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => {
                    // A key is never null in Arrow, which in Flink is the type's business.
                    let key = FlinkType { nullable: true, ..nested(&fields[0])? };
                    TypeKind::Map(Box::new(key), Box::new(nested(&fields[1])?))
                }
                other => return plan_err!("The entries of a map are not pairs but {other}"),
            },
            DataType::Struct(fields) => {
                let field = |f: &FieldRef| {
                    Ok(RowField { name: f.name().clone(), data_type: FlinkType::from_field(f)? })
                };
                TypeKind::Row(fields.iter().map(field).collect::<Result<_>>()?)
            }
            DataType::Dictionary(_, value) => TypeKind::from_arrow(value)?,
            DataType::RunEndEncoded(_, value) => TypeKind::from_arrow(value.data_type())?,
            other => return plan_err!("Flink SQL has no type for Arrow's {other}"),
        })
    }
}

fn map_of(key: DataType, value: Field) -> DataType {
    let entries = Fields::from(vec![Field::new("key", key, false), value]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

fn unit_of(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn precision_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

impl fmt::Display for FlinkType {
    /// As Flink's `TYPEOF` and `DESCRIBE` print it; [`FlinkType::parse`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not_null = if self.nullable { "" } else { " NOT NULL" };
        write!(f, "{}{not_null}", self.kind)
    }
}

impl fmt::Display for TypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeKind::Null => f.write_str("NULL"),
            TypeKind::Boolean => f.write_str("BOOLEAN"),
            TypeKind::TinyInt => f.write_str("TINYINT"),
            TypeKind::SmallInt => f.write_str("SMALLINT"),
            TypeKind::Int => f.write_str("INT"),
            TypeKind::BigInt => f.write_str("BIGINT"),
            TypeKind::Float => f.write_str("FLOAT"),
            TypeKind::Double => f.write_str("DOUBLE"),
            TypeKind::Decimal(precision, scale) => write!(f, "DECIMAL({precision}, {scale})"),
            TypeKind::Char(length) => write!(f, "CHAR({length})"),
            TypeKind::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            TypeKind::VarChar(length) => write!(f, "VARCHAR({length})"),
            TypeKind::Binary(length) => write!(f, "BINARY({length})"),
            TypeKind::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            TypeKind::VarBinary(length) => write!(f, "VARBINARY({length})"),
            TypeKind::Date => f.write_str("DATE"),
            TypeKind::Time(precision) => write!(f, "TIME({precision})"),
            TypeKind::Timestamp(precision) => write!(f, "TIMESTAMP({precision})"),
            TypeKind::TimestampLtz(precision) => write!(f, "TIMESTAMP_LTZ({precision})"),
            TypeKind::IntervalMonths => f.write_str("INTERVAL MONTH"),
            TypeKind::IntervalMillis => f.write_str("INTERVAL SECOND(3)"),
            TypeKind::Array(element) => write!(f, "ARRAY<{element}>"),
            TypeKind::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            TypeKind::Multiset(element) => write!(f, "MULTISET<{element}>"),
            TypeKind::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {}", quote(&field.name), field.data_type)?;
                }
                f.write_str(">")
            }
        }
    }
}

/// The name as a delimited identifier of Flink SQL.
pub(super) fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Gives SQL types Flink's meaning in DataFusion's planner, for `CAST` and typed literals. To be registered with
/// `SessionStateBuilder::with_type_planner`.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlinkTypePlanner;

impl TypePlanner for FlinkTypePlanner {
    fn plan_type_field(&self, sql_type: &SqlDataType) -> Result<Option<FieldRef>> {
        // Types print as the text they were parsed from, whether by us or by sqlparser's own rules.
        let text = sql_type.to_string();
        let data_type = FlinkType::parse(&text)
            .map_err(|e| plan_datafusion_err!("{text} is not a type of Flink SQL: {e}"))?;
        Ok(Some(Arc::new(FlinkType::nullable(data_type.kind).to_field(""))))
    }
}

/// Parses a type, such as the one in `CAST(x AS …)` or behind a column's name.
///
/// Follows Flink where it departs from the standard: `VARCHAR` and `VARBINARY` without a length have the maximal
/// one, precisions beyond the maximum are the maximum, but a decimal's scale beyond its precision is an error.
pub(super) fn parse_type(parser: &mut Parser) -> Result<FlinkType, ParserError> {
    let mut data_type = FlinkType::nullable(parse_kind(parser)?);
    loop {
        if tokens::accept_words(parser, &["NOT", "NULL"]) {
            data_type.nullable = false;
        } else if tokens::accept_words(parser, &["NULL"]) {
            data_type.nullable = true;
        } else if tokens::accept_words(parser, &["ARRAY"]) {
            data_type = FlinkType::nullable(TypeKind::Array(Box::new(data_type)));
        } else if tokens::accept_words(parser, &["MULTISET"]) {
            data_type = FlinkType::nullable(TypeKind::Multiset(Box::new(data_type)));
        } else {
            return Ok(data_type);
        }
    }
}

fn parse_kind(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let token = parser.next_token();
    let Some(name) = tokens::word(&token.token) else {
        return parser.expected("a type", token);
    };
    Ok(match name.to_ascii_uppercase().as_str() {
        "NULL" => TypeKind::Null,
        "BOOLEAN" => TypeKind::Boolean,
        "TINYINT" => TypeKind::TinyInt,
        "SMALLINT" => TypeKind::SmallInt,
        "INT" | "INTEGER" => TypeKind::Int,
        "BIGINT" => TypeKind::BigInt,
        "FLOAT" => TypeKind::Float,
        "DOUBLE" => {
            tokens::accept_words(parser, &["PRECISION"]);
            TypeKind::Double
        }
        "DECIMAL" | "DEC" | "NUMERIC" => parse_decimal(parser)?,
        "CHAR" | "CHARACTER" if tokens::accept_words(parser, &["VARYING"]) => {
            TypeKind::VarChar(parse_length(parser, MAX_LENGTH)?)
        }
        "CHAR" | "CHARACTER" => TypeKind::Char(parse_length(parser, 1)?),
        "VARCHAR" => TypeKind::VarChar(parse_length(parser, MAX_LENGTH)?),
        "STRING" => TypeKind::VarChar(MAX_LENGTH),
        "BINARY" if tokens::accept_words(parser, &["VARYING"]) => {
            TypeKind::VarBinary(parse_length(parser, MAX_LENGTH)?)
        }
        "BINARY" => TypeKind::Binary(parse_length(parser, 1)?),
        "VARBINARY" => TypeKind::VarBinary(parse_length(parser, MAX_LENGTH)?),
        "BYTES" => TypeKind::VarBinary(MAX_LENGTH),
        "DATE" => TypeKind::Date,
        "TIME" => {
            let precision = parse_precision(parser, 0)?;
            tokens::accept_words(parser, &["WITHOUT", "TIME", "ZONE"]);
            TypeKind::Time(precision)
        }
        "TIMESTAMP" => {
            let precision = parse_precision(parser, 6)?;
            if tokens::accept_words(parser, &["WITH", "LOCAL", "TIME", "ZONE"]) {
                TypeKind::TimestampLtz(precision)
            } else {
                tokens::accept_words(parser, &["WITHOUT", "TIME", "ZONE"]);
                TypeKind::Timestamp(precision)
            }
        }
        "TIMESTAMP_LTZ" => TypeKind::TimestampLtz(parse_precision(parser, 6)?),
        "INTERVAL" => parse_interval(parser)?,
        "ARRAY" => {
            let [element] = parse_arguments(parser)?;
            TypeKind::Array(Box::new(element))
        }
        "MULTISET" => {
            let [element] = parse_arguments(parser)?;
            TypeKind::Multiset(Box::new(element))
        }
        "MAP" => {
            let [key, value] = parse_arguments(parser)?;
            TypeKind::Map(Box::new(key), Box::new(value))
        }
        "ROW" => parse_row(parser)?,
        _ => return parser.expected("a type of Flink SQL", token),
    })
}

/// `(n)`, or `default` where there is none.
fn parse_number(parser: &mut Parser) -> Result<Option<u64>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let number = parser.parse_literal_uint()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Some(number))
}

fn parse_length(parser: &mut Parser, default: u32) -> Result<u32, ParserError> {
    let location = parser.peek_token_ref().span.start;
    match parse_number(parser)? {
        None => Ok(default),
        Some(length) if (1..=MAX_LENGTH as u64).contains(&length) => Ok(length as u32),
        Some(length) => Err(tokens::error(
            format!("The length of a type is between 1 and {MAX_LENGTH}, not {length}"),
            location,
        )),
    }
}

fn parse_precision(parser: &mut Parser, default: u8) -> Result<u8, ParserError> {
    let precision = parse_number(parser)?.unwrap_or(default as u64);
    Ok(precision.min(MAX_TIME_PRECISION as u64) as u8)
}

fn parse_decimal(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(TypeKind::Decimal(10, 0));
    }
    let location = parser.peek_token_ref().span.start;
    let precision = parser.parse_literal_uint()?.min(MAX_DECIMAL_PRECISION as u64);
    let scale = if parser.consume_token(&Token::Comma) { parser.parse_literal_uint()? } else { 0 };
    parser.expect_token(&Token::RParen)?;
    if precision == 0 {
        return Err(tokens::error("The precision of a DECIMAL is between 1 and 38, not 0", location));
    }
    if scale > precision {
        return Err(tokens::error(
            format!("The scale of a DECIMAL is between 0 and its precision {precision}, not {scale}"),
            location,
        ));
    }
    Ok(TypeKind::Decimal(precision as u8, scale as u8))
}

/// `INTERVAL unit[(p[, s])] [TO unit[(s)]]`. Flink knows two interval types, whatever the units.
fn parse_interval(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let mut months = None;
    loop {
        let token = parser.next_token();
        let unit = tokens::word(&token.token).unwrap_or_default().to_ascii_uppercase();
        let of_months = match unit.trim_end_matches('S') {
            "YEAR" | "QUARTER" | "MONTH" => true,
            "WEEK" | "DAY" | "HOUR" | "MINUTE" | "SECOND" => false,
            _ => return parser.expected("the unit of an interval", token),
        };
        if *months.get_or_insert(of_months) != of_months {
            return parser.expected("the same kind of unit on both sides of TO", token);
        }
        if parser.consume_token(&Token::LParen) {
            parser.parse_comma_separated(Parser::parse_literal_uint)?;
            parser.expect_token(&Token::RParen)?;
        }
        if !tokens::accept_words(parser, &["TO"]) {
            return Ok(if of_months { TypeKind::IntervalMonths } else { TypeKind::IntervalMillis });
        }
    }
}

/// `<type, …>` with exactly `N` types.
fn parse_arguments<const N: usize>(parser: &mut Parser) -> Result<[FlinkType; N], ParserError> {
    let opening = parser.expect_token(&Token::Lt)?;
    let types = parser.parse_comma_separated(parse_type)?;
    parser.expect_token(&Token::Gt)?;
    types.try_into().map_err(|types: Vec<_>| {
        tokens::error(format!("This type takes {N} type(s), not {}", types.len()), opening.span.start)
    })
}

/// `<name type ['comment'], …>` or the same in parentheses.
fn parse_row(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let closing = if parser.consume_token(&Token::Lt) {
        Token::Gt
    } else {
        parser.expect_token(&Token::LParen)?;
        Token::RParen
    };
    let fields = parser.parse_comma_separated(|parser| {
        let name = tokens::identifier(parser)?.value;
        let data_type = parse_type(parser)?;
        if matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_)) {
            parser.next_token();
        }
        Ok(RowField { name, data_type })
    })?;
    parser.expect_token(&closing)?;
    Ok(TypeKind::Row(fields))
}

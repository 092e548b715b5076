//! Typed literals: intervals, and `DATE`, `TIME` and `TIMESTAMP` in front of a string.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use datafusion::sql::sqlparser::ast::{CastKind, Expr, Interval, TypedString, UnaryOperator, Value};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token};

use super::ast::{call, text};
use super::tokens;
use super::types::{FlinkType, TypeKind};

/// The function that makes an interval of a number that is no literal: `INTERVAL n DAY` is planned as
/// `flink_interval(n, 'DAY')`.
pub const INTERVAL_FUNCTION: &str = "flink_interval";

const MILLIS_PER_DAY: i64 = 24 * 3_600_000;

/// A unit of intervals, from the largest to the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    fn parse(parser: &mut Parser) -> Result<Self, ParserError> {
        let token = parser.next_token();
        let name = tokens::word(&token.token).unwrap_or_default().to_ascii_uppercase();
        Ok(match name.strip_suffix('S').unwrap_or(&name) {
            "YEAR" => Unit::Year,
            "QUARTER" => Unit::Quarter,
            "MONTH" => Unit::Month,
            "WEEK" => Unit::Week,
            "DAY" => Unit::Day,
            "HOUR" => Unit::Hour,
            "MINUTE" => Unit::Minute,
            "SECOND" => Unit::Second,
            _ => return parser.expected("the unit of an interval", token),
        })
    }

    fn is_of_months(self) -> bool {
        self <= Unit::Month
    }

    /// Months or milliseconds.
    fn size(self) -> i64 {
        match self {
            Unit::Year => 12,
            Unit::Quarter => 3,
            Unit::Month => 1,
            Unit::Week => 7 * MILLIS_PER_DAY,
            Unit::Day => MILLIS_PER_DAY,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            Unit::Second => 1_000,
        }
    }

    /// What follows this unit in `DAY TO SECOND` and the like: what separates it, the next unit, how many of
    /// those there are in one of these.
    fn next(self) -> Option<(char, Unit, i64)> {
        match self {
            Unit::Year => Some(('-', Unit::Month, 12)),
            Unit::Day => Some((' ', Unit::Hour, 24)),
            Unit::Hour => Some((':', Unit::Minute, 60)),
            Unit::Minute => Some((':', Unit::Second, 60)),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unit::Year => "YEAR",
            Unit::Quarter => "QUARTER",
            Unit::Month => "MONTH",
            Unit::Week => "WEEK",
            Unit::Day => "DAY",
            Unit::Hour => "HOUR",
            Unit::Minute => "MINUTE",
            Unit::Second => "SECOND",
        }
    }
}

/// What stands behind the value of an interval: `DAY(3) TO SECOND(6)`.
struct Qualifier {
    first: Unit,
    last: Unit,
    /// How many digits the first field may have.
    digits: u32,
    /// How many digits the fraction of the seconds may have.
    fraction_digits: usize,
}

impl Qualifier {
    fn parse(parser: &mut Parser) -> Result<Self, ParserError> {
        let first = Unit::parse(parser)?;
        let mut qualifier = Self { first, last: first, digits: 2, fraction_digits: 6 };
        if parser.consume_token(&Token::LParen) {
            qualifier.digits = parser.parse_literal_uint()?.min(10) as u32;
            if first == Unit::Second && parser.consume_token(&Token::Comma) {
                qualifier.fraction_digits = parser.parse_literal_uint()?.min(9) as usize;
            }
            parser.expect_token(&Token::RParen)?;
        }
        if tokens::accept_words(parser, &["TO"]) {
            let location = parser.peek_token_ref().span.start;
            qualifier.last = Unit::parse(parser)?;
            if qualifier.last <= first || qualifier.last.is_of_months() != first.is_of_months() {
                let (first, last) = (first.name(), qualifier.last.name());
                return Err(tokens::error(format!("There is no interval {first} TO {last}"), location));
            }
            if qualifier.last == Unit::Second && parser.consume_token(&Token::LParen) {
                qualifier.fraction_digits = parser.parse_literal_uint()?.min(9) as usize;
                parser.expect_token(&Token::RParen)?;
            }
        }
        Ok(qualifier)
    }

    /// The months or milliseconds that `value` says. Digits below the millisecond are dropped, as in Flink.
    fn evaluate(&self, value: &str) -> Result<i64, String> {
        let value = value.trim();
        let (sign, mut rest) = match value.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, value.strip_prefix('+').unwrap_or(value)),
        };
        let malformed = || {
            let to =
                if self.last == self.first { String::new() } else { format!(" TO {}", self.last.name()) };
            format!("'{value}' is not an interval of {}{to}", self.first.name())
        };
        let mut unit = self.first;
        let mut total = 0;
        let mut limit = 10_i64.pow(self.digits);
        loop {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number: i64 = rest[..digits].parse().map_err(|_| malformed())?;
            if number >= limit && unit == self.first {
                return Err(format!(
                    "The interval's {number} exceeds the precision of {unit}({digits}); write {unit}({more}) for more digits",
                    unit = unit.name(),
                    digits = self.digits,
                    more = rest[..digits].trim_start_matches('0').len(),
                ));
            } else if number >= limit {
                return Err(malformed());
            }
            total += number * unit.size();
            rest = &rest[digits..];
            if unit == self.last {
                break;
            }
            let (separator, next, count) = unit.next().ok_or_else(malformed)?;
            rest = rest.strip_prefix(separator).ok_or_else(malformed)?;
            (unit, limit) = (next, count);
        }
        if unit == Unit::Second
            && let Some(fraction) = rest.strip_prefix('.')
        {
            let valid =
                fraction.bytes().all(|b| b.is_ascii_digit()) && fraction.len() <= self.fraction_digits;
            if fraction.is_empty() || !valid {
                return Err(malformed());
            }
            total += format!("{fraction:0<3}")[..3].parse::<i64>().map_err(|_| malformed())?;
            rest = "";
        }
        if rest.is_empty() { Ok(sign * total) } else { Err(malformed()) }
    }
}

/// `INTERVAL [±] 'value' <qualifier>`, where the value may be a number or, for one unit, an expression.
pub(super) fn parse_interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    let location = parser.peek_token_ref().span.start;
    let negative = parser.consume_token(&Token::Minus);
    if !negative {
        let _ = parser.consume_token(&Token::Plus);
    }
    let value = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(value) | Token::Number(value, _) => value.clone(),
        _ => return parse_interval_of_expression(parser, negative),
    };
    let is_number = matches!(parser.next_token().token, Token::Number(..));
    let mut qualifier = Qualifier::parse(parser)?;
    if is_number {
        qualifier.digits = 18;
    }
    let size = qualifier.evaluate(&value).map_err(|message| tokens::error(message, location))?;
    let size = if negative { -size } else { size };
    interval(size, qualifier.first.is_of_months())
        .ok_or_else(|| tokens::error(format!("The interval '{value}' is too large"), location))
}

fn parse_interval_of_expression(parser: &mut Parser, negative: bool) -> Result<Expr, ParserError> {
    let value = parser.parse_prefix()?;
    let unit = Unit::parse(parser)?;
    let interval = call(INTERVAL_FUNCTION, vec![value, text(unit.name())]);
    Ok(if negative { Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(interval) } } else { interval })
}

/// An interval that DataFusion plans to the literal of these months, or of these milliseconds: whole days as days,
/// the rest as nanoseconds, so that equal intervals are equal literals.
fn interval(size: i64, of_months: bool) -> Option<Expr> {
    let value = if of_months {
        format!("{} months", i32::try_from(size).ok()?)
    } else {
        let days = i32::try_from(size / MILLIS_PER_DAY).ok()?;
        let millis = size % MILLIS_PER_DAY;
        if days == 0 {
            format!("{millis} milliseconds")
        } else {
            format!("{days} days {millis} milliseconds")
        }
    };
    Some(Expr::Interval(Interval {
        value: Box::new(text(value)),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}

/// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'` or `TIMESTAMP WITH LOCAL TIME ZONE '…'`, if that comes next.
///
/// As in Flink, a timestamp has as many digits of fraction as were written, and a time has none.
pub(super) fn parse_datetime(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let local = tokens::at_words(parser, &["TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE"]);
    let words = if local { 5 } else { 1 };
    let value = parser.peek_nth_token(words);
    let Token::SingleQuotedString(value_text) = value.token else { return None };
    let name = parser.next_token();
    (0..words).for_each(|_| parser.advance_token());
    let kind = tokens::word(&name.token).unwrap_or_default().to_ascii_uppercase();
    Some(datetime(&kind, local, value_text.trim(), value.span.start))
}

fn datetime(kind: &str, local: bool, value: &str, at: Location) -> Result<Expr, ParserError> {
    let malformed =
        |pattern: &str| tokens::error(format!("'{value}' is not a {kind} of the form '{pattern}'"), at);
    let typed = |kind: TypeKind, value: String| {
        Expr::TypedString(TypedString {
            data_type: FlinkType::nullable(kind).to_sql(),
            value: Value::SingleQuotedString(value).into(),
            uses_odbc_syntax: false,
        })
    };
    match kind {
        "DATE" => {
            let date = NaiveDate::parse_from_str(value, "%Y-%m-%d").map_err(|_| malformed("yyyy-MM-dd"))?;
            Ok(typed(TypeKind::Date, date.format("%Y-%m-%d").to_string()))
        }
        "TIME" => {
            let time = NaiveTime::parse_from_str(value, "%H:%M:%S%.f")
                .map_err(|_| malformed("HH:mm:ss[.fraction]"))?;
            Ok(typed(TypeKind::Time(0), time.format("%H:%M:%S").to_string()))
        }
        _ => {
            let form = "yyyy-MM-dd HH:mm:ss[.fraction]";
            let seconds =
                NaiveDateTime::parse_from_str(value, "%Y-%m-%d %H:%M:%S%.f").map_err(|_| malformed(form))?;
            let fraction = value.split_once('.').map_or("", |(_, fraction)| fraction);
            let fraction = &fraction[..fraction.len().min(9)];
            let precision = fraction.len() as u8;
            let dot = if fraction.is_empty() { "" } else { "." };
            let value = format!("{}{dot}{fraction}", seconds.format("%Y-%m-%d %H:%M:%S"));
            let timestamp = typed(TypeKind::Timestamp(precision), value);
            Ok(if local {
                Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(timestamp),
                    data_type: FlinkType::nullable(TypeKind::TimestampLtz(precision)).to_sql(),
                    array: false,
                    format: None,
                }
            } else {
                timestamp
            })
        }
    }
}

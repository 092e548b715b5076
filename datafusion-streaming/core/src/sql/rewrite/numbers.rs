//! Numeric literals with the types that they have in Flink.

use datafusion::sql::sqlparser::ast::{CastKind, Expr, TypedString, UnaryOperator, Value, ValueWithSpan};

use crate::sql::types::{FlinkType, TypeKind};

/// The literal with the type that it has in Flink, or `None` if DataFusion gives it that type: without a fraction
/// INT or BIGINT, with one DECIMAL of as many digits as were written, with an exponent DOUBLE.
///
/// # Errors
/// As in Flink, if the digits (without the point) exceed BIGINT, or the number exceeds DOUBLE.
pub(super) fn typed(digits: &str, negative: bool) -> Result<Option<Expr>, String> {
    let sign = if negative { "-" } else { "" };
    let out_of_range = |of| format!("The number {sign}{digits} is out of the range of {of}");
    if digits.contains(['e', 'E']) {
        let text = format!("{sign}{digits}");
        return match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(double(text))),
            _ => Err(out_of_range("DOUBLE")),
        };
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let unscaled = format!("{sign}{whole}{fraction}").parse::<i64>();
    if fraction.is_empty() {
        let number = unscaled.map_err(|_| out_of_range("BIGINT"))?;
        let kind = if i32::try_from(number).is_ok() { TypeKind::Int } else { TypeKind::BigInt };
        let planned_as_is = kind == TypeKind::BigInt && !digits.contains('.');
        return Ok((!planned_as_is).then(|| cast(whole, negative, kind)));
    }
    unscaled.map_err(|_| out_of_range("DECIMAL literals, which have 18 digits"))?;
    let precision = whole.len() + fraction.len();
    let planned = format!("{whole}{fraction}").trim_start_matches('0').len().max(fraction.len());
    let kind = TypeKind::Decimal(precision.min(38) as u8, fraction.len().min(38) as u8);
    Ok((planned != precision).then(|| cast(digits, negative, kind)))
}

fn double(text: String) -> Expr {
    Expr::TypedString(TypedString {
        data_type: FlinkType::nullable(TypeKind::Double).to_sql(),
        value: Value::SingleQuotedString(text).into(),
        uses_odbc_syntax: false,
    })
}

fn cast(digits: &str, negative: bool, kind: TypeKind) -> Expr {
    let mut number = Expr::value(Value::Number(digits.to_string(), false));
    if negative {
        number = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number) };
    }
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(number),
        data_type: FlinkType::nullable(kind).to_sql(),
        array: false,
        format: None,
    }
}

/// Marks a number as one that is not to be typed. sqlparser's flag for `5L`, which Flink SQL has not, is the mark.
pub(super) fn keep(expr: &mut Expr) {
    if let Expr::Value(ValueWithSpan { value: Value::Number(_, keep), .. }) = expr {
        *keep = true;
    }
}

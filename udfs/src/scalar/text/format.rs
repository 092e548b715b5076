//! Formats of Java's `java.util.Formatter`.

use std::fmt::Write;

use crate::scalar::text_number::write_f64;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Boolean(bool),
    /// An integer and the bits of its type.
    Integer(i64, u32),
    Double(f64),
    /// A decimal number as text.
    Decimal(String),
    Text(&'a str),
}

/// A directive such as `%-10.3f`.
#[derive(Debug, Default)]
struct Directive {
    /// From 1; 0 for the next one.
    index: usize,
    previous: bool,
    flags: String,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl Directive {
    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Reads what stands behind a `%`.
    fn parse(text: &str) -> Option<(Directive, &str)> {
        let mut directive = Directive::default();
        let mut rest = text;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && rest[digits..].starts_with('$') {
            directive.index = rest[..digits].parse().ok().filter(|index| *index > 0)?;
            rest = &rest[digits + 1..];
        } else if let Some(behind) = rest.strip_prefix('<') {
            directive.previous = true;
            rest = behind;
        }
        while let Some(flag) = rest.chars().next().filter(|flag| "-#+ 0,(".contains(*flag)) {
            if directive.has(flag) {
                return None;
            }
            directive.flags.push(flag);
            rest = &rest[1..];
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            directive.width = rest[..digits].parse().ok().filter(|width| *width <= 1_000_000)?;
            rest = &rest[digits..];
        }
        if let Some(behind) = rest.strip_prefix('.') {
            let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            directive.precision = Some(behind[..digits].parse().ok().filter(|digits| *digits <= 1_000_000)?);
            rest = &behind[digits..];
        }
        directive.conversion = rest.chars().next()?;
        let needs_width = (directive.has('-') || directive.has('0')) && directive.width == 0;
        let clash = directive.has('-') && directive.has('0') || directive.has('+') && directive.has(' ');
        let rest = &rest[directive.conversion.len_utf8()..];
        (!needs_width && !clash).then_some((directive, rest))
    }

    /// Appends a text in the width, with zeros behind the sign if they are asked for.
    fn pad(&self, text: &str, zeros: bool, out: &mut String) {
        let missing = self.width.saturating_sub(text.encode_utf16().count());
        if zeros && self.has('0') {
            let sign = usize::from(text.starts_with(['+', '-', ' ', '(']));
            out.push_str(&text[..sign]);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(&text[sign..]);
        } else if self.has('-') {
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', missing));
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out.push_str(text);
        }
    }

    /// Appends a number of digits with its sign.
    fn number(&self, negative: bool, digits: &str, out: &mut String) {
        let digits = if self.has(',') { grouped(digits) } else { digits.to_owned() };
        let text = match (negative, self.has('(')) {
            (true, true) => format!("({digits})"),
            (true, false) => format!("-{digits}"),
            (false, _) if self.has('+') => format!("+{digits}"),
            (false, _) if self.has(' ') => format!(" {digits}"),
            _ => digits,
        };
        self.pad(&text, true, out);
    }

    fn write(&self, value: &Value<'_>, out: &mut String) -> Option<()> {
        let upper = self.conversion.is_ascii_uppercase();
        let mut text = String::new();
        match (self.conversion.to_ascii_lowercase(), value) {
            ('b', value) if self.flags.trim_matches('-').is_empty() => {
                let truth = match value {
                    Value::Null => false,
                    Value::Boolean(value) => *value,
                    _ => true,
                };
                text.push_str(if truth { "true" } else { "false" });
                self.general(text, out, upper);
            }
            ('s', value) if self.flags.trim_matches('-').is_empty() => {
                match value {
                    Value::Null => text.push_str("null"),
                    Value::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
                    Value::Integer(value, _) => text = value.to_string(),
                    Value::Double(value) => write_f64(*value, &mut text),
                    Value::Decimal(value) => text.push_str(value),
                    Value::Text(value) => text.push_str(value),
                }
                self.general(text, out, upper);
            }
            ('b' | 's', _) => return None,
            ('c' | 'd' | 'o' | 'x' | 'e' | 'f' | 'g', Value::Null) => {
                let whole = !matches!(self.conversion.to_ascii_lowercase(), 'e' | 'f' | 'g');
                if whole && self.precision.is_some() {
                    return None;
                }
                // cut to the precision even where that means digits
                self.general("null".to_owned(), out, upper);
            }
            ('c', Value::Integer(code, ..=32)) if self.precision.is_none() => {
                let mut letter = char::from_u32(u32::try_from(*code).ok()?)?.to_string();
                if upper {
                    letter = letter.to_uppercase();
                }
                self.pad(&letter, false, out);
            }
            ('d', Value::Integer(value, _)) if !upper && self.precision.is_none() && !self.has('#') => {
                self.number(*value < 0, &value.unsigned_abs().to_string(), out);
            }
            (radix @ ('x' | 'o'), Value::Integer(value, bits)) if self.precision.is_none() => {
                if self.flags.contains(['+', ' ', ',', '(']) || radix == 'o' && upper {
                    return None;
                }
                let bits = *value as u64 & (u64::MAX >> (64 - bits));
                let _ = match (radix, self.has('#')) {
                    ('x', false) => write!(text, "{bits:x}"),
                    ('x', true) => write!(text, "0x{bits:x}"),
                    (_, false) => write!(text, "{bits:o}"),
                    (_, true) => write!(text, "0{bits:o}"),
                };
                if upper {
                    text.make_ascii_uppercase();
                }
                let prefix = if self.has('#') && radix == 'x' { 2 } else { 0 };
                let missing = self.width.saturating_sub(text.len());
                if self.has('0') {
                    text.insert_str(prefix, &"0".repeat(missing));
                }
                self.pad(&text, false, out);
            }
            ('e' | 'f' | 'g', Value::Double(value)) => self.double(*value, out)?,
            ('f', Value::Decimal(value)) if !upper => {
                let negative = value.starts_with('-');
                let digits = rounded(value.trim_start_matches('-'), self.precision.unwrap_or(6));
                self.number(negative, &digits, out);
            }
            ('e' | 'g', Value::Decimal(value)) => self.double(value.parse().ok()?, out)?,
            _ => return None,
        }
        Some(())
    }

    /// What any value is written as: cut to the precision, and in the width.
    fn general(&self, text: String, out: &mut String, upper: bool) {
        let mut text = text;
        if let Some(precision) = self.precision
            && let Some((end, _)) = text.char_indices().nth(precision)
        {
            text.truncate(end);
        }
        if upper {
            text = text.to_uppercase();
        }
        self.pad(&text, false, out);
    }

    fn double(&self, value: f64, out: &mut String) -> Option<()> {
        if !value.is_finite() {
            let name = match (value.is_nan(), value < 0.0, self.has('('), self.has('+')) {
                (true, ..) => "NaN",
                (_, true, true, _) => "(Infinity)",
                (_, true, false, _) => "-Infinity",
                (_, _, _, true) => "+Infinity",
                _ => "Infinity",
            };
            self.pad(name, false, out);
            return Some(());
        }
        // Java rounds the shortest decimal text half up
        let mut shortest = format!("{:e}", value.abs());
        let precision = self.precision.unwrap_or(6);
        let digits = match self.conversion.to_ascii_lowercase() {
            'f' => rounded(&plain(&shortest), precision),
            'g' => {
                let precision = precision.max(1);
                let magnitude = scientific(&shortest, precision - 1);
                let exponent: i32 = magnitude.split_once('e')?.1.parse().ok()?;
                if value != 0.0 && (-4..precision as i32).contains(&exponent) {
                    rounded(&plain(&shortest), (precision as i32 - 1 - exponent) as usize)
                } else if value == 0.0 {
                    rounded("0", precision - 1)
                } else {
                    with_exponent(&magnitude)
                }
            }
            _ => {
                if self.has(',') {
                    return None;
                }
                shortest = scientific(&shortest, precision);
                with_exponent(&shortest)
            }
        };
        let digits = if self.conversion.is_ascii_uppercase() { digits.to_ascii_uppercase() } else { digits };
        self.number(value.is_sign_negative(), &digits, out);
        Some(())
    }
}

/// The digits of the integer part in groups of three.
fn grouped(digits: &str) -> String {
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits[..end].char_indices() {
        if at > 0 && (end - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + &digits[end..]
}

/// `d.ddde5` without an exponent.
fn plain(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i32 + exponent;
    if point <= 0 {
        return format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if point >= digits.len() {
        return format!("{digits}{}", "0".repeat(point - digits.len()));
    }
    format!("{}.{}", &digits[..point], &digits[point..])
}

/// Adds one to the last digit of a number that may have a point.
fn incremented(text: &str) -> String {
    let mut digits = text.as_bytes().to_vec();
    for digit in digits.iter_mut().rev().filter(|digit| digit.is_ascii_digit()) {
        if *digit < b'9' {
            *digit += 1;
            return String::from_utf8_lossy(&digits).into_owned();
        }
        *digit = b'0';
    }
    format!("1{}", String::from_utf8_lossy(&digits))
}

/// A plain number rounded half up to so many digits behind the point.
fn rounded(number: &str, precision: usize) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let kept = fraction.get(..precision).unwrap_or(fraction);
    let point = if precision == 0 { "" } else { "." };
    let text = format!("{whole}{point}{kept:0<precision$}");
    let up = fraction.as_bytes().get(precision).is_some_and(|digit| *digit >= b'5');
    if up { incremented(&text) } else { text }
}

/// `d.ddde5` with so many digits behind the point.
fn scientific(shortest: &str, precision: usize) -> String {
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let mantissa = rounded(mantissa, precision);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match mantissa.strip_prefix("10") {
        Some(rest) => {
            // rounding gave one digit more
            let fraction = rest.trim_start_matches('.');
            let point = if precision == 0 { "" } else { "." };
            format!("1{point}{fraction}e{}", exponent + 1)
        }
        None => format!("{mantissa}e{exponent}"),
    }
}

/// The exponent with a sign and two digits at least.
fn with_exponent(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Appends values in a format; `None` if the format is malformed or does not fit.
pub(super) fn format(format: &str, values: &[Value<'_>], out: &mut String) -> Option<()> {
    let mut rest = format;
    let (mut next, mut last) = (0, None);
    while let Some((text, behind)) = rest.split_once('%') {
        out.push_str(text);
        let (directive, behind) = Directive::parse(behind)?;
        rest = behind;
        match directive.conversion {
            '%' => directive.pad("%", false, out),
            'n' => out.push('\n'),
            _ => {
                let index = match (directive.previous, directive.index) {
                    (true, _) => last?,
                    (false, 0) => {
                        next += 1;
                        next - 1
                    }
                    (false, index) => index - 1,
                };
                last = Some(index);
                directive.write(values.get(index)?, out)?;
            }
        }
    }
    out.push_str(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, values: &[Value<'_>]) -> Option<String> {
        let mut out = String::new();
        format(text, values, &mut out).map(|()| out)
    }

    #[test]
    fn integers_and_texts() {
        let int = |value| Value::Integer(value, 32);
        for (text, values, expected) in [
            ("<%s>%d", vec![Value::Text("é"), int(1)], Some("<é>1")),
            ("%05d|%x", vec![int(-1), int(-1)], Some("-0001|ffffffff")),
            ("%d%%", vec![int(3)], Some("3%")),
            ("%+d % d %(d %,d", vec![int(1), int(2), int(-3), int(-1_234_567)], Some("+1  2 (3) -1,234,567")),
            ("%2$s %1$s %<s %s", vec![Value::Text("a"), Value::Text("b")], Some("b a a a")),
            ("%-4s|%4s|%.2s|%S", vec![Value::Text("ab"); 4], Some("ab  |  ab|ab|AB")),
            ("%#x %X %o", vec![int(255); 3], Some("0xff FF 377")),
            ("%s %d %5.1f", vec![Value::Null, Value::Null, Value::Null], Some("null null     n")),
            ("%b %b %B", vec![Value::Null, int(0), Value::Boolean(true)], Some("false true TRUE")),
            ("%c%n", vec![int(233)], Some("é\n")),
            ("%d", vec![Value::Text("x")], None),
            ("%s %s", vec![int(1)], None),
            ("%", vec![], None),
            ("%q", vec![int(1)], None),
            ("%-d", vec![int(1)], None),
        ] {
            assert_eq!(printed(text, &values).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn floating_numbers_are_rounded_half_up() {
        for (text, value, expected) in [
            ("%f", 1.0, "1.000000"),
            ("%.2f", 1.005, "1.01"),
            ("%.0f", 2.5, "3"),
            ("%.1f", 99.95, "100.0"),
            ("%.3f", -1e-5, "-0.000"),
            ("%,.1f", 1e7, "10,000,000.0"),
            ("%08.2f", -3.256, "-0003.26"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2E", 9.999, "1.00E+01"),
            ("%.0e", 0.00015, "2e-04"),
            ("%g", 0.0001, "0.000100000"),
            ("%g", 123456.7, "123457."),
            ("%g", 1e10, "1.00000e+10"),
            ("%f", f64::NAN, "NaN"),
            ("%10f", f64::NEG_INFINITY, " -Infinity"),
            ("%s", 1e7, "1.0E7"),
        ] {
            assert_eq!(
                printed(text, &[Value::Double(value)]).as_deref(),
                Some(expected.trim_end_matches('.')),
                "{text}"
            );
        }
        assert_eq!(
            printed("%.1f|%s", &[Value::Decimal("-2.25".into()), Value::Decimal("0.50".into())]).unwrap(),
            "-2.3|0.50"
        );
    }
}

//! Fractions of seconds that are cut to a precision.

use arrow::datatypes::Field;

use crate::timestamps::TimestampType;
use crate::types::FLINK_TYPE;

/// The digits of the fraction of a TIMESTAMP or TIMESTAMP_LTZ; `None` for other types. Those that Arrow has no unit for are told by
/// metadata, such as `TIMESTAMP(1)`.
pub(super) fn fraction_digits(field: &Field) -> Option<u32> {
    let of = TimestampType::of(field.data_type())?;
    let named = field.metadata().get(FLINK_TYPE).and_then(|name| {
        let (_, digits) = name.strip_prefix("TIMESTAMP")?.split_once('(')?;
        digits.split_once(')')?.0.parse().ok()
    });
    Some(named.unwrap_or(of.digits().into()))
}

/// Milliseconds, and nanoseconds beyond them, cut to a precision as Flink cuts them: milliseconds toward 1970, finer digits down. A
/// fraction whose nanoseconds, written without leading zeros, have no more digits than the precision is not cut.
pub(super) fn cut(millis: i64, nanos: i64, precision: u32) -> (i64, i64) {
    let of_second = millis.rem_euclid(1_000) * 1_000_000 + nanos;
    if of_second.checked_ilog10().unwrap_or(0) < precision {
        return (millis, nanos);
    }
    if precision <= 3 {
        let unit = 10_i64.pow(3 - precision);
        (millis / unit * unit, 0)
    } else {
        let unit = 10_i64.pow(9 - precision);
        (millis, nanos / unit * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn fractions_are_cut_toward_1970() {
        assert_eq!(cut(1_999, 999_999, 0), (1_000, 0));
        assert_eq!(cut(-1, 0, 0), (0, 0));
        assert_eq!(cut(-1, 999_999, 2), (0, 0));
        assert_eq!(cut(1_789, 0, 2), (1_780, 0));
        assert_eq!(cut(1_789, 123_456, 5), (1_789, 120_000));
        assert_eq!(cut(-1, 999_999, 4), (-1, 900_000));
        // 5 ns are one digit
        assert_eq!(cut(0, 5, 7), (0, 5));
        assert_eq!(cut(0, 5, 1), (0, 5));
    }
}

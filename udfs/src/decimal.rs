//! Arithmetic on the unscaled integers of Flink's DECIMALs.
//!
//! Flink computes with Java's `BigDecimal` and turns what does not fit the result type into NULL.
//! Here a decimal is its unscaled `i128`, and `None` is what does not fit.

use std::cmp::Ordering;

use arrow::datatypes::i256;

/// The most digits a DECIMAL can have.
pub const MAX_PRECISION: u8 = 38;

/// `10^0` to `10^38`: all that 128 bits hold.
const POWERS: [u128; 39] = {
    let mut powers = [1; 39];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// `10^exponent`, `None` beyond 128 bits.
fn power(exponent: u32) -> Option<u128> {
    POWERS.get(exponent as usize).copied()
}

/// `10^precision`, the least number that has too many digits for a precision.
pub fn limit(precision: u8) -> i128 {
    POWERS[usize::from(precision.min(MAX_PRECISION))] as i128
}

/// Whether `value` has at most `precision` digits.
pub fn fits(value: i128, precision: u8) -> bool {
    let limit = limit(precision);
    -limit < value && value < limit
}

/// The number of decimal digits of `value`: 1 for 0.
fn digits(value: u128) -> u32 {
    value.checked_ilog10().unwrap_or(0) + 1
}

/// `dividend * 10^shift / divisor` as Flink divides DECIMALs: the quotient is rounded to 38
/// significant digits and then to an integer, both times half away from zero.
///
/// The shift is what the scales of operands and result demand. Both operands have at most 38 digits.
/// `None` where the divisor is zero or the result has more than 38 digits.
pub fn divide(dividend: i128, divisor: i128, shift: i32) -> Option<i128> {
    let (numerator, denominator) = (dividend.unsigned_abs(), divisor.unsigned_abs());
    let magnitude = match divide_narrow(numerator, denominator, shift) {
        Some(quotient) => quotient,
        None => divide_wide(numerator, denominator, shift)?,
    };
    let quotient = i128::try_from(magnitude).ok().filter(|&quotient| quotient < limit(MAX_PRECISION))?;
    Some(if (dividend < 0) == (divisor < 0) { quotient } else { -quotient })
}

/// [`divide`] in 128 bits, for operands so small that the rounding to 38 digits cannot change the
/// rounding to an integer.
///
/// With a denominator of `d` digits the fraction of the quotient is a half, or `10^-d / 2` or more
/// away from one. The rounding to 38 digits moves a quotient of `i` integer digits by
/// `10^(i - 38) / 2` at most, so `i + d <= 38` is safe, and a numerator below `10^37` sees to that.
#[inline]
fn divide_narrow(numerator: u128, denominator: u128, shift: i32) -> Option<u128> {
    const SAFE: u128 = POWERS[37];
    let power = power(shift.unsigned_abs())?;
    let (numerator, denominator) = if shift >= 0 {
        (numerator.checked_mul(power)?, denominator)
    } else {
        (numerator, denominator.checked_mul(power)?)
    };
    if numerator >= SAFE || denominator >= SAFE || denominator == 0 {
        return None;
    }
    if let (Ok(numerator), Ok(denominator)) = (u64::try_from(numerator), u64::try_from(denominator)) {
        let (quotient, remainder) = (numerator / denominator, numerator % denominator);
        return Some(u128::from(quotient) + u128::from(remainder >= denominator - remainder));
    }
    let (quotient, remainder) = (numerator / denominator, numerator % denominator);
    Some(quotient + u128::from(2 * remainder >= denominator))
}

/// [`divide`] in 256 bits.
#[cold]
fn divide_wide(numerator: u128, denominator: u128, shift: i32) -> Option<u128> {
    if denominator == 0 {
        return None;
    }
    if numerator == 0 {
        return Some(0);
    }
    // Scaled so, the quotient has 38 or 39 digits, and the scaled numerator at most 76.
    let mut scale = u32::from(MAX_PRECISION) + digits(denominator) - digits(numerator);
    let divisor = to_wide(denominator)?;
    let high = scale.saturating_sub(u32::from(MAX_PRECISION));
    let scaled = to_wide(numerator)?
        .checked_mul(to_wide(power(scale - high)?)?)?
        .checked_mul(to_wide(power(high)?)?)?;
    let mut quotient = scaled.checked_div(divisor)?;
    let round_up = if quotient >= to_wide(POWERS[38])? {
        scale -= 1;
        let ten = i256::from_i128(10);
        let last_digit = quotient.checked_rem(ten)?;
        quotient = quotient.checked_div(ten)?;
        last_digit >= i256::from_i128(5)
    } else {
        scaled.checked_rem(divisor)?.checked_mul(i256::from_i128(2))? >= divisor
    };
    let significant = quotient.to_i128()?.unsigned_abs() + u128::from(round_up);
    rescale_magnitude(significant, shift - i32::try_from(scale).ok()?)
}

fn to_wide(value: u128) -> Option<i256> {
    i128::try_from(value).ok().map(i256::from_i128)
}

/// `value * 10^shift`, rounded half up. `None` beyond 128 bits.
fn rescale_magnitude(value: u128, shift: i32) -> Option<u128> {
    let exponent = shift.unsigned_abs();
    match shift.cmp(&0) {
        Ordering::Equal => Some(value),
        Ordering::Greater => value.checked_mul(power(exponent)?),
        // a divisor of more digits than 128 bits hold leaves less than a half
        Ordering::Less => Some(match power(exponent) {
            Some(power) => value / power + u128::from(value % power >= power.div_ceil(2)),
            None => 0,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_half_away_from_zero() {
        assert_eq!(divide(500, 3, 4), Some(1_666_667));
        assert_eq!(divide(5, 2, 0), Some(3));
        assert_eq!(divide(-5, 2, 0), Some(-3));
        assert_eq!(divide(5, -2, 0), Some(-3));
        assert_eq!(divide(4, 3, 0), Some(1));
        assert_eq!(divide(0, 3, 6), Some(0));
        assert_eq!(divide(25, 1, -1), Some(3));
        assert_eq!(divide(24, 1, -1), Some(2));
        assert_eq!(divide(1, 0, 0), None);
    }

    #[test]
    fn narrow_and_wide_division_agree() {
        let operands = [1, 2, 3, 7, 9, 10, 99, 123_456_789, 10_u128.pow(18) - 1, 10_u128.pow(19)];
        for numerator in operands {
            for denominator in operands {
                for shift in -12..=12 {
                    let narrow = divide_narrow(numerator, denominator, shift);
                    assert!(narrow.is_some());
                    assert_eq!(narrow, divide_wide(numerator, denominator, shift));
                }
            }
        }
    }

    #[test]
    fn the_quotient_is_rounded_twice() {
        // 10^30 + 0.4999999…: to 38 digits the quotient is 10^30 + 0.5, which is rounded up
        let divisor = 10_i128.pow(8) - 1;
        let dividend = 10_i128.pow(30) * divisor + divisor / 2;
        assert_eq!(2 * (divisor / 2) + 1, divisor);
        assert_eq!(divide(dividend, divisor, 0), Some(10_i128.pow(30) + 1));
        // with a digit to spare it is not
        let dividend = 10_i128.pow(28) * divisor + divisor / 2;
        assert_eq!(divide(dividend, divisor, 0), Some(10_i128.pow(28)));
    }

    #[test]
    fn quotients_of_more_than_38_digits_do_not_fit() {
        let most = 10_i128.pow(38) - 1;
        assert_eq!(divide(most, 1, 0), Some(most));
        assert_eq!(divide(most, 1, 1), None);
        assert_eq!(divide(10_i128.pow(37), 1, 1), None);
        assert_eq!(divide(most, most, 37), Some(10_i128.pow(37)));
        assert_eq!(divide(1, most, 0), Some(0));
        assert_eq!(divide(1, most, 76), None);
        assert_eq!(divide(1, most, 75), Some(10_i128.pow(37)));
    }
}

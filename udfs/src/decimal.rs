//! Arithmetic on the unscaled integers of Flink's DECIMALs.
//!
//! Flink computes with Java's `BigDecimal` and turns what does not fit the result type into NULL.
//! Here a decimal is its unscaled `i128`, and `None` is what does not fit.

use std::cmp::Ordering;

use arrow::datatypes::{DataType, i256};

/// The most digits a DECIMAL can have.
pub const MAX_PRECISION: u8 = 38;

/// Whether a type is that of Flink's DECIMALs, which have no negative scale.
pub fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, scale) if *scale >= 0)
}

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

/// A decimal number: an integer and by how many digits its point stands to the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unscaled {
    /// The integer, of at most 38 digits.
    pub value: i128,
    /// The digits behind the point.
    pub scale: u32,
}

impl Unscaled {
    /// A decimal of Arrow's; Flink has no negative scales.
    pub fn new(value: i128, scale: i8) -> Self {
        Self { value, scale: u32::from(scale.unsigned_abs()) }
    }

    /// The integer with more digits behind the point, in 128 bits.
    fn narrow(self, scale: u32) -> Option<i128> {
        self.value.checked_mul(i128::try_from(power(scale - self.scale)?).ok()?)
    }

    /// The integer with more digits behind the point, in 256 bits.
    fn wide(self, scale: u32) -> Option<i256> {
        i256::from_i128(self.value).checked_mul(to_wide(power(scale - self.scale)?)?)
    }
}

/// The sum with so many digits behind the point, rounded half up. `None` beyond 128 bits.
pub fn add(left: Unscaled, right: Unscaled, scale: i32) -> Option<i128> {
    let exact = left.scale.max(right.scale);
    let narrow = || left.narrow(exact)?.checked_add(right.narrow(exact)?);
    let wide = || left.wide(exact)?.checked_add(right.wide(exact)?);
    narrow().map_or_else(|| rescale_wide(wide()?, exact, scale), |sum| rescale(sum, exact, scale))
}

/// The difference with so many digits behind the point, rounded half up. `None` beyond 128 bits.
pub fn subtract(left: Unscaled, right: Unscaled, scale: i32) -> Option<i128> {
    add(left, Unscaled { value: -right.value, ..right }, scale)
}

/// The product with so many digits behind the point, rounded half up. `None` beyond 128 bits.
pub fn multiply(left: Unscaled, right: Unscaled, scale: i32) -> Option<i128> {
    let exact = left.scale + right.scale;
    match left.value.checked_mul(right.value) {
        Some(product) => rescale(product, exact, scale),
        None => {
            let product = i256::from_i128(left.value).checked_mul(i256::from_i128(right.value))?;
            rescale_wide(product, exact, scale)
        }
    }
}

/// The remainder of the division to an integer, with the sign of the dividend. `None` where that
/// integer has more than 38 digits, which Java refuses, or the divisor is zero.
pub fn remainder(dividend: Unscaled, divisor: Unscaled, scale: i32) -> Option<i128> {
    let exact = dividend.scale.max(divisor.scale);
    if let (Some(dividend), Some(divisor)) = (dividend.narrow(exact), divisor.narrow(exact)) {
        let quotient = dividend.checked_div(divisor)?;
        return rescale(
            dividend.checked_rem(divisor).filter(|_| fits(quotient, MAX_PRECISION))?,
            exact,
            scale,
        );
    }
    let (dividend, divisor) = (dividend.wide(exact)?, divisor.wide(exact)?);
    dividend.checked_div(divisor)?.to_i128().filter(|&quotient| fits(quotient, MAX_PRECISION))?;
    rescale_wide(dividend.checked_rem(divisor)?, exact, scale)
}

/// The double next to a decimal.
pub fn to_f64(value: i128, scale: u32) -> f64 {
    const EXACT: u128 = 1 << 53;
    if value.unsigned_abs() <= EXACT && scale <= 22 {
        // both are doubles, and so is one division rounded correctly
        return value as f64 / 10_f64.powi(scale as i32);
    }
    // the standard library rounds text correctly
    format!("{value}e-{scale}").parse().unwrap_or(f64::NAN)
}

/// The decimal with so many digits behind the point next to the shortest text of a double, as Flink
/// casts it, rounded half up. `None` for NaN, infinities and what has more than 38 digits.
pub fn from_f64(value: f64, scale: u32) -> Option<i128> {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
    let shifted = rescale(digits, 0, i32::try_from(scale).ok()? + exponent)?;
    fits(shifted, MAX_PRECISION).then_some(shifted)
}

/// An integer with `from` digits behind the point as one with `to`, rounded half up.
fn rescale(value: i128, from: u32, to: i32) -> Option<i128> {
    let magnitude = rescale_magnitude(value.unsigned_abs(), to - i32::try_from(from).ok()?)?;
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if value < 0 { -magnitude } else { magnitude })
}

/// [`rescale`] of 256 bits, to 128.
fn rescale_wide(value: i256, from: u32, to: i32) -> Option<i128> {
    let shift = to - i32::try_from(from).ok()?;
    if shift >= 0 {
        return value.to_i128().and_then(|value| rescale(value, 0, shift));
    }
    // ten to the shift has at most 76 digits: what two scales add up to
    let exponent = shift.unsigned_abs();
    let high = exponent.saturating_sub(u32::from(MAX_PRECISION));
    let divisor = to_wide(power(exponent - high)?)?.checked_mul(to_wide(power(high)?)?)?;
    let quotient = value.checked_div(divisor)?.to_i128()?;
    let remainder = value.checked_rem(divisor)?.wrapping_abs();
    let up = i128::from(remainder >= divisor.wrapping_sub(remainder));
    quotient.checked_add(if value < i256::ZERO { -up } else { up })
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

    fn unscaled(value: i128, scale: i8) -> Unscaled {
        Unscaled::new(value, scale)
    }

    #[test]
    fn sums_and_products_are_rounded_half_up() {
        assert_eq!(add(unscaled(125, 2), unscaled(25_000, 4), 4), Some(37_500));
        assert_eq!(subtract(unscaled(125, 2), unscaled(25_000, 4), 4), Some(-12_500));
        assert_eq!(add(unscaled(15, 1), unscaled(0, 1), 0), Some(2));
        assert_eq!(add(unscaled(-15, 1), unscaled(0, 1), 0), Some(-2));
        assert_eq!(multiply(unscaled(125, 2), unscaled(125, 2), 4), Some(15_625));
        let most = 10_i128.pow(38) - 1;
        // 0.99… of 38 digits squared, and added
        assert_eq!(multiply(unscaled(most, 38), unscaled(most, 38), 37), Some(10_i128.pow(37)));
        assert_eq!(add(unscaled(most, 38), unscaled(most, 38), 37), Some(2 * 10_i128.pow(37)));
        assert_eq!(subtract(unscaled(most, 38), unscaled(1, 0), 27), Some(0));
        assert_eq!(multiply(unscaled(-most, 0), unscaled(most, 0), 0), None);
        assert_eq!(add(unscaled(most, 0), unscaled(most, 38), 6), None);
    }

    #[test]
    fn remainders_have_the_sign_of_the_dividend() {
        assert_eq!(remainder(unscaled(-125, 2), unscaled(3_333, 4), 4), Some(-2_501));
        assert_eq!(remainder(unscaled(10_i128.pow(38) - 1, 0), unscaled(70, 1), 1), Some(10));
        // the divisor needs 256 bits to have as many digits behind the point as the dividend
        assert_eq!(remainder(unscaled(5, 1), unscaled(10_i128.pow(37), 0), 1), Some(5));
        assert_eq!(remainder(unscaled(10_i128.pow(37), 0), unscaled(3, 20), 20), None);
        assert_eq!(remainder(unscaled(1, 0), unscaled(0, 0), 0), None);
    }

    #[test]
    fn doubles_and_back() {
        assert_eq!(to_f64(888_889, 6), 0.888889);
        assert_eq!(from_f64(0.942_809_041_582_062_9, 6), Some(942_809));
        assert_eq!(from_f64(-2.5, 0), Some(-3));
        assert_eq!(from_f64(1e20, 6), Some(10_i128.pow(26)));
        assert_eq!(from_f64(1e-20, 6), Some(0));
        assert_eq!(from_f64(f64::NAN, 6), None);
        assert_eq!(from_f64(f64::INFINITY, 6), None);
        assert_eq!(from_f64(1e38, 6), None);
    }
}

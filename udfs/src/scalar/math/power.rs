//! POWER.

use datafusion_expr::ScalarUDF;

use super::doubles::{of_two, two_numbers};
use crate::scalar::plain::Plain;

/// `POWER(base, exponent)` as Java's `Math.pow`, a DOUBLE.
pub(super) fn power() -> ScalarUDF {
    Plain::new("power", "POWER(<NUMERIC>, <NUMERIC>)", two_numbers, |args| of_two(args, java_power)).udf()
}

/// C, and so Rust, gives 1 for 1 to any power, and for -1 to an infinite one.
pub(super) fn java_power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || base.abs() == 1.0 && exponent.is_infinite() {
        f64::NAN
    } else {
        base.powf(exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::java_power;

    #[test]
    fn special_powers() {
        assert_eq!(java_power(0.0, -1.0), f64::INFINITY);
        assert_eq!(java_power(f64::NAN, 0.0), 1.0);
        assert_eq!(java_power(2.0, 10.0), 1024.0);
        for (base, exponent) in
            [(1.0, f64::NAN), (1.0, f64::INFINITY), (-1.0, f64::NEG_INFINITY), (-8.0, 0.5)]
        {
            assert!(java_power(base, exponent).is_nan(), "{base} to {exponent}");
        }
    }
}

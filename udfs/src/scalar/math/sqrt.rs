//! SQRT.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};
use super::power::java_power;

/// `SQRT(number)`: the number to the power of 0.5, a DOUBLE; NaN of a negative number, except that of `-Infinity` it is
/// `Infinity`, as in Flink.
pub(super) fn sqrt() -> ScalarUDF {
    double_function("sqrt", "SQRT(<NUMERIC>)", |args| of_one(args, square_root))
}

fn square_root(number: f64) -> f64 {
    // what is finite is found faster than by `pow`, and no less exactly
    if number.is_finite() && number != 0.0 { number.sqrt() } else { java_power(number, 0.5) }
}

#[cfg(test)]
mod tests {
    use super::square_root;

    #[test]
    fn special_roots() {
        assert_eq!(square_root(2.25), 1.5);
        assert_eq!(square_root(f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(square_root(-0.0).to_bits(), 0.0_f64.to_bits());
        assert!(square_root(-1.0).is_nan());
        assert!(square_root(f64::NAN).is_nan());
    }
}

//! Functions of numbers.

mod abs;
mod acos;
mod asin;
mod atan;
mod atan2;
mod ceil;
mod cos;
mod cosh;
mod cot;
mod degrees;
mod doubles;
mod e;
mod exp;
mod floor;
mod integer_division;
mod ln;
mod log;
mod log10;
mod log2;
mod modulo;
mod pi;
mod position;
mod power;
mod radians;
mod round;
mod sign;
mod sin;
mod sinh;
mod sqrt;
mod tan;
mod tanh;
mod truncate;
mod whole;

use datafusion_expr::ScalarUDF;

pub(super) use doubles::is_numeric;
pub use integer_division::integer_division;
pub use modulo::Modulo;
pub use round::Round;
pub use truncate::Truncate;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(Modulo::default()),
        ScalarUDF::from(Round::default()),
        ScalarUDF::from(Truncate::default()),
        abs::abs(),
        acos::acos(),
        asin::asin(),
        atan::atan(),
        atan2::atan2(),
        ceil::ceil(),
        cos::cos(),
        cosh::cosh(),
        cot::cot(),
        degrees::degrees(),
        e::e(),
        exp::exp(),
        floor::floor(),
        integer_division(),
        ln::ln(),
        log::log(),
        log10::log10(),
        log2::log2(),
        pi::pi(),
        power::power(),
        radians::radians(),
        sign::sign(),
        sin::sin(),
        sinh::sinh(),
        sqrt::sqrt(),
        tan::tan(),
        tanh::tanh(),
    ]
}

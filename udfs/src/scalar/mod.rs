//! Flink's scalar functions, one a file.
//!
//! [`flink_scalars`] are those whose answers differ from DataFusion's functions of the same name, or
//! that DataFusion does not have. Some have names of their own, `flink_…`: operators and special forms
//! of Flink's SQL are planned as calls of them.

mod arguments;
mod date_format;
mod decimal_arithmetic;
mod floor_ceil;
mod instants;
mod json_string;
mod modulo;
mod split_index;
mod to_timestamp;
mod type_of;

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

pub use date_format::DateFormat;
pub use decimal_arithmetic::{DecimalArithmetic, DecimalOperator};
pub use floor_ceil::{FloorCeil, Rounding};
pub use json_string::JsonString;
pub use modulo::Modulo;
pub use split_index::SplitIndex;
pub use to_timestamp::ToTimestamp;
pub use type_of::TypeOf;

/// Flink's scalar functions, to be registered in a session that speaks Flink's SQL.
pub fn flink_scalars() -> Vec<Arc<ScalarUDF>> {
    let mut functions = vec![
        ScalarUDF::from(DateFormat::default()),
        ScalarUDF::from(FloorCeil::new(Rounding::Floor)),
        ScalarUDF::from(FloorCeil::new(Rounding::Ceil)),
        ScalarUDF::from(JsonString::default()),
        ScalarUDF::from(Modulo::default()),
        ScalarUDF::from(SplitIndex::default()),
        ScalarUDF::from(ToTimestamp::default()),
        ScalarUDF::from(TypeOf::default()),
    ];
    functions
        .extend(DecimalOperator::FUNCTIONS.map(|operator| ScalarUDF::from(DecimalArithmetic::new(operator))));
    functions.into_iter().map(Arc::new).collect()
}

#[cfg(test)]
mod tests;

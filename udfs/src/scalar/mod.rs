//! Flink's scalar functions, one a file.
//!
//! [`flink_scalars`] are those whose answers differ from DataFusion's functions of the same name, or
//! that DataFusion does not have. Some have names of their own, `flink_…`: operators and special forms
//! of Flink's SQL are planned as calls of them. `FUNCTIONS.md` of this crate lists all.

mod arguments;
mod cast;
mod collection;
mod comparison;
mod conditional;
mod decimal_arithmetic;
mod digits;
mod encoding;
mod folding;
mod interval;
mod json;
mod like;
mod math;
mod not_null;
mod plain;
mod predicates;
mod regex;
mod table;
mod text;
mod text_number;
mod text_rows;
mod time;
mod type_of;

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

pub use cast::FlinkCast;
pub use collection::{item, make_map};
pub use comparison::{FloatComparison, FloatOperator, float_in};
pub use decimal_arithmetic::{DecimalArithmetic, DecimalOperator};
pub use interval::{Shift, interval_times};
pub use json::JsonString;
pub use like::{like, similar};
pub use math::{Modulo, Round, Truncate, integer_division};
pub use not_null::not_null;
pub use table::function_table;
pub use text::SplitIndex;
pub use time::{DateFormat, FloorCeil, Rounding, ToTimestamp, arrow_timestamp, extract_udf};
pub use type_of::TypeOf;

/// Flink's scalar functions, to be registered in a session that speaks Flink's SQL.
pub fn flink_scalars() -> Vec<Arc<ScalarUDF>> {
    let mut functions = vec![ScalarUDF::from(TypeOf::default()), not_null()];
    functions
        .extend(DecimalOperator::FUNCTIONS.map(|operator| ScalarUDF::from(DecimalArithmetic::new(operator))));
    for family in [
        collection::functions(),
        comparison::functions(),
        conditional::functions(),
        encoding::functions(),
        interval::functions(),
        json::functions(),
        like::functions(),
        math::functions(),
        predicates::functions(),
        regex::functions(),
        text::functions(),
        time::functions(),
    ] {
        functions.extend(family);
    }
    functions.into_iter().map(Arc::new).collect()
}

#[cfg(test)]
mod tests;

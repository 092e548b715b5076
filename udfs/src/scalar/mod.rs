//! Flink's scalar functions, one a file.
//!
//! [`flink_scalars`] are those whose answers differ from DataFusion's functions of the same name, or
//! that DataFusion does not have. Some have names of their own, `flink_…`: operators and special forms
//! of Flink's SQL are planned as calls of them.

mod arguments;
mod base64_text;
mod cast;
mod conditional;
mod convert_tz;
mod date_format;
mod decimal_arithmetic;
mod extract;
mod floor_ceil;
mod hex;
mod instants;
mod json;
mod json_string;
mod locate;
mod modulo;
mod pad;
mod plain;
mod predicates;
mod regular_expressions;
mod sign;
mod split_index;
mod text_number;
mod timestamp_add;
mod timestamp_difference;
mod to_timestamp;
mod to_timestamp_ltz;
mod truncate;
mod type_of;
mod unhex;
mod unix_timestamp;

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

pub use cast::FlinkCast;
pub use date_format::DateFormat;
pub use decimal_arithmetic::{DecimalArithmetic, DecimalOperator};
pub use extract::extract_udf;
pub use floor_ceil::{FloorCeil, Rounding};
pub use json::JsonPathFunction;
pub use json_string::JsonString;
pub use modulo::Modulo;
pub use split_index::SplitIndex;
pub use to_timestamp::ToTimestamp;
pub use truncate::Truncate;
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
        ScalarUDF::from(Truncate::default()),
        ScalarUDF::from(TypeOf::default()),
        base64_text::from_base64(),
        base64_text::to_base64(),
        conditional::if_(),
        convert_tz::convert_tz(),
        hex::hex(),
        locate::locate(),
        predicates::is_alpha(),
        predicates::is_decimal(),
        predicates::is_digit(),
        pad::lpad(),
        pad::rpad(),
        sign::sign(),
        timestamp_add::timestamp_add(),
        timestamp_difference::timestamp_difference(),
        to_timestamp_ltz::to_timestamp_ltz(),
        unhex::unhex(),
        unix_timestamp::unix_timestamp(),
    ];
    functions.extend(extract::extracts());
    functions.extend(json::json_functions());
    functions.extend(regular_expressions::regular_expressions());
    functions
        .extend(DecimalOperator::FUNCTIONS.map(|operator| ScalarUDF::from(DecimalArithmetic::new(operator))));
    functions.into_iter().map(Arc::new).collect()
}

#[cfg(test)]
mod tests;

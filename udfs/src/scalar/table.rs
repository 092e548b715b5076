//! The table of all functions.

use std::fmt::Write;

use datafusion_expr::{ScalarUDF, Volatility};

use super::comparison::FloatComparison;
use super::decimal_arithmetic::DecimalArithmetic;
use super::flink_scalars;
use super::json::JsonPathFunction;
use super::plain::Plain;

/// The functions of [`flink_scalars`] as a table in Markdown: their names, how each is called in SQL, and whether it depends on the
/// session's time zone. `FUNCTIONS.md` of this crate holds it.
pub fn function_table() -> String {
    let mut functions = flink_scalars();
    functions.sort_by(|left, right| left.name().cmp(right.name()));
    let mut table = String::from(
        "# Flink's scalar functions\n\n\
         Made from the registry by the test `the_table_of_functions_is_up_to_date`; `UPDATE_FUNCTIONS=1 cargo test -p \
         datafusion-streaming-udfs table` writes it anew.\n\n\
         | function | in SQL | session zone |\n|---|---|---|\n",
    );
    for function in functions {
        let names = std::iter::once(function.name()).chain(function.aliases().iter().map(String::as_str));
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        let zone = if function.signature().volatility == Volatility::Stable { "yes" } else { "" };
        // writing to a String cannot fail
        let _ =
            writeln!(table, "| {} | `{}` | {zone} |", names.join(", "), form(&function).replace('|', "\\|"));
    }
    table
}

fn form(function: &ScalarUDF) -> String {
    let function_impl = function.inner();
    if let Some(plain) = function_impl.downcast_ref::<Plain>() {
        return plain.form().to_owned();
    }
    if function_impl.downcast_ref::<FloatComparison>().is_some() {
        return "a comparison of FLOAT or DOUBLE".to_owned();
    }
    if function_impl.downcast_ref::<DecimalArithmetic>().is_some() {
        return "arithmetic of DECIMAL".to_owned();
    }
    if function_impl.downcast_ref::<JsonPathFunction>().is_some() {
        let name = function.name().to_ascii_uppercase();
        return format!("{name}(<CHARACTER>, <CHARACTER> [RETURNING …] [… ON EMPTY] [… ON ERROR])");
    }
    match function.name() {
        "date_format" => "DATE_FORMAT(<TIMESTAMP>, <CHARACTER>)",
        "flink_ceil" => "CEIL(<DATETIME> TO <TIME_UNIT>)",
        "flink_floor" => "FLOOR(<DATETIME> TO <TIME_UNIT>)",
        "flink_interval" => "INTERVAL <INTEGER> <INTERVAL UNIT>",
        "flink_minus" => "(<DATETIME> - <DATETIME>) <INTERVAL UNIT>",
        "flink_shift" => "<TIMESTAMP> + <INTERVAL>",
        "flink_shift_back" => "<TIMESTAMP> - <INTERVAL>",
        "json_string" => "JSON_STRING(<ANY>)",
        "mod" => "MOD(<EXACT_NUMERIC>, <EXACT_NUMERIC>)",
        "round" => "ROUND(<NUMERIC>, <INTEGER>)",
        "split_index" => "SPLIT_INDEX(<CHARACTER>, <CHARACTER>, <INTEGER>)",
        "to_timestamp" => "TO_TIMESTAMP(<CHARACTER>, <CHARACTER>)",
        "truncate" => "TRUNCATE(<NUMERIC>, <INTEGER>)",
        "typeof" => "TYPEOF(<ANY>, <BOOLEAN>)",
        _ => "",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_functions_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FUNCTIONS.md");
        let table = function_table();
        if std::env::var_os("UPDATE_FUNCTIONS").is_some() {
            std::fs::write(path, &table).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, table, "write it anew with UPDATE_FUNCTIONS=1");
        assert!(!table.contains("| `` |"), "a function has no form");
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut names: Vec<String> = vec![];
        for function in flink_scalars() {
            names.push(function.name().to_owned());
            names.extend(function.aliases().iter().cloned());
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

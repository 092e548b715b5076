//! Windows in GROUP BY: `SELECT TUMBLE_START(ts, …) … GROUP BY TUMBLE(ts, …)`.
//!
//! DataFusion lets a SELECT use what it groups by. So what belongs to the window is written as functions of the
//! window: `TUMBLE_START(ts, size)` becomes `flink_window_start(tumble(ts, size))`, and likewise for HOP and SESSION
//! and for END, ROWTIME and PROCTIME.

use std::mem;

use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArguments, ObjectName, ObjectNamePart};

use crate::sql::ast::{call, quoted};

const WINDOWS: [&str; 3] = ["tumble", "hop", "session"];
const PARTS: [&str; 4] = ["start", "end", "rowtime", "proctime"];

/// The window and the part of it that a name like `TUMBLE_START` means.
fn window_and_part(name: &ObjectName) -> Option<(&'static str, &'static str)> {
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    let (window, part) = name.value.split_once('_')?;
    let window = WINDOWS.into_iter().find(|known| known.eq_ignore_ascii_case(window))?;
    let part = PARTS.into_iter().find(|known| known.eq_ignore_ascii_case(part))?;
    Some((window, part))
}

/// A call like `TUMBLE_START(…)` as a function of the window, or `None` if it is another function.
pub(super) fn of_window(function: &mut Function) -> Option<Expr> {
    let (window, part) = window_and_part(&function.name)?;
    let args = mem::replace(&mut function.args, FunctionArguments::None);
    let window = Function { name: ObjectName::from(vec![quoted(window)]), args, ..function.clone() };
    Some(call(&format!("flink_window_{part}"), vec![Expr::Function(window)]))
}

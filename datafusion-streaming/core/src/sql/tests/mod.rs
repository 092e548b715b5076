//! Tests of the text side: what parses, what it becomes, and what DataFusion plans of it.

mod create_table;
mod literals;
mod planning;
mod rewrites;
mod statements;
mod types;

use super::*;

/// The only statement of a script.
fn one(sql: &str) -> ParsedStatement {
    let mut statements = parse(sql).unwrap();
    assert_eq!(statements.len(), 1, "{sql}");
    statements.remove(0)
}

/// The only statement of a script as DataFusion gets it.
fn rewritten(sql: &str) -> String {
    match one(sql).statement {
        Statement::DataFusion(statement) => statement.to_string(),
        other => panic!("{sql} is {other:?}"),
    }
}

/// The message with which a script is refused.
fn refused(sql: &str) -> String {
    match parse(sql) {
        Err(error) => error.strip_backtrace(),
        Ok(statements) => panic!("{sql} is accepted: {statements:?}"),
    }
}

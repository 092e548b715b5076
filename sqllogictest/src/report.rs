//! What came of a file.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::Mode;

/// How many differing rows a report shows.
const SHOWN_ROWS: usize = 5;

/// What came of a file in one mode.
#[derive(Debug)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// The mode in which it ran.
    pub mode: Mode,
    /// Its statements and queries that ran, in order. A file that cannot be read, or for which no
    /// session can be made, has one failed record at line 0.
    pub records: Vec<RecordReport>,
}

impl FileReport {
    /// The number of statements and queries that did as expected.
    pub fn passed(&self) -> usize {
        self.records.len() - self.failures().count()
    }

    /// The records that did not do as expected.
    pub fn failures(&self) -> impl Iterator<Item = (&RecordReport, &Failure)> {
        self.records.iter().filter_map(|record| Some((record, record.failure.as_ref()?)))
    }
}

/// What came of a statement or a query.
#[derive(Debug)]
pub struct RecordReport {
    /// The line of the file on which the record starts, from 1.
    pub line: u32,
    /// Its SQL.
    pub sql: String,
    /// What went wrong; `None` where it passed.
    pub failure: Option<Failure>,
}

/// Why a statement or a query failed its expectation.
#[derive(Debug)]
pub enum Failure {
    /// It was refused, failed, panicked or took too long.
    Error(String),
    /// It was to be refused, but succeeded.
    Accepted,
    /// It was refused, but with another message.
    OtherError {
        /// What the message was to be.
        expected: String,
        /// What it was.
        actual: String,
    },
    /// It answered other rows.
    Rows {
        /// What it was to answer.
        expected: Vec<String>,
        /// What it answered.
        actual: Vec<String>,
        /// Whether the order counts.
        ordered: bool,
    },
}

impl fmt::Display for Failure {
    /// For rows: the first that differ.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(message) => write!(f, "error: {message}"),
            Failure::Accepted => write!(f, "was to be refused, but succeeded"),
            Failure::OtherError { expected, actual } => {
                write!(f, "was to be refused with {expected}, but was with: {actual}")
            }
            Failure::Rows { expected, actual, ordered: true } => write_ordered(f, expected, actual),
            Failure::Rows { expected, actual, ordered: false } => write_unordered(f, expected, actual),
        }
    }
}

fn write_ordered(f: &mut fmt::Formatter<'_>, expected: &[String], actual: &[String]) -> fmt::Result {
    write!(f, "{} rows expected, {} answered", expected.len(), actual.len())?;
    let rows = expected.len().max(actual.len());
    let differing = (0..rows).filter(|row| expected.get(*row) != actual.get(*row));
    let text =
        |rows: &[String], row: usize| rows.get(row).map_or("(no row)".to_string(), |row| format!("'{row}'"));
    for row in differing.take(SHOWN_ROWS) {
        write!(f, "\nrow {}: expected {}, answered {}", row + 1, text(expected, row), text(actual, row))?;
    }
    Ok(())
}

fn write_unordered(f: &mut fmt::Formatter<'_>, expected: &[String], actual: &[String]) -> fmt::Result {
    write!(f, "{} rows expected, {} answered, in any order", expected.len(), actual.len())?;
    for (what, rows) in [("missing", minus(expected, actual)), ("not expected", minus(actual, expected))] {
        for row in rows.iter().take(SHOWN_ROWS) {
            write!(f, "\n{what}: '{row}'")?;
        }
        if rows.len() > SHOWN_ROWS {
            write!(f, "\n{what}: {} more", rows.len() - SHOWN_ROWS)?;
        }
    }
    Ok(())
}

/// The rows of `left` that are not in `right`, each as often as it is missing there.
fn minus<'a>(left: &'a [String], right: &[String]) -> Vec<&'a str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for row in right {
        *counts.entry(row).or_default() += 1;
    }
    left.iter()
        .map(String::as_str)
        .filter(|row| match counts.get_mut(row) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(expected: &[&str], actual: &[&str], ordered: bool) -> String {
        let owned = |rows: &[&str]| rows.iter().map(|row| row.to_string()).collect();
        Failure::Rows { expected: owned(expected), actual: owned(actual), ordered }.to_string()
    }

    #[test]
    fn ordered_rows_are_told_by_their_number() {
        assert_eq!(
            rows(&["+I a", "-D a"], &["+I a", "-U a", "+U a"], true),
            "2 rows expected, 3 answered\n\
             row 2: expected '-D a', answered '-U a'\n\
             row 3: expected (no row), answered '+U a'"
        );
    }

    #[test]
    fn unordered_rows_are_told_by_their_multiplicity() {
        assert_eq!(
            rows(&["+I a", "+I a", "+I b"], &["+I b", "+I a", "+I c"], false),
            "3 rows expected, 3 answered, in any order\nmissing: '+I a'\nnot expected: '+I c'"
        );
    }
}

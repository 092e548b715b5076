//! Reads `.slt` files.

use std::path::{Path, PathBuf};

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use sqllogictest::{
    ColumnType, Condition, Connection, Control, ExpectedError, QueryExpect, SortMode, StatementExpect,
    parse_file,
};

/// A statement or a query, and what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// The line of the file on which the record starts, from 1.
    pub line: u32,
    pub sql: String,
    pub expected: Expected,
}

/// What a record must do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// `statement ok`.
    Success,
    /// `statement error`.
    Refusal(ExpectedError),
    /// `query error`.
    QueryRefusal(ExpectedError),
    /// `query`: the lines under `----`.
    Rows { lines: Vec<String>, any_order: bool },
}

/// A letter of the type string behind `query`. Ours have none, but `query rowsort` puts the sort
/// mode in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Letter(char);

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Self> {
        Some(Letter(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// The records of a file that an engine with this label runs.
///
/// An error names the line where the file cannot be read, or uses a part of sqllogictest that this
/// runner does not have (shell commands, named connections, hashes, retries).
pub(crate) fn read(path: &Path, label: &str) -> Result<Vec<Record>> {
    if !path.is_file() || path.to_str().is_none() {
        return exec_err!("no file {}", path.display());
    }
    let parsed =
        parse_file::<Letter>(path).map_err(|error| exec_datafusion_err!("{}: {error}", path.display()))?;
    let mut records = vec![];
    let mut sorts = false;
    for record in parsed {
        use sqllogictest::Record as Parsed;
        let unsupported =
            |line: u32, what: &str| exec_err!("{}:{line}: this runner does not know {what}", path.display());
        match record {
            Parsed::Statement { loc, conditions, connection, sql, expected, retry } => {
                if connection != Connection::Default || retry.is_some() {
                    return unsupported(loc.line(), "connections and retries");
                }
                let expected = match expected {
                    StatementExpect::Ok => Expected::Success,
                    StatementExpect::Error(error) => Expected::Refusal(error),
                    StatementExpect::Count(_) => return unsupported(loc.line(), "'statement count'"),
                };
                if applies(&conditions, label) {
                    records.push(Record { line: loc.line(), sql, expected });
                }
            }
            Parsed::Query { loc, conditions, connection, sql, expected, retry } => {
                if connection != Connection::Default || retry.is_some() {
                    return unsupported(loc.line(), "connections and retries");
                }
                let expected = match expected {
                    QueryExpect::Error(error) => Expected::QueryRefusal(error),
                    QueryExpect::Results { sort_mode: Some(SortMode::ValueSort), .. } => {
                        return unsupported(loc.line(), "'valuesort'");
                    }
                    QueryExpect::Results { types, sort_mode, results, .. } => {
                        let word: String = types.iter().map(Letter::to_char).collect();
                        let any_order =
                            word == "rowsort" || sort_mode.map_or(sorts, |mode| mode == SortMode::RowSort);
                        Expected::Rows { lines: results, any_order }
                    }
                };
                if applies(&conditions, label) {
                    records.push(Record { line: loc.line(), sql, expected });
                }
            }
            Parsed::Control(Control::SortMode(mode)) => sorts = mode == SortMode::RowSort,
            Parsed::Halt { .. } => break,
            Parsed::System { loc, .. } => return unsupported(loc.line(), "'system'"),
            Parsed::HashThreshold { loc, .. } => return unsupported(loc.line(), "'hash-threshold'"),
            Parsed::Sleep { loc, .. } => return unsupported(loc.line(), "'sleep'"),
            // Comments, empty lines, subtests, the brackets of included files; conditions and
            // connections come with their records
            _ => {}
        }
    }
    Ok(records)
}

/// Whether an engine with this label runs a record with these conditions.
fn applies(conditions: &[Condition], label: &str) -> bool {
    conditions.iter().all(|condition| match condition {
        Condition::OnlyIf { label: only } => only == label,
        Condition::SkipIf { label: skipped } => skipped != label,
    })
}

/// The files that the paths name, in order: a folder stands for all `.slt` files below it.
///
/// An error where there is no such file or folder, or none in it.
pub fn slt_files<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for path in paths {
        let path = path.as_ref();
        if path.is_dir() {
            let before = files.len();
            collect(path, &mut files)?;
            if files.len() == before {
                return exec_err!("no .slt file in {}", path.display());
            }
        } else if path.is_file() {
            files.push(path.to_path_buf());
        } else {
            return exec_err!("no file or folder {}", path.display());
        }
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Runs the records of a file and compares.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion_streaming::changelog::{ChangelogBatch, RowKind};
use futures::FutureExt;
use sqllogictest::ExpectedError;

use crate::format;
use crate::script::{self, Expected, Record};
use crate::{Answer, Determined, Engine, Failure, FileReport, Mode, RecordReport, Session};

/// Runs files on an engine.
#[derive(Debug)]
pub struct Runner<E> {
    engine: E,
    timeout: Duration,
}

impl<E: Engine> Runner<E> {
    /// A runner that gives each statement and query a minute.
    pub fn new(engine: E) -> Self {
        Runner { engine, timeout: Duration::from_secs(60) }
    }

    /// The time after which a statement or query counts as failed.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs all records of a file in a fresh session. A failure does not end the file.
    pub async fn run(&self, path: &Path, mode: Mode) -> FileReport {
        let records = match self.run_records(path, mode).await {
            Ok(records) => records,
            Err(error) => {
                let failure = Some(Failure::Error(error.to_string()));
                vec![RecordReport { line: 0, sql: String::new(), failure }]
            }
        };
        FileReport { path: path.to_path_buf(), mode, records }
    }

    async fn run_records(&self, path: &Path, mode: Mode) -> Result<Vec<RecordReport>> {
        let records = script::read(path, self.engine.label())?;
        let file = path.canonicalize()?;
        let session = self.engine.session(file.parent().unwrap_or(&file), mode).await?;
        let mut file = File { session, mode, timeout: self.timeout, table: false };
        let mut reports = Vec::with_capacity(records.len());
        for Record { line, sql, expected } in records {
            let failure = file.run(&sql, expected).await;
            reports.push(RecordReport { line, sql, failure });
        }
        Ok(reports)
    }
}

/// A file that is running.
struct File {
    session: Box<dyn Session>,
    mode: Mode,
    timeout: Duration,
    /// Whether queries answer the final table instead of the changelog.
    table: bool,
}

impl File {
    /// What is wrong with what the record did.
    async fn run(&mut self, sql: &str, expected: Expected) -> Option<Failure> {
        match expected {
            Expected::Success => match self.statement(sql).await {
                Ok(()) => None,
                Err(error) => Some(Failure::Error(error.to_string())),
            },
            Expected::Refusal(message) => refused(self.statement(sql).await, &message),
            Expected::QueryRefusal(message) => refused(self.query(sql).await, &message),
            Expected::Rows { lines, any_order } => match self.query(sql).await {
                Ok(answer) => self.compare(lines, &answer, any_order),
                Err(error) => Some(Failure::Error(error.to_string())),
            },
        }
    }

    async fn statement(&mut self, sql: &str) -> Result<()> {
        // How results are shown is a matter of who shows them: here, of the runner
        if let Some(table) = sets_table_mode(sql) {
            self.table = table;
            return Ok(());
        }
        watched(self.timeout, self.session.statement(sql)).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        watched(self.timeout, self.session.query(sql)).await
    }

    /// What differs between the lines of the file and an answer.
    fn compare(&self, expected: Vec<String>, answer: &Answer, any_order: bool) -> Option<Failure> {
        let changes = match rows(&answer.changes) {
            Ok(changes) => changes,
            Err(error) => return Some(Failure::Error(error.to_string())),
        };
        let any_order = any_order || matches!(self.mode, Mode::Parallel | Mode::Disk);
        if self.table {
            differing(expected, final_table(changes), false)
        } else if answer.determined == Determined::Table
            && matches!(self.mode, Mode::Restore | Mode::Parallel | Mode::Disk)
        {
            let changes_expected = expected.iter().filter_map(|line| parse_change(line));
            differing(final_table(changes_expected), final_table(changes), false)
        } else {
            let lines = changes.into_iter().map(|(kind, row)| format!("{kind} {row}")).collect();
            differing(expected, lines, !any_order)
        }
    }
}

/// The result, or an error where the engine panics or takes longer than `timeout`.
async fn watched<T>(timeout: Duration, run: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(timeout, AssertUnwindSafe(run).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => exec_err!("panic: {}", panic_message(&*panic)),
        Err(_) => exec_err!("no end after {} s", timeout.as_secs()),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("of unknown cause")
}

fn refused<T>(result: Result<T>, expected: &ExpectedError) -> Option<Failure> {
    let error: DataFusionError = match result {
        Ok(_) => return Some(Failure::Accepted),
        Err(error) => error,
    };
    let actual = error.to_string();
    (!expected.is_match(&actual)).then(|| Failure::OtherError { expected: expected.to_string(), actual })
}

/// Whether a statement sets the result mode, and if so, whether to `table`.
fn sets_table_mode(sql: &str) -> Option<bool> {
    const RESULT_MODE: &str = "'sql-client.execution.result-mode'";
    let (set, rest) = sql.trim().trim_end_matches(';').split_at_checked(3)?;
    let (key, value) = rest.split_once('=')?;
    (set.eq_ignore_ascii_case("set") && key.trim() == RESULT_MODE)
        .then(|| value.trim().eq_ignore_ascii_case("'table'"))
}

/// The rows of an answer as text, with their kinds.
fn rows(changes: &[ChangelogBatch]) -> Result<Vec<(RowKind, String)>> {
    let mut rows = vec![];
    for batch in changes {
        let texts = format::rows(batch.batch())?;
        rows.extend(texts.into_iter().enumerate().map(|(row, text)| (batch.kind(row), text)));
    }
    Ok(rows)
}

/// A line of a changelog: its kind and its row.
fn parse_change(line: &str) -> Option<(RowKind, String)> {
    let (kind, row) = line.split_once(' ')?;
    let kind = RowKind::ALL.into_iter().find(|known| known.short() == kind)?;
    Some((kind, row.to_string()))
}

/// The rows that are left at the end, sorted. A row that is taken back more often than it was added
/// is not there, and cancels one that is added later.
fn final_table(changes: impl IntoIterator<Item = (RowKind, String)>) -> Vec<String> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for (kind, row) in changes {
        *counts.entry(row).or_default() += if kind.is_retraction() { -1 } else { 1 };
    }
    let repeated =
        |(row, count): (String, i64)| std::iter::repeat_n(row, usize::try_from(count).unwrap_or(0));
    counts.into_iter().flat_map(repeated).collect()
}

/// What differs between the lines of the file and the rows of an answer. A string with line breaks
/// is several lines.
fn differing(mut expected: Vec<String>, rows: Vec<String>, ordered: bool) -> Option<Failure> {
    let mut actual: Vec<String> = rows.iter().flat_map(|row| row.split('\n')).map(str::to_string).collect();
    if !ordered {
        expected.sort();
        actual.sort();
    }
    (expected != actual).then_some(Failure::Rows { expected, actual, ordered })
}

#[cfg(test)]
mod tests;

//! Changelogs as text: one row a line, its kind first.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion_common::Result;
use datafusion_streaming_udfs::timestamps::readable;

use super::ChangelogBatch;

/// The rows of the batches, each as its kind and its values separated by single spaces; NULL as
/// `NULL`. The form of the expected results in unit tests.
pub fn changelog_lines<'a>(batches: impl IntoIterator<Item = &'a ChangelogBatch>) -> Result<Vec<String>> {
    let mut lines = vec![];
    for changes in batches {
        let rows = value_rows(changes.batch())?;
        for (row, values) in rows.into_iter().enumerate() {
            lines.push(format!("{} {}", changes.kind(row), values.join(" ")));
        }
    }
    Ok(lines)
}

/// The values of a batch as text, row by row.
fn value_rows(batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter().map(readable).collect::<Result<Vec<_>>>()?;
    let formatters = columns
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<Vec<_>, _>>()?;
    let row = |row: usize| formatters.iter().map(|formatter| formatter.value(row).to_string()).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

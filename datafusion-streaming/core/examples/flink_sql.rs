//! Runs a Flink SQL script and prints each statement with its changelog.
//!
//! ```text
//! cargo run --release -p datafusion-streaming --example flink_sql                 # the script beside this file
//! cargo run --release -p datafusion-streaming --example flink_sql -- my_job.sql
//! ```
//!
//! Paths in the script are relative to its folder. After
//! `SET 'sql-client.execution.result-mode' = 'table'` a query prints the table at its end instead.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion_streaming::config::{ResultMode, StreamingOptions};
use datafusion_streaming::{ChangelogDataFrame, ChangelogStream, FlinkSql};
use futures::StreamExt;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flink_sql.sql");
    let path = std::env::args_os().nth(1).map_or(default, PathBuf::from);
    let script = std::fs::read_to_string(&path)
        .map_err(|error| DataFusionError::Execution(format!("{}: {error}", path.display())))?;

    let ctx = SessionContext::new();
    datafusion_streaming::install(&ctx)?;
    let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
    ctx.flink_sql(&format!("SET 'streaming.base_dir' = '{}'", folder.replace('\'', "''"))).await?;
    ctx.flink_sql("SET 'parallelism.default' = '1'").await?;

    let mut script = ctx.flink_script(&script)?;
    while let Some((text, frame)) = script.next().await? {
        println!("{text};");
        run(&ctx, frame).await?;
        println!();
    }
    Ok(())
}

/// Runs what a statement has left to run, and prints what it gives.
async fn run(ctx: &SessionContext, frame: DataFrame) -> Result<()> {
    if frame.schema().fields().is_empty() {
        return Ok(());
    }
    let changelog = frame.execute_changelog().await?;
    match StreamingOptions::of(ctx.state().config_options()).result_mode {
        ResultMode::Changelog => print_changelog(changelog).await,
        ResultMode::Table => print_table(changelog).await,
    }
}

/// Prints rows as they come. The columns are as wide as their widest value so far.
async fn print_changelog(mut changelog: ChangelogStream) -> Result<()> {
    let schema = changelog.schema();
    let mut widths: Vec<usize> = schema.fields().iter().map(|field| field.name().chars().count()).collect();
    let mut header = Some(schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>());
    while let Some(changes) = changelog.next().await {
        let changes = changes?;
        let rows = texts(changes.batch())?;
        for row in &rows {
            widen(&mut widths, row);
        }
        if let Some(header) = header.take() {
            println!("     {}", aligned(&header, &widths));
        }
        for (number, row) in rows.iter().enumerate() {
            println!("  {} {}", changes.kind(number), aligned(row, &widths));
        }
    }
    Ok(())
}

/// Prints the table that the changelog leaves, and on the way how far it is.
async fn print_table(mut changelog: ChangelogStream) -> Result<()> {
    let schema = changelog.schema();
    let mut table: HashMap<Vec<String>, i64> = HashMap::new();
    let mut changes_seen = 0;
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.tick().await;
    loop {
        tokio::select! {
            changes = changelog.next() => {
                let Some(changes) = changes.transpose()? else { break };
                changes_seen += changes.num_rows();
                for (number, row) in texts(changes.batch())?.into_iter().enumerate() {
                    let count = table.entry(row).or_default();
                    *count += if changes.kind(number).is_retraction() { -1 } else { 1 };
                }
            }
            _ = tick.tick(), if std::io::stderr().is_terminal() => {
                eprint!("\r  {changes_seen} changes so far");
                std::io::stderr().flush()?;
            }
        }
    }
    let mut rows: Vec<Vec<String>> = vec![];
    for (row, count) in table {
        rows.extend(std::iter::repeat_n(row, usize::try_from(count).unwrap_or(0)));
    }
    rows.sort();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut widths: Vec<usize> = names.iter().map(|name| name.chars().count()).collect();
    rows.iter().for_each(|row| widen(&mut widths, row));
    println!("  {}", aligned(&names, &widths));
    for row in &rows {
        println!("  {}", aligned(row, &widths));
    }
    println!("  ({} rows after {changes_seen} changes)", rows.len());
    Ok(())
}

/// The values of a batch as text, row by row.
fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let row = |row: usize| columns.iter().map(|column| column.value(row).to_string()).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

fn widen(widths: &mut [usize], row: &[String]) {
    for (width, value) in widths.iter_mut().zip(row) {
        *width = (*width).max(value.chars().count());
    }
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let padded: Vec<_> = row.iter().zip(widths).map(|(value, width)| format!("{value:width$}")).collect();
    padded.join("  ").trim_end().to_string()
}

//! The extension changes nothing for ordinary tables: a selection of DataFusion's own sqllogictest
//! files, run side by side in a session as DataFusion makes it and in one with the extension.
//!
//! Both must plan every query alike, node for node, and answer alike, errors included. The answers
//! that the files expect are not compared value by value, which is DataFusion's business: that
//! nearly all records succeed or fail as their file says, with as many rows, shows that there was
//! something to compare.

use std::fmt::Write;
use std::path::Path;

use arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming_sqllogictest::slt_files;
use sqllogictest::{DefaultColumnType, QueryExpect, Record, StatementExpect, parse_file};

/// The share of records that must do as their file says; the others use what DataFusion's features
/// in this workspace leave out, or tables that its runner makes.
const AS_PUBLISHED: f64 = 0.95;

#[tokio::test]
async fn ordinary_queries_are_planned_and_answered_as_without_the_extension() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_files/datafusion");
    let (mut records, mut as_published, mut report) = (0, 0, String::new());
    for file in slt_files([&folder]).unwrap() {
        let name = file.file_name().unwrap().to_string_lossy();
        let (without, with) = (session(), session());
        datafusion_streaming::install(&with).unwrap();
        let before = (records, as_published);
        for record in parse_file::<DefaultColumnType>(&file).unwrap() {
            let Some((line, sql, expected)) = published(record) else { continue };
            let (without, with) = (run(&without, &sql).await, run(&with, &sql).await);
            if without != with {
                writeln!(report, "{name}:{line}\n{sql}\nwithout: {without:#?}\nwith: {with:#?}\n").unwrap();
            }
            // A plan is one value of several lines
            if !sql.trim_start().to_lowercase().starts_with("explain") {
                records += 1;
                as_published += usize::from(expected == Expected::of(&without));
            }
        }
        println!("{name}: {} records, {} as published", records - before.0, as_published - before.1);
    }
    assert!(report.is_empty(), "{report}");
    assert!(as_published as f64 >= AS_PUBLISHED * records as f64, "{as_published} of {records} as published");
}

fn session() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4))
}

/// What came of a statement or query.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// The physical plan, and the rows as text, sorted.
    Answer {
        plan: String,
        rows: Vec<String>,
    },
    Refusal(String),
}

async fn run(context: &SessionContext, sql: &str) -> Outcome {
    answer(context, sql).await.unwrap_or_else(|error| Outcome::Refusal(error.to_string()))
}

async fn answer(context: &SessionContext, sql: &str) -> Result<Outcome> {
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let batches = collect(plan, context.task_ctx()).await?;
    let table = pretty_format_batches(&batches)?.to_string();
    // Between the three lines around the names of the columns and the last line
    let lines: Vec<&str> = table.lines().collect();
    let mut rows: Vec<String> = lines
        .get(3..lines.len().saturating_sub(1))
        .unwrap_or_default()
        .iter()
        .map(|row| row.to_string())
        .collect();
    rows.sort();
    Ok(Outcome::Answer { plan: text, rows })
}

/// What a file says of a record.
#[derive(Debug, PartialEq)]
enum Expected {
    Rows(usize),
    Refusal,
}

impl Expected {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Answer { rows, .. } => Expected::Rows(rows.len()),
            Outcome::Refusal(_) => Expected::Refusal,
        }
    }
}

/// The line, the text and the expectation of a statement or query.
fn published(record: Record<DefaultColumnType>) -> Option<(u32, String, Expected)> {
    match record {
        Record::Statement { loc, sql, expected, .. } => {
            let expected = match expected {
                StatementExpect::Error(_) => Expected::Refusal,
                StatementExpect::Ok | StatementExpect::Count(_) => Expected::Rows(0),
            };
            Some((loc.line(), sql, expected))
        }
        Record::Query { loc, sql, expected, .. } => {
            let expected = match expected {
                QueryExpect::Error(_) => Expected::Refusal,
                QueryExpect::Results { results, .. } => Expected::Rows(results.len()),
            };
            Some((loc.line(), sql, expected))
        }
        _ => None,
    }
}

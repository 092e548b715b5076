//! MATCH_RECOGNIZE: what its plan shows, what is refused, and the door of DataFusion's own SQL.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::tables::ChangelogTable;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, install};
use futures::TryStreamExt;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Utf8, true),
        Field::new("n", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ]))
}

fn rows(rows: &[(&str, &str, i64, i64)]) -> Result<ChangelogBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.3))),
    ];
    Ok(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?))
}

/// A session with the table `letters`, and its sender.
fn session() -> Result<(SessionContext, datafusion_streaming::tables::ChangelogSender)> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let (table, sender) = ChangelogTable::new(schema(), ChangelogMode::INSERT_ONLY, 16);
    ctx.register_table("letters", Arc::new(table.with_rowtime("ts")?))?;
    Ok((ctx, sender))
}

/// All lines of a changelog.
async fn lines(mut changelog: datafusion_streaming::ChangelogStream) -> Result<Vec<String>> {
    let mut lines = vec![];
    while let Some(changes) = changelog.try_next().await? {
        lines.extend(changelog_lines([&changes])?);
    }
    Ok(lines)
}

#[tokio::test]
async fn both_doors_find_the_same_matches() -> Result<()> {
    let query = "SELECT * FROM letters MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts \
                 MEASURES A.v AS av, COUNT(B.v) AS bs, SUM(v) AS total, C.n AS c \
                 AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) \
                 DEFINE A AS A.n = 'a', B AS B.n = 'b' AND B.v > A.v, C AS C.v < LAST(B.v)) AS m";
    for is_flink in [true, false] {
        let (ctx, sender) = session()?;
        let query = if is_flink { ctx.flink_sql(query).await? } else { ctx.sql(query).await? };
        let changelog = query.execute_changelog().await?;
        let letters =
            [("x", "a", 1), ("y", "a", 5), ("x", "b", 2), ("y", "b", 4), ("x", "b", 9), ("x", "c", 3)];
        for (place, (k, n, v)) in letters.into_iter().enumerate() {
            sender.send(rows(&[(k, n, v, 1_000 * place as i64)])?).await?;
        }
        drop(sender);
        assert_eq!(lines(changelog).await?, ["+I x 1 2 15 c"], "flink: {is_flink}");
    }
    Ok(())
}

#[tokio::test]
async fn explain_shows_what_is_matched() -> Result<()> {
    let (ctx, _sender) = session()?;
    let plan = ctx
        .flink_sql(
            "EXPLAIN SELECT * FROM letters MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, v DESC \
             MEASURES FIRST(A.v) AS av, COUNT(B.v) AS bs, MATCH_ROWTIME(ts) AS t \
             AFTER MATCH SKIP TO LAST B PATTERN (A B{2,3}? C) WITHIN INTERVAL '1' MINUTE \
             DEFINE A AS A.n = 'a', B AS B.v > LAST(B.v, 1))",
        )
        .await?
        .collect()
        .await?;
    let text = datafusion::arrow::util::pretty::pretty_format_batches(&plan)?.to_string();
    for part in [
        "MatchRecognize: key=[k], order=[ts, v DESC",
        "pattern=[A B{2,3}? C], after=[SKIP TO LAST B], within=[60000 ms]",
        "define=[A AS A.n = a, B AS LAST(B.v, 1) < B.v]",
        "measures=[FIRST(A.v, 0), count(letters.v) of B, MATCH_ROWTIME()]",
        "mode=[I], rowtime=[t]",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    Ok(())
}

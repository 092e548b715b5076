//! Timestamps of more than six digits, in tables of both doors.

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, install};
use futures::TryStreamExt;

async fn lines(ctx: &SessionContext, query: &str) -> Result<Vec<String>> {
    let changes: Vec<_> = ctx.flink_sql(query).await?.execute_changelog().await?.try_collect().await?;
    changelog_lines(&changes)
}

/// A table of DataFusion's own with Arrow's nanoseconds.
async fn session() -> Result<SessionContext> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let values = "(1, TIMESTAMP '2024-01-01T10:00:00.123456789'), (2, NULL)";
    let table = format!(
        "CREATE TABLE d AS SELECT CAST(a AS INT) AS id, arrow_cast(b, 'Timestamp(Nanosecond, None)') AS ts FROM (VALUES {values}) AS v (a, b)"
    );
    ctx.sql(&table).await?.collect().await?;
    Ok(ctx)
}

#[tokio::test]
async fn nanoseconds_of_datafusion_are_timestamps_of_nine_digits() -> Result<()> {
    let ctx = session().await?;
    assert_eq!(
        lines(
            &ctx,
            "SELECT id, TYPEOF(ts), ts = TIMESTAMP '2024-01-01 10:00:00.123456789', \
             COALESCE(ts, TIMESTAMP '9999-12-31 23:59:59.123456789'), EXTRACT(NANOSECOND FROM ts) FROM d"
        )
        .await?,
        [
            "+I 1 TIMESTAMP(9) true 2024-01-01T10:00:00.123456789 123456789",
            "+I 2 TIMESTAMP(9) NULL 9999-12-31T23:59:59.123456789 NULL"
        ]
    );
    assert_eq!(
        lines(
            &ctx,
            "SELECT ts FROM d WHERE id = 1 UNION ALL SELECT TIMESTAMP '0001-01-01 00:00:00.000000001'"
        )
        .await?
        .len(),
        2
    );
    Ok(())
}

#[tokio::test]
async fn a_table_of_datafusion_takes_what_its_nanoseconds_hold() -> Result<()> {
    let ctx = session().await?;
    ctx.flink_sql("INSERT INTO d VALUES (3, TIMESTAMP '2024-01-02 00:00:00.5'), (4, TIMESTAMP '2024-01-02 00:00:00.000000001')")
        .await?
        .collect()
        .await?;
    let rows = ctx.sql("SELECT ts FROM d WHERE id > 2 ORDER BY id").await?.collect().await?;
    let text = pretty_format_batches(&rows)?.to_string();
    assert!(
        text.contains("2024-01-02T00:00:00.500") && text.contains("2024-01-02T00:00:00.000000001"),
        "{text}"
    );
    let beyond = ctx.flink_sql("INSERT INTO d SELECT 5, TIMESTAMP '9999-12-31 00:00:00.123456789'").await?;
    let error = beyond.collect().await.unwrap_err().to_string();
    assert!(error.contains("1677 to 2262"), "{error}");
    Ok(())
}

#[tokio::test]
async fn datafusion_reads_timestamps_of_flink_tables() -> Result<()> {
    let ctx = session().await?;
    for statement in [
        "CREATE TABLE m (id INT, p9 TIMESTAMP(9), z9 TIMESTAMP_LTZ(9), ps ARRAY<TIMESTAMP(9)>, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'materialized')",
        "INSERT INTO m (id, p9, z9) SELECT id, ts, CAST(ts AS TIMESTAMP_LTZ(3)) FROM d",
        "INSERT INTO m SELECT 3, TIMESTAMP '0001-01-01 00:00:00', NULL, ARRAY[TIMESTAMP '2024-01-01 00:00:00']",
    ] {
        ctx.flink_sql(statement).await?.collect().await?;
    }
    let rows = ctx
        .sql("SELECT arrow_timestamp(p9), arrow_timestamp(z9) FROM m WHERE id = 1")
        .await?
        .collect()
        .await?;
    let text = pretty_format_batches(&rows)?.to_string();
    assert!(
        text.contains("2024-01-01T10:00:00.123456789 ") && text.contains("2024-01-01T10:00:00.123Z"),
        "{text}"
    );
    assert_eq!(
        lines(&ctx, "SELECT p9, z9, ps FROM m WHERE id = 3").await?,
        ["+I 0001-01-01T00:00:00 NULL [2024-01-01T00:00:00]"]
    );
    Ok(())
}

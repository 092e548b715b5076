//! Inserting into tables with a primary key.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming::tables::ChangelogTable;
use datafusion_streaming::{FlinkSql, install};

/// The lines of the part files in a folder.
fn written(folder: &Path) -> Result<Vec<String>> {
    let mut lines = vec![];
    for file in std::fs::read_dir(folder)? {
        lines.extend(std::fs::read_to_string(file?.path())?.lines().map(str::to_string));
    }
    Ok(lines)
}

/// A session with a table `t` of the changes `id k v`, which has the key `id`.
async fn session(changes: &[(RowKind, i64, &str, i64)]) -> Result<SessionContext> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let fields = [("id", DataType::Int64), ("k", DataType::Utf8), ("v", DataType::Int64)];
    let fields = fields.map(|(name, data_type)| Field::new(name, data_type, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(changes.iter().map(|change| change.1))),
        Arc::new(StringArray::from_iter_values(changes.iter().map(|change| change.2))),
        Arc::new(Int64Array::from_iter_values(changes.iter().map(|change| change.3))),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let kinds = changes.iter().map(|change| change.0).collect();
    let (table, sender) = ChangelogTable::new(schema, ChangelogMode::ALL, 1);
    ctx.register_table("t", Arc::new(table.with_primary_key(&["id"])?))?;
    sender.send(ChangelogBatch::try_new(batch, kinds)?).await?;
    Ok(ctx)
}

const CHANGES: [(RowKind, i64, &str, i64); 4] = [
    (RowKind::Insert, 1, "a", 10),
    (RowKind::Insert, 2, "a", 20),
    (RowKind::Delete, 1, "a", 10),
    (RowKind::Delete, 2, "a", 20),
];

#[tokio::test]
async fn rows_of_several_keys_under_one_are_told_apart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ctx = session(&CHANGES).await?;
    let path = folder.path().join("s");
    ctx.flink_sql(&format!(
        "CREATE TABLE s (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) \
         WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'debezium-json', 'changelog-mode' = 'upsert')",
        path.display()
    ))
    .await?
    .collect()
    .await?;
    let plan = ctx.flink_sql("EXPLAIN INSERT INTO s SELECT k, v FROM t").await?.collect().await?;
    let plan = pretty_format_batches(&plan)?.to_string();
    assert!(plan.contains("UpsertMaterialize: key=[k]"), "{plan}");
    ctx.flink_sql("INSERT INTO s SELECT k, v FROM t").await?.collect().await?;
    // the first of two rows under the key goes without a trace
    let rows: Vec<_> =
        written(&path)?.iter().map(|line| (line.contains("\"d\""), line.contains("20"))).collect();
    assert_eq!(rows, [(false, false), (false, true), (true, true)]);
    Ok(())
}

#[tokio::test]
async fn the_key_of_the_query_needs_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ctx = session(&CHANGES).await?;
    for statement in [
        format!(
            "CREATE TABLE s (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) \
             WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'debezium-json')",
            folder.path().join("s").display()
        ),
        format!(
            "CREATE TABLE other (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) \
             WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'debezium-json')",
            folder.path().join("other").display()
        ),
    ] {
        ctx.flink_sql(&statement).await?.collect().await?;
    }
    let explain = async |insert: &str| -> Result<String> {
        let plan = ctx.flink_sql(&format!("EXPLAIN {insert}")).await?.collect().await?;
        Ok(pretty_format_batches(&plan)?.to_string())
    };
    let by_key = explain("INSERT INTO s SELECT id, v FROM t").await?;
    assert!(!by_key.contains("UpsertMaterialize"), "{by_key}");
    let grouped = explain("INSERT INTO other SELECT k, SUM(v) FROM t GROUP BY k").await?;
    assert!(!grouped.contains("UpsertMaterialize"), "{grouped}");
    ctx.flink_sql("SET 'table.exec.sink.upsert-materialize' = 'FORCE'").await?;
    let forced = explain("INSERT INTO s SELECT id, v FROM t").await?;
    assert!(forced.contains("UpsertMaterialize"), "{forced}");
    ctx.flink_sql("SET 'table.exec.sink.upsert-materialize' = 'NONE'").await?;
    let never = explain("INSERT INTO other SELECT k, v FROM t").await?;
    assert!(!never.contains("UpsertMaterialize"), "{never}");
    Ok(())
}

#[tokio::test]
async fn rows_replace_each_other_in_a_table_of_upserts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let changes = [
        (RowKind::Insert, 1, "a", 10),
        (RowKind::UpdateBefore, 1, "a", 10),
        (RowKind::UpdateAfter, 1, "b", 20),
    ];
    let ctx = session(&changes).await?;
    let path = folder.path().join("s");
    ctx.flink_sql(&format!(
        "CREATE TABLE s (id BIGINT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) \
         WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json', 'changelog-mode' = 'upsert')",
        path.display()
    ))
    .await?
    .collect()
    .await?;
    // a row cannot tell that another is gone
    let error = ctx.flink_sql("INSERT INTO s SELECT id, v FROM t").await?.collect().await.unwrap_err();
    assert!(error.to_string().contains("DELETE"), "{error}");
    for statement in [
        "INSERT INTO s SELECT * FROM (VALUES (1, 10), (2, 20)) AS v (id, n)",
        "INSERT INTO s SELECT * FROM (VALUES (1, 11)) AS v (id, n)",
    ] {
        ctx.flink_sql(statement).await?.collect().await?;
    }
    assert_eq!(written(&path)?.len(), 3);
    let rows = ctx.flink_sql("SELECT id, n FROM s").await?.collect().await?;
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
    Ok(())
}

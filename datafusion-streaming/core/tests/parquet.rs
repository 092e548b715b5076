//! Jobs and queries over `'format' = 'parquet'`.

#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::ChangelogBatch;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::jobs::{Job, JobStatus};
use datafusion_streaming::{FlinkJobs, FlinkSql, install};
use tempfile::TempDir;

const ROWS: usize = 3_000;

/// A session with tables, files and checkpoints in a folder.
async fn session(folder: &Path, parallelism: usize, tables: &[&str]) -> Result<SessionContext> {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_batch_size(16));
    install(&ctx)?;
    for (key, value) in [
        ("streaming.base_dir", folder.display().to_string()),
        ("execution.checkpointing.dir", "checkpoints".to_string()),
        ("parallelism.default", parallelism.to_string()),
    ] {
        ctx.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
    }
    for table in tables {
        ctx.flink_sql(table).await?;
    }
    Ok(ctx)
}

async fn run(ctx: &SessionContext, statement: &str) -> Result<()> {
    ctx.flink_sql(statement).await?.collect().await.map(drop)
}

/// The rows of a query, sorted.
async fn rows(ctx: &SessionContext, query: &str) -> Result<Vec<String>> {
    let batches = ctx.flink_sql(query).await?.collect().await?;
    let changes: Vec<_> = batches.into_iter().map(ChangelogBatch::insert_only).collect();
    let mut lines = changelog_lines(&changes)?;
    lines.sort();
    Ok(lines)
}

async fn until(what: impl Fn() -> bool) {
    for _ in 0..4_000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it did not come about");
}

/// The files below a folder, hidden ones included.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn is_hidden(file: &Path) -> bool {
    file.file_name().unwrap().to_string_lossy().starts_with('.')
}

const ORDERS: &str =
    "CREATE TABLE orders (id BIGINT, price DECIMAL(10, 2), ts TIMESTAMP(9), tags ARRAY<STRING>, p INT)
    WITH ('connector' = 'filesystem', 'path' = 'orders', 'format' = 'parquet', 'parquet.block.size' = '1',
          'sink.rolling-policy.file-size' = '20kb')";

const COPIES: &str =
    "CREATE TABLE copies (id BIGINT, price DECIMAL(10, 2), ts TIMESTAMP(9), tag STRING, p INT)
    PARTITIONED BY (p) WITH ('connector' = 'filesystem', 'path' = 'copies', 'format' = 'parquet',
                             'sink.rolling-policy.file-size' = '4kb')";

const COPY: &str = "INSERT INTO copies SELECT id, price, ts, tags[1], p FROM orders WHERE MOD(id, 5) <> 0";

/// A folder with orders in several files of many row groups.
async fn orders() -> Result<TempDir> {
    let folder = TempDir::new()?;
    let lines = (0..ROWS).map(|id| {
        let (price, second, p) = (id * 7 % 10_000, id % 60, id % 3);
        format!(
            "{{\"id\":{id},\"price\":{price}.25,\"ts\":\"0001-01-01 00:00:{second:02}.{id:09}\",\"tags\":[\"t{id}\",null],\"p\":{p}}}\n"
        )
    });
    std::fs::write(folder.path().join("orders.jsonl"), lines.collect::<String>())?;
    let json =
        "CREATE TABLE lines (id BIGINT, price DECIMAL(10, 2), ts TIMESTAMP(9), tags ARRAY<STRING>, p INT)
        WITH ('connector' = 'filesystem', 'path' = 'orders.jsonl', 'format' = 'json')";
    let ctx = session(folder.path(), 1, &[json, ORDERS]).await?;
    run(&ctx, "INSERT INTO orders SELECT * FROM lines").await?;
    assert!(files(&folder.path().join("orders")).len() > 3);
    Ok(folder)
}

async fn started(folder: &Path, parallelism: usize) -> Result<Job> {
    let ctx = session(folder, parallelism, &[ORDERS, COPIES]).await?;
    ctx.flink_job(COPY).await?.start().await
}

async fn copied(folder: &Path) -> Result<Vec<String>> {
    let ctx = session(folder, 1, &[COPIES]).await?;
    rows(&ctx, "SELECT id, price, ts, tag, p FROM copies").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_breaks_off_writes_every_row_once() -> Result<()> {
    let undisturbed = orders().await?;
    assert_eq!(started(undisturbed.path(), 1).await?.wait().await?, JobStatus::Finished);
    let expected = copied(undisturbed.path()).await?;
    assert_eq!(expected.len(), ROWS / 5 * 4);
    assert_eq!(expected[0], "+I 1 7.25 0001-01-01T00:00:01.000000001 t1 1");

    let folder = orders().await?;
    let (mut resumed, mut attempts) = (0, 0);
    loop {
        attempts += 1;
        let job = started(folder.path(), 1 + attempts % 2).await?;
        let before = files(&folder.path().join("copies")).iter().filter(|file| !is_hidden(file)).count();
        // far enough for a checkpoint somewhere in a file, and on from it without one
        until(|| job.metrics().rows_written >= 60 || job.status().is_final()).await;
        if job.status().is_final() {
            assert_eq!(job.wait().await?, JobStatus::Finished);
            break;
        }
        let checkpoint = job.checkpoint().await;
        if checkpoint.is_ok() {
            let after = files(&folder.path().join("copies")).iter().filter(|file| !is_hidden(file)).count();
            assert!(after > before, "{after} files behind {before}");
            resumed += 1;
        }
        let written = job.metrics().rows_written;
        until(|| job.metrics().rows_written > written || job.status().is_final()).await;
        job.cancel().await;
        assert!(attempts < 200);
    }
    assert!(resumed > 0, "{resumed} of {attempts} attempts went on from a checkpoint");
    assert_eq!(copied(folder.path()).await?, expected);
    assert!(files(&folder.path().join("copies")).iter().all(|file| !is_hidden(file)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_watched_for_new_files() -> Result<()> {
    let folder = TempDir::new()?;
    let written =
        "CREATE TABLE numbers (n INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'parquet')";
    let watched = "CREATE TABLE watched (n INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'parquet', \
                   'source.monitor-interval' = '10 ms')";
    let out = "CREATE TABLE doubled (n INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'parquet')";
    let ctx = session(folder.path(), 1, &[written, watched, out]).await?;
    run(&ctx, "INSERT INTO numbers VALUES (1), (2)").await?;
    let job = ctx.flink_job("INSERT INTO doubled SELECT n * 2 FROM watched").await?.start().await?;
    until(|| job.metrics().rows_written == 2).await;
    assert!(files(&folder.path().join("out")).iter().all(|file| is_hidden(file)));
    job.checkpoint().await?;
    assert_eq!(rows(&ctx, "SELECT n FROM doubled").await?, ["+I 2", "+I 4"]);
    run(&ctx, "INSERT INTO numbers VALUES (3)").await?;
    until(|| job.metrics().rows_written == 3).await;
    job.stop_with_savepoint(Some("savepoints")).await?;
    assert_eq!(rows(&ctx, "SELECT n FROM doubled").await?, ["+I 2", "+I 4", "+I 6"]);
    Ok(())
}

#[tokio::test]
async fn columns_come_from_files_and_folders_in_any_order() -> Result<()> {
    let folder = TempDir::new()?;
    let parted = "CREATE TABLE parted (v INT, name STRING, day DATE) PARTITIONED BY (day) \
                  WITH ('connector' = 'filesystem', 'path' = 'parted', 'format' = 'parquet')";
    let wider = "CREATE TABLE wider (day DATE, later STRING, v BIGINT) PARTITIONED BY (day) \
                 WITH ('connector' = 'filesystem', 'path' = 'parted', 'format' = 'parquet')";
    let ctx = session(folder.path(), 1, &[parted, wider]).await?;
    run(&ctx, "INSERT INTO parted VALUES (1, 'a', DATE '2024-01-01'), (2, NULL, DATE '2024-01-02')").await?;
    assert!(folder.path().join("parted/day=2024-01-02").is_dir());
    assert_eq!(
        rows(&ctx, "SELECT day, name, v FROM parted").await?,
        ["+I 2024-01-01 a 1", "+I 2024-01-02 NULL 2"]
    );
    assert_eq!(rows(&ctx, "SELECT * FROM wider").await?, ["+I 2024-01-01 NULL 1", "+I 2024-01-02 NULL 2"]);
    assert_eq!(rows(&ctx, "SELECT COUNT(*) FROM parted").await?, ["+I 2"]);
    Ok(())
}

#[tokio::test]
async fn what_is_no_insertion_or_no_parquet_file_is_refused() -> Result<()> {
    let folder = TempDir::new()?;
    let tables = [
        "CREATE TABLE lines (k INT) WITH ('connector' = 'filesystem', 'path' = 'lines', 'format' = 'json')",
        "CREATE TABLE counts (k INT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'parquet')",
        "CREATE TABLE wrong (k INT) WITH ('connector' = 'filesystem', 'path' = 'lines', 'format' = 'parquet')",
    ];
    let ctx = session(folder.path(), 1, &tables).await?;
    std::fs::write(folder.path().join("lines"), "{\"k\": 1}\n{\"k\": 2}\n")?;
    let refused = run(&ctx, "INSERT INTO counts SELECT k, COUNT(*) FROM lines GROUP BY k").await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("counts takes only inserts"), "{refused}");
    let damaged = rows(&ctx, "SELECT * FROM wrong").await.unwrap_err().to_string();
    assert!(damaged.contains("table 'wrong'") && damaged.contains("/lines: "), "{damaged}");
    let codec = "CREATE TABLE z (k INT) WITH ('connector' = 'filesystem', 'path' = 'z', 'format' = 'parquet', \
                 'parquet.compression' = 'ZSTD')";
    let error = match ctx.flink_sql(codec).await {
        Ok(_) => run(&ctx, "INSERT INTO z VALUES (1)").await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("parquet.compression") && error.contains("SNAPPY"), "{error}");
    Ok(())
}

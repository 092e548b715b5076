//! Jobs from start to end: checkpoints, restores, stops, failures.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::jobs::{Job, JobStatus, StartFrom};
use datafusion_streaming::runtime::StreamEnvironment;
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use datafusion_streaming::time::ManualClock;
use datafusion_streaming::{FlinkJobs, FlinkSql, install};
use tempfile::TempDir;

/// A session whose tables and checkpoints are in a folder.
struct Fixture {
    folder: TempDir,
    ctx: SessionContext,
}

impl Fixture {
    async fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let ctx = session(folder.path()).await?;
        Ok(Fixture { folder, ctx })
    }

    /// Another process.
    async fn restarted(self) -> Result<Self> {
        let ctx = session(self.folder.path()).await?;
        Ok(Fixture { folder: self.folder, ctx })
    }

    async fn run(&self, statements: &[&str]) -> Result<()> {
        for statement in statements {
            self.ctx.flink_sql(statement).await?.collect().await?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The lines of the files that readers see in a folder, sorted.
    fn lines(&self, name: &str) -> Vec<String> {
        let mut lines = vec![];
        for entry in std::fs::read_dir(self.folder.path().join(name)).into_iter().flatten() {
            let entry = entry.unwrap();
            if !entry.file_name().to_string_lossy().starts_with('.') {
                lines.extend(std::fs::read_to_string(entry.path()).unwrap().lines().map(str::to_string));
            }
        }
        lines.sort();
        lines
    }

    fn hidden(&self, name: &str) -> usize {
        let entries = std::fs::read_dir(self.folder.path().join(name)).into_iter().flatten();
        entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
    }

    async fn shown(&self, query: &str) -> Result<Vec<String>> {
        let batches = self.ctx.sql(query).await?.collect().await?;
        changelog_lines(&batches.into_iter().map(ChangelogBatch::insert_only).collect::<Vec<_>>())
    }
}

async fn session(folder: &Path) -> Result<SessionContext> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    for (key, value) in [
        ("streaming.base_dir", folder.display().to_string()),
        ("execution.checkpointing.dir", "checkpoints".to_string()),
        ("execution.checkpointing.savepoint-dir", "savepoints".to_string()),
        ("parallelism.default", "1".to_string()),
    ] {
        ctx.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
    }
    Ok(ctx)
}

const NUMBERS: &str = "CREATE TABLE numbers (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = 'in', \
                       'format' = 'json', 'source.monitor-interval' = '20 ms')";
const SUMS: &str = "CREATE TABLE sums (k INT, total INT) \
                    WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'debezium-json')";
const COPY: &str =
    "CREATE TABLE copies (v INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv')";
const SUM_JOB: &str = "INSERT INTO sums SELECT k, SUM(v) FROM numbers GROUP BY k";
const COPY_JOB: &str = "INSERT INTO copies SELECT v FROM numbers";

/// Waits until something holds.
async fn until(what: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come about");
}

async fn read_rows(job: &Job, rows: u64) {
    until(|| job.metrics().rows_written >= rows).await;
}

#[tokio::test]
async fn output_appears_with_checkpoints_and_goes_on_after_a_stop() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, SUMS]).await?;
    fixture.write("in/a", "{\"k\": 1, \"v\": 10}\n{\"k\": 2, \"v\": 5}\n");
    let job = fixture.ctx.flink_job(SUM_JOB).await?.start().await?;
    assert_eq!(job.name(), "insert-into_sums");
    read_rows(&job, 2).await;
    assert!(fixture.lines("out").is_empty());
    let info = job.checkpoint().await?;
    assert_eq!((info.id, fixture.lines("out").len()), (1, 2));
    let metrics = job.metrics();
    assert_eq!((metrics.rows_read, metrics.rows_written, metrics.checkpoints), (2, 2, 1));
    assert!(metrics.state_bytes > 0 && metrics.last_checkpoint.is_some_and(|last| last.state_bytes > 0));

    fixture.write("in/b", "{\"k\": 1, \"v\": 1}\n");
    read_rows(&job, 4).await;
    let stopped = job.stop_with_savepoint(None).await?;
    assert!(stopped.path.contains("savepoints/savepoint-insert-into_sums-"), "{}", stopped.path);
    assert_eq!(job.wait().await?, JobStatus::Stopped);
    assert_eq!((fixture.lines("out").len(), fixture.hidden("out")), (4, 0));

    let fixture = fixture.restarted().await?;
    fixture.run(&[NUMBERS, SUMS]).await?;
    fixture.write("in/c", "{\"k\": 1, \"v\": 100}\n");
    let job = fixture.ctx.flink_job(SUM_JOB).await?.start().await?;
    read_rows(&job, 2).await;
    assert_eq!(job.checkpoint().await?.id, 3);
    let row = |total: i32, op: &str| match op {
        "c" => format!(r#"{{"before":null,"after":{{"k":1,"total":{total}}},"op":"c"}}"#),
        _ => format!(r#"{{"before":{{"k":1,"total":{total}}},"after":null,"op":"d"}}"#),
    };
    let mut expected = vec![row(10, "c"), row(10, "d"), row(11, "c"), row(11, "d"), row(111, "c")];
    expected.push(r#"{"before":null,"after":{"k":2,"total":5},"op":"c"}"#.to_string());
    expected.sort();
    assert_eq!(fixture.lines("out"), expected);
    job.cancel().await;
    assert_eq!(job.status(), JobStatus::Canceled);
    assert!(job.checkpoint().await.unwrap_err().to_string().contains("CANCELED"));
    Ok(())
}

#[tokio::test]
async fn what_was_not_committed_is_written_again_once() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, COPY]).await?;
    fixture.write("in/a", "{\"v\": 1}\n");
    let job = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    read_rows(&job, 1).await;
    job.checkpoint().await?;
    fixture.write("in/b", "{\"v\": 2}\n");
    read_rows(&job, 2).await;
    job.cancel().await;
    assert_eq!((fixture.lines("out"), fixture.hidden("out")), (vec!["1".to_string()], 0));
    let fixture = fixture.restarted().await?;
    fixture.run(&[NUMBERS, COPY]).await?;
    let job = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    read_rows(&job, 1).await;
    job.checkpoint().await?;
    assert_eq!(fixture.lines("out"), ["1", "2"]);
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn a_bounded_job_finishes_once() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.write("in/a", "{\"v\": 1}\n{\"v\": 2}\n");
    let bounded = "CREATE TABLE numbers (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'json')";
    let table = "CREATE TABLE latest (v INT) WITH ('connector' = 'materialized')";
    let set = "EXECUTE STATEMENT SET BEGIN INSERT INTO copies SELECT v FROM numbers; \
               INSERT INTO latest SELECT v * 10 FROM numbers; END";
    fixture.run(&[bounded, COPY, table]).await?;
    let job = fixture.ctx.flink_job(set).await?.start().await?;
    assert_eq!(job.wait().await?, JobStatus::Finished);
    assert_eq!((job.name(), fixture.lines("out").len()), ("insert-into_copies_latest", 2));
    assert_eq!(fixture.ctx.jobs().len(), 1);

    // what is in memory comes back, what is on disk is not written again
    let fixture = fixture.restarted().await?;
    fixture.run(&[bounded, COPY, table]).await?;
    fixture.write("in/b", "{\"v\": 3}\n");
    let job = fixture.ctx.flink_job(set).await?.start().await?;
    assert_eq!(job.wait().await?, JobStatus::Finished);
    assert_eq!(fixture.lines("out"), ["1", "2"]);
    assert_eq!(fixture.shown("SELECT v FROM latest ORDER BY v").await?, ["+I 10", "+I 20"]);

    let job = fixture.ctx.flink_job(set).await?.start_from(StartFrom::Beginning).start().await?;
    assert_eq!(job.wait().await?, JobStatus::Finished);
    assert_eq!(fixture.lines("out"), ["1", "1", "2", "2", "3"]);
    assert_eq!(fixture.shown("SELECT v FROM latest ORDER BY v").await?, ["+I 10", "+I 20", "+I 30"]);
    Ok(())
}

#[tokio::test]
async fn checkpoints_are_taken_on_the_interval_and_the_last_ones_kept() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture
        .run(&[
            NUMBERS,
            COPY,
            "SET 'execution.checkpointing.interval' = '10 ms'",
            "SET 'state.checkpoints.num-retained' = '2'",
        ])
        .await?;
    fixture.write("in/a", "{\"v\": 1}\n");
    let job = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    until(|| job.metrics().checkpoints >= 5).await;
    assert_eq!(fixture.lines("out"), ["1"]);
    job.cancel().await;
    let folder = fixture.folder.path().join("checkpoints/insert-into_copies");
    let kept = std::fs::read_dir(folder)?.filter(|entry| {
        let entry = entry.as_ref().unwrap();
        entry.path().join("manifest.json").exists()
    });
    assert_eq!(kept.count(), 2);
    Ok(())
}

#[tokio::test]
async fn state_goes_to_another_parallelism() -> Result<()> {
    let mut fixture = Fixture::new().await?;
    let mut expected = vec![];
    for (step, parallelism) in [1, 4, 2, 1].into_iter().enumerate() {
        fixture = fixture.restarted().await?;
        let parallelism = format!("SET 'parallelism.default' = '{parallelism}'");
        fixture.run(&[&parallelism, NUMBERS, SUMS]).await?;
        let rows = (0..20).map(|k| format!("{{\"k\": {k}, \"v\": 1}}\n")).collect::<String>();
        fixture.write(&format!("in/{step}"), &rows);
        let job = fixture.ctx.flink_job(SUM_JOB).await?.start().await?;
        read_rows(&job, if step == 0 { 20 } else { 40 }).await;
        job.stop_with_savepoint(None).await?;
        for k in 0..20 {
            if step > 0 {
                expected.push(format!(r#"{{"before":{{"k":{k},"total":{step}}},"after":null,"op":"d"}}"#));
            }
            expected.push(format!(r#"{{"before":null,"after":{{"k":{k},"total":{}}},"op":"c"}}"#, step + 1));
        }
    }
    expected.sort();
    assert_eq!(fixture.lines("out"), expected);
    Ok(())
}

#[tokio::test]
async fn a_changed_query_needs_the_same_state() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, SUMS]).await?;
    fixture.write("in/a", "{\"k\": 1, \"v\": 10}\n");
    let job = fixture.ctx.flink_job(SUM_JOB).await?.start().await?;
    read_rows(&job, 1).await;
    let savepoint = job.stop_with_savepoint(None).await?;
    let restore = format!("SET 'execution.state-recovery.path' = '{}'", savepoint.path);

    // the same state under another filter and another projection
    let fixture = fixture.restarted().await?;
    fixture.run(&[NUMBERS, SUMS, &restore]).await?;
    fixture.write("in/b", "{\"k\": 1, \"v\": 5}\n{\"k\": 2, \"v\": 5}\n");
    let changed = "INSERT INTO sums SELECT k, total + 0 FROM (SELECT k, SUM(v) AS total FROM numbers WHERE v > 1 GROUP BY k)";
    let job = fixture.ctx.flink_job(changed).await?.name("changed").start().await?;
    read_rows(&job, 3).await;
    job.checkpoint().await?;
    let lines = fixture.lines("out").join(" ");
    assert!(lines.contains(r#""total":15"#) && lines.contains(r#""k":2"#), "{lines}");
    job.cancel().await;

    for (query, words) in [
        (COPY_JOB, ["GroupAggregate#0", "ignore-unclaimed-state"]),
        ("INSERT INTO sums SELECT k, AVG(v) FROM numbers GROUP BY k", ["GroupAggregate#0", "columns"]),
    ] {
        fixture.run(&["CREATE TABLE IF NOT EXISTS copies (v INT) WITH ('connector' = 'blackhole')"]).await?;
        let job = fixture.ctx.flink_job(query).await?.name("other").start().await?;
        let error = job.wait().await.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    fixture.run(&["SET 'execution.state-recovery.ignore-unclaimed-state' = 'true'"]).await?;
    let job = fixture.ctx.flink_job(COPY_JOB).await?.name("other").start().await?;
    read_rows(&job, 2).await;
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn an_error_names_the_operator_and_the_job_starts_again_from_its_checkpoint() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, COPY]).await?;
    fixture.write("in/a", "{\"v\": 1}\n");
    let fails = "INSERT INTO copies SELECT 10 / (v - 3) FROM numbers";
    let job = fixture.ctx.flink_job(fails).await?.start().await?;
    read_rows(&job, 1).await;
    fixture.write("in/b", "{\"v\": 3}\n");
    let error = job.wait().await.unwrap_err().to_string();
    assert!(error.contains("Calc#0") && error.contains("insert-into_copies"), "{error}");
    assert_eq!((job.status(), job.metrics().restarts), (JobStatus::Failed, 0));

    fixture
        .run(&[
            "SET 'restart-strategy.type' = 'fixed-delay'",
            "SET 'restart-strategy.fixed-delay.attempts' = '1000'",
            "SET 'restart-strategy.fixed-delay.delay' = '10 ms'",
        ])
        .await?;
    std::fs::remove_file(fixture.folder.path().join("in/b"))?;
    let job = fixture.ctx.flink_job(fails).await?.start().await?;
    read_rows(&job, 1).await;
    job.checkpoint().await?;
    fixture.write("in/c", "{\"v\": 3}\n");
    until(|| job.metrics().restarts >= 1).await;
    std::fs::remove_file(fixture.folder.path().join("in/c"))?;
    fixture.write("in/d", "{\"v\": 5}\n");
    until(|| job.metrics().rows_written == 1 && job.status() == JobStatus::Running).await;
    assert!(job.last_error().is_some_and(|error| error.to_string().contains("Calc#0")));
    job.checkpoint().await?;
    assert_eq!(fixture.lines("out"), ["-5", "5"]);
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn a_damaged_checkpoint_is_refused_and_an_earlier_one_serves() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, COPY, "SET 'execution.checkpointing.num-retained' = '2'"]).await?;
    let job = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    for (rows, file) in [(1, "in/a"), (2, "in/b")] {
        fixture.write(file, &format!("{{\"v\": {rows}}}\n"));
        read_rows(&job, rows).await;
        job.checkpoint().await?;
    }
    job.cancel().await;
    let damaged = fixture.folder.path().join("checkpoints/insert-into_copies/chk-2/manifest.json");
    let text = std::fs::read_to_string(&damaged)?;
    std::fs::write(&damaged, &text[..text.len() / 2])?;

    let fixture = fixture.restarted().await?;
    fixture.run(&[NUMBERS, COPY]).await?;
    let error = fixture.ctx.flink_job(COPY_JOB).await?.start().await?.wait().await.unwrap_err().to_string();
    assert!(error.contains("chk-2/manifest.json") && error.contains("insert-into_copies"), "{error}");
    fixture.run(&["SET 'execution.state-recovery.path' = 'checkpoints/insert-into_copies/chk-1'"]).await?;
    let job = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    read_rows(&job, 1).await;
    assert_eq!(job.checkpoint().await?.id, 3);
    // what the damaged checkpoint had committed is there, and is read again
    assert_eq!(fixture.lines("out"), ["1", "2", "2"]);
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn metrics_tell_how_far_a_job_is() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture
        .run(&[
            "CREATE TABLE clicks (v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', \
             'path' = 'in', 'format' = 'json', 'source.monitor-interval' = '20 ms')",
            "CREATE TABLE counts (w TIMESTAMP(3), n BIGINT) \
             WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json')",
        ])
        .await?;
    let row = |second: &str| format!("{{\"v\": 1, \"ts\": \"2024-01-01 00:00:{second}\"}}\n");
    fixture.write("in/a", &format!("{}{}", row("00.500"), row("05.000")));
    fixture.write("in/b", &row("00.100"));
    let event_time = 1_704_067_205_000;
    let clock = Arc::new(ManualClock::new(event_time + 10_000));
    let environment = StreamEnvironment { clock: Arc::clone(&clock) as _, ..StreamEnvironment::default() };
    let query = "INSERT INTO counts SELECT window_start, COUNT(*) \
                 FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' SECOND)) \
                 GROUP BY window_start, window_end";
    let job = fixture.ctx.flink_job(query).await?.with_environment(environment).start().await?;
    until(|| job.metrics().late_rows == 1 && job.metrics().rows_written == 1).await;
    let metrics = job.metrics();
    assert_eq!((metrics.rows_read, metrics.checkpoint_age), (3, None));
    assert_eq!((metrics.watermark, metrics.watermark_lag), (Some(event_time), Some(10_000)));
    let window = metrics.operators.iter().find(|operator| operator.late_rows > 0).unwrap();
    assert_eq!((window.operator.as_str(), window.input_rows), ("WindowAggregate#0", 3));
    assert!(window.state_bytes > 0 && metrics.state_bytes >= window.state_bytes);

    let checkpoint = job.checkpoint().await?;
    clock.advance(3_000);
    let metrics = job.metrics();
    assert_eq!((metrics.watermark_lag, metrics.checkpoint_age), (Some(13_000), Some(3_000)));
    assert!(checkpoint.state_bytes > 0 && checkpoint.written_bytes > 0);
    assert_eq!(metrics.last_checkpoint, Some(checkpoint));
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn a_table_that_is_no_streaming_table_has_the_rows_of_each_checkpoint() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS]).await?;
    fixture.ctx.sql("CREATE TABLE plain (v INT)").await?.collect().await?;
    fixture.write("in/a", "{\"v\": 1}\n");
    let job = fixture.ctx.flink_job("INSERT INTO plain SELECT v FROM numbers").await?.start().await?;
    read_rows(&job, 1).await;
    job.checkpoint().await?;
    assert_eq!(fixture.shown("SELECT v FROM plain").await?, ["+I 1"]);
    fixture.write("in/b", "{\"v\": 2}\n");
    read_rows(&job, 2).await;
    job.checkpoint().await?;
    assert_eq!(fixture.shown("SELECT v FROM plain ORDER BY v").await?, ["+I 1", "+I 2"]);
    job.cancel().await;
    Ok(())
}

#[tokio::test]
async fn what_is_no_job_is_refused() -> Result<()> {
    let fixture = Fixture::new().await?;
    fixture.run(&[NUMBERS, COPY]).await?;
    for (statement, words) in [
        ("SELECT v FROM numbers", "execute_changelog()"),
        ("SET 'a' = 'b'", "INSERT"),
        (
            "INSERT INTO copies SELECT v FROM numbers; INSERT INTO copies SELECT v FROM numbers",
            "statement set",
        ),
    ] {
        let error = fixture.ctx.flink_job(statement).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    fixture.write("in/a", "{\"v\": 1}\n");
    let first = fixture.ctx.flink_job(COPY_JOB).await?.start().await?;
    let error = fixture.ctx.flink_job(COPY_JOB).await?.start().await.unwrap_err().to_string();
    assert!(error.contains("insert-into_copies") && error.contains("pipeline.name"), "{error}");
    let error = first.savepoint(Some("nostore://x")).await.unwrap_err().to_string();
    assert!(error.contains("nostore://x") && !first.status().is_final(), "{error}");
    first.cancel().await;
    fixture.run(&["SET 'execution.state-recovery.path' = 'nowhere'"]).await?;
    let error = fixture.ctx.flink_job(COPY_JOB).await?.start().await?.wait().await.unwrap_err().to_string();
    assert!(error.contains("nowhere"), "{error}");
    Ok(())
}

async fn send(sender: &ChangelogSender, value: i64) -> Result<()> {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
    sender.send(ChangelogBatch::insert_only(RecordBatch::try_from_iter([("v", column)])?)).await
}

#[tokio::test]
async fn nothing_behind_the_savepoint_is_written_when_a_job_stops() -> Result<()> {
    let fixture = Fixture::new().await?;
    let column: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let schema = RecordBatch::try_from_iter([("v", column)])?.schema();
    let (table, sender) = ChangelogTable::new(schema, ChangelogMode::INSERT_ONLY, 4);
    fixture.ctx.register_table("pushed", Arc::new(table))?;
    fixture.run(&["CREATE TABLE kept (v BIGINT) WITH ('connector' = 'materialized')"]).await?;
    let job = fixture.ctx.flink_job("INSERT INTO kept SELECT v FROM pushed").await?.start().await?;
    send(&sender, 1).await?;
    read_rows(&job, 1).await;
    let stopping = tokio::spawn({
        let job = job.clone();
        async move { job.stop_with_savepoint(None).await }
    });
    let mut pushed = 1;
    while send(&sender, pushed).await.is_ok() && pushed < 10_000 {
        pushed += 1;
        if stopping.is_finished() {
            break;
        }
    }
    stopping.await.unwrap()?;
    let rows = fixture.shown("SELECT v FROM kept").await?.len();
    assert_eq!(job.metrics().rows_written, rows as u64);
    Ok(())
}

#[tokio::test]
async fn a_partitioned_table_is_written_and_read_by_its_folders() -> Result<()> {
    let fixture = Fixture::new().await?;
    let parted = "CREATE TABLE parted (v INT, name STRING, day DATE) PARTITIONED BY (day, name) \
                  WITH ('connector' = 'filesystem', 'path' = 'parted', 'format' = 'json')";
    fixture.run(&[parted]).await?;
    let insert = "INSERT INTO parted SELECT v, name, CAST(d AS DATE) FROM (VALUES (1, 'a/b', '2024-01-01'), \
                  (2, CAST(NULL AS STRING), '2024-01-02'), (3, 'a/b', '2024-01-01')) AS t (v, name, d)";
    let job = fixture.ctx.flink_job(insert).await?.start().await?;
    assert_eq!(job.wait().await?, JobStatus::Finished);
    assert_eq!(fixture.lines("parted/day=2024-01-01/name=a%2Fb"), [r#"{"v":1}"#, r#"{"v":3}"#]);
    assert_eq!(fixture.lines("parted/day=2024-01-02/name=__DEFAULT_PARTITION__"), [r#"{"v":2}"#]);
    let batches = fixture.ctx.flink_sql("SELECT name, v, day FROM parted").await?.collect().await?;
    let mut rows =
        changelog_lines(&batches.into_iter().map(ChangelogBatch::insert_only).collect::<Vec<_>>())?;
    rows.sort();
    assert_eq!(rows, ["+I NULL 2 2024-01-02", "+I a/b 1 2024-01-01", "+I a/b 3 2024-01-01"]);
    fixture.write("parted/stray", "{\"v\": 1}\n");
    let error =
        fixture.ctx.flink_sql("SELECT name FROM parted").await?.collect().await.unwrap_err().to_string();
    assert!(error.contains("stray") && error.contains("day="), "{error}");
    Ok(())
}

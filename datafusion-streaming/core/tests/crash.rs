//! A job that is killed again and again, and what it has written in the end.
//!
//! The test starts itself as a child process, which runs a job over generated files into files and has checkpoints
//! on the disk. The child is killed (SIGKILL) at random moments and started again, each time at another
//! parallelism, until the job has come to its end. What it has committed must be what an undisturbed run writes.
//!
//! `CRASH_KILLS` is the number of kills.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::ChangelogBatch;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::jobs::JobStatus;
use datafusion_streaming::{FlinkJobs, FlinkSql, install};

const KILLS: usize = 25;
const ROWS: usize = 12_000;
const CHILD: &str = "CRASH_TEST_FOLDER";
const PARALLELISM: &str = "CRASH_TEST_PARALLELISM";

const SINKS: [&str; 6] = ["firsts", "windows", "joined", "top", "totals", ARCHIVE];

/// The sink of a bulk format, where there is one.
const ARCHIVE: &str = "archive";
const ARCHIVE_FORMAT: &str = if cfg!(feature = "parquet") { "parquet" } else { "csv" };

const TABLES: [&str; 7] = [
    "CREATE TABLE events (id BIGINT, k INT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) \
     WITH ('connector' = 'filesystem', 'path' = 'events.jsonl', 'format' = 'json')",
    "CREATE TABLE labels (k INT, name STRING) \
     WITH ('connector' = 'filesystem', 'path' = 'labels.csv', 'format' = 'csv')",
    "CREATE TABLE firsts (id BIGINT, v BIGINT) \
     WITH ('connector' = 'filesystem', 'path' = 'firsts', 'format' = 'debezium-json')",
    "CREATE TABLE windows (w TIMESTAMP(3), k INT, n BIGINT, total BIGINT) \
     WITH ('connector' = 'filesystem', 'path' = 'windows', 'format' = 'json')",
    "CREATE TABLE joined (id BIGINT, name STRING) \
     WITH ('connector' = 'filesystem', 'path' = 'joined', 'format' = 'csv', 'sink.rolling-policy.file-size' = '8kb')",
    "CREATE TABLE top (k INT, id BIGINT, v BIGINT) \
     WITH ('connector' = 'filesystem', 'path' = 'top', 'format' = 'debezium-json')",
    "CREATE TABLE totals (k INT, n BIGINT, total BIGINT) \
     WITH ('connector' = 'filesystem', 'path' = 'totals', 'format' = 'debezium-json')",
];

fn archive() -> String {
    format!(
        "CREATE TABLE {ARCHIVE} (id BIGINT, ts TIMESTAMP(3), k INT) PARTITIONED BY (k) WITH ('connector' = \
         'filesystem', 'path' = '{ARCHIVE}', 'format' = '{ARCHIVE_FORMAT}', 'sink.rolling-policy.file-size' = '2kb')"
    )
}

const JOB: &str = "EXECUTE STATEMENT SET BEGIN
    INSERT INTO firsts SELECT id, v FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts) AS rn FROM events) WHERE rn = 1;
    INSERT INTO windows SELECT window_start, k, COUNT(*), SUM(v)
        FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k;
    INSERT INTO joined SELECT e.id, l.name FROM events AS e JOIN labels AS l ON e.k = l.k;
    INSERT INTO top SELECT k, id, v FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM events) WHERE rn <= 3;
    INSERT INTO totals SELECT k, COUNT(*), SUM(v) FROM events GROUP BY k;
    INSERT INTO archive SELECT id, ts, k FROM events WHERE k < 4;
END";

/// The job itself, in a child process.
fn run_job(folder: &Path) -> Result<()> {
    let parallelism = std::env::var(PARALLELISM).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let ctx = SessionContext::new_with_config(SessionConfig::new().with_batch_size(64));
        install(&ctx)?;
        for (key, value) in [
            ("streaming.base_dir", folder.to_str().unwrap_or_default()),
            ("parallelism.default", &parallelism),
            ("execution.checkpointing.dir", "checkpoints"),
            ("execution.checkpointing.interval", "20 ms"),
            ("restart-strategy.type", "none"),
        ] {
            ctx.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
        }
        for table in TABLES {
            ctx.flink_sql(table).await?;
        }
        ctx.flink_sql(&archive()).await?;
        let job = ctx.flink_job(JOB).await?.name("crash").start().await?;
        assert_eq!(job.wait().await?, JobStatus::Finished);
        Ok(())
    })
}

#[test]
fn a_job_that_is_killed_writes_what_an_undisturbed_one_does() -> Result<()> {
    if let Some(folder) = std::env::var_os(CHILD) {
        return run_job(Path::new(&folder));
    }
    let kills = std::env::var("CRASH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let undisturbed = Folder::new();
    let started = clock();
    assert!(undisturbed.start(1).wait().unwrap().success());
    let duration = started.elapsed();
    let expected = undisturbed.output();
    for sink in SINKS {
        assert!(expected[sink].len() > 100, "{sink} has {} lines", expected[sink].len());
    }

    let mut numbers = Numbers(std::process::id().into());
    let (mut killed, mut rounds, mut resumed) = (0, 0, 0);
    while killed < kills {
        rounds += 1;
        let folder = Folder::new();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut child = folder.start(1 + numbers.below(2));
            let lets_finish = killed >= kills || attempts > 8;
            let finished = if lets_finish {
                Some(child.wait().unwrap())
            } else {
                std::thread::sleep(duration.mul_f64(numbers.below(1_000) as f64 / 1_000.0));
                child.try_wait().unwrap()
            };
            if let Some(status) = finished {
                assert!(status.success(), "{}", folder.log());
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            resumed += usize::from(folder.has_checkpoint());
        }
        let output = folder.output();
        for sink in SINKS {
            let (wanted, found) = (&expected[sink], &output[sink]);
            let difference = wanted.iter().zip(found).find(|(wanted, found)| wanted != found);
            assert_eq!(found.len(), wanted.len(), "{sink} in round {rounds}: {difference:?}");
            assert_eq!(difference, None, "{sink} in round {rounds}");
        }
    }
    println!("{killed} kills in {rounds} rounds, {resumed} behind a checkpoint");
    assert!(resumed * 4 >= killed, "only {resumed} of {killed} kills came behind a checkpoint");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long a process takes is no streaming time")]
fn clock() -> std::time::Instant {
    std::time::Instant::now()
}

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

/// A folder with the job's input, its checkpoints and its output.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Numbers(42);
        let mut events = String::new();
        for row in 0..ROWS {
            // some ids come twice, some rows a little late, a few too late
            let id = row - if row % 7 == 0 { numbers.below(row.min(50) + 1) } else { 0 };
            let behind = [0, 0, 1, 2, 4, 30][numbers.below(6)];
            let second = (row / 20).saturating_sub(behind);
            let (k, v) = (numbers.below(40), numbers.below(100_000));
            writeln!(
                events,
                r#"{{"id":{id},"k":{k},"v":{v},"ts":"2024-01-01 {:02}:{:02}:{:02}.{:03}"}}"#,
                second / 3600,
                second / 60 % 60,
                second % 60,
                row % 1000
            )
            .unwrap();
        }
        std::fs::write(folder.path().join("events.jsonl"), events).unwrap();
        let labels = (0..30).map(|k| format!("{k},label {k}\n")).collect::<String>();
        std::fs::write(folder.path().join("labels.csv"), labels).unwrap();
        Folder(folder)
    }

    fn start(&self, parallelism: usize) -> Child {
        let log = std::fs::File::create(self.0.path().join("log")).unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD, self.0.path())
            .env(PARALLELISM, parallelism.to_string())
            .stdout(log.try_clone().map_or(Stdio::null(), Stdio::from))
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.0.path().join("log")).unwrap_or_default()
    }

    fn has_checkpoint(&self) -> bool {
        entries(&self.0.path().join("checkpoints/crash"))
            .iter()
            .any(|entry| entry.join("manifest.json").exists())
    }

    /// The rows in the files of each sink, sorted. No hidden file may be left.
    fn output(&self) -> BTreeMap<&'static str, Vec<String>> {
        let rows = |sink: &'static str| {
            let files = files(&self.0.path().join(sink));
            for file in &files {
                let name = file.file_name().unwrap().to_string_lossy();
                assert!(!name.starts_with('.'), "{sink}/{name} was left");
            }
            let mut rows = match sink {
                ARCHIVE => self.archived().unwrap(),
                _ => files.iter().flat_map(|file| lines(file)).collect(),
            };
            rows.sort();
            (sink, rows)
        };
        SINKS.into_iter().map(rows).collect()
    }

    /// The rows of the sink whose files are no lines.
    fn archived(&self) -> Result<Vec<String>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let ctx = SessionContext::new();
            install(&ctx)?;
            ctx.flink_sql(&format!("SET 'streaming.base_dir' = '{}'", self.0.path().display())).await?;
            ctx.flink_sql(&archive()).await?;
            let batches = ctx.flink_sql(&format!("SELECT * FROM {ARCHIVE}")).await?.collect().await?;
            changelog_lines(&batches.into_iter().map(ChangelogBatch::insert_only).collect::<Vec<_>>())
        })
    }
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap().lines().map(str::to_string).collect()
}

/// The files in a folder and its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |entry: PathBuf| if entry.is_dir() { files(&entry) } else { vec![entry] };
    entries(folder).into_iter().flat_map(below).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

//! State on disk: queries whose keys are anywhere but in memory answer as those whose keys are in it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::catalog::MemTable;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::checkpoint::{CheckpointKind, CheckpointStorage};
use datafusion_streaming::runtime::{CheckpointCoordinator, StreamElement, StreamEnvironment};
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::StreamExt;

/// A generator of small numbers that gives the same ones on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Rows `id, k, v, ts` whose times are out of order, as CSV.
fn rows(seed: u64, count: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    for id in 0..count {
        let v = if random.below(8) > 0 { random.below(12).to_string() } else { String::new() };
        let second = 10 + id / 2 - random.below(6);
        let (k, minute, second) = (random.below(9), second / 60, second % 60);
        let _ = writeln!(text, "{id},{k},{v},2024-01-01 00:{minute:02}:{second:02}");
    }
    text
}

/// A session with the tables `a` and `b`, which append with a rowtime, and the view `c`, whose rows change and go.
async fn session(folder: &Path, options: &[(&str, &str)]) -> Result<SessionContext> {
    let config = SessionConfig::new().with_target_partitions(1).with_batch_size(5);
    let context = SessionContext::new_with_config(config);
    datafusion_streaming::install(&context)?;
    let path = folder.display();
    let table = |name: &str, delay: u64| {
        format!(
            "CREATE TABLE {name} (id BIGINT, k BIGINT, v BIGINT, ts TIMESTAMP(3), \
             WATERMARK FOR ts AS ts - INTERVAL '{delay}' SECOND) WITH ('connector' = 'filesystem', \
             'path' = '{path}/rows.csv', 'format' = 'csv', 'csv.null-literal' = '')"
        )
    };
    // which of the rows of two inputs are late depends on the order in which these are read: of b none is
    let tables = [table("a", 2), table("b", 6)];
    let view = "CREATE VIEW c AS SELECT id, MAX(k) AS k, SUM(v) AS v FROM (SELECT id - id / 40 * 40 AS id, k, v FROM a) \
                GROUP BY id HAVING SUM(v) - SUM(v) / 3 * 3 <> 0";
    // many small files would wait for a disk most of the time
    let memory =
        Some(("state.backend.local-dir", "/dev/shm")).filter(|(_, folder)| Path::new(folder).is_dir());
    let options = options.iter().copied().chain(memory);
    let options = options.map(|(key, value)| format!("SET '{key}' = '{value}'"));
    for statement in options.chain(tables.into_iter().chain([view.to_string()])) {
        context.flink_sql(&statement).await?.collect().await?;
    }
    Ok(context)
}

/// The changes that a query makes; with `restores` it is dropped and restored so often, by another session with
/// the options that follow.
async fn answer(folder: &Path, query: &str, options: &[&[(&str, &str)]]) -> Result<Vec<String>> {
    let (mut lines, mut restored) = (vec![], None);
    let checkpoints = tempfile::tempdir_in(folder)?.keep().display().to_string();
    for (run, of_run) in options.iter().enumerate() {
        let context = session(folder, of_run).await?;
        let storage = CheckpointStorage::open(&checkpoints, Some("query"), folder, &context.runtime_env())?;
        // every other time a key group at a time
        let storage = storage.reading_whole(if run % 2 == 0 { 0 } else { u64::MAX });
        let every_rows = (run + 1 < options.len()).then_some(37);
        let coordinator = Arc::new(CheckpointCoordinator::new(restored.take(), every_rows));
        let environment =
            StreamEnvironment { checkpoints: Some(Arc::clone(&coordinator)), ..StreamEnvironment::default() };
        let running = context.flink_sql(query).await?.execute_changelog_with(environment).await?;
        let mut elements = running.into_elements();
        loop {
            match elements.next().await.transpose()? {
                None => return Ok(lines),
                Some(StreamElement::Data(changes)) => lines.extend(changelog_lines([&changes])?),
                Some(StreamElement::Barrier(barrier)) => {
                    let checkpoint = coordinator.complete(barrier);
                    let checkpoint =
                        checkpoint.ok_or_else(|| exec_datafusion_err!("no snapshot was taken"))?;
                    storage.write(&checkpoint, "query", CheckpointKind::Checkpoint, 0).await?;
                    storage.retain(1).await?;
                    restored = Some(storage.read(barrier).await?);
                    break;
                }
                Some(_) => {}
            }
        }
    }
    Ok(lines)
}

/// The rows that a changelog leaves.
fn final_table(changelog: &[String]) -> BTreeMap<String, i64> {
    let mut table: BTreeMap<String, i64> = BTreeMap::new();
    for line in changelog {
        let (kind, row) = line.split_at(3);
        *table.entry(row.to_string()).or_default() += if kind.starts_with('+') { 1 } else { -1 };
    }
    table.retain(|_, count| *count != 0);
    table
}

const BACKEND: (&str, &str) = ("state.backend.type", "disk");
/// Keys leave the memory with every batch.
const NOTHING_STAYS: (&str, &str) = ("streaming.state_resident_bytes", "0");
/// Some keys stay for a while.
const LITTLE_STAYS: (&str, &str) = ("streaming.state_resident_bytes", "9000");

/// Queries, and whether their changes depend on the order in which two inputs are read.
const QUERIES: [(&str, bool); 16] = [
    ("SELECT k, COUNT(*), SUM(v), MIN(v), COUNT(DISTINCT v), COUNT(DISTINCT id) FROM a GROUP BY k", false),
    ("SELECT k, COUNT(*), SUM(v), MAX(v), COUNT(DISTINCT v), MIN(id) FROM c GROUP BY k", false),
    (
        "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n FROM a) WHERE n = 1",
        false,
    ),
    (
        "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM a) WHERE n = 1",
        false,
    ),
    (
        "SELECT * FROM (SELECT id, k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n FROM a) WHERE n <= 3",
        false,
    ),
    (
        "SELECT * FROM (SELECT id, k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n FROM c) WHERE n <= 3",
        false,
    ),
    (
        "SELECT k, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM a",
        false,
    ),
    (
        "SELECT k, ts, COUNT(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) FROM a",
        false,
    ),
    (
        "SELECT window_end, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k",
        false,
    ),
    (
        "SELECT window_end, k, COUNT(*), MAX(v) FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k",
        false,
    ),
    (
        "SELECT window_start, window_end, k, COUNT(*) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND)) GROUP BY window_start, window_end, k",
        false,
    ),
    ("SELECT a.id, c.id, c.v FROM a JOIN c ON a.k = c.k AND a.v < c.v", true),
    ("SELECT a.id, c.id, c.v FROM a LEFT JOIN c ON a.id = c.v", true),
    (
        "SELECT l.id, r.id FROM b AS l LEFT JOIN b AS r ON l.k = r.k AND l.v = r.v AND r.ts BETWEEN l.ts - INTERVAL '3' SECOND AND l.ts + INTERVAL '4' SECOND",
        true,
    ),
    ("SELECT v FROM a INTERSECT SELECT v FROM c", true),
    (
        "SELECT l.id, r.id, l.window_end FROM (SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND))) l \
      JOIN (SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND))) r \
      ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end AND l.v < r.v",
        true,
    ),
];

#[tokio::test]
async fn queries_on_disk_answer_as_in_memory() -> Result<()> {
    for seed in 0..2 {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("rows.csv"), rows(seed, 150))?;
        for (query, has_two_inputs) in QUERIES {
            let mut expected = answer(folder.path(), query, &[&[]]).await?;
            assert!(expected.len() > 8, "{query}: {expected:?}");
            expected.sort();
            for stays in [NOTHING_STAYS, LITTLE_STAYS] {
                let mut changes = answer(folder.path(), query, &[&[BACKEND, stays]]).await?;
                changes.sort();
                match has_two_inputs {
                    true => assert_eq!(final_table(&changes), final_table(&expected), "{stays:?} {query}"),
                    false => assert_eq!(changes, expected, "{stays:?} {query}"),
                }
            }
            // a checkpoint holds what is on disk, and is restored by either
            let runs: [&[(&str, &str)]; 4] =
                [&[BACKEND, NOTHING_STAYS], &[BACKEND, LITTLE_STAYS], &[], &[BACKEND, LITTLE_STAYS]];
            let mut changes = answer(folder.path(), query, &runs).await?;
            changes.sort();
            match has_two_inputs {
                true => assert_eq!(final_table(&changes), final_table(&expected), "restored: {query}"),
                false => assert_eq!(changes, expected, "restored: {query}"),
            }
        }
    }
    Ok(())
}

/// `count` rows of `keys` keys in no order.
fn many_rows(count: u64, keys: u64) -> Result<Vec<RecordBatch>> {
    let mut random = Random(7);
    let mut batches = vec![];
    for _ in 0..count / 1_000 {
        let mut column = |bound| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..1_000).map(|_| random.below(bound) as i64)))
        };
        batches.push(RecordBatch::try_from_iter([("k", column(keys)), ("v", column(1_000))])?);
    }
    Ok(batches)
}

fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let own =
        plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| metric(child, name)).sum::<usize>()
}

/// The groups of the rows, with at most so many bytes of memory; and the bytes of state, the evictions, and the
/// bytes on disk at the end.
async fn groups(
    batches: &[RecordBatch],
    memory: usize,
    options: &[(&str, &str)],
) -> Result<(HashMap<i64, [i64; 3]>, [usize; 3])> {
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc()?;
    let config = SessionConfig::new().with_target_partitions(1);
    let context = SessionContext::new_with_config_rt(config, runtime);
    datafusion_streaming::install(&context)?;
    for (key, value) in options {
        context.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
    }
    context.register_table("t", Arc::new(MemTable::try_new(batches[0].schema(), vec![batches.to_vec()])?))?;
    let query = "SELECT k, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS m FROM t GROUP BY k";
    let mut stream = context.flink_sql(query).await?.execute_changelog().await?;
    let plan = Arc::clone(stream.plan());
    let mut table = HashMap::new();
    while let Some(changes) = stream.next().await.transpose()? {
        let columns = changes.batch().columns().iter().map(|column| column.as_primitive::<Int64Type>());
        let columns: Vec<_> = columns.collect();
        for row in 0..changes.num_rows() {
            let key = columns[0].value(row);
            let values = [1, 2, 3].map(|column| columns[column].value(row));
            match changes.kind(row).is_retraction() {
                true => assert_eq!(table.remove(&key), Some(values)),
                false => assert_eq!(table.insert(key, values), None),
            }
        }
    }
    Ok((table, ["state_bytes", "evictions", "disk_bytes"].map(|name| metric(&plan, name))))
}

#[tokio::test]
async fn state_may_be_ten_times_the_memory() -> Result<()> {
    let batches = many_rows(400_000, 150_000)?;
    let (expected, [state, evictions, _]) = groups(&batches, usize::MAX, &[]).await?;
    assert_eq!(evictions, 0);
    let memory = state / 10;
    let error = groups(&batches, memory, &[]).await.expect_err("the memory does not suffice").to_string();
    assert!(error.contains("GroupAggregate"), "{error}");
    let (groups, [resident, evictions, on_disk]) = groups(&batches, memory, &[BACKEND]).await?;
    assert!(
        resident <= memory && evictions > 10 && on_disk > memory,
        "{resident} {evictions} {on_disk} of {state}"
    );
    assert_eq!(groups.len(), expected.len());
    assert!(groups == expected, "other groups");
    Ok(())
}

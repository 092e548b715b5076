//! Top-N, deduplication and OVER against DataFusion's own answer over the final table.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::MemTable;
use datafusion::common::Result;
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming::tables::ChangelogTable;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::TryStreamExt;

/// A generator of small numbers that gives the same ones on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// `(id, k, v, ts)`
type Row = (i64, i64, Option<i64>, i64);

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ]))
}

fn batch(rows: &[Row]) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>()),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.3))),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

fn random_row(id: i64, random: &mut Random) -> Row {
    let v = (random.below(8) > 0).then(|| random.below(12) as i64);
    (id, random.below(4) as i64, v, 1_000 + id * 10)
}

/// Changes of a table, and the table that they end with.
fn random_changes(random: &mut Random, appends: bool) -> (Vec<(RowKind, Row)>, Vec<Row>) {
    let (mut changes, mut table): (Vec<(RowKind, Row)>, BTreeMap<i64, Row>) = (vec![], BTreeMap::new());
    for id in 0..150 {
        let known: Vec<i64> = table.keys().copied().collect();
        let action = if appends || known.is_empty() { 0 } else { random.below(4) };
        if action < 2 {
            let row = random_row(id, random);
            table.insert(id, row);
            changes.push((RowKind::Insert, row));
            continue;
        }
        let chosen = known[random.below(known.len() as u64) as usize];
        let old = table[&chosen];
        if action == 2 {
            let new = random_row(chosen, random);
            table.insert(chosen, new);
            changes.extend([(RowKind::UpdateBefore, old), (RowKind::UpdateAfter, new)]);
        } else {
            table.remove(&chosen);
            changes.push((RowKind::Delete, old));
        }
    }
    (changes, table.into_values().collect())
}

fn texts(batch: &RecordBatch) -> Result<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let row = |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" ");
    Ok((0..batch.num_rows()).map(row).collect())
}

/// By which entry a query is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    DataFusion,
    Flink,
}

impl Door {
    async fn plan(self, ctx: &SessionContext, sql: &str) -> Result<DataFrame> {
        match self {
            Door::DataFusion => ctx.sql(sql).await,
            Door::Flink => ctx.flink_sql(sql).await,
        }
    }
}

/// The final table of a streaming query.
async fn streamed(
    door: Door,
    sql: &str,
    changes: &[(RowKind, Row)],
    mode: ChangelogMode,
    random: &mut Random,
) -> Result<Vec<String>> {
    let ctx = SessionContext::new();
    datafusion_streaming::install(&ctx)?;
    if door == Door::Flink {
        ctx.flink_sql("SET 'streaming.beyond_flink' = 'true'").await?;
    }
    let (table, sender) = ChangelogTable::new(schema(), mode, 1_000);
    let table = if mode.is_insert_only() { table.with_rowtime("ts")? } else { table };
    ctx.register_table("c", Arc::new(table))?;
    let mut rest = changes;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(1 + random.below(20) as usize));
        let rows: Vec<Row> = now.iter().map(|(_, row)| *row).collect();
        let kinds = now.iter().map(|(kind, _)| *kind).collect();
        sender.send(ChangelogBatch::try_new(batch(&rows)?, kinds)?).await?;
        if mode.is_insert_only() {
            sender.watermark(rows.iter().map(|row| row.3).max().unwrap_or(0)).await?;
        }
        rest = later;
    }
    drop(sender);
    let batches: Vec<ChangelogBatch> =
        door.plan(&ctx, sql).await?.execute_changelog().await?.try_collect().await?;
    let mut table: BTreeMap<String, i64> = BTreeMap::new();
    for batch in &batches {
        for (number, text) in texts(batch.batch())?.into_iter().enumerate() {
            let count = table.entry(text).or_default();
            *count += if batch.kind(number).is_retraction() { -1 } else { 1 };
            assert!(*count >= 0, "{sql}: a row is taken back that is not there");
        }
    }
    Ok(table.into_iter().flat_map(|(text, count)| std::iter::repeat_n(text, count as usize)).collect())
}

/// DataFusion's answer over the final table.
async fn batched(door: Door, sql: &str, rows: &[Row]) -> Result<Vec<String>> {
    let ctx = SessionContext::new();
    datafusion_streaming::install(&ctx)?;
    ctx.register_table("c", Arc::new(MemTable::try_new(schema(), vec![vec![batch(rows)?]])?))?;
    let mut lines = vec![];
    for batch in door.plan(&ctx, sql).await?.collect().await? {
        lines.extend(texts(&batch)?);
    }
    lines.sort();
    Ok(lines)
}

const ON_CHANGES: [&str; 15] = [
    "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM c) WHERE rn = 1",
    "SELECT rn, id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn FROM c) WHERE rn <= 3",
    "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id DESC) AS rn FROM c) WHERE rn <= 4",
    "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v, id) AS rn FROM c) WHERE rn BETWEEN 3 AND 6",
    "SELECT id, v FROM c ORDER BY v DESC, id LIMIT 5 OFFSET 2",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v) AS s, COUNT(*) OVER (PARTITION BY k ORDER BY v) AS n FROM c",
    "SELECT id, MAX(v) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS m, ROW_NUMBER() OVER (ORDER BY id) AS rn FROM c",
    "SELECT id, RANK() OVER (PARTITION BY k ORDER BY v) AS r, DENSE_RANK() OVER (PARTITION BY k ORDER BY v) AS d FROM c",
    "SELECT id, k, v FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM c) WHERE r <= 3",
    "SELECT r, id, k, v FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM c) WHERE r <= 5",
    "SELECT r, id FROM (SELECT *, RANK() OVER (ORDER BY v, k) AS r FROM c) WHERE r BETWEEN 4 AND 20",
    "SELECT id, k, v FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM c) WHERE r <= 2",
    "SELECT r, id, k FROM (SELECT *, DENSE_RANK() OVER (ORDER BY v) AS r FROM c) WHERE r <= 4",
    "SELECT id, v FROM (SELECT *, DENSE_RANK() OVER (ORDER BY v) AS r FROM c) WHERE r = 3",
    "SELECT COUNT(*) AS n, SUM(v) AS s FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM c) WHERE r = 1",
];

const ON_APPENDS: [&str; 11] = [
    "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM c) WHERE rn = 1",
    "SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM c) WHERE rn = 1",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS s, COUNT(v) OVER (PARTITION BY k ORDER BY ts) AS n FROM c",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS s, MIN(v) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS m FROM c",
    "SELECT id, COUNT(v) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '0.2' SECOND PRECEDING AND CURRENT ROW) AS n FROM c",
    "SELECT id, LAG(v, 2) OVER (PARTITION BY k ORDER BY ts) AS l FROM c",
    "SELECT id, LEAD(v, 2) OVER (PARTITION BY k ORDER BY ts) AS l, LAG(v) OVER (PARTITION BY k ORDER BY ts) AS g FROM c",
    "SELECT id, SUM(v) OVER w AS s, MAX(v) OVER w AS m, COUNT(v) OVER w AS n FROM c WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING)",
    "SELECT id, SUM(v) OVER w AS s, MIN(v) OVER w AS m, LAST_VALUE(id) OVER w AS f FROM c WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING)",
    "SELECT id, COUNT(v) OVER w AS n, MAX(v) OVER w AS m FROM c WINDOW w AS (PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '0.1' SECOND FOLLOWING)",
    "SELECT id, SUM(v) OVER w AS s FROM c WINDOW w AS (ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '0.05' SECOND PRECEDING)",
];

#[tokio::test]
async fn changelogs_end_with_the_batch_answer() -> Result<()> {
    for seed in 1..=4 {
        let mut random = Random(seed);
        let (changes, table) = random_changes(&mut random, false);
        for sql in ON_CHANGES {
            let streamed = streamed(Door::Flink, sql, &changes, ChangelogMode::ALL, &mut random).await?;
            assert_eq!(streamed, batched(Door::Flink, sql, &table).await?, "seed {seed}: {sql}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn appends_end_with_the_batch_answer() -> Result<()> {
    for seed in 1..=4 {
        let mut random = Random(seed);
        let (changes, table) = random_changes(&mut random, true);
        for sql in ON_APPENDS.iter().chain(&ON_CHANGES) {
            let streamed =
                streamed(Door::Flink, sql, &changes, ChangelogMode::INSERT_ONLY, &mut random).await?;
            assert_eq!(streamed, batched(Door::Flink, sql, &table).await?, "seed {seed}: {sql}");
        }
    }
    Ok(())
}

/// Neither has the other's NULL order: `v` is without NULLs where it sorts.
const IN_DATAFUSIONS_SQL: [&str; 6] = [
    "SELECT id, LEAD(v, 2) OVER (PARTITION BY k ORDER BY ts) AS l, LAG(v) OVER (PARTITION BY k ORDER BY ts) AS g FROM c",
    "SELECT id, SUM(v) OVER w AS s, MAX(v) OVER w AS m FROM c WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING)",
    "SELECT id, MIN(v) OVER w AS m, COUNT(*) OVER w AS n FROM c WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING)",
    "SELECT id, COUNT(v) OVER w AS n FROM c WINDOW w AS (PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '100 milliseconds' FOLLOWING)",
    "SELECT r, id, k FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY id / 3) AS r FROM c) WHERE r <= 5",
    "SELECT id, k, id / 4 AS g FROM c QUALIFY DENSE_RANK() OVER (PARTITION BY k ORDER BY id / 4 DESC) <= 2",
];

#[tokio::test]
async fn so_do_those_of_datafusions_sql() -> Result<()> {
    for seed in 1..=3 {
        let mut random = Random(seed);
        let (changes, table) = random_changes(&mut random, true);
        for sql in IN_DATAFUSIONS_SQL {
            let streamed =
                streamed(Door::DataFusion, sql, &changes, ChangelogMode::INSERT_ONLY, &mut random).await?;
            assert_eq!(streamed, batched(Door::DataFusion, sql, &table).await?, "seed {seed}: {sql}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn explain_shows_frames_and_ranks() -> Result<()> {
    let ctx = SessionContext::new();
    datafusion_streaming::install(&ctx)?;
    let (table, _sender) = ChangelogTable::new(schema(), ChangelogMode::INSERT_ONLY, 1);
    ctx.register_table("c", Arc::new(table.with_rowtime("ts")?))?;
    for (sql, expected) in [
        (
            "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1 second' PRECEDING AND \
             INTERVAL '2 seconds' FOLLOWING) AS s FROM c",
            "OverAggregate: key=[k], order=[ts], frame=[RANGE BETWEEN 1000 ms PRECEDING AND 2000 ms FOLLOWING]",
        ),
        (
            "SELECT id, LEAD(v) OVER (ORDER BY ts) AS l FROM c",
            "frame=[RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW], aggr=[lead($1, 1)], mode=[I]",
        ),
        (
            "SELECT id FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM c) WHERE r <= 3",
            "Rank: function=[RANK], strategy=[AppendFast], ranks=[1, 3], key=[k]",
        ),
    ] {
        let plan = ctx.sql(&format!("EXPLAIN {sql}")).await?.collect().await?;
        let plan = datafusion::arrow::util::pretty::pretty_format_batches(&plan)?.to_string();
        assert!(plan.contains(expected), "{plan}");
    }
    Ok(())
}

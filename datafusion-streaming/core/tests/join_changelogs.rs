//! Joins and set operations of random changelogs, in random interleavings, also of queries that are
//! dropped and restored on their way: what their changelogs leave behind is DataFusion's answer over
//! the tables that the inputs leave behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::MemTable;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, RowKind};
use datafusion_streaming::runtime::{Checkpoint, CheckpointCoordinator, StreamElement, StreamEnvironment};
use datafusion_streaming::{ChangelogDataFrame, install};
use futures::StreamExt;

use scripted::{Script, ScriptedTable};

mod scripted;

const QUERIES: &[&str] = &[
    "SELECT l.k, l.v, r.k, r.v FROM l JOIN r ON l.k = r.k",
    "SELECT l.k, l.v, r.k, r.v FROM l LEFT JOIN r ON l.k = r.k",
    "SELECT l.k, l.v, r.k, r.v FROM l RIGHT JOIN r ON l.k = r.k",
    "SELECT l.k, l.v, r.k, r.v FROM l FULL JOIN r ON l.k = r.k",
    "SELECT l.k, l.v, r.k, r.v FROM l FULL JOIN r ON l.k = r.k AND l.v < r.v",
    "SELECT l.k, l.v, r.k, r.v FROM l LEFT JOIN r ON l.k = r.k AND l.v + r.v > 3",
    "SELECT l.k, l.v, r.k, r.v FROM l FULL JOIN r ON l.k IS NOT DISTINCT FROM r.k",
    "SELECT l.k, l.v, r.k, r.v FROM l FULL JOIN r ON l.k = r.k AND l.v = r.v",
    "SELECT l.k, l.v, r.k, r.v FROM l JOIN r ON l.v < r.v",
    "SELECT l.k, l.v, r.k, r.v FROM l LEFT JOIN r ON l.v < r.v",
    "SELECT l.v, r.v FROM l CROSS JOIN r",
    "SELECT k, v FROM l WHERE k IN (SELECT k FROM r)",
    "SELECT k, v FROM l WHERE k NOT IN (SELECT k FROM r WHERE v > 2)",
    "SELECT k, v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v > l.v)",
    "SELECT k, v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "SELECT k, v FROM l WHERE v > 4 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "SELECT k, v FROM l UNION ALL SELECT k, v FROM r",
    "SELECT k, v FROM l UNION SELECT k, v FROM r",
    "SELECT k, v FROM l INTERSECT SELECT k, v FROM r",
    "SELECT k, v FROM l EXCEPT SELECT k, v FROM r",
];

type Row = (Option<i32>, i32);

/// A small generator, the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn row(&mut self) -> Row {
        let key = self.below(6) as i32;
        ((key > 0).then_some(key), self.below(6) as i32)
    }
}

/// A table that changes.
#[derive(Default)]
struct Changing {
    rows: Vec<Row>,
}

impl Changing {
    /// One change: a row, a row less, or an update.
    fn change(&mut self, random: &mut Random) -> Vec<(RowKind, Row)> {
        let new = random.row();
        match random.below(5) {
            choice @ 0..2 if !self.rows.is_empty() => {
                let old = self.rows.swap_remove(random.below(self.rows.len()));
                if choice == 0 {
                    return vec![(RowKind::Delete, old)];
                }
                self.rows.push(new);
                vec![(RowKind::UpdateBefore, old), (RowKind::UpdateAfter, new)]
            }
            _ => {
                self.rows.push(new);
                vec![(RowKind::Insert, new)]
            }
        }
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int32, true),
        Field::new("v", DataType::Int32, false),
    ]))
}

fn batch(rows: impl Iterator<Item = Row> + Clone) -> Result<RecordBatch> {
    let keys: Int32Array = rows.clone().map(|(key, _)| key).collect();
    let values = Int32Array::from_iter_values(rows.map(|(_, value)| value));
    Ok(RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(values)])?)
}

/// Two changing tables, and batches of their changes in a random order, with the table of each.
fn random_script(seed: u64) -> Result<([Changing; 2], Script)> {
    let mut random = Random(seed);
    let mut tables = [Changing::default(), Changing::default()];
    let mut batches = vec![];
    for _ in 0..60 {
        let table = random.below(2);
        let mut changes = vec![];
        for _ in 0..=random.below(4) {
            changes.extend(tables[table].change(&mut random));
        }
        let rows = batch(changes.iter().map(|(_, row)| *row))?;
        let kinds = changes.iter().map(|(kind, _)| *kind).collect();
        batches.push((table, ChangelogBatch::try_new(rows, kinds)?));
    }
    Ok((tables, batches))
}

/// How often each row is there.
fn count(lines: Vec<String>) -> BTreeMap<String, i64> {
    let mut rows = BTreeMap::new();
    for line in lines {
        let (kind, row) = line.split_at(2);
        *rows.entry(row.trim().to_string()).or_insert(0) += if kind.starts_with('-') { -1 } else { 1 };
    }
    rows.retain(|_, count| *count != 0);
    rows
}

/// The changelog of a query over tables whose changes come in the order of a script. Every `restored`
/// rows of the inputs, if that is given, all is dropped and goes on from a checkpoint, up to a few times.
async fn streamed(
    query: &str,
    script: &Script,
    partitions: usize,
    restored: Option<u64>,
) -> Result<Vec<String>> {
    let mut lines = vec![];
    let mut checkpoint: Option<Checkpoint> = None;
    for restores in 0.. {
        let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
        install(&ctx)?;
        let [left, right] = ScriptedTable::pair(&schema(), script);
        ctx.register_table("l", Arc::new(left))?;
        ctx.register_table("r", Arc::new(right))?;
        let every_rows = restored.filter(|_| restores < MOST_RESTORES);
        let checkpoints = Arc::new(CheckpointCoordinator::new(checkpoint.take(), every_rows));
        let environment =
            StreamEnvironment { checkpoints: Some(Arc::clone(&checkpoints)), ..StreamEnvironment::default() };
        let changelog = ctx.sql(query).await?.execute_changelog_with(environment).await?;
        let mut elements = changelog.into_elements();
        checkpoint = loop {
            match elements.next().await.transpose()? {
                None => return Ok(lines),
                Some(StreamElement::Data(changes)) => lines.extend(changelog_lines([&changes])?),
                Some(StreamElement::Barrier(barrier)) => break checkpoints.complete(barrier),
                Some(StreamElement::Watermark(_) | StreamElement::Idle) => {}
            }
        };
        if checkpoint.is_none() {
            return Err(internal_datafusion_err!("a barrier came out, but no snapshot was taken"));
        }
    }
    Ok(lines)
}

/// So often a query is restored, at most.
const MOST_RESTORES: usize = 6;

async fn answered(query: &str, tables: &[Changing; 2]) -> Result<Vec<String>> {
    let ctx = SessionContext::new();
    for (name, table) in ["l", "r"].into_iter().zip(tables) {
        let rows = batch(table.rows.iter().copied())?;
        ctx.register_table(name, Arc::new(MemTable::try_new(schema(), vec![vec![rows]])?))?;
    }
    let batches = ctx.sql(query).await?.collect().await?;
    let mut lines = vec![];
    for batch in batches {
        lines.extend(changelog_lines([&ChangelogBatch::insert_only(batch)])?);
    }
    Ok(lines)
}

#[tokio::test]
async fn changelogs_of_joins_fold_to_the_join_of_the_tables() -> Result<()> {
    for seed in 1..=2 {
        let (tables, script) = random_script(seed)?;
        for query in QUERIES {
            let expected = count(answered(query, &tables).await?);
            let partitions = if seed % 2 == 0 { 3 } else { 1 };
            for restored in [None, Some(5 + seed * 4)] {
                let folded = count(streamed(query, &script, partitions, restored).await?);
                assert_eq!(folded, expected, "seed {seed}, restored after {restored:?} rows: {query}");
            }
        }
    }
    Ok(())
}

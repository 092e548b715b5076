//! The workloads of StreamFusion's operator benches (`native/benches/operators.rs` of
//! datafusion-contrib/StreamFusion), as SQL: the same rows, in the same batches, from the same state, named
//! as there.
//!
//! Theirs are operators built by hand; ours are what the planner makes of the SQL, with the projections that
//! it puts around the operator.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use datafusion::common::Result;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind, RowKinds};
use datafusion_streaming_physical_plan::runtime::StreamElement;
use datafusion_streaming_physical_plan::time::Watermark;

use crate::hand_fed::{Definition, FedTable};

/// The rows of most workloads.
const ROWS: i64 = 4096;

/// The rows of a small batch.
const PHYSICAL: usize = 256;

/// A bench of StreamFusion's.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its name there.
    pub name: &'static str,
    /// The query and its tables.
    pub definition: Definition,
    /// What is fed before the measurement begins: table numbers and elements.
    pub preload: Vec<(usize, StreamElement)>,
    /// What is fed while it is measured.
    pub input: Vec<(usize, StreamElement)>,
    /// The rows that the measured part puts out, as its source says; `None` where it counts otherwise than
    /// we do.
    pub output: Option<usize>,
}

impl Workload {
    /// The rows that the time is divided by.
    pub fn rows(&self) -> usize {
        let rows = |(_, element): &(usize, StreamElement)| match element {
            StreamElement::Data(changes) => changes.num_rows(),
            _ => 0,
        };
        self.input.iter().map(rows).sum()
    }
}

/// All workloads.
pub fn workloads() -> Result<Vec<Workload>> {
    let mut all = vec![filter()?];
    all.extend([tumbling(false)?, tumbling(true)?]);
    all.push(group_by_string()?);
    all.extend([bundle("immediate", None)?, bundle("physical_bundle", Some(256))?]);
    all.push(bundle("logical_bundle", Some(4096))?);
    for (name, size) in [("logical/1", 1), ("logical/32", 32), ("logical/256", 256), ("logical/4096", 4096)] {
        all.push(local_group_by(name, size)?);
    }
    all.extend([extremes()?, multi_distinct()?, session(100)?, session(5)?]);
    all.extend(over()?);
    all.extend([retract_top_n()?, unique_join()?, append_top_n(false)?, append_top_n(true)?]);
    all.extend([keep_first()?, normalize()?, keep_last("immediate", None)?]);
    all.extend([keep_last("physical_256", Some(256))?, keep_last("logical_4096", Some(4096))?]);
    all.extend([interval_join()?, window_join()?, date_format()?]);
    Ok(all)
}

fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn times(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from_iter_values(values))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, false)),
    )?)
}

fn inserts(batch: &RecordBatch) -> StreamElement {
    StreamElement::Data(ChangelogBatch::insert_only(batch.clone()))
}

/// The rows of a batch as inserts into the first table, in batches of `size`.
fn cut(batch: &RecordBatch, size: usize) -> Vec<(usize, StreamElement)> {
    let starts = (0..batch.num_rows()).step_by(size);
    starts.map(|start| (0, inserts(&batch.slice(start, size.min(batch.num_rows() - start))))).collect()
}

const END: (usize, StreamElement) = (0, StreamElement::Watermark(Watermark::MAX));

/// A workload over one table, `t`, of these rows.
fn over_table(name: &'static str, sql: &'static str, batch: &RecordBatch) -> Workload {
    let table = FedTable::appends(batch.schema());
    Workload {
        name,
        definition: Definition { tables: vec![("t", table)], sql, ..Definition::default() },
        preload: vec![],
        input: vec![(0, inserts(batch))],
        output: None,
    }
}

/// The same with the rowtime in this column, to the end of time.
fn over_time(name: &'static str, sql: &'static str, batch: &RecordBatch, rowtime: usize) -> Workload {
    let mut workload = over_table(name, sql, batch);
    workload.definition.tables[0].1.rowtime = Some(rowtime);
    workload.input.push(END);
    workload
}

/// The options of mini-batches of so many rows, that no time ends.
fn mini_batch(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("table.exec.mini-batch.enabled", "true".to_string()),
        ("table.exec.mini-batch.allow-latency", "1 d".to_string()),
        ("table.exec.mini-batch.size", size.to_string()),
    ]
}

fn filter() -> Result<Workload> {
    let rows = batch(vec![("v", integers((0..ROWS).map(|i| i - ROWS / 2)))])?;
    let workload = over_table("filter/gt_literal", "SELECT v FROM t WHERE v > 0", &rows);
    Ok(Workload { output: Some(2047), ..workload })
}

fn tumbling(keyed: bool) -> Result<Workload> {
    let mut columns =
        vec![("ts", times((0..ROWS).map(|i| (i % 16) * 1000 + i % 1000))), ("v", integers(0..ROWS))];
    let (name, sql, output) = if keyed {
        columns.push(("k", integers((0..ROWS).map(|i| i % 64))));
        (
            "tumbling/sum_keyed_update_flush",
            "SELECT k, window_start, window_end, SUM(v) AS s \
             FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY k, window_start, window_end",
            64,
        )
    } else {
        (
            "tumbling/sum_update_flush",
            "SELECT window_start, window_end, SUM(v) AS s \
             FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end",
            16,
        )
    };
    Ok(Workload { output: Some(output), ..over_time(name, sql, &batch(columns)?, 0) })
}

fn group_by_string() -> Result<Workload> {
    let keys = StringArray::from_iter_values((0..ROWS).map(|i| format!("key-{}", i % 256)));
    let rows = batch(vec![("k", Arc::new(keys)), ("v", integers(0..ROWS))])?;
    let workload = over_table("group_by/sum_string_key", "SELECT k, SUM(v) AS s FROM t GROUP BY k", &rows);
    Ok(Workload { output: Some(7936), ..workload })
}

/// 64 keys, round robin, and the number of the row.
fn keyed(rows: i64) -> Result<RecordBatch> {
    batch(vec![("k", integers((0..rows).map(|i| i % 64))), ("v", integers(0..rows))])
}

fn bundle(case: &'static str, size: Option<usize>) -> Result<Workload> {
    let (name, output) = match case {
        "immediate" => ("group_by_logical_bundle/immediate", 8128),
        "physical_bundle" => ("group_by_logical_bundle/physical_bundle", 1984),
        _ => ("group_by_logical_bundle/logical_bundle", 64),
    };
    let rows = keyed(ROWS)?;
    let mut workload = over_table(name, "SELECT k, SUM(v) AS s FROM t GROUP BY k", &rows);
    workload.definition.options = size.map(mini_batch).unwrap_or_default();
    let one_phase = ("table.optimizer.agg-phase-strategy", "ONE_PHASE".to_string());
    workload.definition.options.push(one_phase);
    Ok(Workload { input: cut(&rows, PHYSICAL), output: Some(output), ..workload })
}

/// The local half of a two-phase plan with bundles of `size`.
fn local(mut workload: Workload, size: usize) -> Workload {
    workload.definition.options = mini_batch(size);
    workload.definition.options.push(("table.optimizer.agg-phase-strategy", "TWO_PHASE".to_string()));
    workload.definition.only = Some("LocalGroupAggregate");
    workload
}

fn local_group_by(case: &'static str, size: usize) -> Result<Workload> {
    let name = match case {
        "logical/1" => "local_group_by_logical_bundle/logical/1",
        "logical/32" => "local_group_by_logical_bundle/logical/32",
        "logical/256" => "local_group_by_logical_bundle/logical/256",
        _ => "local_group_by_logical_bundle/logical/4096",
    };
    let rows = keyed(ROWS)?;
    let workload = local(over_table(name, "SELECT k, SUM(v) AS s FROM t GROUP BY k", &rows), size);
    let output = ROWS as usize / size * size.min(64);
    Ok(Workload { input: cut(&rows, size), output: Some(output), ..workload })
}

fn extremes() -> Result<Workload> {
    let values = (0..ROWS).map(|i| (i * 37) % 8192);
    let rows = batch(vec![("k", integers((0..ROWS).map(|i| i % 64))), ("v", integers(values))])?;
    let name = "local_group_by_extremes/min_max_logical_4096_physical_1024";
    let sql = "SELECT k, MIN(v) AS lo, MAX(v) AS hi FROM t GROUP BY k";
    let workload = local(over_table(name, sql, &rows), ROWS as usize);
    Ok(Workload { input: cut(&rows, 1024), output: Some(64), ..workload })
}

fn multi_distinct() -> Result<Workload> {
    let flags = |rest| Arc::new(BooleanArray::from((0..ROWS).map(|i| i % 3 == rest).collect::<Vec<_>>()));
    let rows = batch(vec![
        ("day", integers((0..ROWS).map(|i| i % 16))),
        ("bidder", integers((0..ROWS).map(|i| i % 1024))),
        ("auction", integers((0..ROWS).map(|i| (i * 37) % 2048))),
        ("rank1", flags(0)),
        ("rank2", flags(1)),
        ("rank3", flags(2)),
    ])?;
    let name = "local_group_by_multi_distinct/q15_logical_4096_physical_1024";
    let sql = "SELECT `day`, COUNT(*) AS n, COUNT(*) FILTER (WHERE rank1) AS n1, \
         COUNT(*) FILTER (WHERE rank2) AS n2, COUNT(*) FILTER (WHERE rank3) AS n3, \
         COUNT(DISTINCT bidder) AS b, COUNT(DISTINCT bidder) FILTER (WHERE rank1) AS b1, \
         COUNT(DISTINCT bidder) FILTER (WHERE rank2) AS b2, COUNT(DISTINCT bidder) FILTER (WHERE rank3) AS b3, \
         COUNT(DISTINCT auction) AS a, COUNT(DISTINCT auction) FILTER (WHERE rank1) AS a1, \
         COUNT(DISTINCT auction) FILTER (WHERE rank2) AS a2, COUNT(DISTINCT auction) FILTER (WHERE rank3) AS a3 \
         FROM t GROUP BY `day`";
    let workload = local(over_table(name, sql, &rows), ROWS as usize);
    Ok(Workload { input: cut(&rows, 1024), output: Some(16), ..workload })
}

fn session(step: i64) -> Result<Workload> {
    let rows = batch(vec![
        ("ts", times((0..ROWS).map(|i| i * step))),
        ("v", integers(0..ROWS)),
        ("k", integers((0..ROWS).map(|i| i % 64))),
    ])?;
    let (name, output) = match step {
        5 => ("session/sum_keyed_dense_update_flush", 64),
        _ => ("session/sum_keyed_update_flush", 4096),
    };
    let sql = "SELECT k, window_start, window_end, SUM(v) AS s FROM TABLE(SESSION(TABLE t PARTITION BY k, \
         DESCRIPTOR(ts), INTERVAL '0.5' SECOND)) GROUP BY k, window_start, window_end";
    Ok(Workload { output: Some(output), ..over_time(name, sql, &rows, 0) })
}

fn over() -> Result<Vec<Workload>> {
    // from 1 on: in frames of ROWS Flink takes a row of the epoch for late
    let rows = batch(vec![
        ("k", integers((0..ROWS).map(|i| i % 64))),
        ("v", integers(0..ROWS)),
        ("rt", times(1..=ROWS)),
    ])?;
    let cases = [
        (
            "over/running_sum_keyed",
            "SELECT *, SUM(v) OVER (PARTITION BY k ORDER BY rt \
             RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM t",
        ),
        ("over/row_number_keyed", "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt) AS n FROM t"),
        (
            "over/bounded_rows_sum_keyed",
            "SELECT *, SUM(v) OVER (PARTITION BY k ORDER BY rt \
             ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS s FROM t",
        ),
    ];
    let workload = |(name, sql)| Workload { output: Some(4096), ..over_time(name, sql, &rows, 2) };
    Ok(cases.into_iter().map(workload).collect())
}

fn retract_top_n() -> Result<Workload> {
    let rows = batch(vec![
        ("k", integers((0..ROWS).map(|i| i % 64))),
        ("v", integers((0..ROWS).map(|i| (i * 37) % 8192))),
        ("s", Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("payload-{i}"))))),
    ])?;
    let sql = "SELECT k, v, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM t) \
         WHERE rn <= 10";
    let mut workload = over_table("retract_topn/immediate", sql, &rows);
    workload.definition.tables[0].1.mode = ChangelogMode::ALL;
    Ok(Workload { preload: vec![(0, inserts(&rows))], input: cut(&rows, PHYSICAL), ..workload })
}

fn unique_join() -> Result<Workload> {
    let pairs =
        |offset: i64| batch(vec![("k", integers(0..64)), ("v", integers((0..64).map(|k| offset + k)))]);
    let (left, right) = (pairs(0)?, pairs(10_000)?);
    let table =
        FedTable { mode: ChangelogMode::ALL, primary_key: vec![0], ..FedTable::appends(left.schema()) };
    let value = |round: i64, key: i64| if round == 0 { key } else { 1_000 + (round - 1) * 64 + key };
    let mut input = vec![];
    for first in (0..ROWS / 2).step_by(PHYSICAL / 2) {
        let changes = (first..first + PHYSICAL as i64 / 2).flat_map(|pair| {
            let (round, key) = (pair / 64, pair % 64);
            [(key, value(round, key), RowKind::Delete), (key, value(round + 1, key), RowKind::Insert)]
        });
        let changes: Vec<_> = changes.collect();
        let rows = batch(vec![
            ("k", integers(changes.iter().map(|change| change.0))),
            ("v", integers(changes.iter().map(|change| change.1))),
        ])?;
        let kinds: Vec<_> = changes.iter().map(|change| change.2).collect();
        input.push((0, StreamElement::Data(ChangelogBatch::try_new(rows, RowKinds::from(kinds))?)));
    }
    Ok(Workload {
        name: "unique_updating_join_logical_bundle/immediate",
        definition: Definition {
            tables: vec![("l", table.clone()), ("r", table)],
            sql: "SELECT l.k, l.v, r.k AS rk, r.v AS rv FROM l JOIN r ON l.k = r.k",
            ..Definition::default()
        },
        preload: vec![(1, inserts(&right)), (0, inserts(&left))],
        input,
        output: Some(4096),
    })
}

fn append_top_n(rank: bool) -> Result<Workload> {
    let rows = batch(vec![("k", integers((0..ROWS).map(|i| i % 64))), ("v", integers((0..ROWS).rev()))])?;
    let (name, sql) = match rank {
        true => (
            "append_topn_logical_bundle/cascade_rank",
            "SELECT k, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM t) \
             WHERE rn <= 10",
        ),
        false => (
            "append_topn_logical_bundle/cascade_membership",
            "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM t) \
             WHERE rn <= 10",
        ),
    };
    let output = (!rank).then_some(4096 + 3456);
    Ok(Workload { input: cut(&rows, PHYSICAL), output, ..over_table(name, sql, &rows) })
}

fn keep_first() -> Result<Workload> {
    let rows = batch(vec![("k", integers((0..ROWS).map(|i| i % 256))), ("rt", times(0..ROWS))])?;
    let sql = "SELECT k, rt FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt) AS rn FROM t) \
         WHERE rn = 1";
    let workload = over_time("dedup/keep_first_emitted_probe", sql, &rows, 1);
    // the watermark stays behind the second batch, whose rows would otherwise be late and not even looked at
    let preload = vec![(0, inserts(&rows)), (0, StreamElement::Watermark(Watermark(256)))];
    let again = batch(vec![("k", Arc::clone(rows.column(0))), ("rt", times((0..ROWS).map(|i| i + 257)))])?;
    Ok(Workload { preload, input: vec![(0, inserts(&again)), END], output: Some(0), ..workload })
}

fn normalize() -> Result<Workload> {
    let rows = keyed(ROWS)?;
    let kinds: Vec<_> =
        (0..ROWS).map(|i| if i < 64 { RowKind::Insert } else { RowKind::UpdateAfter }).collect();
    let changes = StreamElement::Data(ChangelogBatch::try_new(rows.clone(), RowKinds::from(kinds))?);
    let mut workload = over_table("normalize_logical_bundle/immediate", "SELECT k, v FROM t", &rows);
    workload.definition.tables[0].1.mode = ChangelogMode::UPSERT;
    workload.definition.tables[0].1.primary_key = vec![0];
    Ok(Workload { input: vec![(0, changes)], output: Some(64 + 2 * 4032), ..workload })
}

fn keep_last(case: &'static str, size: Option<usize>) -> Result<Workload> {
    let (name, output) = match case {
        "immediate" => ("keep_last_logical_bundle/immediate", 8128),
        "physical_256" => ("keep_last_logical_bundle/physical_256", 64 + 2 * 960),
        _ => ("keep_last_logical_bundle/logical_4096", 64),
    };
    let sql = "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS rn \
         FROM (SELECT *, PROCTIME() AS p FROM t)) WHERE rn = 1";
    let rows = keyed(ROWS)?;
    let mut workload = over_table(name, sql, &rows);
    workload.definition.options = size.map(mini_batch).unwrap_or_default();
    Ok(Workload { input: cut(&rows, size.unwrap_or(ROWS as usize)), output: Some(output), ..workload })
}

fn interval_join() -> Result<Workload> {
    // from 1 on, as in `over`
    let rows = batch(vec![("k", integers(0..ROWS)), ("v", integers(0..ROWS)), ("rt", times(1..=ROWS))])?;
    let table = FedTable { rowtime: Some(2), ..FedTable::appends(rows.schema()) };
    Ok(Workload {
        name: "interval_join/equi_key_push",
        definition: Definition {
            tables: vec![("l", table.clone()), ("r", table)],
            sql: "SELECT l.k, l.v, l.rt, r.k AS rk, r.v AS rv, r.rt AS rrt FROM l JOIN r ON l.k = r.k AND \
                 r.rt BETWEEN l.rt - INTERVAL '0' SECOND AND l.rt + INTERVAL '0' SECOND",
            ..Definition::default()
        },
        preload: vec![(0, inserts(&rows))],
        input: vec![(1, inserts(&rows))],
        output: Some(4096),
    })
}

fn window_join() -> Result<Workload> {
    let time = times((0..ROWS).map(|i| (i / 64) * 1000));
    let rows = batch(vec![("k", integers(0..ROWS)), ("v", integers(0..ROWS)), ("ts", time)])?;
    let table = FedTable { rowtime: Some(2), ..FedTable::appends(rows.schema()) };
    Ok(Workload {
        name: "window_join/equi_key_flush",
        definition: Definition {
            tables: vec![("l", table.clone()), ("r", table)],
            sql: "SELECT a.k, a.v, a.window_start, a.window_end, b.k AS bk, b.v AS bv FROM \
                 (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '1' SECOND))) a JOIN \
                 (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '1' SECOND))) b \
                 ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
            ..Definition::default()
        },
        preload: vec![(0, inserts(&rows)), (1, inserts(&rows))],
        input: vec![END, (1, StreamElement::Watermark(Watermark::MAX))],
        output: Some(4096),
    })
}

fn date_format() -> Result<Workload> {
    let rows = batch(vec![("ts", times((0..ROWS).map(|i| 1_700_000_000_000 + i * 977)))])?;
    let sql = "SELECT DATE_FORMAT(ts, 'yyyy-MM-dd') AS d FROM t";
    Ok(Workload { output: Some(4096), ..over_table("date_format/digit_plan", sql, &rows) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_fed::HandFed;

    #[test]
    fn workloads_put_out_as_many_rows_as_theirs() {
        for workload in workloads().unwrap() {
            let query = HandFed::try_new(&workload.definition).unwrap();
            for _ in 0..2 {
                let mut running = query.start().unwrap();
                for (table, element) in workload.preload.clone() {
                    running.feed(table, element).unwrap();
                }
                let fed = workload.input.clone().into_iter();
                let rows: usize = fed.map(|(table, element)| running.feed(table, element).unwrap()).sum();
                if let Some(expected) = workload.output {
                    assert_eq!(rows, expected, "{}", workload.name);
                }
            }
        }
    }
}

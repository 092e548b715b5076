use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use super::{RankEnd, RankFunction, RankRange, Strategy, TopNNode};
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::testing::{changes, drain, lines_of};
use crate::runtime::{Driver, Monotonicity, Operator, StreamElement, StreamTraits};

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true), Field::new("v", DataType::Int64, true)]))
}

fn ranked() -> SchemaRef {
    let rank = Arc::new(Field::new("rn", DataType::Int64, false));
    let fields: Vec<_> = input().fields().iter().cloned().chain([rank]).collect();
    Arc::new(Schema::new(fields))
}

/// The largest `end` values of all.
fn node(end: usize, schema: SchemaRef, traits: &StreamTraits, ttl: i64) -> TopNNode {
    let order = vec![(1, SortOptions { descending: true, nulls_first: false })];
    let range = RankRange { start: 1, end: RankEnd::Constant(end) };
    TopNNode::new("Rank", vec![], order, range, input(), schema, ttl).with_strategy_for(traits)
}

fn appends() -> StreamTraits {
    StreamTraits::default()
}

fn upserts() -> StreamTraits {
    StreamTraits {
        mode: ChangelogMode::of([RowKind::Insert, RowKind::UpdateAfter]),
        upsert_keys: vec![vec![0]],
        monotonicity: vec![Monotonicity::Constant, Monotonicity::Increasing],
        ..StreamTraits::default()
    }
}

fn changelog() -> StreamTraits {
    StreamTraits { mode: ChangelogMode::ALL, ..StreamTraits::default() }
}

/// Changes written as `+I a 1`.
fn rows(lines: &[&str]) -> Result<StreamElement> {
    let fields: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(fields.iter().map(|row| row[1])));
    let values: ArrayRef =
        Arc::new(fields.iter().map(|row| row[2].parse::<i64>().ok()).collect::<Int64Array>());
    let kind = |row: &Vec<&str>| RowKind::ALL.into_iter().find(|kind| kind.short() == row[0]).unwrap();
    let batch = RecordBatch::try_new(input(), vec![keys, values])?;
    Ok(changes(ChangelogBatch::try_new(batch, fields.iter().map(kind).collect())?))
}

#[test]
fn the_input_decides_the_strategy() {
    assert_eq!(node(2, input(), &appends(), 0).strategy, Strategy::Append);
    assert_eq!(node(2, input(), &upserts(), 0).strategy, Strategy::Update(vec![0]));
    let mut falling = upserts();
    falling.monotonicity[1] = Monotonicity::Decreasing;
    for traits in [changelog(), falling] {
        assert_eq!(node(2, input(), &traits, 0).strategy, Strategy::Retract);
    }
}

#[test]
fn appends_push_rows_out() -> Result<()> {
    let input_rows = || rows(&["+I a 5", "+I b 7", "+I c 5", "+I d 6"]);
    let plain = node(2, input(), &appends(), 0);
    assert_eq!(lines_of(plain.operator()?, [input_rows()?])?, ["+I a 5", "+I b 7", "-D a 5", "+I d 6"]);
    let with_rank = node(2, ranked(), &appends(), 0);
    assert_eq!(
        lines_of(with_rank.operator()?, [input_rows()?])?,
        ["+I a 5 1", "-U a 5 1", "+U b 7 1", "+I a 5 2", "-U a 5 2", "+U d 6 2"]
    );
    let top_1 = node(1, input(), &appends(), 0);
    assert_eq!(lines_of(top_1.operator()?, [input_rows()?])?, ["+I a 5", "-U a 5", "+U b 7"]);
    Ok(())
}

#[test]
fn updates_swap_ranks() -> Result<()> {
    let with_rank = node(2, ranked(), &upserts(), 0);
    let lines =
        lines_of(with_rank.operator()?, [rows(&["+I a 5", "+I b 4", "+U b 6", "+U c 3", "+U b 6"])?])?;
    assert_eq!(
        lines,
        ["+I a 5 1", "+I b 4 2", "-U a 5 1", "-U b 4 2", "+U b 6 1", "+U a 5 2", "-U b 6 1", "+U b 6 1"]
    );
    Ok(())
}

#[test]
fn what_fell_out_comes_back_when_a_row_is_taken_back() -> Result<()> {
    let input_rows = || rows(&["+I a 5", "+I b 7", "+I c 6", "-D b 7", "-D z 1"]);
    let plain = node(2, input(), &changelog(), 0);
    assert_eq!(
        lines_of(plain.operator()?, [input_rows()?])?,
        ["+I a 5", "+I b 7", "-D a 5", "+I c 6", "-D b 7", "+I a 5"]
    );
    let with_rank = node(2, ranked(), &changelog(), 0);
    let lines = lines_of(with_rank.operator()?, [input_rows()?])?;
    assert_eq!(lines[6..], ["-U b 7 1", "+U c 6 1", "-U c 6 2", "+U a 5 2"]);
    Ok(())
}

#[test]
fn ranks_keep_ties() -> Result<()> {
    let input_rows = || rows(&["+I a 5", "+I b 5", "+I c 7", "+I d 6", "+I e 5"]);
    for traits in [appends(), changelog()] {
        let plain = node(2, input(), &traits, 0).with_function(RankFunction::Rank);
        let lines = lines_of(plain.operator()?, [input_rows()?])?;
        assert_eq!(lines, ["+I a 5", "+I b 5", "+I c 7", "-D a 5", "-D b 5", "+I d 6"]);
        let with_rank = node(2, ranked(), &traits, 0).with_function(RankFunction::Rank);
        let lines = lines_of(with_rank.operator()?, [input_rows()?])?;
        assert_eq!(
            lines,
            [
                "+I a 5 1", "+I b 5 1", "-U a 5 1", "+U a 5 2", "-U b 5 1", "+U b 5 2", "+I c 7 1",
                "-D a 5 2", "-D b 5 2", "+I d 6 2"
            ]
        );
        let dense = node(2, ranked(), &traits, 0).with_function(RankFunction::DenseRank);
        let lines = lines_of(dense.operator()?, [rows(&["+I a 5", "+I b 7", "+I c 5", "+I d 6"])?])?;
        assert_eq!(
            lines,
            ["+I a 5 1", "-U a 5 1", "+U a 5 2", "+I b 7 1", "+I c 5 2", "-D a 5 2", "-D c 5 2", "+I d 6 2"]
        );
    }
    Ok(())
}

#[test]
fn ranks_close_up_when_rows_go() -> Result<()> {
    let input_rows =
        || rows(&["+I a 7", "+I b 7", "+I c 6", "+I d 5", "+I e 5", "-D a 7", "-U c 6", "+U c 4", "-D z 7"]);
    let rank = node(2, ranked(), &changelog(), 0).with_function(RankFunction::Rank);
    let lines = lines_of(rank.operator()?, [input_rows()?])?;
    assert_eq!(lines, ["+I a 7 1", "+I b 7 1", "-D a 7 1", "+I c 6 2", "-D c 6 2", "+I d 5 2", "+I e 5 2"]);
    let dense = node(2, ranked(), &changelog(), 0).with_function(RankFunction::DenseRank);
    let lines = lines_of(dense.operator()?, [input_rows()?])?;
    assert_eq!(lines, ["+I a 7 1", "+I b 7 1", "+I c 6 2", "-D a 7 1", "-D c 6 2", "+I d 5 2", "+I e 5 2"]);
    Ok(())
}

#[test]
fn a_snapshot_keeps_the_order_of_equal_rows() -> Result<()> {
    for traits in [appends(), upserts(), changelog()] {
        let node = node(3, ranked(), &traits, 0);
        let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
        first.input(0, rows(&["+I a 5", "+I b 5", "+I c 9", "+I d 1"])?, 0)?;
        let snapshot = first.snapshot()?;
        let mut operator = node.operator()?;
        let saved = &snapshot.tables[0].rows;
        operator.tables()[0].restore(&saved.project(&(1..saved.num_columns()).collect::<Vec<_>>())?)?;
        let lines = lines_of(operator, [rows(&["+I e 7"])?])?;
        assert_eq!(lines, ["-U a 5 2", "+U e 7 2", "-U b 5 3", "+U a 5 3"]);
    }
    Ok(())
}

#[test]
fn an_expired_partition_starts_anew() -> Result<()> {
    for traits in [appends(), upserts(), changelog()] {
        let node = node(2, input(), &traits, 100);
        let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
        driver.input(0, rows(&["+I a 9", "+I b 8"])?, 1_000)?;
        driver.input(0, rows(&["+I c 1"])?, 1_100)?;
        let mut lines = vec![];
        drain(&mut driver, &mut lines)?;
        assert_eq!(lines, ["+I a 9", "+I b 8", "+I c 1"]);
        driver.fire_timer(2_000)?;
        assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    }
    Ok(())
}

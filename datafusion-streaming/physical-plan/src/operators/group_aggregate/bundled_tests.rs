//! Mini-batch, in one phase and in two.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Count, ListAgg, Max, Sum};

use super::tests::{call, input, node, rows};
use crate::changelog::{ChangelogBatch, ChangelogMode};
use crate::operators::aggregate::{AggregateCall, Bundling};
use crate::operators::local_group_aggregate::LocalGroupAggregateNode;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, StreamElement};

const FOUR: Bundling = Bundling { size: 4, latency: 100 };

#[test]
fn groups_emit_the_net_change_of_a_bundle() -> Result<()> {
    let node = node(ChangelogMode::ALL, 0).with_bundles(FOUR);
    let lines = lines_of(
        node.operator()?,
        [
            rows(&["+I a 1", "+I b 1", "+I a 3", "-D b 1", "-D a 3", "+I a 3", "+I c 5"])?,
            watermark(7),
            rows(&["-D a 1", "-D a 3", "-D c 5"])?,
        ],
    )?;
    assert_eq!(lines, ["+I a 2 4 3", "+I c 1 5 5", "watermark 7", "-D a 2 4 3", "-D c 1 5 5"]);
    Ok(())
}

#[test]
fn retractions_of_a_group_that_is_not_there_are_passed_over_until_it_starts() -> Result<()> {
    let node = node(ChangelogMode::ALL, 0).with_bundles(FOUR);
    let lines = lines_of(node.operator()?, [rows(&["-D a 1", "+I a 2", "-D a 2", "+I a 3", "-D b 1"])?])?;
    assert_eq!(lines, ["+I a 1 3 3"]);
    Ok(())
}

#[test]
fn a_bundle_ends_when_its_time_is_over_and_before_a_snapshot() -> Result<()> {
    let node = node(ChangelogMode::INSERT_ONLY, 0).with_bundles(FOUR);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, rows(&["+I a 1"])?, 1_030)?;
    assert_eq!(driver.next_timer(), Some(1_100));
    driver.input(0, rows(&["+I a 1"])?, 1_099)?;
    drain(&mut driver, &mut lines)?;
    assert!(lines.is_empty());
    driver.fire_timer(1_100)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["+I a 2 2 1"]);
    assert_eq!(driver.next_timer(), None);

    driver.input(0, rows(&["+I a 4"])?, 1_110)?;
    driver.input(0, StreamElement::Barrier(1), 1_110)?;
    lines.clear();
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["-U a 2 2 1", "+U a 3 6 4", "barrier 1"]);
    Ok(())
}

#[test]
fn the_second_phase_merges_what_the_first_has_made_of_bundles() -> Result<()> {
    let calls = vec![
        call(Arc::new(Count), &[], DataType::Int64),
        call(Arc::new(Sum), &[1], DataType::Int32),
        call(Arc::new(Max), &[1], DataType::Int32),
    ];
    let local = LocalGroupAggregateNode::try_new(vec![0], calls, input(), true, FOUR)?;
    let mut local = Driver::detached(Box::new(local.operator()?), 1, 100)?;
    let global = node(ChangelogMode::ALL, 0).with_partials(Bundling { size: 3, latency: 0 });
    let mut global = Driver::detached(Box::new(global.operator()?), 1, 100)?;
    local.input(0, rows(&["+I a 1", "+I a 9", "+I b 1", "-D a 9", "-D c 7", "+I b 2"])?, 0)?;
    local.end(0, 0)?;
    while let Some(element) = local.pop() {
        global.input(0, element, 0)?;
    }
    global.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut global, &mut lines)?;
    lines.retain(|line| line != "watermark MAX");
    // as in Flink, where c has lost a row that it never had
    assert_eq!(lines, ["+I a 1 1 1", "+I b 1 1 1", "+I c -1 -7 NULL", "-U b 1 1 1", "+U b 2 3 2"]);
    Ok(())
}

#[test]
fn a_global_aggregate_has_bundles_too() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::Int64, false)]));
    let calls = vec![call(Arc::new(Count), &[], DataType::Int64)];
    let node = super::GroupAggregateNode::new(vec![], calls, input(), schema, ChangelogMode::ALL, 0)
        .with_bundles(FOUR);
    assert!(lines_of(node.operator()?, [])?.is_empty());
    let changes = rows(&["+I a 1", "+I a 2", "+I a 3", "+I a 4", "-D a 1", "-D a 2", "-D a 3", "-D a 4"])?;
    assert_eq!(lines_of(node.operator()?, [changes])?, ["+I 4", "-D 4"]);
    Ok(())
}

/// The values of a group that Flink 2.2.1 was given, and what it made of them.
const TEXTS: [&str; 36] = [
    "a", "ccc", "ccc", "a", "", "omega", "zebra", "zebra", "alpha", "omega", "x2", "x1", "", "eeeee", "x1",
    "x1", "Hello", "Hello", "", "x3", "zebra", "eeeee", "bb", "Hello", "bb", "x2", "x1", "x2", "omega",
    "zebra", "é", "x1", "x3", "alpha", "x1", "alpha",
];
#[rustfmt::skip]
const NUMBERS: [f64; 36] = [12345.678, 0.001, 3.3, -1e16, 0.1, 2500000000000000.0, 12345.678, 3.3, -0.1, 12345.678, 88.8, 1e16, 2500000000000000.0, -1e16, 5e-05, 0.2, 1000000000000000.0, -1e16, 1e16, -1e16, 2500000000000000.0, 5e-05, -0.1, 100000000000000.0, 0.7, 1000000000000000.0, 0.3, 5e-05, 0.7, 0.7, 88.8, 4.4, 12345.678, 12345.678, 5e-05, 2500000000000000.0];

/// `SELECT k, LISTAGG(DISTINCT s), SUM(DISTINCT d) … GROUP BY k`, with bundles of so many rows before the exchange.
#[test]
fn distinct_values_of_two_phases_come_in_the_order_of_javas_maps() -> Result<()> {
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let input = vec![field("k", DataType::Utf8), field("s", DataType::Utf8), field("d", DataType::Float64)];
    let input = Arc::new(Schema::new(input));
    let distinct = |call: AggregateCall| AggregateCall { distinct: true, ..call };
    let calls = vec![
        distinct(call(Arc::new(ListAgg), &[1], DataType::Utf8)),
        distinct(call(Arc::new(Sum), &[2], DataType::Float64)),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["b"; TEXTS.len()])),
        Arc::new(StringArray::from(TEXTS.to_vec())),
        Arc::new(Float64Array::from(NUMBERS.to_vec())),
    ];
    let rows = RecordBatch::try_new(Arc::clone(&input), columns)?;
    for retracting in [false, true] {
        let mode = if retracting { ChangelogMode::ALL } else { ChangelogMode::INSERT_ONLY };
        for size in [1_000, 7] {
            let (keys, bundling) = (vec![0], Bundling { size, latency: 0 });
            let input = Arc::clone(&input);
            let local = LocalGroupAggregateNode::try_new(
                keys.clone(),
                calls.clone(),
                Arc::clone(&input),
                retracting,
                bundling,
            )?;
            let mut local = Driver::detached(Box::new(local.operator()?), 1, 100)?;
            let global =
                super::GroupAggregateNode::new(keys, calls.clone(), Arc::clone(&input), input, mode, 0)
                    .with_partials(Bundling { size: 1_000, latency: 0 });
            let mut global = Driver::detached(Box::new(global.operator()?), 1, 100)?;
            local.input(0, changes(ChangelogBatch::insert_only(rows.clone())), 0)?;
            local.end(0, 0)?;
            while let Some(element) = local.pop() {
                global.input(0, element, 0)?;
            }
            global.end(0, 0)?;
            let mut lines = vec![];
            drain(&mut global, &mut lines)?;
            lines.retain(|line| line != "watermark MAX");
            let expected = "+I b bb,,x2,ccc,x1,Hello,x3,zebra,alpha,eeeee,a,\u{e9},omega 3600000000012443.0";
            assert_eq!(lines, [expected], "bundles of {size}");
        }
    }
    Ok(())
}

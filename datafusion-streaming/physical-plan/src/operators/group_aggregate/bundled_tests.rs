//! Mini-batch, in one phase and in two.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Count, Max, Sum};

use super::tests::{call, input, node, rows};
use crate::changelog::ChangelogMode;
use crate::operators::aggregate::Bundling;
use crate::operators::local_group_aggregate::LocalGroupAggregateNode;
use crate::operators::testing::{drain, lines_of, watermark};
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

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;

use super::{LateFor, LateRowsNode};
use crate::changelog::ChangelogBatch;
use crate::operators::session::SessionTvfNode;
use crate::operators::testing::{changes, drain, watermark};
use crate::operators::window_tvf::WindowTvfNode;
use crate::runtime::{Driver, StreamElement};
use crate::time::{LocalZone, WindowAssigner};

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ]))
}

fn rows(rows: &[(i64, i64)]) -> Result<StreamElement> {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let times = rows.iter().map(|row| row.1).collect::<Vec<_>>();
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(times));
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(input(), vec![values, times])?)))
}

fn late_for(assigner: WindowAssigner, lateness: i64) -> Result<LateFor> {
    Ok(match assigner {
        WindowAssigner::Session { gap } => LateFor::Sessions(
            SessionTvfNode::try_new(1, gap, vec![], LocalZone::UTC, input())?.with_allowed_lateness(lateness),
        ),
        assigner => {
            LateFor::Windows(WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?, lateness)
        }
    })
}

/// The late ones of rows of (value, time), of which the last come when the watermark is at 1,999.
fn late(assigner: WindowAssigner, lateness: i64) -> Result<Vec<String>> {
    let node = LateRowsNode::new(late_for(assigner, lateness)?, input());
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, rows(&[(1, 100), (2, 1_500), (3, 50)])?, 0)?;
    driver.input(0, watermark(1_999), 0)?;
    driver.input(0, rows(&[(4, 2_000), (5, 900), (6, 1_999), (7, 1_400), (8, -5_000)])?, 0)?;
    driver.end(0, 0)?;
    let counted = driver.metrics().late_rows.value();
    drain(&mut driver, &mut lines)?;
    lines.retain(|line| !line.starts_with("watermark"));
    assert_eq!(counted, lines.len());
    Ok(lines)
}

#[test]
fn a_row_is_late_when_its_last_window_is_over() -> Result<()> {
    let tumble = WindowAssigner::Tumble { size: 1_000, offset: 0 };
    let all = [
        "+I 5 1970-01-01T00:00:00.900",
        "+I 6 1970-01-01T00:00:01.999",
        "+I 7 1970-01-01T00:00:01.400",
        "+I 8 1969-12-31T23:59:55",
    ];
    assert_eq!(late(tumble, 0)?, all);
    assert_eq!(late(tumble, 1_000)?, [all[0], all[3]], "the window of the others takes rows until 2,999");
    let hop = WindowAssigner::Hop { slide: 1_000, size: 2_000, offset: 0 };
    assert_eq!(late(hop, 0)?, [all[0], all[3]]);
    let cumulate = WindowAssigner::Cumulate { step: 500, max_size: 4_000, offset: 0 };
    assert_eq!(late(cumulate, 0)?, [all[3]]);
    let gaps = WindowAssigner::Hop { slide: 1_000, size: 450, offset: 0 };
    assert_eq!(late(gaps, 0)?, [all[2], all[3]], "the others are in no window");
    Ok(())
}

#[test]
fn a_row_is_late_for_sessions_unless_it_joins_one() -> Result<()> {
    // the session of 1,500 goes on until 2,100: 1,400 and 900 join it, 1,999 does, and -5,000 is alone
    let late_rows = late(WindowAssigner::Session { gap: 600 }, 0)?;
    assert_eq!(late_rows, ["+I 8 1969-12-31T23:59:55"]);
    // all sessions are over
    let late_rows = late(WindowAssigner::Session { gap: 200 }, 0)?;
    assert_eq!(late_rows.len(), 3, "1,999 is in a session of its own: {late_rows:?}");
    // the session of 1,500, over at 1,700, still takes 1,400
    let late_rows = late(WindowAssigner::Session { gap: 200 }, 800)?;
    assert_eq!(late_rows, ["+I 5 1970-01-01T00:00:00.900", "+I 8 1969-12-31T23:59:55"]);
    Ok(())
}

#[test]
fn sessions_survive_a_restore() -> Result<()> {
    let node = LateRowsNode::new(late_for(WindowAssigner::Session { gap: 1_000 }, 0)?, input());
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, rows(&[(1, 1_500)])?, 0)?;
    let saved = first.snapshot()?.tables.remove(0).rows;
    let mut operator = node.operator()?;
    let columns: Vec<usize> = (1..saved.num_columns()).collect();
    operator.tables()[0].restore(&saved.project(&columns)?)?;
    let mut driver = Driver::detached(operator, 1, 100)?;
    driver.input(0, watermark(2_000), 0)?;
    driver.input(0, rows(&[(2, 700), (3, -500)])?, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines[1..], ["+I 3 1969-12-31T23:59:59.500"]);
    Ok(())
}

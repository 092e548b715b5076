//! The operators of the baseline's jobs, driven by hand: no planning, no async, one thread.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind, RowKinds};
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::group_aggregate::GroupAggregateNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::{GroupColumn, WindowAggregateNode};
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{
    Driver, Operator, StreamElement, SubtaskSnapshot, WindowProperties,
};
use datafusion_streaming_physical_plan::time::{LocalZone, Watermark, WindowAssigner};
use datafusion_streaming_udfs::aggregate::{Count, Max, StreamingAggregate, Sum};

use crate::{Block, Events, blocks, kv::Kv};

/// The batch size of the drivers, that of the blocks of the sources.
const BATCH_SIZE: usize = 8192;

/// Operators in a row, the output of each the input of the next.
pub struct Chain(Vec<Driver>);

impl Chain {
    /// A chain of operators with one input each.
    fn try_new(operators: Vec<Box<dyn Operator>>) -> Result<Self> {
        let driver = |operator| Driver::detached(operator, 1, BATCH_SIZE);
        Ok(Chain(operators.into_iter().map(driver).collect::<Result<_>>()?))
    }

    /// Puts elements in and throws away what comes out: the number of its rows.
    pub fn run(&mut self, input: impl IntoIterator<Item = StreamElement>) -> Result<usize> {
        input.into_iter().map(|element| input_to(&mut self.0, element)).sum()
    }

    /// What a checkpoint copies of each operator.
    pub fn snapshots(&mut self) -> Result<Vec<SubtaskSnapshot>> {
        self.0.iter_mut().map(Driver::snapshot).collect()
    }

    /// Bytes of state that the operators hold.
    pub fn state_bytes(&self) -> usize {
        self.0.iter().map(|driver| driver.metrics().state_bytes.value()).sum()
    }
}

/// Puts an element into the first of these operators and everything that follows from it into the
/// others.
fn input_to(chain: &mut [Driver], element: StreamElement) -> Result<usize> {
    let Some((first, rest)) = chain.split_first_mut() else {
        return Ok(match element {
            StreamElement::Data(changes) => changes.num_rows(),
            _ => 0,
        });
    };
    first.input(0, element, 0)?;
    let mut rows = 0;
    while let Some(element) = first.pop() {
        rows += input_to(rest, element)?;
    }
    Ok(rows)
}

/// `k` and `v` of [`Kv`].
fn kv_schema() -> Result<SchemaRef> {
    Ok(Arc::new(Kv { keys: 1 }.schema().project(&[0, 1])?))
}

/// `COUNT(*), SUM(v), MAX(v)`.
fn calls() -> Vec<AggregateCall> {
    let call = |function: Arc<dyn StreamingAggregate>, args: &[usize], display: &str| AggregateCall {
        function,
        args: args.to_vec(),
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type: DataType::Int64,
        display: display.to_string(),
    };
    vec![
        call(Arc::new(Count), &[], "count(*)"),
        call(Arc::new(Sum), &[1], "sum(v)"),
        call(Arc::new(Max), &[1], "max(v)"),
    ]
}

/// A schema of these columns, none of which is null.
fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

const RESULTS: [(&str, DataType); 3] =
    [("count", DataType::Int64), ("sum", DataType::Int64), ("max", DataType::Int64)];

/// `SELECT k, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY k`.
pub fn group_aggregate(input: ChangelogMode) -> Result<Chain> {
    let [count, sum, max] = RESULTS;
    let output = schema(&[("k", DataType::Int64), count, sum, max]);
    let node = GroupAggregateNode::new(vec![0], calls(), kv_schema()?, output, input, 0);
    Chain::try_new(vec![Box::new(node.operator()?)])
}

/// `SELECT k, window_start, window_end, COUNT(*), SUM(v), MAX(v) FROM TABLE(TUMBLE(TABLE kv,
/// DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end`.
pub fn tumble() -> Result<Chain> {
    let assigner = WindowAssigner::Tumble { size: 10_000, offset: 0 };
    let input = Kv { keys: 1 }.schema().project(&[0, 1, 4])?;
    let windows = WindowTvfNode::try_new(2, assigner, LocalZone::UTC, &input)?;
    let window_schema = datafusion_streaming_physical_plan::runtime::StreamNode::schema(&windows);
    let window = WindowProperties {
        start: vec![3],
        end: vec![4],
        time: vec![5],
        assigner,
        rowtime: true,
        local_time: false,
    };
    let time = DataType::Timestamp(TimeUnit::Millisecond, None);
    let [count, sum, max] = RESULTS;
    let output = schema(&[
        ("k", DataType::Int64),
        ("window_start", time.clone()),
        ("window_end", time),
        count,
        sum,
        max,
    ]);
    let aggregate = WindowAggregateNode::new(
        vec![GroupColumn::Key(0), GroupColumn::WindowStart, GroupColumn::WindowEnd],
        &window,
        4,
        LocalZone::UTC,
        calls(),
        window_schema,
        output,
        ChangelogMode::INSERT_ONLY,
    );
    Chain::try_new(vec![Box::new(windows.operator()), Box::new(aggregate.operator()?)])
}

/// The elements of a source: the columns of these blocks and their watermarks.
fn elements(blocks: Vec<Block>, columns: &[usize]) -> Result<Vec<StreamElement>> {
    let mut elements = vec![];
    for Block { batch, watermark } in blocks {
        elements.push(StreamElement::Data(ChangelogBatch::insert_only(batch.project(columns)?)));
        elements.push(StreamElement::Watermark(Watermark(watermark)));
    }
    Ok(elements)
}

/// `k` and `v` of so many events, as inserts.
pub fn inserts(keys: u64, events: u64) -> Result<Vec<StreamElement>> {
    elements(blocks(Kv { keys }, events).collect::<Result<_>>()?, &[0, 1])
}

/// `k`, `v` and `ts` of so many events, as inserts.
pub fn timed_inserts(keys: u64, events: u64) -> Result<Vec<StreamElement>> {
    elements(blocks(Kv { keys }, events).collect::<Result<_>>()?, &[0, 1, 4])
}

/// `k` and `v` as a changelog: the value of each event replaces the one of its key.
pub fn updates(keys: u64, events: u64) -> Result<Vec<StreamElement>> {
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;
    use std::collections::HashMap;

    let (schema, mut latest) = (kv_schema()?, HashMap::<i64, i64>::new());
    let mut elements = vec![];
    for block in blocks(Kv { keys }, events) {
        let batch = block?.batch;
        let (keys, values) =
            (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
        let (mut changed, mut written, mut kinds) = (vec![], vec![], vec![]);
        for (key, value) in keys.values().iter().zip(values.values()) {
            let before = latest.insert(*key, *value);
            if let Some(before) = before {
                changed.push(*key);
                written.push(before);
                kinds.push(RowKind::UpdateBefore);
            }
            changed.push(*key);
            written.push(*value);
            kinds.push(if before.is_some() { RowKind::UpdateAfter } else { RowKind::Insert });
        }
        let columns =
            vec![Arc::new(Int64Array::from(changed)) as _, Arc::new(Int64Array::from(written)) as _];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
        elements.push(StreamElement::Data(ChangelogBatch::try_new(batch, RowKinds::from(kinds))?));
    }
    Ok(elements)
}

/// The number of rows in elements.
pub fn rows_of(elements: &[StreamElement]) -> usize {
    let rows = |element: &StreamElement| match element {
        StreamElement::Data(changes) => changes.num_rows(),
        _ => 0,
    };
    elements.iter().map(rows).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts that the baseline has for 20,000 events: `+I` and twice `+U`.
    #[test]
    fn group_aggregate_emits_as_many_changes_as_flink() {
        for (keys, inserts_expected, updates_expected) in [(64, 64, 19_936), (4096, 4_075, 15_925)] {
            let mut job = group_aggregate(ChangelogMode::INSERT_ONLY).unwrap();
            let rows = job.run(inserts(keys, 20_000).unwrap()).unwrap();
            assert_eq!(rows, inserts_expected + 2 * updates_expected);
        }
    }

    #[test]
    fn tumble_emits_as_many_rows_as_flink() {
        let mut job = tumble().unwrap();
        let input = timed_inserts(4096, 20_000).unwrap();
        assert_eq!(job.run(input).unwrap(), 0, "two seconds are not yet a window");
        assert_eq!(job.run([StreamElement::Watermark(Watermark::MAX)]).unwrap(), 4_075);
    }

    #[test]
    fn updates_keep_one_row_a_key() {
        let input = updates(64, 20_000).unwrap();
        assert_eq!(rows_of(&input), 64 + 2 * 19_936);
        let mut job = group_aggregate(ChangelogMode::ALL).unwrap();
        assert!(job.run(input).unwrap() > 0);
        assert!(job.state_bytes() > 0);
    }
}

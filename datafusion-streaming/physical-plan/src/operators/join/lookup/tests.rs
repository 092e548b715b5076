use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_execution::TaskContext;
use datafusion_execution::config::SessionConfig;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{Column, binary};
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::{FutureExt, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Barrier;

use super::*;
use crate::changelog::ChangelogMode;
use crate::changelog::pretty::changelog_lines;
use crate::operators::join::testing::{rows, schema};
use crate::operators::join::{LEFT, RIGHT};
use crate::runtime::{OperatorId, StreamElement, StreamEnvironment, StreamExec, TimeAttribute};
use crate::time::{Clock, ManualClock, Watermark};

/// A table `k w` in memory, that notes what it is asked. Two lookups of a key below zero wait for each
/// other.
struct Counting {
    rows: Vec<(i32, i32)>,
    schema: SchemaRef,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    asked: Mutex<Vec<Vec<i32>>>,
    meeting: Arc<Barrier>,
    /// The clock, and the time from which on there are rows of keys of 100 and more.
    late: (ManualClock, i64),
}

impl fmt::Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counting")
    }
}

impl Counting {
    fn new(rows: &[(i32, i32)]) -> Arc<Self> {
        let fields = ["k", "w"].map(|name| Field::new(name, DataType::Int32, true));
        Arc::new(Counting {
            rows: rows.to_vec(),
            schema: Arc::new(Schema::new(fields.to_vec())),
            keys: vec![Arc::new(Column::new("k", 0))],
            asked: Mutex::default(),
            meeting: Arc::new(Barrier::new(2)),
            late: (ManualClock::default(), 0),
        })
    }

    /// The table, in which rows of keys of 100 and more are from a time on.
    fn with_late_rows(self: Arc<Self>, clock: &ManualClock, from: i64) -> Arc<Self> {
        let (rows, schema, keys) = (self.rows.clone(), Arc::clone(&self.schema), self.keys.clone());
        let (asked, meeting) = (Mutex::default(), Arc::clone(&self.meeting));
        Arc::new(Counting { rows, schema, keys, asked, meeting, late: (clock.clone(), from) })
    }
}

impl LookupTable for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn keys(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.keys
    }

    fn is_unique(&self) -> bool {
        false
    }

    fn lookup(
        &self,
        keys: Option<Vec<ArrayRef>>,
        _context: Arc<TaskContext>,
    ) -> BoxFuture<'static, Result<Vec<RecordBatch>>> {
        let asked = keys.map(|keys| keys[0].as_primitive::<Int32Type>().values().to_vec());
        self.asked.lock().push(asked.clone().unwrap_or_default());
        let meeting = asked.iter().flatten().any(|key| *key < 0).then(|| Arc::clone(&self.meeting));
        // rows of other keys come along
        let is_there = |row: &(i32, i32)| row.0 < 100 || self.late.0.now() >= self.late.1;
        let (keys, values): (Vec<_>, Vec<_>) = self.rows.iter().copied().filter(is_there).unzip();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int32Array::from(keys)), Arc::new(Int32Array::from(values))];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        async move {
            if let Some(meeting) = meeting {
                meeting.wait().await;
            }
            Ok(vec![batch?])
        }
        .boxed()
    }
}

/// A stream of these elements, with a processing time `v`.
#[derive(Debug)]
struct Elements(Mutex<Vec<StreamElement>>);

impl StreamNode for Elements {
    fn name(&self) -> &'static str {
        "Elements"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        schema(false)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let time = TimeAttribute { column: 1, kind: TimeAttributeKind::Proctime };
        Ok(StreamTraits { mode: ChangelogMode::ALL, time_attributes: vec![time], ..StreamTraits::default() })
    }

    fn start(&self, _task: StreamTask<'_>) -> Result<ElementStream> {
        Ok(Box::pin(futures::stream::iter(std::mem::take(&mut *self.0.lock()).into_iter().map(Ok))))
    }
}

fn node(table: Arc<Counting>, join_type: JoinType, options: LookupOptions) -> Result<LookupJoinNode> {
    let input = schema(false);
    let fields: Vec<_> = input.fields().iter().chain(table.schema().fields()).cloned().collect();
    let both = Arc::new(Schema::new(fields));
    let keys: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new("k", 0))];
    let node = LookupJoinNode::try_new(join_type, 1, keys, table, None, input, both)?;
    Ok(node.with_options(options))
}

async fn output(node: LookupJoinNode, input: Vec<StreamElement>) -> Result<Vec<String>> {
    output_at(node, input, Arc::new(TaskContext::default())).await
}

/// The output on a clock that goes on as soon as all wait for it.
async fn output_on(
    clock: &ManualClock,
    node: LookupJoinNode,
    input: Vec<StreamElement>,
) -> Result<Vec<String>> {
    let environment = StreamEnvironment { clock: Arc::new(clock.clone()), ..StreamEnvironment::default() };
    let config = SessionConfig::new().with_extension(Arc::new(environment));
    let context = TaskContext::default().with_session_config(config);
    let mut output = std::pin::pin!(output_at(node, input, Arc::new(context)));
    loop {
        for _ in 0..20 {
            tokio::select! {
                biased;
                lines = &mut output => return lines,
                () = tokio::task::yield_now() => {}
            }
        }
        clock.advance(100);
    }
}

async fn output_at(
    node: LookupJoinNode,
    input: Vec<StreamElement>,
    context: Arc<TaskContext>,
) -> Result<Vec<String>> {
    let input = StreamExec::plan(Elements(Mutex::new(input)), vec![])?;
    let traits = input.downcast_ref::<StreamExec>().map(|input| input.traits().clone());
    let node = node.over(&traits.unwrap_or_default())?;
    let task = StreamTask {
        id: OperatorId { name: "LookupJoin".to_string(), number: 0 },
        partition: 0,
        partitions: 1,
        context,
        inputs: &[input],
        metrics: &ExecutionPlanMetricsSet::new(),
    };
    let mut elements = node.start(task)?;
    let mut lines = vec![];
    while let Some(element) = elements.next().await {
        match element? {
            StreamElement::Data(changes) => lines.extend(changelog_lines([&changes])?),
            StreamElement::Watermark(watermark) => lines.push(format!("watermark {watermark}")),
            other => return Err(internal_datafusion_err!("{other:?}")),
        }
    }
    Ok(lines)
}

#[tokio::test]
async fn the_keys_of_a_batch_are_looked_up_together() -> Result<()> {
    let table = Counting::new(&[(1, 10), (2, 20), (1, 11), (9, 90)]);
    let input = vec![
        rows(&["+I 1 100", "+I 2 200", "+I 1 101", "-D _ 102", "+U 3 103"], false)?,
        StreamElement::Watermark(Watermark(5)),
        rows(&["+I 2 104"], false)?,
    ];
    let lines =
        output(node(Arc::clone(&table), JoinType::Left, LookupOptions::default())?, input.clone()).await?;
    assert_eq!(
        lines,
        [
            "+I 1 100 1 10",
            "+I 1 100 1 11",
            "+I 2 200 2 20",
            "+I 1 101 1 10",
            "+I 1 101 1 11",
            "-D NULL 102 NULL NULL",
            "+U 3 103 NULL NULL",
            "watermark 5",
            "+I 2 104 2 20",
        ]
    );
    assert_eq!(*table.asked.lock(), [vec![1, 2, 3], vec![2]]);
    let inner = output(node(table, JoinType::Inner, LookupOptions::default())?, input).await?;
    assert_eq!(inner.iter().filter(|line| line.contains("NULL")).count(), 0);
    assert_eq!(inner.len(), 7);
    Ok(())
}

#[tokio::test]
async fn a_condition_decides_after_the_key() -> Result<()> {
    let table = Counting::new(&[(1, 10), (1, 11), (2, 20)]);
    let mut node = node(table, JoinType::Left, LookupOptions::default())?;
    let both = Arc::new(Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("w", DataType::Int64, true),
    ]));
    let wide = datafusion_physical_expr::expressions::cast(
        Arc::new(Column::new("w", 1)),
        &Schema::new(vec![Field::new("v", DataType::Int64, true), Field::new("w", DataType::Int32, true)]),
        DataType::Int64,
    )?;
    let condition = binary(Arc::new(Column::new("v", 0)), Operator::Lt, wide, &both)?;
    let columns = Arc::new(Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("w", DataType::Int32, true),
    ]));
    node.residual = Some(Residual::new(condition, vec![(LEFT, 1), (RIGHT, 1)], columns));
    let lines = output(node, vec![rows(&["+I 1 10", "+I 2 20", "+I 1 9"], false)?]).await?;
    assert_eq!(lines, ["+I 1 10 1 11", "+I 2 20 NULL NULL", "+I 1 9 1 10", "+I 1 9 1 11"]);
    Ok(())
}

#[tokio::test]
async fn lookups_of_several_batches_run_at_the_same_time_and_the_order_stays() -> Result<()> {
    let table = Counting::new(&[(-1, 0), (1, 10)]);
    let input = vec![rows(&["+I -1 1"], false)?, rows(&["+I 1 2"], false)?, rows(&["+I -1 3"], false)?];
    let run = output(node(table, JoinType::Inner, LookupOptions::default())?, input);
    let lines = tokio::time::timeout(Duration::from_secs(10), run).await.unwrap()?;
    assert_eq!(lines, ["+I -1 1 -1 0", "+I 1 2 1 10", "+I -1 3 -1 0"]);
    Ok(())
}

#[tokio::test]
async fn what_is_in_the_cache_is_not_looked_up() -> Result<()> {
    let table = Counting::new(&[(1, 10), (1, 11)]);
    let cache = LookupCache::Partial(PartialCache::default());
    // one lookup at a time, so that the cache has what the batches before have found
    let options = LookupOptions { cache, concurrency: 1, ..LookupOptions::default() };
    let input = vec![
        rows(&["+I 1 1", "+I 5 2"], false)?,
        rows(&["+I 5 3", "+I 1 4"], false)?,
        rows(&["+I 2 5", "+I 1 6"], false)?,
    ];
    let lines = output(node(Arc::clone(&table), JoinType::Left, options)?, input).await?;
    assert_eq!(*table.asked.lock(), [vec![1, 5], vec![2]]);
    assert_eq!(
        lines[3..],
        ["+I 5 3 NULL NULL", "+I 1 4 1 10", "+I 1 4 1 11", "+I 2 5 NULL NULL", "+I 1 6 1 10", "+I 1 6 1 11",]
    );
    Ok(())
}

#[tokio::test]
async fn keys_without_rows_are_looked_up_again() -> Result<()> {
    let rows_of = [(1, 10), (100, 20), (100, 21), (101, 30)];
    let input = || -> Result<Vec<StreamElement>> {
        Ok(vec![rows(&["+I 1 1", "+I 100 2", "+I 7 3"], false)?, rows(&["+I 101 4", "+I 1 5"], false)?])
    };
    let retry = LookupRetry { delay: 1_000, attempts: 2 };
    let options = LookupOptions { concurrency: 1, retry: Some(retry), ..LookupOptions::default() };
    let clock = ManualClock::new(0);
    let table = Counting::new(&rows_of).with_late_rows(&clock, 1_500);
    let lines = output_on(&clock, node(Arc::clone(&table), JoinType::Left, options)?, input()?).await?;
    // rows of other keys that come along do not count twice
    assert_eq!(
        lines,
        [
            "+I 1 1 1 10",
            "+I 100 2 100 20",
            "+I 100 2 100 21",
            "+I 7 3 NULL NULL",
            "+I 101 4 101 30",
            "+I 1 5 1 10"
        ]
    );
    assert_eq!(*table.asked.lock(), [vec![1, 100, 7], vec![100, 7], vec![100, 7], vec![101, 1]]);
    assert!(clock.now() >= 2_000, "two delays: {}", clock.now());
    Ok(())
}

#[tokio::test]
async fn a_lookup_that_takes_too_long_fails() -> Result<()> {
    let retry = LookupRetry { delay: 1_000, attempts: 9 };
    let options = LookupOptions { retry: Some(retry), timeout: Some(2_500), ..LookupOptions::default() };
    let clock = ManualClock::new(0);
    let table = Counting::new(&[]);
    let joined = node(Arc::clone(&table), JoinType::Left, options)?;
    let error = output_on(&clock, joined, vec![rows(&["+I 1 1"], false)?]).await.unwrap_err();
    let expected = "a lookup in table 'counting' has taken longer than 2500 ms";
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(table.asked.lock().len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_whole_table_is_read_once() -> Result<()> {
    let table = Counting::new(&[(1, 10), (2, 20), (1, 11)]);
    let options = LookupOptions { cache: LookupCache::Full { reload: None }, ..LookupOptions::default() };
    let input = vec![rows(&["+I 1 1", "+I 7 2"], false)?, rows(&["+I 7 3", "+I 2 4"], false)?];
    let lines = output(node(Arc::clone(&table), JoinType::Left, options)?, input).await?;
    assert_eq!(lines, ["+I 1 1 1 10", "+I 1 1 1 11", "+I 7 2 NULL NULL", "+I 7 3 NULL NULL", "+I 2 4 2 20"]);
    assert_eq!(*table.asked.lock(), [Vec::<i32>::new()]);
    Ok(())
}

#[tokio::test]
async fn rows_with_many_matches_are_put_out_in_pieces() -> Result<()> {
    let many: Vec<_> = (0..10_000).map(|value| (1, value)).collect();
    let table = Counting::new(&many);
    let lines = output(
        node(table, JoinType::Left, LookupOptions::default())?,
        vec![rows(&["+I 1 1", "+I 2 2"], false)?],
    )
    .await?;
    assert_eq!(lines.len(), 10_001);
    assert_eq!(lines[9_999], "+I 1 1 1 9999");
    assert_eq!(lines[10_000], "+I 2 2 NULL NULL");
    Ok(())
}

#[test]
fn joins_without_a_key_or_of_other_types_are_refused() -> Result<()> {
    let table = Counting::new(&[]);
    let error = node(Arc::clone(&table), JoinType::Full, LookupOptions::default()).unwrap_err();
    assert!(error.to_string().contains("use JOIN or LEFT JOIN"), "{error}");
    let none = LookupJoinNode::try_new(
        JoinType::Inner,
        1,
        vec![],
        Arc::clone(&table) as Arc<dyn LookupTable>,
        None,
        schema(false),
        schema(false),
    );
    assert!(none.unwrap_err().to_string().contains("needs a column of table counting"));
    let node = node(table, JoinType::Inner, LookupOptions::default())?;
    let error = node.over(&StreamTraits::default()).unwrap_err();
    assert!(error.to_string().contains("time attribute"), "{error}");
    Ok(())
}

//! Continuous queries over unbounded tables: nothing is held back, and dropping a query stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionConfig, SessionContext, col};
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use datafusion_streaming::{ChangelogDataFrame, ChangelogStream, FlinkSql, install};
use futures::StreamExt;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, true),
    ]))
}

fn batch(k: i64, v: i64) -> Result<ChangelogBatch> {
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![k])), Arc::new(Int64Array::from(vec![v]))];
    Ok(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?))
}

/// A session with a table `t` that is pushed into.
fn pushed(parallelism: usize) -> Result<(SessionContext, ChangelogSender)> {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(parallelism));
    install(&ctx)?;
    let (table, sender) = ChangelogTable::new(schema(), ChangelogMode::INSERT_ONLY, 4);
    ctx.register_table("t", Arc::new(table))?;
    Ok((ctx, sender))
}

/// The next rows, which must come within a second.
async fn next(changelog: &mut ChangelogStream) -> Result<String> {
    let changes = tokio::time::timeout(Duration::from_secs(1), changelog.next()).await;
    match changes.ok().flatten().transpose()? {
        Some(changes) => Ok(changelog_lines([&changes])?.join(", ")),
        None => Ok("no rows within a second".to_string()),
    }
}

#[tokio::test]
async fn a_row_is_out_before_the_next_comes_in() -> Result<()> {
    for parallelism in [1, 4] {
        let (ctx, sender) = pushed(parallelism)?;
        let query = ctx.flink_sql("SELECT k, SUM(v + 1) AS s FROM t WHERE v > 0 GROUP BY k").await?;
        let mut changelog = query.execute_changelog().await?;
        sender.send(batch(1, 10)?).await?;
        assert_eq!(next(&mut changelog).await?, "+I 1 11");
        sender.send(batch(1, 0)?).await?;
        sender.send(batch(1, 4)?).await?;
        assert_eq!(next(&mut changelog).await?, "-U 1 11, +U 1 16");
        drop(sender);
        assert!(changelog.next().await.is_none());
    }
    Ok(())
}

#[tokio::test]
async fn a_filter_over_a_pushed_table_is_read_as_plain_rows() -> Result<()> {
    let (ctx, sender) = pushed(2)?;
    let mut rows = ctx.sql("SELECT v FROM t WHERE k = 1").await?.execute_stream().await?;
    for v in [3, 4] {
        sender.send(batch(1, v)?).await?;
        let batch = tokio::time::timeout(Duration::from_secs(1), rows.next()).await.unwrap().unwrap()?;
        assert_eq!(batch.num_rows(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn windows_fire_by_pushed_watermarks() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let timestamp = DataType::Timestamp(TimeUnit::Millisecond, None);
    let schema = Arc::new(Schema::new(vec![Field::new("ts", timestamp, false)]));
    let (table, sender) = ChangelogTable::new(Arc::clone(&schema), ChangelogMode::INSERT_ONLY, 4);
    ctx.register_table("t", Arc::new(table.with_rowtime("ts")?))?;
    let query = "SELECT window_end, COUNT(*) AS n FROM TUMBLE(t, DESCRIPTOR(ts), INTERVAL '10' SECONDS) \
                 GROUP BY window_start, window_end";
    let mut changelog = ctx.sql(query).await?.execute_changelog().await?;
    let rows = |times: &[i64]| -> Result<ChangelogBatch> {
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(times.to_vec()));
        Ok(ChangelogBatch::insert_only(RecordBatch::try_new(Arc::clone(&schema), vec![times])?))
    };
    sender.send(rows(&[1_000, 9_999, 10_000])?).await?;
    sender.watermark(9_999).await?;
    assert_eq!(next(&mut changelog).await?, "+I 1970-01-01T00:00:10 2");
    sender.send(rows(&[5_000])?).await?;
    sender.watermark(20_000).await?;
    assert_eq!(next(&mut changelog).await?, "+I 1970-01-01T00:00:20 1");
    Ok(())
}

#[tokio::test]
async fn a_sender_is_told_what_is_wrong() -> Result<()> {
    let (ctx, sender) = pushed(1)?;
    let changelog = ctx.sql("SELECT k FROM t").await?.execute_changelog().await?;
    let again = ctx.sql("SELECT k FROM t").await?.execute_changelog().await;
    assert!(again.err().unwrap().to_string().contains("one query only"));
    let (row, _) = batch(1, 1)?.into_parts();
    let delete = ChangelogBatch::try_new(row, vec![datafusion_streaming::changelog::RowKind::Delete].into())?;
    assert!(sender.send(delete).await.unwrap_err().to_string().contains("not -D"));
    drop(changelog);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(sender.send(batch(1, 1)?).await.unwrap_err().to_string().contains("has ended"));
    Ok(())
}

/// An unbounded table that yields a row every millisecond and tells when it is dropped.
#[derive(Debug)]
struct Ticks {
    schema: SchemaRef,
    running: Arc<AtomicBool>,
}

struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl PartitionStream for Ticks {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.running.store(true, Ordering::SeqCst);
        let schema = Arc::clone(&self.schema);
        let running = Running(Arc::clone(&self.running));
        let ticks = futures::stream::unfold((0i64, running), move |(n, running)| {
            let schema = Arc::clone(&schema);
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![n * 1_000]));
                let batch = RecordBatch::try_new(schema, vec![times]).map_err(Into::into);
                Some((batch, (n + 1, running)))
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), ticks))
    }
}

fn ticks(running: &Arc<AtomicBool>) -> Result<StreamingTable> {
    let timestamp = DataType::Timestamp(TimeUnit::Millisecond, None);
    let schema = Arc::new(Schema::new(vec![Field::new("ts", timestamp, false)]));
    let partition = Ticks { schema: Arc::clone(&schema), running: Arc::clone(running) };
    let order = vec![col("ts").sort(true, false)];
    Ok(StreamingTable::try_new(schema, vec![Arc::new(partition)])?
        .with_infinite_table(true)
        .with_sort_order(order))
}

#[tokio::test]
async fn dropping_the_changelog_stops_everything() -> Result<()> {
    for parallelism in [1, 4] {
        let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(parallelism));
        install(&ctx)?;
        let running = Arc::new(AtomicBool::new(false));
        ctx.register_table("ticks", Arc::new(ticks(&running)?))?;
        let query = ctx.sql("SELECT ts, COUNT(*) AS n FROM ticks GROUP BY ts").await?;
        let mut changelog = query.execute_changelog().await?;
        next(&mut changelog).await?;
        assert!(running.load(Ordering::SeqCst));
        drop(changelog);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!running.load(Ordering::SeqCst), "the source still runs at parallelism {parallelism}");
    }
    Ok(())
}

#[tokio::test]
async fn a_declared_order_is_a_watermark() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let running = Arc::new(AtomicBool::new(false));
    ctx.register_table("ticks", Arc::new(ticks(&running)?))?;
    let query = "SELECT window_start, COUNT(*) AS n FROM TUMBLE(ticks, DESCRIPTOR(ts), INTERVAL '5' SECONDS) \
                 GROUP BY window_start, window_end";
    let mut rows = ctx.sql(query).await?.execute_stream().await?;
    let batch = tokio::time::timeout(Duration::from_secs(2), rows.next()).await.unwrap().unwrap()?;
    let lines = changelog_lines([&ChangelogBatch::insert_only(batch)])?;
    assert_eq!(lines[0], "+I 1970-01-01T00:00:00 5");
    Ok(())
}

#[tokio::test]
async fn a_limit_ends_an_unbounded_query_and_stops_its_source() -> Result<()> {
    for parallelism in [1, 3] {
        let (ctx, sender) = pushed(parallelism)?;
        let mut changelog =
            ctx.flink_sql("SELECT v FROM t WHERE v > 1 LIMIT 2 OFFSET 1").await?.execute_changelog().await?;
        for v in 1..=4 {
            sender.send(batch(1, v)?).await?;
        }
        assert_eq!(next(&mut changelog).await?, "+I 3");
        assert_eq!(next(&mut changelog).await?, "+I 4");
        let end = tokio::time::timeout(Duration::from_secs(5), changelog.next()).await;
        assert!(matches!(end, Ok(None)), "the query goes on");
        // the table is not read any more
        let refused = async {
            while sender.send(batch(1, 5)?).await.is_ok() {
                tokio::task::yield_now().await;
            }
            Result::<()>::Ok(())
        };
        assert!(tokio::time::timeout(Duration::from_secs(5), refused).await.is_ok());
    }
    Ok(())
}

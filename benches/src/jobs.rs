//! The baseline's jobs as a user runs them: SQL over unbounded tables of record batches, read as a changelog.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ident;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::RowKind;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::{StreamExt, stream};

use crate::{Block, Events, blocks, kv::Kv, nexmark};

/// A query of the baseline.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Its name there.
    pub name: &'static str,
    /// The keys of `kv`; 0 for the jobs over Nexmark's tables.
    pub keys: u64,
    /// Its SQL.
    pub sql: &'static str,
}

const GROUP_BY: &str = "SELECT k, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY k";

/// The jobs.
pub const JOBS: [Job; 10] = [
    Job {
        name: "q1_project",
        keys: 0,
        sql: "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
    },
    Job { name: "q2_filter", keys: 0, sql: "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0" },
    Job { name: "gb_64", keys: 64, sql: GROUP_BY },
    Job { name: "gb_4096", keys: 4_096, sql: GROUP_BY },
    Job { name: "gb_1m", keys: 1_000_000, sql: GROUP_BY },
    Job { name: "gb_decimal_4096", keys: 4_096, sql: "SELECT k, SUM(d), AVG(d), MIN(d) FROM kv GROUP BY k" },
    Job { name: "gb_string_1000", keys: 4_096, sql: "SELECT s, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY s" },
    Job {
        name: "retract_sum",
        keys: 4_096,
        sql: "SELECT g, COUNT(*), SUM(t) FROM \
              (SELECT k, MOD(k, 16) AS g, SUM(v) AS t FROM kv GROUP BY k) GROUP BY g",
    },
    Job {
        name: "retract_max",
        keys: 4_096,
        sql: "SELECT g, COUNT(*), MAX(t) FROM \
              (SELECT k, MOD(k, 16) AS g, SUM(v) AS t FROM kv GROUP BY k) GROUP BY g",
    },
    Job {
        name: "tumble",
        keys: 4_096,
        sql: "SELECT k, window_start, window_end, COUNT(*), SUM(v), MAX(v) \
              FROM TABLE(TUMBLE(TABLE kv, DESCRIPTOR(ts), INTERVAL '10' SECOND)) \
              GROUP BY k, window_start, window_end",
    },
];

impl Job {
    /// A session with the tables of the job, of so many events, on one thread's worth of partitions.
    pub fn session(&self, events: u64) -> Result<SessionContext> {
        let config = SessionConfig::new().with_target_partitions(1);
        let context = SessionContext::new_with_config(config);
        datafusion_streaming::install(&context)?;
        if self.keys > 0 {
            register(&context, "kv", &Kv { keys: self.keys }, "ts", events)?;
        } else {
            register(&context, "bid", &nexmark::Bid, "dateTime", events)?;
        }
        Ok(context)
    }

    /// Runs the job to the end of its input: the number of changes of each kind, by their number.
    pub async fn run(&self, context: &SessionContext) -> Result<[usize; 4]> {
        let mut changelog = context.flink_sql(self.sql).await?.execute_changelog().await?;
        let mut counts = [0; 4];
        while let Some(changes) = changelog.next().await.transpose()? {
            match changes.kinds() {
                Some(kinds) => kinds.iter().for_each(|kind| counts[kind as usize] += 1),
                None => counts[RowKind::Insert as usize] += changes.num_rows(),
            }
        }
        Ok(counts)
    }
}

/// Makes an unbounded table of the rows of a generator, in the order of their time.
fn register(
    context: &SessionContext,
    name: &str,
    generator: &impl Events,
    time: &str,
    events: u64,
) -> Result<()> {
    let batches = blocks(generator, events).map(|block| block.map(|Block { batch, .. }| batch));
    let rows = Rows { schema: generator.schema(), batches: batches.collect::<Result<_>>()? };
    let order = vec![ident(time).sort(true, false)];
    let table = StreamingTable::try_new(generator.schema(), vec![Arc::new(rows)])?
        .with_infinite_table(true)
        .with_sort_order(order);
    context.register_table(name, Arc::new(table))?;
    Ok(())
}

/// Batches in memory as a stream.
#[derive(Debug)]
struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = stream::iter(self.batches.clone().into_iter().map(Ok));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+I`, `+U` and `-D` of the baseline at 20,000 events.
    const EXPECTED: [(&str, [usize; 3]); 10] = [
        ("q1_project", [18_400, 0, 0]),
        ("q2_filter", [65, 0, 0]),
        ("gb_64", [64, 19_936, 0]),
        ("gb_4096", [4_075, 15_925, 0]),
        ("gb_1m", [19_773, 227, 0]),
        ("gb_decimal_4096", [4_075, 15_925, 0]),
        ("gb_string_1000", [1_000, 19_000, 0]),
        ("retract_sum", [16, 35_899, 0]),
        ("retract_max", [16, 35_899, 0]),
        ("tumble", [4_075, 0, 0]),
    ];

    #[tokio::test]
    async fn jobs_emit_as_many_changes_as_flink() {
        for (job, (name, expected)) in JOBS.iter().zip(EXPECTED) {
            assert_eq!(job.name, name);
            let context = job.session(20_000).unwrap();
            let [inserts, _, updates, deletes] = job.run(&context).await.unwrap();
            assert_eq!([inserts, updates, deletes], expected, "{name}");
        }
    }
}

//! The baseline's queries as a user runs them: SQL over unbounded tables of record batches into a sink.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{SchemaRef, UInt64Type};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ident;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::RowKind;
use datafusion_streaming::sql::FlinkType;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::{StreamExt, stream};

use crate::queries::Query;
use crate::{Block, Events, blocks, kv::Kv, nexmark};

/// Where the rows of a run come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Record batches that are in memory from the first run on: what a later run takes is the engine's time.
    Memory,
    /// The generator, block by block in the query's own thread, all columns, as in the Flink harness.
    Generator,
}

/// A query with its tables, to be run any number of times.
pub struct Job {
    query: Query,
    context: SessionContext,
    insert: Option<String>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("query", &self.query).finish_non_exhaustive()
    }
}

/// What a job may use of the memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// The bytes of the memory pool; `None`: no limit.
    pub limit: Option<usize>,
    /// Whether state that is larger goes to disk.
    pub disk: bool,
}

impl Job {
    /// A session with the tables of a query, of so many events, in so many partitions.
    pub async fn try_new(query: Query, events: u64, source: Source, partitions: usize) -> Result<Self> {
        Job::with_memory(query, events, source, partitions, Memory::default()).await
    }

    /// [`Job::try_new`] with a limit of the memory for state.
    pub async fn with_memory(
        query: Query,
        events: u64,
        source: Source,
        partitions: usize,
        memory: Memory,
    ) -> Result<Self> {
        let config = SessionConfig::new().with_target_partitions(partitions);
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(limit) = memory.limit {
            runtime = runtime.with_memory_limit(limit, 1.0);
        }
        let context = SessionContext::new_with_config_rt(config, runtime.build_arc()?);
        datafusion_streaming::install(&context)?;
        if memory.disk {
            context.flink_sql("SET 'state.backend.type' = 'disk'").await?;
        }
        if query.keys > 0 {
            register(&context, "kv", Kv { keys: query.keys }, "ts", events, source)?;
        } else {
            register(&context, "bid", nexmark::Bid, "dateTime", events, source)?;
            register(&context, "auction", nexmark::Auction, "dateTime", events, source)?;
            register(&context, "person", nexmark::Person, "dateTime", events, source)?;
            context.register_batch("side_input", side_input()?)?;
            context.flink_sql("CREATE VIEW bid_now AS SELECT *, PROCTIME() AS p FROM bid").await?;
        }
        if query.mini_batch {
            for (key, value) in [("enabled", "true"), ("allow-latency", "2 s"), ("size", "50000")] {
                context.flink_sql(&format!("SET 'table.exec.mini-batch.{key}' = '{value}'")).await?;
            }
        }
        let mut job = Job { query, context, insert: None };
        if !query.update_before {
            job.insert = Some(job.create_sink().await?);
        }
        Ok(job)
    }

    /// Makes a `blackhole` table for the rows of the query: the INSERT into it.
    async fn create_sink(&self) -> Result<String> {
        let frame = self.context.flink_sql(self.query.sql).await?;
        let columns = frame.schema().fields().iter().enumerate().map(|(number, field)| {
            let data_type = FlinkType::from_field(field)?;
            Ok(format!("c{number} {data_type}"))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?.join(", ");
        let create = format!("CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole')");
        self.context.flink_sql(&create).await?;
        Ok(format!("INSERT INTO sink {}", self.query.sql))
    }

    /// Runs the query to the end of its input, as an INSERT into a `blackhole` table where its sink does
    /// without `-U` rows: the number of changes written.
    pub async fn run(&self) -> Result<usize> {
        match &self.insert {
            Some(insert) => {
                let counts = self.context.flink_sql(insert).await?.collect().await?;
                let count = |batch: &RecordBatch| {
                    batch.column(0).as_primitive::<UInt64Type>().values().iter().sum::<u64>()
                };
                Ok(counts.iter().map(count).sum::<u64>() as usize)
            }
            None => Ok(self.changes().await?.iter().sum()),
        }
    }

    /// Runs the query to the end of its input as a changelog: the number of changes of each kind, by
    /// their number.
    pub async fn changes(&self) -> Result<[usize; 4]> {
        let mut changelog = self.context.flink_sql(self.query.sql).await?.execute_changelog().await?;
        let mut counts = [0; 4];
        while let Some(changes) = changelog.next().await.transpose()? {
            match changes.kinds() {
                Some(kinds) => kinds.iter().for_each(|kind| counts[kind as usize] += 1),
                None => counts[RowKind::Insert as usize] += changes.num_rows(),
            }
        }
        Ok(counts)
    }

    /// The plan of a run.
    pub async fn explain(&self) -> Result<String> {
        let query = self.insert.as_deref().unwrap_or(self.query.sql);
        let batches = self.context.flink_sql(&format!("EXPLAIN {query}")).await?.collect().await?;
        let lines = batches.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// The table that q13 looks up: 10,000 keys and a text for each.
fn side_input() -> Result<RecordBatch> {
    let keys = Int64Array::from_iter_values(0..10_000);
    let values = StringArray::from_iter_values((0..10_000).map(|key| key.to_string()));
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("value", Arc::new(values))];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Makes an unbounded table of the rows of a generator, in the order of their time.
fn register(
    context: &SessionContext,
    name: &str,
    generator: impl Generator,
    time: &str,
    events: u64,
    source: Source,
) -> Result<()> {
    let schema = generator.schema();
    let rows = Rows { schema: Arc::clone(&schema), generator, events, source, kept: OnceLock::new() };
    let order = vec![ident(time).sort(true, false)];
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)])?
        .with_infinite_table(true)
        .with_sort_order(order);
    context.register_table(name, Arc::new(table))?;
    Ok(())
}

/// The blocks of a generator as a stream.
#[derive(Debug)]
struct Rows<G> {
    schema: SchemaRef,
    generator: G,
    events: u64,
    source: Source,
    /// The blocks in memory, from the first reading on.
    kept: OnceLock<Vec<RecordBatch>>,
}

impl<G: Generator> Rows<G> {
    fn generate(&self) -> impl Iterator<Item = Result<RecordBatch>> + use<G> {
        blocks(self.generator, self.events).map(|block| block.map(|Block { batch, .. }| batch))
    }

    fn kept(&self) -> Result<Vec<RecordBatch>> {
        match self.kept.get() {
            Some(batches) => Ok(batches.clone()),
            None => {
                let batches = self.generate().collect::<Result<Vec<_>>>()?;
                Ok(self.kept.get_or_init(|| batches).clone())
            }
        }
    }
}

impl<G: Generator> PartitionStream for Rows<G> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        if self.source == Source::Generator {
            return Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(self.generate())));
        }
        let batches: Vec<_> = match self.kept() {
            Ok(batches) => batches.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches)))
    }
}

/// A generator that a table can own.
trait Generator: Events + Copy + fmt::Debug + Send + Sync + 'static {}

impl<G: Events + Copy + fmt::Debug + Send + Sync + 'static> Generator for G {}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: u64 = 20_000;

    /// `+I -U +U -D` of the baseline at 20,000 events, without the queries whose changelog depends on the
    /// order of two inputs or of equal rows, or on when bundles end.
    const EXPECTED: &str = include_str!("expected_20k.csv");

    #[tokio::test]
    async fn jobs_emit_as_many_changes_as_flink() {
        for line in EXPECTED.lines() {
            let (name, counts) = line.split_once(',').unwrap();
            let expected: Vec<usize> = counts.split(' ').map(|count| count.parse().unwrap()).collect();
            let query = *Query::named(name).unwrap();
            let job = Job::try_new(query, EVENTS, Source::Memory, 1).await.unwrap();
            let [inserts, before, updates, deletes] = job.changes().await.unwrap();
            assert_eq!([inserts, updates, deletes], [expected[0], expected[2], expected[3]], "{name}");
            let written = if query.update_before {
                inserts + before + updates + deletes
            } else {
                inserts + updates + deletes
            };
            assert_eq!(job.run().await.unwrap(), written, "{name}");
        }
    }

    #[tokio::test]
    async fn generated_rows_are_those_in_memory() {
        let query = *Query::named("q3").unwrap();
        let job = Job::try_new(query, EVENTS, Source::Generator, 1).await.unwrap();
        assert_eq!(job.run().await.unwrap(), 125);
    }
}

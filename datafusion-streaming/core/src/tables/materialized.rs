//! The connector `materialized`: a table in memory that a continuous INSERT keeps up to date and
//! queries read as it is.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{Distribution, StreamNode, StreamTask, TableSnapshot};
use datafusion_streaming_physical_plan::state::RowLists;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::{Connector, Sink, TableDefinition, lookup};
use crate::formats::TableOptions;

/// The table: by its primary key, or without one a multiset of rows.
pub(super) struct Materialized {
    contents: Arc<Mutex<Contents>>,
}

impl fmt::Debug for Materialized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Materialized").finish_non_exhaustive()
    }
}

impl Materialized {
    pub(super) fn try_new(table: &TableDefinition) -> Result<Self> {
        let options = TableOptions::new(&table.name, &table.options);
        options.get("connector");
        lookup::read(&options)?;
        options.finish()?;
        if table.watermark.is_some() || table.columns.iter().any(|column| column.computed.is_some()) {
            return plan_err!(
                "table {}: a table with 'connector' = 'materialized' has neither computed columns nor a watermark",
                table.name
            );
        }
        let key = table.primary_key.iter().map(|column| table.physical.index_of(column));
        let key = key.collect::<Result<Vec<_>, _>>()?;
        let contents = Contents::try_new(Arc::clone(&table.physical), key)?;
        Ok(Materialized { contents: Arc::new(Mutex::new(contents)) })
    }
}

impl Connector for Materialized {
    fn name(&self) -> &'static str {
        "materialized"
    }

    fn source_mode(&self) -> Option<ChangelogMode> {
        Some(ChangelogMode::INSERT_ONLY)
    }

    fn source(&self, table: &TableDefinition, _columns: &SchemaRef) -> Result<Arc<dyn StreamNode>> {
        plan_err!("table {} is read as it is, not as a stream", table.name)
    }

    fn contents(&self) -> Result<Option<RecordBatch>> {
        self.contents.lock().batch().map(Some)
    }

    fn has_contents(&self) -> bool {
        true
    }

    /// All kinds: rows of different keys of the query may come under one primary key, and then the
    /// old content tells which of them is gone.
    fn sink_mode(&self) -> Option<ChangelogMode> {
        Some(ChangelogMode::ALL)
    }

    fn materializes(&self) -> bool {
        true
    }

    /// One partition, so that the rows of the sink at a checkpoint are those of the whole INSERT.
    fn sink_distribution(&self) -> Distribution {
        Distribution::Single
    }

    fn sink(&self, _table: &TableDefinition, task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        // an INSERT that is no job writes once, and what it wrote stays
        let job = task.environment().job.as_ref().map(|job| format!("{} {}", job.id, task.id));
        let writer = self.contents.lock().writer(job);
        Ok(Box::new(Materialize { contents: Arc::clone(&self.contents), writer }))
    }
}

struct Materialize {
    contents: Arc<Mutex<Contents>>,
    writer: Writer,
}

impl Sink for Materialize {
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        futures::future::ready(self.contents.lock().apply(self.writer, changes)).boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }

    /// The rows that the job has in the table: it may have others, of other INSERTs.
    fn snapshot(&mut self) -> BoxFuture<'_, Result<Vec<TableSnapshot>>> {
        let rows = self.contents.lock().rows_of(self.writer);
        let table = rows.map(|rows| vec![TableSnapshot { name: ROWS.to_string(), keyed: false, rows }]);
        futures::future::ready(table).boxed()
    }

    /// What an earlier start of the job wrote has gone with it.
    fn restore(&mut self, tables: Option<Vec<TableSnapshot>>) -> Result<()> {
        let mut contents = self.contents.lock();
        for table in tables.into_iter().flatten() {
            contents.apply(self.writer, &ChangelogBatch::insert_only(table.rows))?;
        }
        Ok(())
    }
}

const ROWS: &str = "rows";

/// Who wrote a row.
type Writer = u32;

/// The rows of each key in the order in which they came: the last is the one that is there, as in
/// Flink's upsert materialisation. Without a primary key all are there, and the key is the row.
struct Contents {
    schema: SchemaRef,
    has_primary_key: bool,
    rows: RowLists,
    /// By row id: who wrote the row.
    writers_of_rows: Vec<Writer>,
    /// The jobs that write into the table, and how many writers there have been.
    writers: HashMap<String, Writer>,
    next_writer: Writer,
    /// Writers whose job has started again since: what they still have on their way is void.
    retired: HashSet<Writer>,
}

impl Contents {
    fn try_new(schema: SchemaRef, primary_key: Vec<usize>) -> Result<Self> {
        let has_primary_key = !primary_key.is_empty();
        let key = if has_primary_key { primary_key } else { (0..schema.fields().len()).collect() };
        Ok(Contents {
            rows: RowLists::try_new(Arc::clone(&schema), key)?,
            schema,
            has_primary_key,
            writers_of_rows: vec![],
            writers: HashMap::new(),
            next_writer: 0,
            retired: HashSet::new(),
        })
    }

    /// A new writer. The rows of the one that its job had before are removed.
    fn writer(&mut self, job: Option<String>) -> Writer {
        let writer = self.next_writer;
        self.next_writer += 1;
        if let Some(earlier) = job.and_then(|job| self.writers.insert(job, writer)) {
            self.remove_rows_of(earlier);
            self.retired.insert(earlier);
        }
        writer
    }

    fn apply(&mut self, writer: Writer, changes: &ChangelogBatch) -> Result<()> {
        if self.retired.contains(&writer) {
            return Ok(());
        }
        let columns = changes.batch().columns();
        let slots = self.rows.intern(columns, changes.num_rows())?;
        let encoded = self.rows.encode(columns)?;
        for (row, slot) in slots.iter().enumerate() {
            let (kind, bytes) = (changes.kind(row), encoded.get(row));
            if !kind.is_retraction() {
                let id = self.rows.push(*slot, bytes)? as usize;
                self.writers_of_rows.resize(self.writers_of_rows.len().max(id + 1), writer);
                self.writers_of_rows[id] = writer;
                continue;
            }
            // a query takes back what it gave itself
            let is_own = |id: u32| self.writers_of_rows[id as usize] == writer;
            match self.rows.place_where(*slot, bytes, is_own) {
                Some(place) => self.rows.remove(*slot, place),
                // a deletion by key, whose other columns need not be those of the row
                None if kind == RowKind::Delete => self.rows.clear(*slot),
                None => {}
            }
        }
        self.rows.forget(slots);
        Ok(())
    }

    fn rows_of(&self, writer: Writer) -> Result<RecordBatch> {
        let rows = self.rows.lists().flatten().copied();
        self.batch_of(&rows.filter(|id| self.writers_of_rows[*id as usize] == writer).collect::<Vec<_>>())
    }

    fn remove_rows_of(&mut self, writer: Writer) {
        let mut changed = vec![];
        for slot in 0..self.rows.slots() as u32 {
            for place in (0..self.rows.list(slot).len()).rev() {
                if self.writers_of_rows[self.rows.list(slot)[place] as usize] == writer {
                    self.rows.remove(slot, place);
                    changed.push(slot);
                }
            }
        }
        self.rows.forget(changed);
    }

    fn batch(&self) -> Result<RecordBatch> {
        let shown = self.rows.lists().flat_map(|rows| match self.has_primary_key {
            true => &rows[rows.len().saturating_sub(1)..],
            false => rows,
        });
        self.batch_of(&shown.copied().collect::<Vec<_>>())
    }

    fn batch_of(&self, ids: &[u32]) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(ids.len()));
        let columns = self.rows.columns(ids)?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;
    use crate::{FlinkSql, install};

    async fn shown(ctx: &SessionContext, query: &str) -> Result<String> {
        let batches = ctx.sql(query).await?.collect().await?;
        let lines = datafusion_streaming_physical_plan::changelog::pretty::changelog_lines(
            &batches.into_iter().map(ChangelogBatch::insert_only).collect::<Vec<_>>(),
        )?;
        Ok(lines.join(", "))
    }

    #[tokio::test]
    async fn a_query_is_kept_up_to_date_by_key_and_as_a_multiset() -> Result<()> {
        let ctx = SessionContext::new();
        install(&ctx)?;
        for statement in [
            "CREATE TABLE by_key (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'materialized')",
            "CREATE TABLE all_rows (v INT) WITH ('connector' = 'materialized')",
            "INSERT INTO by_key SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS t (k) GROUP BY k",
            "INSERT INTO all_rows SELECT v FROM (VALUES (1), (2), (1)) AS t (v)",
        ] {
            ctx.flink_sql(statement).await?.collect().await?;
        }
        assert_eq!(shown(&ctx, "SELECT k, n FROM by_key ORDER BY k").await?, "+I a 2, +I b 1");
        assert_eq!(shown(&ctx, "SELECT v FROM all_rows ORDER BY v").await?, "+I 1, +I 1, +I 2");
        Ok(())
    }

    #[test]
    fn each_writer_goes_back_alone() -> Result<()> {
        use arrow::array::{ArrayRef, Int32Array};
        use arrow::datatypes::{DataType, Field, Schema};
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int32, false)]));
        let rows = |values: &[i32]| -> Result<ChangelogBatch> {
            let column: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
            Ok(ChangelogBatch::insert_only(RecordBatch::try_new(Arc::clone(&schema), vec![column])?))
        };
        let mut contents = Contents::try_new(Arc::clone(&schema), vec![])?;
        let (job, other) = (contents.writer(Some("job".to_string())), contents.writer(None));
        contents.apply(job, &rows(&[1, 2])?)?;
        contents.apply(other, &rows(&[2, 3])?)?;
        let saved = contents.rows_of(job)?;
        contents.apply(job, &rows(&[4])?)?;

        let contents = Arc::new(Mutex::new(contents));
        let writer = contents.lock().writer(Some("job".to_string()));
        contents.lock().apply(job, &rows(&[5])?)?;
        let mut sink = Materialize { contents: Arc::clone(&contents), writer };
        sink.restore(Some(vec![TableSnapshot { name: ROWS.to_string(), keyed: false, rows: saved }]))?;
        let shown = || -> Result<String> {
            let rows = ChangelogBatch::insert_only(contents.lock().batch()?);
            let mut lines = datafusion_streaming_physical_plan::changelog::pretty::changelog_lines([&rows])?;
            lines.sort();
            Ok(lines.join(", "))
        };
        assert_eq!(shown()?, "+I 1, +I 2, +I 2, +I 3");
        contents.lock().writer(Some("job".to_string()));
        assert_eq!(shown()?, "+I 2, +I 3");
        Ok(())
    }

    #[test]
    fn of_rows_under_one_key_the_last_that_is_left_is_there() -> Result<()> {
        use arrow::array::{AsArray, Int32Array};
        use arrow::datatypes::{DataType, Field, Int32Type, Schema};
        let schema = Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int32, false),
            Field::new("v", DataType::Int32, false),
        ]));
        let mut contents = Contents::try_new(Arc::clone(&schema), vec![0])?;
        let mut apply = |kind: RowKind, value: i32| -> Result<Vec<i32>> {
            let columns: Vec<arrow::array::ArrayRef> =
                vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![value]))];
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
            contents.apply(0, &ChangelogBatch::try_new(batch, vec![kind].into())?)?;
            Ok(contents.batch()?.column(1).as_primitive::<Int32Type>().values().to_vec())
        };
        assert_eq!(apply(RowKind::Insert, 10)?, [10]);
        assert_eq!(apply(RowKind::Insert, 11)?, [11]);
        assert_eq!(apply(RowKind::UpdateBefore, 11)?, [10]);
        assert_eq!(apply(RowKind::UpdateAfter, 12)?, [12]);
        assert_eq!(apply(RowKind::Delete, 10)?, [12]);
        assert!(apply(RowKind::Delete, 0)?.is_empty());
        Ok(())
    }
}

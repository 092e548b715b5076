//! The connector `materialized`: a table in memory that a continuous INSERT keeps up to date and
//! queries read as it is.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{StreamNode, StreamTask};
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

    fn sink(&self, _table: &TableDefinition, _task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Materialize { contents: Arc::clone(&self.contents) }))
    }
}

struct Materialize {
    contents: Arc<Mutex<Contents>>,
}

impl Sink for Materialize {
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        futures::future::ready(self.contents.lock().apply(changes)).boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }
}

/// The rows of each key in the order in which they came: the last is the one that is there, as in
/// Flink's upsert materialisation. Without a primary key all are there, and the key is the row.
struct Contents {
    schema: SchemaRef,
    has_primary_key: bool,
    rows: RowLists,
}

impl Contents {
    fn try_new(schema: SchemaRef, primary_key: Vec<usize>) -> Result<Self> {
        let has_primary_key = !primary_key.is_empty();
        let key = if has_primary_key { primary_key } else { (0..schema.fields().len()).collect() };
        Ok(Contents { rows: RowLists::try_new(Arc::clone(&schema), key)?, schema, has_primary_key })
    }

    fn apply(&mut self, changes: &ChangelogBatch) -> Result<()> {
        let columns = changes.batch().columns();
        let slots = self.rows.intern(columns, changes.num_rows())?;
        let encoded = self.rows.encode(columns)?;
        for (row, slot) in slots.iter().enumerate() {
            let (kind, bytes) = (changes.kind(row), encoded.get(row));
            if !kind.is_retraction() {
                self.rows.push(*slot, bytes)?;
                continue;
            }
            match self.rows.place_of(*slot, bytes) {
                Some(place) => self.rows.remove(*slot, place),
                // a deletion by key, whose other columns need not be those of the row
                None if kind == RowKind::Delete => self.rows.clear(*slot),
                None => {}
            }
        }
        self.rows.forget(slots);
        Ok(())
    }

    fn batch(&self) -> Result<RecordBatch> {
        let shown = self.rows.lists().flat_map(|rows| match self.has_primary_key {
            true => &rows[rows.len().saturating_sub(1)..],
            false => rows,
        });
        let ids: Vec<u32> = shown.copied().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(ids.len()));
        let columns = self.rows.columns(&ids)?;
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
            contents.apply(&ChangelogBatch::try_new(batch, vec![kind].into())?)?;
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

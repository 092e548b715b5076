//! Two tables whose changes come in one given order, and come again after a restore.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::runtime::{
    ElementStream, SourceReader, StreamElement, StreamNode, StreamTask, StreamTraits,
};
use datafusion_streaming::tables::source_plan;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

/// Changes and the table, 0 or 1, that each is of, in the order in which they come.
pub type Script = Vec<(usize, ChangelogBatch)>;

/// One of two tables that a script is about.
#[derive(Debug)]
pub struct ScriptedTable(Arc<Scripted>);

struct Scripted {
    schema: SchemaRef,
    table: usize,
    script: Script,
    /// How many changes of each table have been read.
    read: watch::Sender<[usize; 2]>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("table", &self.table).finish_non_exhaustive()
    }
}

impl ScriptedTable {
    /// Both tables.
    pub fn pair(schema: &SchemaRef, script: &Script) -> [Self; 2] {
        let read = watch::Sender::new([0, 0]);
        [0, 1].map(|table| {
            let (schema, script, read) = (Arc::clone(schema), script.clone(), read.clone());
            ScriptedTable(Arc::new(Scripted { schema, table, script, read }))
        })
    }
}

#[async_trait]
impl TableProvider for ScriptedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        source_plan(ScriptedNode(Arc::clone(&self.0)), &[], projection)
    }
}

#[derive(Debug)]
struct ScriptedNode(Arc<Scripted>);

impl StreamNode for ScriptedNode {
    fn name(&self) -> &'static str {
        "Scripted"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table=[{}]", self.0.table)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits { mode: ChangelogMode::ALL, ..StreamTraits::default() })
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_source(ScriptedReader { read: self.0.read.subscribe(), scripted: Arc::clone(&self.0) })
    }
}

struct ScriptedReader {
    scripted: Arc<Scripted>,
    read: watch::Receiver<[usize; 2]>,
}

impl ScriptedReader {
    /// The changes that are next, if they are of this table.
    fn next_changes(&self, read: [usize; 2]) -> Option<&ChangelogBatch> {
        let mut seen = [0, 0];
        for (table, changes) in &self.scripted.script {
            seen[*table] += 1;
            if seen[*table] > read[*table] {
                return (*table == self.scripted.table).then_some(changes);
            }
        }
        None
    }

    fn is_read(&self, read: [usize; 2]) -> bool {
        let of_table = self.scripted.script.iter().filter(|(table, _)| *table == self.scripted.table);
        of_table.count() <= read[self.scripted.table]
    }
}

impl SourceReader for ScriptedReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<StreamElement>>> {
        async move {
            loop {
                let read = *self.read.borrow_and_update();
                if self.is_read(read) {
                    return Ok(None);
                }
                if let Some(changes) = self.next_changes(read).cloned() {
                    let table = self.scripted.table;
                    self.scripted.read.send_modify(|read| read[table] += 1);
                    return Ok(Some(StreamElement::Data(changes)));
                }
                if self.read.changed().await.is_err() {
                    return Ok(None);
                }
            }
        }
        .boxed()
    }

    fn position(&self) -> Vec<u8> {
        self.scripted.read.borrow()[self.scripted.table].to_le_bytes().to_vec()
    }

    fn restore(&mut self, position: &[u8]) -> Result<()> {
        let bytes = position.try_into().map_err(|_| internal_datafusion_err!("no position: {position:?}"))?;
        let table = self.scripted.table;
        self.scripted.read.send_modify(|read| read[table] = usize::from_le_bytes(bytes));
        Ok(())
    }
}

//! Sinks: the roots of INSERT INTO.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, StreamElement, StreamNode, StreamTask, StreamTraits,
};
use futures::StreamExt;
use futures::future::BoxFuture;

use super::{Connector, TableDefinition};

/// Writes the changes of one partition of a query.
pub trait Sink: Send {
    /// Writes changes. Of a connector that does not take `-U` rows they have been dropped.
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>>;

    /// The query has ended: everything must be where readers find it.
    fn finish(&mut self) -> BoxFuture<'_, Result<()>>;
}

/// The root of an INSERT: yields the number of rows written when the input has ended.
#[derive(Debug, Clone)]
pub struct SinkNode {
    table: Arc<TableDefinition>,
    connector: Arc<dyn Connector>,
    mode: ChangelogMode,
    schema: SchemaRef,
}

impl SinkNode {
    /// A sink into `table`, which takes rows of the kinds in `mode`.
    pub fn new(table: Arc<TableDefinition>, connector: Arc<dyn Connector>, mode: ChangelogMode) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        SinkNode { table, connector, mode, schema }
    }
}

impl StreamNode for SinkNode {
    fn name(&self) -> &'static str {
        "Sink"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table=[{}], connector=[{}]", self.table.name, self.connector.name())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let refused = RowKind::ALL.into_iter().find(|kind| {
            // a sink that takes updates may do without their old content
            inputs[0].mode.contains(*kind) && !self.mode.contains(*kind) && *kind != RowKind::UpdateBefore
        });
        match refused {
            Some(kind) => plan_err!(
                "table {} takes only inserts, but the query gives {} rows (mode=[{}]); use a table whose connector and \
                 format take updates, such as 'format' = 'debezium-json'",
                self.table.name,
                kind.long(),
                inputs[0].mode
            ),
            None => Ok(StreamTraits::default()),
        }
    }

    fn required_upsert_key(&self, _input: usize) -> Option<Vec<usize>> {
        let key = self.table.primary_key.iter().map(|column| self.table.index_of(column).ok());
        key.collect::<Option<Vec<_>>>().filter(|key| !key.is_empty() && !self.connector.materializes())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        self.mode.contains(RowKind::UpdateBefore)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let writing = Writing {
            input: task.input(0)?,
            sink: self.connector.sink(&self.table, &task)?,
            drops_update_before: !self.mode.contains(RowKind::UpdateBefore),
            schema: Arc::clone(&self.schema),
            rows: 0,
            done: false,
        };
        Ok(Box::pin(futures::stream::unfold(writing, |mut writing| async move {
            let element = writing.step().await.transpose()?;
            writing.done |= element.is_err();
            Some((element, writing))
        })))
    }
}

struct Writing {
    input: ElementStream,
    sink: Box<dyn Sink>,
    drops_update_before: bool,
    schema: SchemaRef,
    rows: u64,
    done: bool,
}

impl Writing {
    /// Writes until there is something to pass on: a barrier, the end, or the count.
    async fn step(&mut self) -> Result<Option<StreamElement>> {
        while !self.done {
            match self.input.next().await.transpose()? {
                Some(StreamElement::Data(changes)) => {
                    let changes = match self.drops_update_before {
                        true => changes.without_update_before()?,
                        false => changes,
                    };
                    self.sink.write(&changes).await?;
                    self.rows += changes.num_rows() as u64;
                }
                Some(other) => return Ok(Some(other)),
                None => {
                    self.done = true;
                    self.sink.finish().await?;
                    let count: ArrayRef = Arc::new(UInt64Array::from(vec![self.rows]));
                    let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![count])?;
                    return Ok(Some(StreamElement::Data(ChangelogBatch::insert_only(batch))));
                }
            }
        }
        Ok(None)
    }
}

//! Watermarks from a rowtime column.

use std::fmt;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, exec_err};
use datafusion_physical_expr::PhysicalExpr;

use crate::changelog::ChangelogBatch;
use crate::expressions::specialized;
use crate::runtime::{
    Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind,
};
use crate::state::{StateTable, ValueTable};
use crate::time::{Watermark, millis_of};

/// Flink's WatermarkAssigner: the watermark is the largest value of an expression over all rows so
/// far, as with `pipeline.auto-watermark-interval` = 0: it moves with every row.
///
/// For speed it is sent once a batch. A batch is cut only in front of a row that the running
/// watermark has made late, since no other row can tell the difference: a row above the watermark is
/// late for no window, wherever the watermark stands in front of it.
#[derive(Debug, Clone)]
pub struct WatermarkAssignerNode {
    rowtime: usize,
    watermark: Arc<dyn PhysicalExpr>,
    idle_timeout: Option<i64>,
    schema: SchemaRef,
    each_row: bool,
}

impl WatermarkAssignerNode {
    /// Watermarks from the timestamp expression `watermark` over rows of `schema`, whose time
    /// attribute is the column `rowtime`. After `idle_timeout` milliseconds without rows the stream
    /// is told to be idle.
    pub fn new(
        rowtime: usize,
        watermark: Arc<dyn PhysicalExpr>,
        idle_timeout: Option<i64>,
        schema: SchemaRef,
    ) -> Self {
        WatermarkAssignerNode { rowtime, watermark, idle_timeout, schema, each_row: false }
    }

    /// The node that sends the watermark with each row that moves it, for who asks for it before the
    /// next.
    pub fn with_each_row(&self) -> Self {
        WatermarkAssignerNode { each_row: true, ..self.clone() }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        WatermarkAssigner {
            watermark: specialized(&self.watermark, &self.schema),
            node: self.clone(),
            current: ValueTable::new("watermark", 0),
            idle_at: None,
            idle: false,
        }
    }

    fn rowtime_name(&self) -> &str {
        self.schema.field(self.rowtime).name()
    }
}

impl StreamNode for WatermarkAssignerNode {
    fn name(&self) -> &'static str {
        "WatermarkAssigner"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rowtime=[{}], watermark=[{}]", self.rowtime_name(), self.watermark)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mut traits = inputs[0].clone();
        traits.time_attributes.retain(|attribute| attribute.column != self.rowtime);
        traits.time_attributes.push(TimeAttribute { column: self.rowtime, kind: TimeAttributeKind::Rowtime });
        Ok(traits)
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.watermark]
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct WatermarkAssigner {
    node: WatermarkAssignerNode,
    watermark: Arc<dyn PhysicalExpr>,
    /// The watermark sent last. It starts at the epoch, as Flink's does: no watermark is sent for
    /// times up to 1970.
    current: ValueTable,
    idle_at: Option<i64>,
    idle: bool,
}

impl Operator for WatermarkAssigner {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let rowtime = batch.column(self.node.rowtime);
        if rowtime.null_count() > 0 {
            return exec_err!(
                "the rowtime column {} is NULL in a row; a rowtime must not be NULL: fill it in a computed column, \
                 or filter such rows in a view below the table's watermark",
                self.node.rowtime_name()
            );
        }
        let rowtimes = millis_of(rowtime)?;
        let marks = self.watermark.evaluate(batch)?.into_array(batch.num_rows())?;
        let mark_millis = millis_of(&marks)?;

        let mut running = self.current.value;
        let mut start = 0;
        for row in 0..batch.num_rows() {
            if running > self.current.value && (self.node.each_row || rowtimes[row] <= running) {
                out.data(changes.slice(start, row - start));
                self.send(running, out);
                start = row;
            }
            if mark_millis[row] > running && marks.is_valid(row) {
                running = mark_millis[row];
            }
        }
        out.data(changes.slice(start, batch.num_rows() - start));
        self.send(running, out);

        self.idle = false;
        self.idle_at = self.node.idle_timeout.map(|timeout| cx.processing_time + timeout);
        Ok(())
    }

    /// Watermarks from further up do not count, but for the end of time.
    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if watermark == Watermark::MAX {
            self.idle_at = None;
            out.watermark(watermark);
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.idle_at
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.idle_at = None;
        if !self.idle {
            self.idle = true;
            out.idle();
        }
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.current]
    }
}

impl WatermarkAssigner {
    fn send(&mut self, watermark: i64, out: &mut Output) {
        if watermark > self.current.value {
            self.current.value = watermark;
            out.watermark(Watermark(watermark));
        }
    }
}

#[cfg(test)]
mod tests;

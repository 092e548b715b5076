//! Windows that emit once, at their ends.

use datafusion_common::Result;

use super::WindowAggregateNode;
use super::open::OpenWindows;
use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::{TimeWindow, Watermark, millis_of};

pub(super) struct WindowAggregate {
    node: WindowAggregateNode,
    windows: OpenWindows,
}

impl WindowAggregate {
    pub(super) fn new(node: WindowAggregateNode, windows: OpenWindows) -> Self {
        WindowAggregate { node, windows }
    }

    /// Emits the windows that are over at `now` and forgets them.
    fn fire(&mut self, now: Watermark, out: &mut Output) -> Result<()> {
        let by_end = &self.windows.by_end;
        let over: Vec<i64> =
            by_end.keys().copied().take_while(|end| self.node.has_fired(*end, now)).collect();
        let slots: Vec<u32> = over.iter().filter_map(|end| by_end.get(end)).flatten().copied().collect();
        let fired = self.windows.with_rows(&slots);
        if !fired.is_empty() {
            out.data(self.rows_of(&fired)?);
        }
        over.iter().for_each(|end| self.windows.close(*end));
        Ok(())
    }

    /// The output for the groups in `slots`.
    fn rows_of(&self, slots: &[u32]) -> Result<ChangelogBatch> {
        let node = &self.node;
        let (keys, ends) = self.windows.keys_and_ends(slots)?;
        let window = |end: i64| TimeWindow { start: node.window.assigner.start_of(end), end };
        let windows: Vec<TimeWindow> = ends.into_iter().map(window).collect();
        let values = self.windows.groups.aggregates.evaluate(slots)?;
        let rows = node.group.rows(keys, &windows, node.zone, values, &node.schema)?;
        Ok(ChangelogBatch::insert_only(rows))
    }
}

impl Operator for WindowAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let ends = millis_of(changes.batch().column(self.node.window_end))?.into_owned();
        let is_late = |end| self.node.window.rowtime && self.node.has_fired(end, cx.watermark);
        let (changes, ends) = self.windows.on_time(changes, ends, is_late, cx)?;
        if changes.num_rows() > 0 {
            self.windows.fold(&changes, ends)?;
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.node.window.rowtime {
            self.fire(watermark, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        let first = self.windows.by_end.first_key_value().filter(|_| !self.node.window.rowtime);
        first.map(|(end, _)| self.node.zone.over_at(*end))
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.fire(Watermark(cx.processing_time - 1), out)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.windows]
    }
}

//! Telling late rows from others.

use arrow::array::BooleanArray;
use arrow::datatypes::Schema;
use datafusion_common::Result;

use crate::changelog::ChangelogBatch;
use crate::operators::session::{SessionTvfNode, Sessions};
use crate::operators::window_tvf::WindowTvfNode;
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::Watermark;

/// Rows that are late for all of their windows: those whose last window takes no rows any more.
pub(super) struct LateForWindows {
    windows: WindowTvfNode,
    lateness: i64,
}

impl LateForWindows {
    pub(super) fn new(windows: WindowTvfNode, lateness: i64) -> Self {
        LateForWindows { windows, lateness }
    }
}

impl Operator for LateForWindows {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let (assigner, zone) = (self.windows.assigner(), self.windows.zone());
        let is_late = |time: &i64| {
            let last = assigner.last_end(*time);
            last.is_some_and(|end| zone.has_passed(end.saturating_add(self.lateness), cx.watermark.0))
        };
        let times = self.windows.times(changes.batch())?;
        let late: BooleanArray = times.iter().map(|time| Some(is_late(time))).collect();
        cx.metrics.late_rows.add(late.true_count());
        out.data(changes.filter(&late)?);
        Ok(())
    }
}

/// Rows that join no session that takes rows, and whose own takes none any more.
pub(super) struct LateForSessions {
    node: SessionTvfNode,
    sessions: Sessions,
}

impl LateForSessions {
    pub(super) fn try_new(node: SessionTvfNode, input: &Schema) -> Result<Self> {
        Ok(LateForSessions { sessions: node.sessions(input)?, node })
    }
}

impl Operator for LateForSessions {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let (zone, watermark) = (self.node.windows().zone(), cx.watermark);
        let has_passed = |end| zone.has_passed(end, watermark.0);
        let times = self.node.windows().times(changes.batch())?;
        let keys = self.node.keys_of(changes.batch(), &mut self.sessions)?;
        let (mut late, mut late_keys) = (vec![], vec![]);
        for (row, (key, time)) in (0u32..).zip(keys.into_iter().zip(times.iter())) {
            match self.sessions.place(key, *time, has_passed) {
                None => {
                    late.push(row);
                    late_keys.push(key);
                }
                Some(placed) if has_passed(self.sessions.window(placed.slot).end) => {
                    self.sessions.set_fired(placed.slot);
                }
                Some(placed) if placed.before.is_some() && self.sessions.has_fired(placed.slot) => {
                    self.sessions.await_end(placed.slot);
                }
                Some(_) => {}
            }
        }
        cx.metrics.late_rows.add(late.len());
        self.sessions.forget_unused(late_keys);
        if !late.is_empty() {
            out.data(changes.take(&late)?);
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let zone = self.node.windows().zone();
        self.sessions.pass(|end| zone.has_passed(end, watermark.0));
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.sessions]
    }
}

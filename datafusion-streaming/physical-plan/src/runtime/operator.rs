//! The operator trait.

use std::collections::VecDeque;

use datafusion_common::Result;

use super::{BarrierId, OperatorMetrics, StreamElement};
use crate::changelog::ChangelogBatch;
use crate::state::StateTable;
use crate::time::Watermark;

/// A streaming operator: rows and watermarks in, rows and watermarks out.
///
/// Pure: no async, no clock, no session. All state is in [`Operator::tables`], from which the
/// driver sums the memory and makes the snapshots, so that an operator can be dropped after a
/// barrier and built anew from its tables.
pub trait Operator: Send {
    /// Rows of the input `port`.
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()>;

    /// Event time has come to `watermark`, over all inputs. An operator that holds no rows back
    /// passes it on, as the default does; one that does, emits what is due first.
    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let _ = cx;
        out.watermark(watermark);
        Ok(())
    }

    /// What is held back for efficiency only (mini-batch bundles) must go out now.
    fn flush(&mut self, why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let _ = (why, cx, out);
        Ok(())
    }

    /// The processing time in milliseconds at which [`Operator::on_timer`] wants to be called;
    /// asked after every call.
    fn next_timer(&self) -> Option<i64> {
        None
    }

    /// Processing time has reached [`Operator::next_timer`].
    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let _ = (cx, out);
        Ok(())
    }

    /// Whether no input can change the output any more: the operator then ends, and its inputs are
    /// dropped. Asked after every call, and after a restore.
    fn is_done(&self) -> bool {
        false
    }

    /// All state that must survive a restart, always in the same order.
    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![]
    }
}

impl<O: Operator + ?Sized> Operator for Box<O> {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        (**self).process(port, changes, cx, out)
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        (**self).on_watermark(watermark, cx, out)
    }

    fn flush(&mut self, why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        (**self).flush(why, cx, out)
    }

    fn next_timer(&self) -> Option<i64> {
        (**self).next_timer()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        (**self).on_timer(cx, out)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        (**self).tables()
    }
}

/// Why [`Operator::flush`] is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The snapshot of a checkpoint follows.
    Barrier,
    /// All inputs have ended.
    End,
}

/// What an operator may know of the outside during a call.
#[derive(Debug)]
pub struct Context<'a> {
    /// Processing time in milliseconds, the same for the whole call.
    pub processing_time: i64,
    /// The merged watermark of the inputs before this call; [`Watermark::MIN`] at first.
    pub watermark: Watermark,
    /// Counters to bump: late rows, ignored retractions.
    pub metrics: &'a OperatorMetrics,
}

/// What an operator emits, in order.
#[derive(Debug)]
pub struct Output {
    elements: VecDeque<StreamElement>,
    batch_size: usize,
    watermark: Watermark,
    /// While the operator is told a watermark in portions, the one that it passes on.
    held: Option<Option<Watermark>>,
}

impl Output {
    /// An output whose batches have at most `batch_size` rows.
    pub fn new(batch_size: usize) -> Self {
        Output {
            elements: VecDeque::new(),
            batch_size: batch_size.max(1),
            watermark: Watermark::MIN,
            held: None,
        }
    }

    /// Rows. Empty batches are dropped, larger ones than the batch size are cut.
    pub fn data(&mut self, changes: ChangelogBatch) {
        let rows = changes.num_rows();
        if rows <= self.batch_size {
            if rows > 0 {
                self.elements.push_back(StreamElement::Data(changes));
            }
            return;
        }
        for start in (0..rows).step_by(self.batch_size) {
            let slice = changes.slice(start, self.batch_size.min(rows - start));
            self.elements.push_back(StreamElement::Data(slice));
        }
    }

    /// A watermark. One that does not advance the last is dropped.
    pub fn watermark(&mut self, watermark: Watermark) {
        if let Some(held) = &mut self.held {
            *held = Some(held.map_or(watermark, |held| held.min(watermark)));
            return;
        }
        if watermark > self.watermark {
            self.watermark = watermark;
            self.elements.push_back(StreamElement::Watermark(watermark));
        }
    }

    /// The last watermark emitted.
    pub fn last_watermark(&self) -> Watermark {
        self.watermark
    }

    /// Holds watermarks back until [`Output::release`].
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert(None);
    }

    /// Puts the least of the watermarks out that were held back.
    pub(super) fn release(&mut self) {
        if let Some(Some(watermark)) = self.held.take() {
            self.watermark(watermark);
        }
    }

    pub(super) fn barrier(&mut self, barrier: BarrierId) {
        self.elements.push_back(StreamElement::Barrier(barrier));
    }

    pub(crate) fn idle(&mut self) {
        self.elements.push_back(StreamElement::Idle);
    }

    /// The next element.
    pub fn pop(&mut self) -> Option<StreamElement> {
        self.elements.pop_front()
    }
}

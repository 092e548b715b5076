//! Late rows within the allowed lateness: they update what their windows have emitted.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::Field;
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::GroupColumn;
use super::operator::WindowAggregate;
use crate::changelog::ChangelogBatch;
use crate::operators::group_aggregate::emit::{Emission, emit};
use crate::runtime::{Context, Output};
use crate::time::millis_of;

impl WindowAggregate {
    /// Folds the rows of windows that have fired and emits what they change; returns the others.
    pub(super) fn update_fired(
        &mut self,
        changes: ChangelogBatch,
        cx: &Context<'_>,
        out: &mut Output,
    ) -> Result<ChangelogBatch> {
        let ends = millis_of(changes.batch().column(self.node.window_end))?;
        let fired: BooleanArray = ends.iter().map(|end| Some(self.has_fired(*end, cx.watermark))).collect();
        if fired.true_count() == 0 {
            return Ok(changes);
        }
        let late = changes.filter(&fired)?;
        let others: BooleanArray = fired.iter().map(|fired| fired.map(|fired| !fired)).collect();
        if let Some(output) = self.updates_of(late, cx)? {
            out.data(output);
        }
        changes.filter(&others)
    }

    fn updates_of(&mut self, late: ChangelogBatch, cx: &Context<'_>) -> Result<Option<ChangelogBatch>> {
        let all_ends = millis_of(late.batch().column(self.node.window_end))?;
        let slots = self.intern(&late, &all_ends)?;
        let retractions = late.kinds().map(|kinds| kinds.retractions());
        let is_retraction = |row: usize| retractions.as_ref().is_some_and(|retractions| retractions[row]);
        let (mut kept, mut fates) = (vec![], vec![]);
        for (row, slot) in slots.iter().enumerate() {
            let counts = self.windows.groups.counts.as_deref().unwrap_or_default();
            // as registered: one more than there are rows
            let fate = match (counts[*slot as usize], is_retraction(row)) {
                (0 | 1, true) => {
                    cx.metrics.ignored_retractions.add(1);
                    continue;
                }
                (0 | 1, false) => Fate::First,
                (2, true) => Fate::Last,
                _ => Fate::Update,
            };
            self.windows.register(&[*slot], &[all_ends[row]], Some(&[is_retraction(row)]));
            kept.push(row as u32);
            fates.push(fate);
        }
        let late = late.take(&kept)?;
        let slots: Vec<u32> = kept.iter().map(|row| slots[*row as usize]).collect();
        let ends = millis_of(late.batch().column(self.node.window_end))?;
        let retract = late.kinds().map(|kinds| kinds.retractions());
        let layout = OutputLayout::Pairs;
        let aggregates = &mut self.windows.groups.aggregates;
        let folded = aggregates.fold(late.batch(), &slots, retract.as_deref(), &fates, layout)?;
        let column = |(column, field): (&GroupColumn, &Arc<Field>)| -> Result<ArrayRef> {
            Ok(match (column, self.window_column(*column, &ends, field.data_type())?) {
                (_, Some(column)) => column,
                (GroupColumn::Key(key), None) => Arc::clone(late.batch().column(*key)),
                (_, None) => Arc::clone(late.batch().column(self.node.window_end)),
            })
        };
        let keys =
            self.node.group.iter().zip(self.node.schema.fields()).map(column).collect::<Result<_>>()?;
        emit(Emission { keys, folded, fates: &fates, layout, unchanged: false }, &self.node.schema)
    }
}

//! Rows that wait, are matched, and come out as matches.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};

use super::MatchRecognizeNode;
use super::buffer::{CurrentRow, MatchBuffer, NodeId};
use super::conditions::{Asked, Candidate, Condition, Conditions, DueRow};
use super::expressions::FoundMatches;
use super::matcher::{Matcher, Scratch};
use super::state::{Due, MatchState};
use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, Flush, Operator, Output, TimeAttributeKind};
use crate::state::{RowStore, SortKeys, StateTable};
use crate::time::{Watermark, millis_of};

pub(super) struct MatchRecognize {
    node: MatchRecognizeNode,
    matcher: Arc<Matcher>,
    conditions: Vec<Condition>,
    order: SortKeys,
    state: MatchState,
    scratch: Scratch,
}

impl MatchRecognize {
    pub fn try_new(node: MatchRecognizeNode) -> Result<Self> {
        let types: Vec<DataType> =
            node.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let conditions = node.definitions.iter().cloned().enumerate();
        let matcher = Arc::new(Matcher::new(node.pattern.clone(), node.after, node.within));
        Ok(MatchRecognize {
            conditions: conditions
                .map(|(variable, definition)| Condition::new(variable, definition))
                .collect(),
            order: SortKeys::try_new(node.then_by.clone(), &types)?,
            state: MatchState::try_new(&node, Arc::clone(&matcher))?,
            scratch: Scratch::default(),
            matcher,
            node,
        })
    }

    /// Takes rows in: they wait, or are late.
    fn admit(&mut self, batch: &RecordBatch, cx: &Context<'_>) -> Result<()> {
        let column = batch.column(self.node.time);
        if column.null_count() > 0 {
            return exec_err!(
                "the rowtime {} is NULL in a row of MATCH_RECOGNIZE; filter such rows out before",
                self.node.time_name()
            );
        }
        let times = millis_of(column)?;
        let slots = self.state.intern(batch.columns(), batch.num_rows())?;
        let mut late = 0;
        self.state.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            if times[row] > cx.watermark.0 {
                self.state.wait(times[row], slot, row);
            } else {
                late += 1;
                self.state.touched.push(slot);
            }
        }
        cx.metrics.late_rows.add(late);
        self.state.clean_up()
    }

    /// Matches rows that are due, in the order of their times, and puts out what is found up to `time`.
    fn match_rows(
        &mut self,
        due: Vec<(i64, Due)>,
        time: Option<i64>,
        cx: &Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let due = self.sorted(due)?;
        let mut found = FoundMatches::new(cx.processing_time);
        let rows: Vec<DueRow> = due
            .iter()
            .map(|(time, due)| DueRow { place: self.state.store.place(due.row), time: *time })
            .collect();
        self.match_in_rounds(&due, &rows, &mut found)?;
        if let Some(time) = time {
            for slot in self.state.overdue(time) {
                self.advance(slot, time, due.len(), &mut found)?;
                self.state.touched.push(slot);
            }
        }
        self.emit(found, out)?;
        self.state.touched.extend(due.iter().map(|(_, due)| due.slot));
        self.state.clean_up()
    }

    /// The rows with those of the same time in the order of the other columns of ORDER BY.
    fn sorted(&self, due: Vec<(i64, Due)>) -> Result<Vec<(i64, Due)>> {
        if self.node.then_by.is_empty() || due.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            return Ok(due);
        }
        let rows = self.state.store.rows(&due.iter().map(|(_, due)| due.row).collect::<Vec<_>>())?;
        let keys = self.order.encode(rows.columns(), rows.num_rows())?;
        let mut order: Vec<usize> = (0..due.len()).collect();
        order.sort_by(|left, right| (due[*left].0, keys.row(*left)).cmp(&(due[*right].0, keys.row(*right))));
        Ok(order.into_iter().map(|row| due[row]).collect())
    }

    /// Matches rows. Where conditions look back, that is in rounds, the first row of each key, the second,
    /// and so on: what the conditions look back at is then known for all rows of a round, and they are
    /// evaluated together.
    fn match_in_rounds(
        &mut self,
        due: &[(i64, Due)],
        rows: &[DueRow],
        found: &mut FoundMatches,
    ) -> Result<()> {
        let looks_back = self.conditions.iter().any(Condition::looks_back);
        let rounds = match looks_back {
            true => self.state.rounds(due),
            false => vec![(0..due.len()).collect()],
        };
        let MatchState { store, matches, buffer, deadlines, held, sequence, .. } = &mut self.state;
        let scratch = &mut self.scratch;
        let Some(mut conditions) = Conditions::new(&self.conditions, store, rows, found.processing_time)
        else {
            return Ok(());
        };
        let start = self.matcher.start();
        let mut candidates: Vec<Vec<Candidate>> = vec![vec![]; self.conditions.len()];
        for round in rounds {
            if looks_back {
                candidates.iter_mut().for_each(Vec::clear);
                for place in &round {
                    let (time, due) = due[*place];
                    let key = &mut matches[due.slot as usize];
                    *held -= key.len();
                    self.matcher.advance(key, time, buffer, &mut on_match(found, store, *place, time))?;
                    *held += key.len();
                    for partial in self.matcher.partials(key, &start) {
                        for variable in &self.matcher.nfa.state(partial.state).checks {
                            if self.conditions[*variable as usize].looks_back() {
                                let candidate = Candidate { node: partial.node, current: rows[*place] };
                                candidates[*variable as usize].push(candidate);
                            }
                        }
                    }
                }
                conditions.start_round(&candidates, buffer);
            }
            for place in round {
                let (time, due) = due[place];
                let key = &mut matches[due.slot as usize];
                *held -= key.len();
                let mut on_match = on_match(found, store, place, time);
                self.matcher.advance(key, time, buffer, &mut on_match)?;
                conditions.set_current(place, rows[place]);
                let mut current = CurrentRow::new(due.row, *sequence + place as u64, time);
                let mut asked = Asked { conditions: &mut conditions, nfa: &self.matcher.nfa };
                self.matcher.step(key, &mut current, buffer, scratch, &mut asked, &mut on_match)?;
                *held += key.len();
                if !current.is_taken() {
                    buffer.drop_row(due.row);
                } else if let Some(deadline) = self.matcher.deadline(time) {
                    deadlines.push(deadline, due.slot);
                }
            }
        }
        *sequence += due.len() as u64;
        Ok(())
    }

    /// Drops the matches of a key that take too long, at `time`.
    fn advance(&mut self, slot: u32, time: i64, order: usize, found: &mut FoundMatches) -> Result<()> {
        let MatchState { store, matches, buffer, held, .. } = &mut self.state;
        let key = &mut matches[slot as usize];
        // at the end of time, the time of a match is when what it waited for had taken too long
        let rowtime = match time {
            i64::MAX => self.matcher.overdue(key, time).max().unwrap_or(time),
            time => time,
        };
        *held -= key.len();
        self.matcher.advance(key, time, buffer, &mut on_match(found, store, order, rowtime))?;
        *held += key.len();
        Ok(())
    }

    /// Puts out matches as rows.
    fn emit(&self, mut found: FoundMatches, out: &mut Output) -> Result<()> {
        found.sort();
        let firsts = found.first_rows();
        if firsts.is_empty() {
            return Ok(());
        }
        let store = &self.state.store;
        let keys = self.node.keys.iter().map(|key| store.gather_column(*key, &firsts));
        let mut columns: Vec<ArrayRef> = keys.collect::<Result<_>>()?;
        columns.extend(self.node.measures.evaluate(&found, store)?);
        out.data(ChangelogBatch::insert_only(RecordBatch::try_new(Arc::clone(&self.node.schema), columns)?));
        Ok(())
    }

    /// Whether rows of the same processing time are put in an order, and so wait for the next
    /// millisecond.
    fn waits_for_clock(&self) -> bool {
        self.node.kind == TimeAttributeKind::Proctime && !self.node.then_by.is_empty()
    }
}

/// Keeps the rows of matches as they are found.
fn on_match<'a>(
    found: &'a mut FoundMatches,
    store: &'a RowStore,
    order: usize,
    time: i64,
) -> impl FnMut(NodeId, &MatchBuffer) + 'a {
    move |end, buffer| {
        let row = |node: NodeId| {
            let node = buffer.node(node);
            (node.variable, store.place(buffer.event(node.event).row))
        };
        found.push(order, time, buffer.back_from(end).map(row));
    }
}

impl Operator for MatchRecognize {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        if self.node.kind == TimeAttributeKind::Rowtime {
            return self.admit(batch, cx);
        }
        let slots = self.state.intern(batch.columns(), batch.num_rows())?;
        self.state.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            self.state.wait(cx.processing_time, slot, row);
        }
        if self.waits_for_clock() {
            return self.state.store.close();
        }
        let due = self.state.due_until(i64::MAX);
        self.match_rows(due, None, cx, out)
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.node.kind == TimeAttributeKind::Rowtime {
            let due = self.state.due_until(watermark.0);
            self.match_rows(due, Some(watermark.0), cx, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn flush(&mut self, why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if why == Flush::End && self.waits_for_clock() {
            let due = self.state.due_until(i64::MAX);
            self.state.find_first_waiting();
            self.match_rows(due, None, cx, out)?;
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.waits_for_clock().then(|| self.state.first_waiting())?.map(|time| time.saturating_add(1))
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.waits_for_clock() {
            let due = self.state.due_until(cx.processing_time.saturating_sub(1));
            self.state.find_first_waiting();
            self.match_rows(due, None, cx, out)?;
        }
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.state]
    }
}

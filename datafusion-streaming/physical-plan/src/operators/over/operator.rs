//! Rows that wait, and what becomes of them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBufferBuilder, Int64Array, RecordBatch, RecordBatchOptions,
    UInt32Array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{Result, ScalarValue, exec_err, internal_err};
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::around::Around;
use super::call::shifted_column;
use super::state::{Due, NO_ROW, OverState};
use super::{OverCall, OverFrame, OverNode};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::AggregateCall;
use crate::runtime::{Context, Operator, Output, TimeAttributeKind};
use crate::state::{Place, StateTable};
use crate::time::{Watermark, millis_of};

pub(super) struct Over {
    pub(super) node: OverNode,
    pub(super) state: OverState,
    /// The columns that aggregates read.
    arguments: Vec<usize>,
    arguments_schema: SchemaRef,
    /// The farthest row that LAG looks back at.
    look_back: Option<usize>,
    /// Where rows wait for those behind them.
    around: Option<Around>,
}

/// Rows that are released, in order.
#[derive(Default)]
pub(super) struct Released {
    pub rows: Vec<(i64, Due)>,
    pub places: Vec<Place>,
}

impl Released {
    /// The runs of rows of the same key and time.
    fn runs(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let key = |row: usize| (self.rows[row].0, self.rows[row].1.slot);
        let mut start = 0;
        std::iter::from_fn(move || {
            let first = start;
            if first == self.rows.len() {
                return None;
            }
            start += 1;
            while start < self.rows.len() && key(start) == key(first) {
                start += 1;
            }
            Some(first..start)
        })
    }
}

/// What the aggregates of bounded frames fold: rows that come and rows that leave.
#[derive(Default)]
pub(super) struct Script {
    pub places: Vec<Place>,
    slots: Vec<u32>,
    retractions: Vec<bool>,
    /// Lines that only ask for the values of their slot.
    questions: Vec<u32>,
    /// For each released row, the line after which the aggregates have its values.
    pub answers: Vec<u32>,
}

impl Script {
    pub(super) fn push(&mut self, place: Place, slot: u32, retraction: bool) {
        self.places.push(place);
        self.slots.push(slot);
        self.retractions.push(retraction);
    }

    /// Asks for the values of a slot. The row at the place is not folded.
    pub(super) fn push_question(&mut self, place: Place, slot: u32) {
        self.questions.push(self.places.len() as u32);
        self.push(place, slot, false);
    }
}

impl Over {
    pub(super) fn try_new(node: OverNode) -> Result<Self> {
        let aggregates = node.calls.iter().filter_map(|call| match call {
            OverCall::Aggregate(call) => Some(call),
            _ => None,
        });
        let mut arguments: Vec<usize> = vec![];
        let mut calls: Vec<AggregateCall> = vec![];
        let around = Around::of(&node);
        for call in aggregates {
            arguments.extend(call.args.iter().chain(&call.filter));
            let mut call = call.clone();
            if around.is_some() {
                // behind the columns of the input is the mask of a script
                call.filter = Some(node.input.fields().len());
            }
            calls.push(call);
        }
        arguments.sort_unstable();
        arguments.dedup();
        let look_backs = node.calls.iter().filter_map(|call| match call {
            OverCall::Lag { offset, .. } => Some(*offset),
            _ => None,
        });
        let look_back = look_backs.max();
        if look_back.is_some() && node.frame.is_bounded() {
            return internal_err!("LAG over a bounded frame");
        }
        if around.is_some() && node.kind == TimeAttributeKind::Proctime {
            return internal_err!("a frame that ends behind the row, by processing time");
        }
        let state = OverState::try_new(node.clone(), &calls)?;
        let arguments_schema = Arc::new(Schema::new(node.input.fields().clone()));
        Ok(Over { node, state, arguments, arguments_schema, look_back, around })
    }

    /// Takes rows in: they wait, or are late.
    fn admit(&mut self, batch: &RecordBatch, cx: &Context<'_>) -> Result<()> {
        let column = batch.column(self.node.time);
        if column.null_count() > 0 {
            return exec_err!(
                "the rowtime {} is NULL in a row of an OVER aggregation; filter such rows out before",
                self.node.input.field(self.node.time).name()
            );
        }
        let times = millis_of(column)?;
        let state = &mut self.state;
        let slots = state.intern(batch.columns(), batch.num_rows())?;
        let is_bounded = self.node.frame.is_bounded();
        let mut late = 0;
        state.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            let time = times[row];
            let bound = if is_bounded { state.positions[slot as usize].last } else { cx.watermark.0 };
            if time <= bound {
                late += 1;
                continue;
            }
            let id = state.store.add(row);
            state.waiting.push(time, Due { slot, row: id });
            state.expiry.touch(slot, cx.processing_time);
            if let OverFrame::Range(preceding) = self.node.frame {
                let position = &mut state.positions[slot as usize];
                let no_sooner = time.saturating_add(preceding + 1);
                if position.clean_up == i64::MAX || position.clean_up < no_sooner {
                    position.clean_up = no_sooner.saturating_add(preceding / 2);
                    state.waiting.push(position.clean_up, Due { slot, row: NO_ROW });
                }
            }
        }
        cx.metrics.late_rows.add(late);
        state.store.close()
    }

    /// The due rows up to a time, in the order of time and key.
    fn due(&mut self, until: i64) -> Released {
        let state = &mut self.state;
        let mut due: Vec<(i64, Due)> = state.waiting.pop_until(until).collect();
        if !self.node.keys.is_empty() && self.node.frame.has_peers() {
            due.sort_by_key(|(time, due)| (*time, due.slot));
        }
        if matches!(self.node.frame, OverFrame::Range(_)) {
            let mut rows = Vec::with_capacity(due.len());
            for (time, due) in due {
                let position = &mut state.positions[due.slot as usize];
                if position.clean_up <= time {
                    // the rows released before are still to be folded: the key is forgotten behind them
                    rows.push((time, Due { row: NO_ROW, ..due }));
                    position.clean_up = i64::MAX;
                    position.last = 0;
                } else {
                    position.last = time;
                    if due.row != NO_ROW {
                        rows.push((time, due));
                    }
                }
            }
            due = rows;
        } else if self.node.frame.is_bounded() {
            for (time, due) in &due {
                state.positions[due.slot as usize].last = *time;
            }
        }
        let places =
            due.iter().filter(|(_, due)| due.row != NO_ROW).map(|(_, due)| state.store.place(due.row));
        Released { places: places.collect(), rows: due }
    }

    /// The output for released rows.
    fn answer(&mut self, released: Released, out: &mut Output) -> Result<()> {
        if released.rows.is_empty() {
            return Ok(());
        }
        // a key that is forgotten must not take part in the fold of what follows
        let mut rest = released.rows.as_slice();
        let mut places = released.places.as_slice();
        while !rest.is_empty() {
            let count = rest.iter().position(|(_, due)| due.row == NO_ROW).unwrap_or(rest.len());
            let part = Released { rows: rest[..count].to_vec(), places: places[..count].to_vec() };
            if count > 0 {
                let rows = self.outputs_of(&part)?;
                out.data(ChangelogBatch::insert_only(rows));
            }
            places = &places[count..];
            if let Some((_, due)) = rest.get(count) {
                let (last, clean_up) = {
                    let position = &self.state.positions[due.slot as usize];
                    (position.last, position.clean_up)
                };
                self.state.forget(due.slot);
                let position = &mut self.state.positions[due.slot as usize];
                (position.last, position.clean_up) = (last, clean_up);
            }
            rest = &rest[(count + 1).min(rest.len())..];
        }
        self.state.store.close()
    }

    fn outputs_of(&mut self, released: &Released) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.node.schema.fields().len());
        for column in 0..self.node.width {
            columns.push(self.state.store.gather_column(column, &released.places)?);
        }
        let aggregates = match self.node.frame.is_bounded() {
            true => self.fold_bounded(released)?,
            false => self.fold_unbounded(released, &columns)?,
        };
        let lags = self.lags(released)?;
        let columns = self.with_results(columns, released, aggregates, lags)?;
        if !self.state.keeps_rows() {
            for (_, due) in &released.rows {
                self.state.store.remove(due.row);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(released.rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?)
    }

    /// The columns of the output: those passed on, and behind them the results of the calls, given those of
    /// the aggregates and of LAG and LEAD.
    pub(super) fn with_results(
        &mut self,
        mut columns: Vec<ArrayRef>,
        released: &Released,
        aggregates: Vec<ArrayRef>,
        shifted: Vec<ArrayRef>,
    ) -> Result<Vec<ArrayRef>> {
        let (mut aggregates, mut shifted) = (aggregates.into_iter(), shifted.into_iter());
        let numbers = self.numbers(released);
        for call in &self.node.calls {
            let values = match call {
                OverCall::Aggregate(_) => aggregates.next(),
                OverCall::Lag { .. } | OverCall::Lead { .. } => shifted.next(),
                OverCall::RowNumber => Some(Arc::new(Int64Array::from(numbers[0].clone())) as ArrayRef),
                OverCall::Rank => Some(Arc::new(Int64Array::from(numbers[1].clone())) as ArrayRef),
                OverCall::DenseRank => Some(Arc::new(Int64Array::from(numbers[2].clone())) as ArrayRef),
            };
            let Some(values) = values else { return internal_err!("an OVER call without values") };
            let expected = self.node.schema.field(columns.len()).data_type();
            columns.push(if values.data_type() == expected { values } else { cast(&values, expected)? });
        }
        Ok(columns)
    }

    /// A batch that has the columns that the aggregates read, of the rows at these places.
    fn arguments_of(&self, places: &[Place], known: &[ArrayRef]) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.arguments_schema.fields().len());
        let mut fields = Vec::with_capacity(columns.capacity());
        for (column, field) in self.arguments_schema.fields().iter().enumerate() {
            let array = match (known.get(column), self.arguments.binary_search(&column)) {
                (Some(array), _) => Arc::clone(array),
                (None, Ok(_)) => self.state.store.gather_column(column, places)?,
                // not read: the cheapest column there is
                (None, Err(_)) => Arc::new(arrow::array::NullArray::new(places.len())) as ArrayRef,
            };
            fields.push(field.as_ref().clone().with_data_type(array.data_type().clone()).with_nullable(true));
            columns.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    fn has_aggregates(&self) -> bool {
        self.node.calls.iter().any(|call| matches!(call, OverCall::Aggregate(_)))
    }

    fn fold_unbounded(&mut self, released: &Released, known: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if !self.has_aggregates() {
            return Ok(vec![]);
        }
        let batch = self.arguments_of(&released.places, known)?;
        let slots: Vec<u32> = released.rows.iter().map(|(_, due)| due.slot).collect();
        let fates = vec![Fate::Update; slots.len()];
        let folded = self.state.aggregates.fold(&batch, &slots, None, &fates, OutputLayout::Single)?.values;
        if !self.node.frame.has_peers() {
            return Ok(folded);
        }
        let mut last_peers = Vec::with_capacity(slots.len());
        for run in released.runs() {
            last_peers.resize(run.end, run.end as u32 - 1);
        }
        let last_peers = UInt32Array::from(last_peers);
        folded.iter().map(|values| Ok(take(values, &last_peers, None)?)).collect()
    }

    fn fold_bounded(&mut self, released: &Released) -> Result<Vec<ArrayRef>> {
        let mut script = Script::default();
        for run in released.runs() {
            let (time, Due { slot, .. }) = released.rows[run.start];
            if let OverFrame::Range(preceding) = self.node.frame {
                let state = &mut self.state;
                while let Some((oldest, _)) = state.frames[slot as usize].front()
                    && time.saturating_sub(*oldest) > preceding
                    && let Some(left) = state.pop_frame(slot)
                {
                    script.push(state.store.place(left), slot, true);
                    state.store.remove(left);
                }
            }
            for row in run.clone() {
                let state = &mut self.state;
                if let OverFrame::Rows(preceding) = self.node.frame
                    && state.frames[slot as usize].len() > preceding
                    && let Some(left) = state.pop_frame(slot)
                {
                    script.push(state.store.place(left), slot, true);
                    state.store.remove(left);
                }
                state.push_frame(slot, time, released.rows[row].1.row);
                script.push(released.places[row], slot, false);
                script.answers.push(script.places.len() as u32 - 1);
            }
            if self.node.frame.has_peers() {
                let last = script.places.len() as u32 - 1;
                script.answers[run].fill(last);
            }
        }
        match self.has_aggregates() {
            true => self.fold_script(script),
            false => Ok(vec![]),
        }
    }

    /// The values of the aggregates for each released row.
    pub(super) fn fold_script(&mut self, script: Script) -> Result<Vec<ArrayRef>> {
        let lines = script.places.len();
        let mut batch = self.arguments_of(&script.places, &[])?;
        if self.around.is_some() {
            let mut counts = BooleanBufferBuilder::new(lines);
            counts.append_n(lines, true);
            script.questions.iter().for_each(|line| counts.set_bit(*line as usize, false));
            let mask = Field::new("$counts", DataType::Boolean, false);
            let fields = batch.schema().fields().iter().cloned().chain([Arc::new(mask)]).collect::<Vec<_>>();
            let mut columns = batch.columns().to_vec();
            columns.push(Arc::new(BooleanArray::new(counts.finish(), None)));
            batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        }
        let fates = vec![Fate::Update; lines];
        let folded = self.state.aggregates.fold(
            &batch,
            &script.slots,
            Some(&script.retractions),
            &fates,
            OutputLayout::Single,
        )?;
        let answers = UInt32Array::from(script.answers);
        folded.values.iter().map(|values| Ok(take(values, &answers, None)?)).collect()
    }

    /// ROW_NUMBER, RANK and DENSE_RANK of each row.
    fn numbers(&mut self, released: &Released) -> [Vec<i64>; 3] {
        let is_number =
            |call: &OverCall| matches!(call, OverCall::RowNumber | OverCall::Rank | OverCall::DenseRank);
        if !self.node.calls.iter().any(is_number) {
            return Default::default();
        }
        let mut numbers: [Vec<i64>; 3] = Default::default();
        for (time, due) in &released.rows {
            let position = &mut self.state.positions[due.slot as usize];
            position.rows += 1;
            if position.peers != *time || position.rows == 1 {
                position.peers = *time;
                position.rank = position.rows;
                position.dense_rank += 1;
            }
            for (column, number) in
                numbers.iter_mut().zip([position.rows, position.rank, position.dense_rank])
            {
                column.push(number);
            }
        }
        numbers
    }

    /// The values of the LAG calls.
    fn lags(&mut self, released: &Released) -> Result<Vec<ArrayRef>> {
        let Some(look_back) = self.look_back else { return Ok(vec![]) };
        let offset = |call: &OverCall| match call {
            OverCall::Lag { offset, .. } => Some(*offset),
            _ => None,
        };
        let offsets: Vec<usize> = self.node.calls.iter().filter_map(offset).collect();
        let rows = released.rows.len();
        let mut found: Vec<Vec<Option<Place>>> = vec![Vec::with_capacity(rows); offsets.len()];
        let mut answer = |state: &mut OverState, run: std::ops::Range<usize>| {
            let (time, Due { slot, .. }) = released.rows[run.start];
            for row in run.clone() {
                state.push_frame(slot, time, released.rows[row].1.row);
            }
            let recent = &state.frames[slot as usize];
            for (found, offset) in found.iter_mut().zip(&offsets) {
                let before = recent.len().checked_sub(offset + 1).map(|place| recent[place].1);
                found.resize(run.end, before.map(|row| state.store.place(row)));
            }
            while state.frames[slot as usize].len() > look_back
                && let Some(row) = state.pop_frame(slot)
            {
                state.store.remove(row);
            }
        };
        if self.node.frame.has_peers() {
            for run in released.runs() {
                answer(&mut self.state, run);
            }
        } else {
            for row in 0..rows {
                answer(&mut self.state, row..row + 1);
            }
        }
        self.shifted_values(&found, &released.places)
    }

    /// The values of the LAG and LEAD calls, given where those of each call are, and the rows.
    pub(super) fn shifted_values(
        &self,
        found: &[Vec<Option<Place>>],
        own: &[Place],
    ) -> Result<Vec<ArrayRef>> {
        let shifts = self.node.calls.iter().filter_map(OverCall::as_shift);
        let values = |(found, (column, default)): (&Vec<Option<Place>>, (usize, Option<&ScalarValue>))| {
            shifted_column(&self.state.store, column, found, own, default)
        };
        found.iter().zip(shifts).map(values).collect()
    }
}

impl Operator for Over {
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
        let mut released = Released::default();
        for (row, slot) in slots.into_iter().enumerate() {
            let id = self.state.store.add(row);
            self.state.expiry.touch(slot, cx.processing_time);
            released.rows.push((cx.processing_time, Due { slot, row: id }));
            released.places.push(self.state.store.place(id));
        }
        self.answer(released, out)
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if let Some(around) = self.around {
            return self.pass_around(around, watermark, out);
        }
        let released = self.due(watermark.0);
        self.answer(released, out)?;
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.state.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let expired = self.state.expired(cx.processing_time);
        if let Some(around) = self.around {
            self.finish_around(around, &expired, out)?;
        }
        self.state.release(&expired)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.state]
    }
}

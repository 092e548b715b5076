//! What each row does to the output of a join.

use datafusion_common::Result;

use super::{Form, RegularJoinNode};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::join::candidates::{IncomingBatch, Matches};
use crate::operators::join::emission::Emission;
use crate::operators::join::side::{JoinKeys, JoinSide, NONE};
use crate::operators::join::{LEFT, RIGHT};
use crate::runtime::{Context, Operator, Output};
use crate::state::{StateTable, distinct_where};

pub(super) struct RegularJoin {
    node: RegularJoinNode,
    form: Form,
    keys: JoinKeys,
    sides: [JoinSide; 2],
    /// When the state is looked through for what has expired.
    next_sweep: Option<i64>,
}

/// A row of the batch that is being joined.
struct Incoming<'a> {
    row: u32,
    kind: RowKind,
    slot: u32,
    /// The rows of the other side that match it.
    matches: &'a [u32],
    now: i64,
}

impl RegularJoin {
    pub(super) fn new(node: RegularJoinNode, form: Form, keys: JoinKeys, sides: [JoinSide; 2]) -> Self {
        RegularJoin { node, form, keys, sides, next_sweep: None }
    }

    /// Gives back the slots of keys of which no side has a row.
    fn release(&mut self, slots: impl IntoIterator<Item = u32>) {
        let has_rows = |slot| self.sides.iter().any(|side| side.has_rows(slot));
        self.keys.release(&distinct_where(slots, |slot| slot != NONE && !has_rows(slot)));
    }

    fn schedule_sweep(&mut self, now: i64) {
        let ttl = self.node.ttl.iter().copied().filter(|ttl| *ttl > 0).min();
        if let Some(ttl) = ttl {
            self.next_sweep.get_or_insert(now.saturating_add(ttl));
        }
    }
}

impl Operator for RegularJoin {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let now = cx.processing_time;
        for side in &mut self.sides {
            side.link_restored(&mut self.keys)?;
        }
        let columns = changes.batch().columns();
        let keys = self.sides[port].key_columns(columns);
        let slots = self.keys.slots_of(&keys, changes.num_rows())?;
        for side in &mut self.sides {
            side.grow(self.keys.slots());
        }
        let [left, right] = &mut self.sides;
        let (this, other) = if port == LEFT { (left, right) } else { (right, left) };

        this.rows.open(changes.batch())?;
        let mut emission = Emission::new(port, changes, &self.node.columns, &self.node.schema, out);
        let batch = IncomingBatch { port, changes, slots: &slots, now };
        let mut first = 0;
        while first < slots.len() {
            let residual = self.node.residual.as_ref();
            let matches = Matches::of(first, &batch, other, residual, |_, _| true)?;
            for (row, ids) in matches.iter() {
                let incoming = Incoming {
                    row: row as u32,
                    kind: changes.kind(row),
                    slot: slots[row],
                    matches: ids,
                    now,
                };
                match self.form {
                    Form::Pairs { padded } => {
                        let padded = (padded[port], padded[1 - port]);
                        join_pairs(&incoming, padded, this, other, &mut emission)?;
                    }
                    Form::Semi(kept) | Form::Anti(kept) | Form::Mark(kept) if kept == port => {
                        join_kept(&incoming, self.form, this, other, &mut emission)?;
                    }
                    form => join_tested(&incoming, form, this, other, &mut emission)?,
                }
            }
            first = matches.end();
        }
        emission.flush(other)?;
        this.rows.close()?;

        if changes.kinds().is_some() {
            let retractions = (0..slots.len()).filter(|row| changes.kind(*row).is_retraction());
            self.release(retractions.map(|row| slots[row]));
        }
        self.schedule_sweep(now);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.next_sweep
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        self.next_sweep = None;
        let mut slots = vec![];
        for side in &mut self.sides {
            side.link_restored(&mut self.keys)?;
            side.sweep(cx.processing_time, &mut slots)?;
        }
        for side in &mut self.sides {
            side.grow(self.keys.slots());
        }
        self.release(slots);
        if self.sides.iter().any(|side| !side.rows.is_empty()) {
            self.schedule_sweep(cx.processing_time);
        }
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        let [left, right] = &mut self.sides;
        const { assert!(LEFT < RIGHT) };
        vec![&mut self.keys, left, right]
    }
}

/// Keeps or forgets a row that has come.
fn store(incoming: &Incoming<'_>, matches: u32, this: &mut JoinSide) -> Result<()> {
    if incoming.slot == NONE {
        // a key that equals none will never match
        return Ok(());
    }
    if incoming.kind.is_retraction() {
        this.retract(incoming.row as usize, incoming.slot, incoming.now);
        return Ok(());
    }
    this.add(incoming.row as usize, incoming.slot, matches, incoming.now)
}

/// How many rows match, equal ones counted.
fn count(matches: &[u32], other: &JoinSide) -> u32 {
    matches.iter().map(|id| other.copies(*id)).sum()
}

/// Inner and outer joins; `padded`: whether rows without a match of this side, and of the other, are
/// put out with NULLs.
fn join_pairs(
    incoming: &Incoming<'_>,
    padded: (bool, bool),
    this: &mut JoinSide,
    other: &mut JoinSide,
    emission: &mut Emission<'_>,
) -> Result<()> {
    let Incoming { row, kind, matches, now, .. } = *incoming;
    let (this_padded, other_padded) = padded;
    let retraction = kind.is_retraction();
    if other_padded && !retraction {
        for id in matches {
            let before = other.matches(*id);
            if before == 0 {
                for _ in 0..other.copies(*id) {
                    emission.push(other, NONE, *id, RowKind::Delete)?;
                }
            }
            other.set_matches(*id, before + 1, now);
        }
    }
    let pair = match retraction {
        true if this_padded => RowKind::Delete,
        false if this_padded || other_padded => RowKind::Insert,
        _ => kind,
    };
    for id in matches {
        for _ in 0..other.copies(*id) {
            emission.push(other, row, *id, pair)?;
        }
    }
    if this_padded && matches.is_empty() {
        emission.push(other, row, NONE, pair)?;
    }
    if other_padded && retraction {
        for id in matches {
            let before = other.matches(*id);
            if before == 1 {
                for _ in 0..other.copies(*id) {
                    emission.push(other, NONE, *id, RowKind::Insert)?;
                }
            }
            other.set_matches(*id, before.saturating_sub(1), now);
        }
    }
    let matches = if this_padded { count(matches, other) } else { 0 };
    store(incoming, matches, this)
}

/// Semi, anti and mark joins: a row of the side that is put out.
fn join_kept(
    incoming: &Incoming<'_>,
    form: Form,
    this: &mut JoinSide,
    other: &mut JoinSide,
    emission: &mut Emission<'_>,
) -> Result<()> {
    let matches = count(incoming.matches, other);
    match form {
        Form::Semi(_) if matches == 0 => {}
        Form::Anti(_) if matches > 0 => {}
        Form::Mark(_) => emission.push_marked(other, incoming.row, NONE, incoming.kind, matches > 0)?,
        _ => emission.push(other, incoming.row, NONE, incoming.kind)?,
    }
    store(incoming, matches, this)
}

/// Semi, anti and mark joins: a row of the side that is only looked at.
fn join_tested(
    incoming: &Incoming<'_>,
    form: Form,
    this: &mut JoinSide,
    other: &mut JoinSide,
    emission: &mut Emission<'_>,
) -> Result<()> {
    let Incoming { kind, matches, now, .. } = *incoming;
    let retraction = kind.is_retraction();
    for id in matches {
        let before = other.matches(*id);
        let after = if retraction { before.saturating_sub(1) } else { before + 1 };
        other.set_matches(*id, after, now);
        if (before == 0) == (after == 0) {
            continue;
        }
        for _ in 0..other.copies(*id) {
            match form {
                Form::Anti(_) if retraction => emission.push(other, NONE, *id, RowKind::Insert)?,
                Form::Anti(_) => emission.push(other, NONE, *id, RowKind::Delete)?,
                Form::Mark(_) => {
                    emission.push_marked(other, NONE, *id, RowKind::UpdateBefore, before > 0)?;
                    emission.push_marked(other, NONE, *id, RowKind::UpdateAfter, after > 0)?;
                }
                Form::Semi(_) | Form::Pairs { .. } => emission.push(other, NONE, *id, kind)?,
            }
        }
    }
    store(incoming, 0, this)
}

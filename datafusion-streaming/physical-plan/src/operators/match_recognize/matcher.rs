//! How a row moves the matches of a key on: Flink's NFA.

use datafusion_common::{Result, exec_err};

use super::buffer::{CurrentRow, MatchBuffer, NONE, NodeId};
use super::heap::{HeapItem, MatchHeap};
use super::nfa::{Action, END, Nfa, StateId, Transition};
use super::pattern::{AfterMatch, Pattern};

/// A match under way, or one that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partial {
    pub state: StateId,
    /// The last row so far; [`NONE`] where there is none yet.
    pub node: NodeId,
    /// The place of the first row in the order of rows; the greatest there is where there is none yet.
    pub start: u64,
    /// The time of the first row in milliseconds.
    pub start_time: i64,
}

impl HeapItem for Partial {
    fn key(&self) -> u64 {
        self.start
    }
}

impl Partial {
    fn has_started(&self) -> bool {
        self.node != NONE
    }
}

/// The matches of a key.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyMatches {
    /// The matches under way. Empty: there is only the one that has not started.
    pub partial: MatchHeap<Partial>,
    /// Complete matches that wait for one that started before.
    pub complete: MatchHeap<Partial>,
}

impl KeyMatches {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty() && self.complete.is_empty()
    }

    /// The number of matches.
    pub fn len(&self) -> usize {
        self.partial.items().len() + self.complete.items().len()
    }
}

/// Memory that is used again for each row.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    open: Vec<StateId>,
    takes: Vec<(u16, StateId)>,
    moved: Vec<Partial>,
    next: MatchHeap<Partial>,
    complete: MatchHeap<Partial>,
}

/// The automaton with what decides which of its matches count.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    pub nfa: Nfa,
    pattern: Pattern,
    after: AfterMatch,
    /// A match must take less than this many milliseconds; 0: any time.
    within: i64,
}

/// Whether the current row fits a variable, given a match under way.
pub(super) trait Fits {
    fn fits(&mut self, partial: &Partial, variable: u16, buffer: &MatchBuffer) -> Result<bool>;

    /// Nothing more is asked about this match under way and the current row.
    fn done_with(&mut self, partial: &Partial) {
        let _ = partial;
    }
}

/// What is done with a match that is found: it ends with this node, which is released afterwards.
pub(super) type OnMatch<'a> = dyn FnMut(NodeId, &MatchBuffer) + 'a;

impl Matcher {
    pub fn new(pattern: Pattern, after: AfterMatch, within: i64) -> Self {
        Matcher { nfa: Nfa::compile(&pattern), pattern, after, within: within.max(0) }
    }

    /// When a match that starts at a time has taken too long; `None`: never.
    pub fn deadline(&self, start: i64) -> Option<i64> {
        (self.within > 0).then(|| start.saturating_add(self.within))
    }

    /// The matches under way, with the one that has not started.
    pub fn partials<'a>(&self, key: &'a KeyMatches, start: &'a Partial) -> &'a [Partial] {
        match key.partial.items() {
            [] => std::slice::from_ref(start),
            items => items,
        }
    }

    /// The match that has not started.
    pub fn start(&self) -> Partial {
        Partial { state: self.nfa.start, node: NONE, start: u64::MAX, start_time: i64::MAX }
    }

    /// Moves the matches of a key on by a row.
    pub fn step(
        &self,
        key: &mut KeyMatches,
        current: &mut CurrentRow,
        buffer: &mut MatchBuffer,
        scratch: &mut Scratch,
        fits: &mut impl Fits,
        on_match: &mut OnMatch<'_>,
    ) -> Result<()> {
        let start = self.start();
        let mut before = std::mem::take(&mut key.partial);
        let mut next = std::mem::take(&mut scratch.next);
        let partials = match before.items() {
            [] => std::slice::from_ref(&start),
            items => items,
        };
        let starts_only = partials.len() == 1;
        for partial in partials {
            self.step_one(partial, current, buffer, scratch, fits)?;
            for moved in scratch.moved.drain(..) {
                match moved.state {
                    END => scratch.complete.push(moved),
                    _ => next.push(moved),
                }
            }
            if partial.has_started() {
                buffer.release(partial.node);
            } else if !(starts_only && next.is_empty()) {
                next.push(*partial);
            }
            fits.done_with(partial);
        }
        for found in scratch.complete.items() {
            key.complete.push(*found);
        }
        scratch.complete.clear();
        before.clear();
        key.partial = next;
        scratch.next = before;
        self.settle(key, buffer, on_match)
    }

    /// Time has come to `time`: matches under way that would take too long are dropped, and complete
    /// matches that waited for them are found.
    pub fn advance(
        &self,
        key: &mut KeyMatches,
        time: i64,
        buffer: &mut MatchBuffer,
        on_match: &mut OnMatch<'_>,
    ) -> Result<()> {
        if self.overdue(key, time).next().is_none() {
            return Ok(());
        }
        let mut kept = MatchHeap::default();
        for partial in key.partial.items() {
            match self.is_overdue(partial, time) {
                true => buffer.release(partial.node),
                false => kept.push(*partial),
            }
        }
        key.partial = kept;
        self.settle(key, buffer, on_match)
    }

    /// When the matches under way that would take too long at `time` had taken too long.
    pub fn overdue<'a>(&'a self, key: &'a KeyMatches, time: i64) -> impl Iterator<Item = i64> + 'a {
        let partials = key.partial.items().iter();
        let overdue = partials.filter(move |partial| self.is_overdue(partial, time));
        overdue.map(|partial| partial.start_time.saturating_add(self.within))
    }

    fn is_overdue(&self, partial: &Partial, time: i64) -> bool {
        self.within > 0 && partial.has_started() && time.saturating_sub(partial.start_time) >= self.within
    }

    /// What becomes of one match under way: `scratch.moved`.
    fn step_one(
        &self,
        partial: &Partial,
        current: &mut CurrentRow,
        buffer: &mut MatchBuffer,
        scratch: &mut Scratch,
        fits: &mut impl Fits,
    ) -> Result<()> {
        scratch.open.push(partial.state);
        while let Some(state) = scratch.open.pop() {
            let state = self.nfa.state(state);
            for transition in &state.transitions {
                if holds(transition, partial, buffer, fits)? {
                    match transition.action {
                        Action::Proceed => scratch.open.push(transition.target),
                        Action::Take => scratch.takes.push((state.variable, transition.target)),
                    }
                }
            }
        }
        for place in 0..scratch.takes.len() {
            let (variable, target) = scratch.takes[place];
            let node = buffer.put(partial.node, variable, current);
            let (start, start_time) = match partial.has_started() {
                true => (partial.start, partial.start_time),
                false => (current.sequence, current.time),
            };
            buffer.lock(node);
            scratch.moved.push(Partial { state: target, node, start, start_time });
            if self.is_complete(target, partial, buffer, scratch, fits)? {
                buffer.lock(node);
                scratch.moved.push(Partial { state: END, node, start, start_time });
            }
        }
        scratch.takes.clear();
        Ok(())
    }

    /// Whether a match in this state lacks nothing: the end is reached without another row.
    fn is_complete(
        &self,
        state: StateId,
        partial: &Partial,
        buffer: &MatchBuffer,
        scratch: &mut Scratch,
        fits: &mut impl Fits,
    ) -> Result<bool> {
        scratch.open.push(state);
        while let Some(state) = scratch.open.pop() {
            for transition in &self.nfa.state(state).transitions {
                if transition.action == Action::Proceed && holds(transition, partial, buffer, fits)? {
                    if transition.target == END {
                        scratch.open.clear();
                        return Ok(true);
                    }
                    scratch.open.push(transition.target);
                }
            }
        }
        Ok(false)
    }

    /// Finds complete matches that need not wait, and drops what they skip.
    fn settle(
        &self,
        key: &mut KeyMatches,
        buffer: &mut MatchBuffer,
        on_match: &mut OnMatch<'_>,
    ) -> Result<()> {
        while let Some(first) = key.complete.first()
            && key.partial.first().is_none_or(|partial| first.start <= partial.start)
            && let Some(found) = key.complete.pop()
        {
            let bound = self.skip_bound(&found, buffer)?;
            for matches in [&mut key.partial, &mut key.complete] {
                matches.retain(|other| {
                    let is_kept = !other.has_started() || other.start >= bound;
                    if !is_kept {
                        buffer.release(other.node);
                    }
                    is_kept
                });
            }
            on_match(found.node, buffer);
            buffer.release(found.node);
        }
        if let [only] = key.partial.items()
            && !only.has_started()
        {
            key.partial = MatchHeap::default();
        }
        Ok(())
    }

    /// Matches that start before this row are skipped after a match.
    fn skip_bound(&self, found: &Partial, buffer: &MatchBuffer) -> Result<u64> {
        let sequence = |node: NodeId| buffer.event_of(node).sequence;
        let (variable, node) = match self.after {
            AfterMatch::SkipToNextRow => return Ok(found.start + 1),
            AfterMatch::SkipPastLastRow => return Ok(sequence(found.node) + 1),
            AfterMatch::SkipToFirst(variable) => {
                (variable, buffer.nth_first(found.node, Some(variable as u16), 0))
            }
            AfterMatch::SkipToLast(variable) => {
                (variable, buffer.nth_last(found.node, Some(variable as u16), 0))
            }
        };
        let clause = self.after.display(&self.pattern);
        let Some(node) = node else {
            return exec_err!(
                "AFTER MATCH {clause}: a match of PATTERN ({}) has no row of {}; skip to a variable that is not \
                 optional",
                self.pattern,
                self.pattern.name(variable)
            );
        };
        match sequence(node) {
            target if target == found.start => exec_err!(
                "AFTER MATCH {clause}: that is the first row of the match, which would be found for ever; skip to a \
                 later variable, or TO NEXT ROW"
            ),
            target => Ok(target),
        }
    }
}

/// Whether the current row fulfils a transition's condition.
fn holds(
    transition: &Transition,
    partial: &Partial,
    buffer: &MatchBuffer,
    fits: &mut impl Fits,
) -> Result<bool> {
    if let Some(variable) = transition.fits
        && !fits.fits(partial, variable, buffer)?
    {
        return Ok(false);
    }
    for variable in &transition.fits_not {
        if fits.fits(partial, *variable, buffer)? {
            return Ok(false);
        }
    }
    Ok(true)
}

//! Which rows fit which variables.
//!
//! A condition that only looks at the row itself is evaluated once for all rows that are matched
//! together. One that looks back is evaluated for a round of rows, one of each key, and all their matches
//! under way.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion_common::Result;

use super::buffer::{MatchBuffer, NONE, NodeId};
use super::expressions::{Bound, PatternExpressions};
use super::matcher::{Fits, Partial};
use super::nfa::Nfa;
use crate::state::{Place, RowStore};

/// The condition of a variable.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// Every row fits.
    Always,
    /// The row itself decides.
    OfRow(PatternExpressions),
    /// The rows that are matched already have a say.
    OfMatch(PatternExpressions),
}

impl Condition {
    pub fn new(variable: usize, definition: Option<PatternExpressions>) -> Self {
        match definition {
            None => Condition::Always,
            Some(definition) if definition.of_current_row(variable) => Condition::OfRow(definition),
            Some(definition) => Condition::OfMatch(definition),
        }
    }

    pub fn looks_back(&self) -> bool {
        matches!(self, Condition::OfMatch(_))
    }
}

/// A row that is matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct DueRow {
    pub place: Place,
    pub time: i64,
}

/// A row and a match under way that it may go on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The last row of the match, or [`NONE`].
    pub node: NodeId,
    pub current: DueRow,
}

/// Candidates for rows of a variable.
struct Candidates<'a> {
    variable: u16,
    candidates: &'a [Candidate],
    buffer: &'a MatchBuffer,
    store: &'a RowStore,
    processing_time: i64,
}

impl Candidates<'_> {
    /// Whether the current row counts as one of a variable's.
    fn has_current(&self, variable: Option<u16>) -> bool {
        variable.is_none_or(|variable| variable == self.variable)
    }

    fn place(&self, node: NodeId) -> Place {
        self.store.place(self.buffer.event_of(node).row)
    }
}

impl Bound for Candidates<'_> {
    fn matches(&self) -> usize {
        self.candidates.len()
    }

    fn row(&self, one: usize, variable: Option<u16>, first: bool, offset: usize) -> Option<Place> {
        let Candidate { node, current } = self.candidates[one];
        let node = match (self.has_current(variable), first) {
            (true, true) => {
                let before = self.buffer.count(node, variable);
                if offset == before {
                    return Some(current.place);
                }
                self.buffer.nth_first(node, variable, offset)
            }
            (true, false) if offset == 0 => return Some(current.place),
            (true, false) => self.buffer.nth_last(node, variable, offset - 1),
            (false, true) => self.buffer.nth_first(node, variable, offset),
            (false, false) => self.buffer.nth_last(node, variable, offset),
        };
        node.map(|node| self.place(node))
    }

    fn rows(&self, one: usize, variable: Option<u16>, places: &mut Vec<Place>) {
        let Candidate { node, current } = self.candidates[one];
        let first = places.len();
        let mut last = if node == NONE { None } else { self.buffer.nth_last(node, variable, 0) };
        while let Some(node) = last {
            places.push(self.place(node));
            let parent = self.buffer.node(node).parent;
            last = (parent != NONE
                && variable.is_none_or(|variable| self.buffer.node(parent).variable == variable))
            .then_some(parent);
        }
        places[first..].reverse();
        if self.has_current(variable) {
            places.push(current.place);
        }
    }

    fn time(&self, one: usize) -> i64 {
        self.candidates[one].current.time
    }

    fn processing_time(&self) -> i64 {
        self.processing_time
    }
}

/// Rows that are matched, by themselves: the current row is the last of any variable.
struct RowsAlone<'a> {
    rows: &'a [DueRow],
    processing_time: i64,
}

impl Bound for RowsAlone<'_> {
    fn matches(&self) -> usize {
        self.rows.len()
    }

    fn row(&self, one: usize, _variable: Option<u16>, _first: bool, _offset: usize) -> Option<Place> {
        Some(self.rows[one].place)
    }

    fn rows(&self, one: usize, _variable: Option<u16>, places: &mut Vec<Place>) {
        places.push(self.rows[one].place);
    }

    fn time(&self, one: usize) -> i64 {
        self.rows[one].time
    }

    fn processing_time(&self) -> i64 {
        self.processing_time
    }
}

/// What is known of a condition before it is asked.
#[derive(Debug)]
enum Known {
    /// Every row fits.
    Always,
    /// A value for each row that is matched.
    Rows(BooleanArray),
    /// A value for each candidate of the round, in the order in which they are asked.
    Candidates { values: BooleanArray, next: usize },
    /// Nothing: evaluating it in bulk has failed, perhaps on a row that nobody asks about.
    Nothing,
}

/// The conditions of a pattern while rows are matched.
pub(super) struct Conditions<'a> {
    conditions: &'a [Condition],
    store: &'a RowStore,
    processing_time: i64,
    known: Vec<Known>,
    /// The row that is matched, and its place among those matched together.
    current: (usize, DueRow),
}

impl<'a> Conditions<'a> {
    /// Conditions over rows that are matched together; those that look at the row alone are evaluated.
    pub fn new(
        conditions: &'a [Condition],
        store: &'a RowStore,
        rows: &'a [DueRow],
        processing_time: i64,
    ) -> Option<Self> {
        let first = *rows.first()?;
        let alone = RowsAlone { rows, processing_time };
        let known = conditions.iter().map(|condition| match condition {
            Condition::Always => Known::Always,
            Condition::OfMatch(_) => Known::Nothing,
            Condition::OfRow(definition) => match truth(definition, &alone, store) {
                Ok(values) => Known::Rows(values),
                Err(_) => Known::Nothing,
            },
        });
        let known = known.collect();
        Some(Conditions { conditions, store, processing_time, known, current: (0, first) })
    }

    /// Evaluates the conditions that look back for the candidates of each variable in a round.
    pub fn start_round(&mut self, candidates: &[Vec<Candidate>], buffer: &MatchBuffer) {
        for (variable, candidates) in candidates.iter().enumerate() {
            if let Condition::OfMatch(definition) = &self.conditions[variable] {
                let bound = self.candidates(variable as u16, candidates, buffer);
                self.known[variable] = match truth(definition, &bound, self.store) {
                    Ok(values) => Known::Candidates { values, next: 0 },
                    Err(_) => Known::Nothing,
                };
            }
        }
    }

    /// Sets the row that is asked about.
    pub fn set_current(&mut self, place: usize, row: DueRow) {
        self.current = (place, row);
    }

    fn candidates<'b>(
        &'b self,
        variable: u16,
        candidates: &'b [Candidate],
        buffer: &'b MatchBuffer,
    ) -> Candidates<'b> {
        Candidates { variable, candidates, buffer, store: self.store, processing_time: self.processing_time }
    }

    fn evaluate_one(&self, partial: &Partial, variable: u16, buffer: &MatchBuffer) -> Result<bool> {
        match &self.conditions[variable as usize] {
            Condition::Always => Ok(true),
            Condition::OfRow(definition) | Condition::OfMatch(definition) => {
                let candidate = [Candidate { node: partial.node, current: self.current.1 }];
                let bound = self.candidates(variable, &candidate, buffer);
                Ok(is_true(&truth(definition, &bound, self.store)?, 0))
            }
        }
    }
}

/// The conditions, asked in the order of the candidates of the round.
pub(super) struct Asked<'a, 'b> {
    pub conditions: &'a mut Conditions<'b>,
    pub nfa: &'a Nfa,
}

impl Fits for Asked<'_, '_> {
    fn fits(&mut self, partial: &Partial, variable: u16, buffer: &MatchBuffer) -> Result<bool> {
        match &self.conditions.known[variable as usize] {
            Known::Always => Ok(true),
            Known::Rows(values) => Ok(is_true(values, self.conditions.current.0)),
            Known::Candidates { values, next } => Ok(is_true(values, *next)),
            Known::Nothing => self.conditions.evaluate_one(partial, variable, buffer),
        }
    }

    fn done_with(&mut self, partial: &Partial) {
        for variable in &self.nfa.state(partial.state).checks {
            if let Known::Candidates { next, .. } = &mut self.conditions.known[*variable as usize] {
                *next += 1;
            }
        }
    }
}

/// The values of a condition.
fn truth(definition: &PatternExpressions, bound: &impl Bound, store: &RowStore) -> Result<BooleanArray> {
    let values: Vec<ArrayRef> = definition.evaluate(bound, store)?;
    Ok(match values.first().and_then(|values| values.as_boolean_opt()) {
        Some(values) => values.clone(),
        // the condition is NULL whatever the row is
        None => BooleanArray::new_null(bound.matches()),
    })
}

fn is_true(values: &BooleanArray, place: usize) -> bool {
    values.is_valid(place) && values.value(place)
}

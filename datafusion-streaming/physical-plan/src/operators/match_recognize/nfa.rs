//! The pattern as an automaton, built as Flink's compiler does.
//!
//! A state waits for a row of one variable. A row takes it to the next state, or to itself where a
//! variable may go on for ever; where a variable may be left out or has had enough rows, the state also
//! leads to the next one without a row. A greedy variable forbids all that its successor could do with a
//! row that fits itself.
//!
//! ```text
//! A B+ C      A ──► B ──► B… ──► C ──► end        B…: takes B and stays, or goes on without a row
//!                                                 C : takes C, unless the row fits B
//! ```

use super::pattern::Pattern;

/// The number of a state.
pub(super) type StateId = u16;

/// The state of a match that is complete.
pub(super) const END: StateId = 0;

/// What a transition does with the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The row becomes part of the match, as one of the state's variable.
    Take,
    /// The next state is tried with the same row.
    Proceed,
}

/// A way from a state to another.
#[derive(Debug, Clone)]
pub(super) struct Transition {
    pub action: Action,
    pub target: StateId,
    /// The variable that the row must fit; `None`: it need not fit any.
    pub fits: Option<u16>,
    /// The variables that the row must not fit.
    pub fits_not: Vec<u16>,
}

/// A state and its ways out, in the order in which Flink tries them.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The variable of the rows that it takes.
    pub variable: u16,
    pub transitions: Vec<Transition>,
    /// The variables that rows may have to be checked against in this state: those of its own
    /// transitions, and of all that follow without a row.
    pub checks: Vec<u16>,
}

/// The compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Nfa {
    states: Vec<State>,
    pub start: StateId,
}

impl Nfa {
    pub fn compile(pattern: &Pattern) -> Self {
        let end = State { variable: 0, transitions: vec![], checks: vec![] };
        let mut nfa = Nfa { states: vec![end], start: END };
        let mut next = END;
        for (variable, element) in pattern.elements().iter().enumerate().rev() {
            let variable = variable as u16;
            let (quantifier, sink) = (element.quantifier, next);
            let min = quantifier.min.max(1);
            if quantifier.is_greedy() {
                nfa.leave_to(variable, sink);
            }
            let mut last = sink;
            let max = match quantifier.max {
                Some(max) => max,
                None => {
                    last = nfa.looping(variable, sink);
                    min
                }
            };
            for _ in min..max {
                last = nfa.single(variable, last, Some(sink));
            }
            for _ in 1..min {
                last = nfa.single(variable, last, None);
            }
            next = nfa.single(variable, last, quantifier.is_optional().then_some(sink));
        }
        nfa.start = next;
        for state in 0..nfa.states.len() {
            nfa.states[state].checks = nfa.checks_of(state as StateId);
        }
        nfa
    }

    pub fn state(&self, state: StateId) -> &State {
        &self.states[state as usize]
    }

    fn add(&mut self, variable: u16, transitions: Vec<Transition>) -> StateId {
        self.states.push(State { variable, transitions, checks: vec![] });
        (self.states.len() - 1) as StateId
    }

    /// A state that takes one row, or, with `proceed`, may do without.
    fn single(&mut self, variable: u16, target: StateId, proceed: Option<StateId>) -> StateId {
        let mut transitions = vec![take(variable, target)];
        transitions.extend(proceed.map(proceed_to));
        self.add(variable, transitions)
    }

    /// A state that takes any number of rows.
    fn looping(&mut self, variable: u16, sink: StateId) -> StateId {
        let state = self.states.len() as StateId;
        self.add(variable, vec![proceed_to(sink), take(variable, state)])
    }

    /// Forbids a state to do anything with rows that fit a variable.
    fn leave_to(&mut self, variable: u16, state: StateId) {
        for transition in &mut self.states[state as usize].transitions {
            transition.fits_not.push(variable);
        }
    }

    fn checks_of(&self, state: StateId) -> Vec<u16> {
        let mut variables = vec![];
        for transition in self.reached(state).iter().flat_map(|state| &self.state(*state).transitions) {
            variables.extend(transition.fits.iter().chain(&transition.fits_not));
            if transition.action == Action::Take {
                // a row that is taken may complete the match: what follows is asked about the same row
                let behind = self.reached(transition.target);
                let behind = behind.iter().flat_map(|state| &self.state(*state).transitions);
                let proceeds = behind.filter(|behind| behind.action == Action::Proceed);
                variables.extend(proceeds.flat_map(|proceed| &proceed.fits_not));
            }
        }
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// A state and those that it leads to without a row.
    fn reached(&self, state: StateId) -> Vec<StateId> {
        let mut reached = vec![state];
        let mut next = 0;
        while let Some(state) = reached.get(next).copied() {
            next += 1;
            for transition in &self.state(state).transitions {
                if transition.action == Action::Proceed && !reached.contains(&transition.target) {
                    reached.push(transition.target);
                }
            }
        }
        reached
    }
}

fn take(variable: u16, target: StateId) -> Transition {
    Transition { action: Action::Take, target, fits: Some(variable), fits_not: vec![] }
}

fn proceed_to(target: StateId) -> Transition {
    Transition { action: Action::Proceed, target, fits: None, fits_not: vec![] }
}

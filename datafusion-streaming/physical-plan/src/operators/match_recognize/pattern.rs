//! The pattern of a MATCH_RECOGNIZE: what Flink takes of it.

use std::fmt;

use datafusion_common::{Result, plan_err};

/// How often a variable occurs in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantifier {
    /// At least so often.
    pub min: u32,
    /// At most so often; `None`: any number of times.
    pub max: Option<u32>,
    /// Whether as often as possible. Flink is possessive about it: a row that fits a greedy variable is
    /// never left to the next one.
    pub greedy: bool,
}

impl Quantifier {
    /// Exactly once.
    pub const ONE: Quantifier = Quantifier { min: 1, max: Some(1), greedy: true };

    /// Whether the variable may be left out.
    pub fn is_optional(self) -> bool {
        self.min == 0
    }

    /// Whether greed makes a difference: it does not where the number of rows is fixed, and Flink
    /// disregards it for `?`.
    pub fn is_greedy(self) -> bool {
        self.greedy && self.max != Some(self.min) && (self.min, self.max) != (0, Some(1))
    }

    fn check(self, variable: &str) -> Result<()> {
        match (self.min, self.max) {
            (0, Some(1)) if !self.greedy => plan_err!(
                "{variable}??: a reluctant optional variable is not possible in a pattern: write {variable}?"
            ),
            (0, None | Some(1)) => Ok(()),
            (0, Some(_)) => plan_err!(
                "{variable}{self}: the lower bound of a quantifier must be at least 1: write {variable}? for none or \
                 one, {variable}* for any number"
            ),
            (min, Some(max)) if max < min => plan_err!(
                "{variable}{self}: the upper bound of a quantifier must not be less than the lower bound {min}"
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (1, Some(1)) => return Ok(()),
            (0, None) => f.write_str("*")?,
            (1, None) => f.write_str("+")?,
            (0, Some(1)) => f.write_str("?")?,
            (min, None) => write!(f, "{{{min},}}")?,
            (min, Some(max)) if min == max => write!(f, "{{{min}}}")?,
            (min, Some(max)) => write!(f, "{{{min},{max}}}")?,
        }
        if self.greedy { Ok(()) } else { f.write_str("?") }
    }
}

/// A variable of a pattern with its quantifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatternElement {
    /// The variable's name.
    pub variable: String,
    /// How often it occurs.
    pub quantifier: Quantifier,
}

impl fmt::Display for PatternElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.variable, self.quantifier)
    }
}

/// Variables that rows are matched to one after the other, without rows between.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    elements: Vec<PatternElement>,
}

impl Pattern {
    /// A pattern of these variables in that order.
    ///
    /// # Errors
    /// For what Flink refuses: a variable in two places, a pattern that may match no row, one that ends with a greedy
    /// variable or has an optional one behind it, an optional variable that is reluctant, bounds of a quantifier that
    /// are out of order.
    pub fn try_new(elements: Vec<PatternElement>) -> Result<Self> {
        for (place, element) in elements.iter().enumerate() {
            let variable = &element.variable;
            element.quantifier.check(variable)?;
            if elements[..place].iter().any(|other| other.variable == *variable) {
                return plan_err!(
                    "the variable {variable} is in two places of PATTERN: each variable may be in one only, so give \
                     the second another name and the same definition"
                );
            }
        }
        if elements.iter().all(|element| element.quantifier.is_optional()) {
            return plan_err!(
                "PATTERN may match no row at all: at least one variable must not be optional, such as A+ for A*"
            );
        }
        for pair in elements.windows(2) {
            if let [before, optional] = pair
                && before.quantifier.is_greedy()
                && optional.quantifier.is_optional()
            {
                return plan_err!(
                    "PATTERN has the optional {optional} behind the greedy {before}: make {before} reluctant, \
                     {before}?, or {} not optional",
                    optional.variable
                );
            }
        }
        if let Some(last) = elements.last().filter(|last| last.quantifier.is_greedy()) {
            return plan_err!(
                "PATTERN ends with the greedy {last}, of which it is never known whether it is complete: end it with \
                 the reluctant {last}?, or with a variable for the row behind it"
            );
        }
        let states =
            |element: &PatternElement| element.quantifier.max.unwrap_or(element.quantifier.min) as u64 + 1;
        if elements.iter().map(states).sum::<u64>() > 10_000 {
            return plan_err!(
                "the bounds of the quantifiers in PATTERN are too high: together at most 10000"
            );
        }
        Ok(Pattern { elements })
    }

    /// The variables with their quantifiers.
    pub fn elements(&self) -> &[PatternElement] {
        &self.elements
    }

    /// The number of a variable: its place in the pattern.
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.elements.iter().position(|element| element.variable == name)
    }

    /// The name of a variable.
    pub fn name(&self, variable: usize) -> &str {
        self.elements.get(variable).map_or("", |element| element.variable.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, element) in self.elements.iter().enumerate() {
            let space = if place > 0 { " " } else { "" };
            write!(f, "{space}{element}")?;
        }
        Ok(())
    }
}

/// Where the search goes on after a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AfterMatch {
    /// Behind the first row of the match.
    SkipToNextRow,
    /// Behind the last row of the match.
    SkipPastLastRow,
    /// At the first row of a variable, given by its place in the pattern.
    SkipToFirst(usize),
    /// At the last row of a variable.
    SkipToLast(usize),
}

impl AfterMatch {
    /// The clause as it is written, with the variables of a pattern.
    pub fn display(self, pattern: &Pattern) -> String {
        match self {
            AfterMatch::SkipToNextRow => "SKIP TO NEXT ROW".to_string(),
            AfterMatch::SkipPastLastRow => "SKIP PAST LAST ROW".to_string(),
            AfterMatch::SkipToFirst(variable) => format!("SKIP TO FIRST {}", pattern.name(variable)),
            AfterMatch::SkipToLast(variable) => format!("SKIP TO LAST {}", pattern.name(variable)),
        }
    }
}

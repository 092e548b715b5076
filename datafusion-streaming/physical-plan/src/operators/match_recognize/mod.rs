//! MATCH_RECOGNIZE: rows that follow each other as a pattern says, with Flink's semantics.
//!
//! Rows of a key are matched in the order of their times, when the watermark has passed them; by
//! processing time they do not wait.
//!
//! | file | |
//! |---|---|
//! | `pattern` | what is written: variables, quantifiers, where to go on after a match |
//! | `nfa` | the pattern as an automaton |
//! | `matcher` | how a row moves the matches of a key on, and which matches are found |
//! | `heap` | the order in which Flink looks at matches |
//! | `buffer` | the rows of all matches under way, each kept once |
//! | `expressions` | expressions over the rows of a match |
//! | `conditions` | which rows fit which variables, evaluated in bulk |
//! | `operator`, `state` | rows that wait, the matches of each key, the snapshot |

mod buffer;
mod conditions;
mod expressions;
mod heap;
mod matcher;
mod nfa;
mod operator;
mod pattern;
mod state;

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;

pub use self::expressions::{PatternExpressions, PatternReference};
use self::operator::MatchRecognize;
pub use self::pattern::{AfterMatch, Pattern, PatternElement, Quantifier};
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind,
};

/// Flink's MATCH_RECOGNIZE with one row for each match: the columns of PARTITION BY, then the measures.
#[derive(Debug, Clone)]
pub struct MatchRecognizeNode {
    /// The columns of PARTITION BY.
    pub keys: Vec<usize>,
    /// The time attribute that rows are ordered by.
    pub time: usize,
    /// What kind of time attribute it is; an event time until the planner knows better.
    pub kind: TimeAttributeKind,
    /// The columns that decide between rows of the same time.
    pub then_by: Vec<(usize, SortOptions)>,
    /// The pattern.
    pub pattern: Pattern,
    /// Where to go on after a match.
    pub after: AfterMatch,
    /// A match must take less than this many milliseconds from its first to its last row; 0: any time.
    pub within: i64,
    /// The condition of each variable of the pattern; `None`: every row fits.
    pub definitions: Vec<Option<PatternExpressions>>,
    /// The measures.
    pub measures: PatternExpressions,
    /// The schema of the input.
    pub input: SchemaRef,
    /// The schema of the output.
    pub schema: SchemaRef,
}

impl MatchRecognizeNode {
    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        MatchRecognize::try_new(self.clone())
    }

    /// Expressions as they are written, by the names of variables and columns.
    fn display(&self, expressions: &PatternExpressions) -> String {
        let name = |reference: &PatternReference| match reference {
            PatternReference::Row { variable, first, offset, column } => {
                let column = self.input.field(*column).name();
                let name = match variable {
                    Some(variable) => format!("{}.{column}", self.pattern.name(*variable)),
                    None => column.to_string(),
                };
                match (first, offset) {
                    (false, 0) => name,
                    (false, offset) => format!("LAST({name}, {offset})"),
                    (true, offset) => format!("FIRST({name}, {offset})"),
                }
            }
            PatternReference::Aggregate { variable: Some(variable), call } => {
                format!("{call} of {}", self.pattern.name(*variable))
            }
            PatternReference::Aggregate { variable: None, call } => call.to_string(),
            PatternReference::Rowtime => "MATCH_ROWTIME()".to_string(),
            PatternReference::Proctime => "MATCH_PROCTIME()".to_string(),
        };
        expressions.display(&expressions.references().iter().map(name).collect::<Vec<_>>())
    }

    /// The name of the column that rows are ordered by.
    pub fn time_name(&self) -> &str {
        self.input.field(self.time).name()
    }
}

impl StreamNode for MatchRecognizeNode {
    fn name(&self) -> &'static str {
        "MatchRecognize"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &usize| self.input.field(*column).name().as_str();
        write!(
            f,
            "key=[{}], order=[{}",
            self.keys.iter().map(name).collect::<Vec<_>>().join(", "),
            name(&self.time)
        )?;
        for (column, options) in &self.then_by {
            write!(f, ", {} {options}", name(column))?;
        }
        write!(f, "], pattern=[{}], after=[{}]", self.pattern, self.after.display(&self.pattern))?;
        if self.within > 0 {
            write!(f, ", within=[{} ms]", self.within)?;
        }
        f.write_str(", define=[")?;
        let defined = self.definitions.iter().enumerate();
        let defined = defined.filter_map(|(variable, definition)| Some((variable, definition.as_ref()?)));
        for (place, (variable, definition)) in defined.enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{} AS {}", self.pattern.name(variable), self.display(definition))?;
        }
        write!(f, "], measures=[{}]", self.display(&self.measures))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        if !inputs[0].mode.is_insert_only() {
            return plan_err!(
                "MATCH_RECOGNIZE takes only inserts, but its input gives updates or deletes (mode=[{}]): match rows \
                 below what makes them, or over TO_CHANGELOG(...) of the query",
                inputs[0].mode
            );
        }
        let attribute = |(measure, kind)| TimeAttribute { column: self.keys.len() + measure, kind };
        let kinds = (0..self.measures.expressions().len()).filter_map(|measure| {
            match self.measures.reference_of(measure)? {
                PatternReference::Rowtime => Some((measure, TimeAttributeKind::Rowtime)),
                PatternReference::Proctime => Some((measure, TimeAttributeKind::Proctime)),
                _ => None,
            }
        });
        Ok(StreamTraits { time_attributes: kinds.map(attribute).collect(), ..StreamTraits::default() })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys.as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        let definitions = self.definitions.iter().flatten();
        definitions.chain([&self.measures]).flat_map(|expressions| expressions.expressions()).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

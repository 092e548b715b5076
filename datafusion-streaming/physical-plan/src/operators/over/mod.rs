//! OVER aggregations by a time attribute: for each row, aggregates of the rows up to it.
//!
//! Rows wait until the watermark passes them; by processing time they do not wait. What is released is
//! aggregated as a batch, in the order of time:
//!
//! | frame | |
//! |---|---|
//! | unbounded ROWS | the rows are folded into the state of their key: the values after each are the answer |
//! | unbounded RANGE | the same, and rows of equal times take the value after the last of them |
//! | bounded | what leaves a frame is folded as a retraction, in front of the row that pushes it out |
//! | with FOLLOWING, and LEAD | the same, once the watermark has passed the rows behind a row: [`around`] |
//!
//! Nothing is aggregated anew for a row.

mod around;
mod by_value;
mod call;
mod operator;
mod state;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, plan_err};

pub use self::by_value::ValueOverNode;
pub use self::call::OverCall;
use self::operator::Over;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};

/// The rows that an aggregate of a row is over. Flink's end at the row, or its last peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverFrame {
    /// All rows up to the row.
    UnboundedRows,
    /// All rows up to the row and its peers.
    UnboundedRange,
    /// So many rows before the row, and the row.
    Rows(usize),
    /// The rows of this many milliseconds before the row, the row and its peers.
    Range(i64),
    /// The rows between two ends, which Flink does not have.
    Between {
        /// What the ends are counted in.
        units: FrameUnits,
        /// The first row, counted from the row: before it if less than 0, after it if more. `None`: the first of all.
        start: Option<i64>,
        /// The last row, counted from the row.
        end: i64,
    },
}

/// What the ends of a frame are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Milliseconds of event time; rows of equal times are in the same frames.
    Range,
}

impl OverFrame {
    /// Whether this is a bounded frame of Flink's.
    pub fn is_bounded(self) -> bool {
        matches!(self, OverFrame::Rows(_) | OverFrame::Range(_))
    }

    /// Whether rows leave the frame.
    pub fn loses_rows(self) -> bool {
        self.is_bounded() || matches!(self, OverFrame::Between { start: Some(_), .. })
    }

    /// Whether rows of equal times see each other.
    pub fn has_peers(self) -> bool {
        matches!(
            self,
            OverFrame::UnboundedRange
                | OverFrame::Range(_)
                | OverFrame::Between { units: FrameUnits::Range, .. }
        )
    }

    /// The frame as one between two ends.
    fn between(self) -> Self {
        let (units, start, end) = match self {
            OverFrame::UnboundedRows => (FrameUnits::Rows, None, 0),
            OverFrame::UnboundedRange => (FrameUnits::Range, None, 0),
            OverFrame::Rows(rows) => {
                (FrameUnits::Rows, Some(i64::try_from(rows).map_or(i64::MIN, |rows| -rows)), 0)
            }
            OverFrame::Range(millis) => (FrameUnits::Range, Some(-millis), 0),
            OverFrame::Between { units, start, end } => (units, start, end),
        };
        OverFrame::Between { units, start, end }
    }
}

impl fmt::Display for OverFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverFrame::UnboundedRows => f.write_str("ROWS UNBOUNDED PRECEDING"),
            OverFrame::UnboundedRange => f.write_str("RANGE UNBOUNDED PRECEDING"),
            OverFrame::Rows(rows) => write!(f, "ROWS {rows} PRECEDING"),
            OverFrame::Range(millis) => write!(f, "RANGE {millis} ms PRECEDING"),
            OverFrame::Between { units, start, end } => {
                let (name, unit) = match units {
                    FrameUnits::Rows => ("ROWS", ""),
                    FrameUnits::Range => ("RANGE", " ms"),
                };
                let bound = |bound: i64| match bound {
                    0 => "CURRENT ROW".to_string(),
                    1.. => format!("{bound}{unit} FOLLOWING"),
                    _ => format!("{}{unit} PRECEDING", bound.unsigned_abs()),
                };
                let start = start.map_or("UNBOUNDED PRECEDING".to_string(), bound);
                write!(f, "{name} BETWEEN {start} AND {}", bound(*end))
            }
        }
    }
}

/// Flink's OverAggregate by a time attribute.
#[derive(Debug, Clone)]
pub struct OverNode {
    keys: Vec<usize>,
    time: usize,
    kind: TimeAttributeKind,
    frame: OverFrame,
    calls: Vec<OverCall>,
    input: SchemaRef,
    /// How many columns of the input, from the first on, are passed on.
    width: usize,
    schema: SchemaRef,
    ttl: i64,
}

impl OverNode {
    /// The results of `calls` for each row of `input`, over the rows that agree in the columns `keys`, in
    /// the order of the time attribute `time`. The output, of `schema`, is as many columns of the input
    /// as there are besides the results, and then the results. A key that has no rows for `ttl` milliseconds
    /// of processing time is forgotten; 0: never.
    pub fn new(
        keys: Vec<usize>,
        (time, kind): (usize, TimeAttributeKind),
        frame: OverFrame,
        calls: Vec<OverCall>,
        input: SchemaRef,
        schema: SchemaRef,
        ttl: i64,
    ) -> Self {
        let width = schema.fields().len() - calls.len();
        let frame = match (kind, frame) {
            _ if calls.iter().any(|call| matches!(call, OverCall::Lead { .. })) => frame.between(),
            // no two rows have the same processing time
            (TimeAttributeKind::Proctime, OverFrame::UnboundedRange) => OverFrame::UnboundedRows,
            (_, frame) => frame,
        };
        OverNode { keys, time, kind, frame, calls, input, width, schema, ttl }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        Over::try_new(self.clone())
    }
}

impl StreamNode for OverNode {
    fn name(&self) -> &'static str {
        "OverAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &usize| self.input.field(*column).name().as_str();
        let calls: Vec<_> = self.calls.iter().map(OverCall::to_string).collect();
        write!(
            f,
            "key=[{}], order=[{}], frame=[{}], aggr=[{}]",
            self.keys.iter().map(name).collect::<Vec<_>>().join(", "),
            name(&self.time),
            self.frame,
            calls.join(", ")
        )
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let input = inputs[0];
        if !input.mode.is_insert_only() {
            return plan_err!(
                "OVER by the time attribute {} takes only inserts, but its input gives updates or deletes \
                 (mode=[{}]); put the OVER below what makes them, or order by a column that is no time attribute",
                self.input.field(self.time).name(),
                input.mode
            );
        }
        let width = self.width;
        Ok(input.project(self.schema.fields().len(), |column| match column < width {
            true => vec![column],
            false => vec![],
        }))
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys.as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

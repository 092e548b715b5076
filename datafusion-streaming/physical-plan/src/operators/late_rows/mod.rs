//! The rows that windows drop because they are late.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use self::operator::{LateForSessions, LateForWindows};
use super::session::SessionTvfNode;
use super::window_tvf::WindowTvfNode;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};

/// The windows that rows may be late for.
#[derive(Debug, Clone)]
pub enum LateFor {
    /// Those of TUMBLE, HOP or CUMULATE, which take rows for so many milliseconds after their ends.
    Windows(WindowTvfNode, i64),
    /// Sessions, with their allowed lateness.
    Sessions(SessionTvfNode),
}

impl LateFor {
    fn windows(&self) -> &WindowTvfNode {
        match self {
            LateFor::Windows(windows, _) => windows,
            LateFor::Sessions(sessions) => sessions.windows(),
        }
    }

    fn lateness(&self) -> i64 {
        match self {
            LateFor::Windows(_, lateness) => *lateness,
            LateFor::Sessions(sessions) => sessions.lateness(),
        }
    }
}

/// The table function LATE_ROWS, which is not Flink's: of the rows of its input those that the aggregation
/// of some windows drops as late, and counts. A row is late if none of its windows takes rows any more.
///
/// Rows come in one partition, so that their watermark is the one that an aggregation behind an exchange
/// goes by. Their time is no time attribute any more: it is behind the watermark.
#[derive(Debug, Clone)]
pub struct LateRowsNode {
    late_for: LateFor,
    schema: SchemaRef,
}

impl LateRowsNode {
    /// Rows of `input` that are late for such windows of theirs.
    pub fn new(late_for: LateFor, input: SchemaRef) -> Self {
        LateRowsNode { late_for, schema: input }
    }

    /// The time and how rows get their windows by it.
    pub fn windows(&self) -> &WindowTvfNode {
        self.late_for.windows()
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        Ok(match &self.late_for {
            LateFor::Windows(windows, lateness) => Box::new(LateForWindows::new(windows.clone(), *lateness)),
            LateFor::Sessions(sessions) => {
                Box::new(LateForSessions::try_new(sessions.clone(), &self.schema)?)
            }
        })
    }
}

impl StreamNode for LateRowsNode {
    fn name(&self) -> &'static str {
        "LateRows"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.late_for {
            LateFor::Windows(windows, _) => windows.fmt_arguments(f)?,
            LateFor::Sessions(sessions) => return sessions.fmt_arguments(f),
        }
        match self.late_for.lateness() {
            0 => Ok(()),
            lateness => write!(f, ", allowed_lateness=[{lateness} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let traits = StreamTraits { window: None, monotonicity: vec![], ..inputs[0].clone() };
        let is_proctime = |kind| kind == TimeAttributeKind::Proctime;
        Ok(StreamTraits {
            time_attributes: traits
                .time_attributes
                .into_iter()
                .filter(|attribute| is_proctime(attribute.kind))
                .collect(),
            upsert_keys: if traits.mode.is_insert_only() { traits.upsert_keys } else { vec![] },
            ..traits
        })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Single
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

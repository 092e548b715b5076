//! OVER by a column that is no time: a row that comes or goes changes the results of those behind it.
//!
//! ```text
//!   SUM(v) OVER (ORDER BY v)      1 → 1    3 → 4    5 → 9
//!   2 comes                       +I 2 3   -U 3 4   +U 3 6   -U 5 9   +U 5 11
//! ```
//!
//! The rows of a partition are kept in order, with their results, in blocks. Each block has the state of the aggregates
//! of all rows in front of it: a change folds the rows of its block anew, and those of the blocks behind as far as their
//! results change. A SUM changes in all of them, a MAX or a COUNT(DISTINCT) seldom.
//!
//! ```text
//!   MAX(v):   prefix -   rows 1 → 3, 2 → 3, 3 → 9     prefix 9   rows 4 → 9, 5 → 9     prefix 9   …
//!             2 → 7 comes here:  +I 2 7, 3 → 9 as before: what is behind stays
//! ```

mod operator;
mod partitions;
mod told;

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::Result;

use self::operator::ValueOver;
use super::OverCall;
use crate::changelog::ChangelogMode;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};
use crate::state::{InlineKey, LongKey, is_inline};

/// Flink's OverAggregate by any column, on appends and changelogs, with an unbounded frame.
#[derive(Debug, Clone)]
pub struct ValueOverNode {
    keys: Vec<usize>,
    sort: (usize, SortOptions),
    /// Whether rows with equal sort keys see each other: RANGE.
    has_peers: bool,
    calls: Vec<OverCall>,
    input: SchemaRef,
    width: usize,
    schema: SchemaRef,
    /// Columns that do not tell two rows apart.
    ignored: Vec<usize>,
    update_before: bool,
    ttl: i64,
}

impl ValueOverNode {
    /// The results of `calls` for each row of `input`, of what is known of which are `traits`, over the
    /// rows that agree in the columns `keys` up to the row in the order of the column `sort`. The output,
    /// of `schema`, is as many columns of the input as there are besides the results, and the results.
    pub fn new(
        keys: Vec<usize>,
        sort: (usize, SortOptions),
        has_peers: bool,
        calls: Vec<OverCall>,
        input: SchemaRef,
        schema: SchemaRef,
        traits: &StreamTraits,
    ) -> Self {
        let width = schema.fields().len() - calls.len();
        let is_proctime =
            |column: &usize| traits.time_attribute(*column) == Some(TimeAttributeKind::Proctime);
        let ignored = (0..input.fields().len()).filter(is_proctime).collect();
        ValueOverNode {
            keys,
            sort,
            has_peers,
            calls,
            input,
            width,
            schema,
            ignored,
            update_before: true,
            ttl: 0,
        }
    }

    /// The node with a time to live: a partition that has had no change for so many milliseconds is
    /// forgotten; 0: never.
    pub fn with_ttl(self, ttl: i64) -> Self {
        ValueOverNode { ttl, ..self }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let sort_type: DataType = self.input.field(self.sort.0).data_type().clone();
        Ok(match is_inline(&[sort_type]) {
            true => Box::new(ValueOver::<InlineKey>::try_new(self.clone())?),
            false => Box::new(ValueOver::<LongKey>::try_new(self.clone())?),
        })
    }
}

impl StreamNode for ValueOverNode {
    fn name(&self) -> &'static str {
        "OverAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &usize| self.input.field(*column).name().as_str();
        let calls: Vec<_> = self.calls.iter().map(OverCall::to_string).collect();
        write!(
            f,
            "key=[{}], order=[{} {}], frame=[{} UNBOUNDED PRECEDING], aggr=[{}]",
            self.keys.iter().map(name).collect::<Vec<_>>().join(", "),
            name(&self.sort.0),
            self.sort.1,
            if self.has_peers { "RANGE" } else { "ROWS" },
            calls.join(", ")
        )?;
        match self.ttl {
            0 => Ok(()),
            ttl => write!(f, ", ttl=[{ttl} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let width = self.width;
        let input = inputs[0].project(self.schema.fields().len(), |column| match column < width {
            true => vec![column],
            false => vec![],
        });
        let mode = match self.update_before {
            true => ChangelogMode::ALL,
            false => ChangelogMode::UPSERT,
        };
        Ok(StreamTraits { mode, monotonicity: vec![], ..input })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys.as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

//! Window Top-N and window deduplication: the first rows of each window and key.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::{Result, plan_err};

use self::operator::WindowRank;
pub use super::window_rows::WindowColumns;
use super::window_rows::{WindowRows, window_rows_mode};
use crate::runtime::{Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits};

/// `ROW_NUMBER() OVER (PARTITION BY window_start, window_end, key ORDER BY …)` between two ranks. A
/// window's rows are ranked and emitted when the watermark passes its end, so that the output only
/// grows. Late rows are dropped and counted.
///
/// With an allowed lateness a window takes rows for so long after its end, and what they change of its
/// ranking is taken back and emitted anew.
///
/// Rows that are equal in the order are ranked as they came. With `keep_last`, which is Flink's
/// deduplication of the last row, the row that came last is the first of its equals.
#[derive(Debug, Clone)]
pub struct WindowRankNode {
    window: WindowColumns,
    partition: Vec<usize>,
    order: Vec<(usize, SortOptions)>,
    ranks: (u64, u64),
    keep_last: bool,
    input: SchemaRef,
    schema: SchemaRef,
    lateness: i64,
}

impl WindowRankNode {
    /// Ranks rows of `input`, whose windows are in the columns `window`, by `partition` (without the
    /// window's columns) in the given order, and keeps the `ranks` from the first to the last, counted
    /// from 1. The output, of `schema`, is the input's columns and the rank.
    pub fn new(
        window: WindowColumns,
        partition: Vec<usize>,
        order: Vec<(usize, SortOptions)>,
        ranks: (u64, u64),
        keep_last: bool,
        input: SchemaRef,
        schema: SchemaRef,
    ) -> Self {
        WindowRankNode { window, partition, order, ranks, keep_last, input, schema, lateness: 0 }
    }

    /// The node with an allowed lateness in milliseconds.
    pub fn with_allowed_lateness(self, lateness: i64) -> Self {
        WindowRankNode { lateness, ..self }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let (keys, input) = (self.partition.clone(), Arc::clone(&self.input));
        let rows = WindowRows::new("rows", self.window, keys, input, self.lateness);
        WindowRank::try_new(self.clone(), rows)
    }

    fn names(&self, columns: &[usize]) -> String {
        columns.iter().map(|column| self.input.field(*column).name().as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl StreamNode for WindowRankNode {
    fn name(&self) -> &'static str {
        "WindowRank"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order.iter().map(|(column, options)| {
            format!(
                "{} {}",
                self.input.field(*column).name(),
                if options.descending { "DESC" } else { "ASC" }
            )
        });
        let (first, last) = self.ranks;
        write!(
            f,
            "rank=[ROW_NUMBER {first}..{last}], partition=[{}], order=[{}]",
            self.names(&self.partition),
            order.collect::<Vec<_>>().join(", ")
        )?;
        match self.lateness {
            0 => Ok(()),
            lateness => write!(f, ", allowed_lateness=[{lateness} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let input = inputs[0];
        if !input.mode.is_insert_only() {
            return plan_err!(
                "ROW_NUMBER over window_start and window_end takes only inserts, but its input has updates \
                 (mode=[{}]); leave the window columns out of PARTITION BY for a ranking that updates",
                input.mode
            );
        }
        let mut key = self.partition.clone();
        key.extend([self.window.start, self.window.end, self.input.fields().len()]);
        Ok(StreamTraits {
            mode: window_rows_mode(self.lateness),
            upsert_keys: vec![key],
            monotonicity: vec![],
            ..input.clone()
        })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.partition.is_empty() {
            true => Distribution::Single,
            false => Distribution::Hash(self.partition.clone()),
        }
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

/// The type of the rank's column in a schema.
fn rank_type(schema: &SchemaRef) -> DataType {
    schema.fields().last().map_or(DataType::UInt64, |field| field.data_type().clone())
}

#[cfg(test)]
mod tests;

//! Lookup joins by processing time: each row of a stream with the rows that a table has at that moment.
//!
//! Nothing is kept of either side but, if it is asked for, a cache. The keys of a batch are looked up
//! together, lookups of several batches run at the same time, and the rows go out in the order in which
//! they came:
//!
//! ```text
//!   batch ──> distinct keys ──> cache ──────────────────────> pairs, residual, pads ──> out
//!                                  └─ missing keys ─> table ─┘
//! ```

mod batch;
mod cache;
mod full;
mod options;
mod retry;
mod stream;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinType, Result, plan_err};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::utils::collect_columns;
use futures::future::BoxFuture;

pub use self::options::{LookupCache, LookupOptions, LookupRetry, PartialCache};

use self::stream::LookupStream;
use super::{LEFT, Residual};
use crate::changelog::RowKind;
use crate::runtime::{ElementStream, StreamNode, StreamTask, StreamTraits, TimeAttributeKind};

/// A table that is looked up by key while a query runs.
pub trait LookupTable: fmt::Debug + Send + Sync {
    /// The table's name, for EXPLAIN and messages.
    fn name(&self) -> &str;

    /// The columns of its rows.
    fn schema(&self) -> SchemaRef;

    /// The key: expressions over [`LookupTable::schema`].
    fn keys(&self) -> &[Arc<dyn PhysicalExpr>];

    /// Whether there is one row of a key at most.
    fn is_unique(&self) -> bool;

    /// The rows that the table has now: those with one of `keys`, a column for each expression of
    /// [`LookupTable::keys`], without NULLs and without duplicates; or all. Rows of other keys may come
    /// along.
    fn lookup(
        &self,
        keys: Option<Vec<ArrayRef>>,
        context: Arc<TaskContext>,
    ) -> BoxFuture<'static, Result<Vec<RecordBatch>>>;
}

/// Flink's LookupJoin.
#[derive(Debug, Clone)]
pub struct LookupJoinNode {
    outer: bool,
    /// The column of the input that the table is read at: a processing time.
    time: usize,
    /// Expressions over the input, that are equal to the table's keys.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    table: Arc<dyn LookupTable>,
    residual: Option<Residual>,
    options: LookupOptions,
    input: SchemaRef,
    schema: SchemaRef,
    /// The node is a plan's, in which the input is not a stream yet.
    planned: bool,
}

impl LookupJoinNode {
    /// A join of an input at its column `time` with the rows of a table whose keys are equal to `keys`,
    /// expressions over the input. `schema` is that of the output: the columns of the input, then those
    /// of the table. The node can be run when [`LookupJoinNode::over`] has told it what its input is.
    ///
    /// # Errors
    /// If the join type is neither INNER nor LEFT, if there is no key, or if the types of keys differ.
    pub fn try_new(
        join_type: JoinType,
        time: usize,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        table: Arc<dyn LookupTable>,
        residual: Option<Residual>,
        input: SchemaRef,
        schema: SchemaRef,
    ) -> Result<Self> {
        let outer = match join_type {
            JoinType::Inner => false,
            JoinType::Left => true,
            other => {
                return plan_err!(
                    "a {other} JOIN FOR SYSTEM_TIME AS OF is not possible: use JOIN or LEFT JOIN"
                );
            }
        };
        if keys.is_empty() {
            return plan_err!(
                "a lookup join needs a column of table {} to be equal to something: say ON t.column = {}.column",
                table.name(),
                table.name()
            );
        }
        for (key, of_table) in keys.iter().zip(table.keys()) {
            let (left, right) = (key.data_type(&input)?, of_table.data_type(&table.schema())?);
            if left != right {
                return plan_err!(
                    "the lookup key {key} is of type {left}, but {of_table} of table {} is of type {right}: cast one of them",
                    table.name()
                );
            }
        }
        let options = LookupOptions::default();
        Ok(LookupJoinNode { outer, time, keys, table, residual, options, input, schema, planned: true })
    }

    /// The node with other options than the default ones.
    pub fn with_options(self, options: LookupOptions) -> Self {
        LookupJoinNode { options, ..self }
    }

    /// The node over a stream; an error unless its time is a processing time.
    pub fn over(&self, input: &StreamTraits) -> Result<Self> {
        let name = self.input.field(self.time).name();
        match input.time_attribute(self.time) {
            Some(TimeAttributeKind::Proctime) => Ok(LookupJoinNode { planned: false, ..self.clone() }),
            Some(TimeAttributeKind::Rowtime) => plan_err!(
                "FOR SYSTEM_TIME AS OF {name}: {name} is a rowtime, but table {} has no versions, it can only be looked up as \
                 it is now; take a column that is PROCTIME(), or a table with a PRIMARY KEY and a WATERMARK",
                self.table.name()
            ),
            None => plan_err!(
                "FOR SYSTEM_TIME AS OF takes a time attribute of the left table, and {name} is none"
            ),
        }
    }
}

impl StreamNode for LookupJoinNode {
    fn name(&self) -> &'static str {
        "LookupJoin"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.outer { "Left" } else { "Inner" };
        let equal =
            self.keys.iter().zip(self.table.keys()).map(|(key, of_table)| format!("{of_table}={key}"));
        let lookup: Vec<_> = equal.collect();
        write!(f, "table=[{}], type=[{kind}], lookup=[{}]", self.table.name(), lookup.join(", "))?;
        if let Some(residual) = &self.residual {
            write!(f, ", where=[{residual}]")?;
        }
        match &self.options.cache {
            LookupCache::None => {}
            cache => write!(f, ", cache=[{cache}]")?,
        }
        if let Some(LookupRetry { delay, attempts }) = self.options.retry {
            write!(f, ", retry=[lookup_miss, fixed_delay {delay} ms, {attempts} attempts]")?;
        }
        match self.options.own_timeout() {
            None => Ok(()),
            Some(timeout) => write!(f, ", timeout=[{timeout} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let [input] = inputs else { return plan_err!("a lookup join has one input") };
        let mut traits = input.project(self.schema.fields().len(), |column| vec![column]);
        if !self.outer && traits.mode.contains(RowKind::UpdateAfter) {
            // the new row of an update may find nothing, or the old one may have
            traits.mode = traits.mode.with(RowKind::Insert).with(RowKind::Delete);
        }
        if !self.table.is_unique() {
            traits.upsert_keys.clear();
        }
        traits.monotonicity.clear();
        Ok(traits)
    }

    /// What an old row had found must be taken back, unless a new one takes its place for certain.
    fn needs_update_before(&self, _input: usize, output_needed: bool) -> bool {
        output_needed || !self.outer || !self.table.is_unique() || self.residual.is_some()
    }

    fn depends_on(&self, _input: usize, output: &[usize]) -> Option<Vec<usize>> {
        let keys = self.keys.iter().flat_map(collect_columns).map(|column| column.index());
        let residual = self.residual.iter().flat_map(|residual| residual.columns().iter());
        let residual = residual.filter(|(port, _)| *port == LEFT).map(|(_, column)| *column);
        let own = output.iter().copied().filter(|column| *column < self.input.fields().len());
        Some(keys.chain(residual).chain(own).collect())
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.keys.iter().chain(self.residual.iter().map(Residual::expression)).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        if self.planned {
            return plan_err!("FOR SYSTEM_TIME AS OF joins an unbounded table with one that is looked up");
        }
        Ok(Box::pin(LookupStream::start(self.clone(), &task)?))
    }
}

#[cfg(test)]
mod tests;

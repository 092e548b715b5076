//! Top-N: the rows of each partition whose rank is in a range.
//!
//! Flink's three strategies, which differ in what they keep:
//!
//! | input | kept | |
//! |---|---|---|
//! | appends | the first N rows | [`append`] |
//! | updates by key, whose sort key only improves | the first N rows, by key | [`update`] |
//! | any changelog | all rows | [`retract`] |
//!
//! and two ways to tell a change. Without the rank in the output, the row that leaves is deleted and the
//! one that enters is inserted. With it, or with a range that does not begin at 1, each rank whose row
//! changes is updated in turn:
//!
//! ```text
//!   Top-3, 90 comes to 50, 30, 30         without rank: -D 30    +I 90
//!   with rank: -U 1 50  +U 1 90  -U 2 30  +U 2 50  -U 3 30  +U 3 30
//! ```
//!
//! By RANK and DENSE_RANK, which Flink does not have, rows share ranks: [`ties`].

mod append;
mod emitter;
mod operator;
mod retract;
mod ties;
mod update;

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use self::append::AppendTopN;
use self::operator::TopN;
use self::retract::RetractTopN;
use self::ties::TiedTopN;
use self::update::UpdateTopN;
use crate::changelog::{ChangelogMode, RowKind};
use crate::runtime::{
    Distribution, ElementStream, Monotonicity, Operator, StreamNode, StreamTask, StreamTraits,
    TimeAttributeKind,
};
use crate::state::{InlineKey, LongKey, is_inline};

/// The last rank of a Top-N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankEnd {
    /// A number.
    Constant(usize),
    /// The value that this column has in the first row of the partition.
    Column(usize),
}

/// The ranks that are emitted, counted from 1; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankRange {
    /// The first rank.
    pub start: usize,
    /// The last rank.
    pub end: RankEnd,
}

impl RankRange {
    /// The only rank, if the range has no more than one.
    pub fn constant(&self) -> Option<usize> {
        (self.end == RankEnd::Constant(self.start)).then_some(self.start)
    }
}

/// What a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFunction {
    /// ROW_NUMBER: the place of the row; of equal ones the first to come is in front.
    RowNumber,
    /// RANK: one more than the rows in front of the row and its peers.
    Rank,
    /// DENSE_RANK: the number of different sort keys up to the row's.
    DenseRank,
}

/// How the rows that count are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// The input is append-only.
    Append,
    /// The input updates rows by this key, and only for the better.
    Update(Vec<usize>),
    /// Any changelog.
    Retract,
}

/// Flink's Rank, Limit and SortLimit.
#[derive(Debug, Clone)]
pub struct TopNNode {
    name: &'static str,
    keys: Vec<usize>,
    sort: Vec<(usize, SortOptions)>,
    range: RankRange,
    function: RankFunction,
    strategy: Strategy,
    /// Columns that do not tell two rows apart: processing times.
    ignored: Vec<usize>,
    input: SchemaRef,
    schema: SchemaRef,
    update_before: bool,
    ttl: i64,
}

impl TopNNode {
    /// The rows of `input` with a rank in `range` among those that agree in the columns `keys`, in the
    /// order of the columns `sort` and, where these are equal, of arrival. If `schema` has a column more
    /// than the input, it is the rank. `name` is the node's in EXPLAIN.
    pub fn new(
        name: &'static str,
        keys: Vec<usize>,
        sort: Vec<(usize, SortOptions)>,
        range: RankRange,
        input: SchemaRef,
        schema: SchemaRef,
        ttl: i64,
    ) -> Self {
        TopNNode {
            name,
            keys,
            sort,
            range,
            function: RankFunction::RowNumber,
            strategy: Strategy::Retract,
            ignored: vec![],
            input,
            schema,
            update_before: true,
            ttl,
        }
    }

    /// The node with another rank than ROW_NUMBER.
    pub fn with_function(self, function: RankFunction) -> Self {
        TopNNode { function, ..self }
    }

    /// The node with the strategy that suits such an input.
    pub fn with_strategy_for(mut self, traits: &StreamTraits) -> Self {
        let is_proctime =
            |column: &usize| traits.time_attribute(*column) == Some(TimeAttributeKind::Proctime);
        self.ignored = (0..self.input.fields().len()).filter(is_proctime).collect();
        self.strategy = self.strategy_for(traits);
        self
    }

    /// The node with its rank as a column more, if its output lacks it and it is not always the same.
    pub fn with_rank(&self) -> Option<Self> {
        if self.has_rank() || self.range.constant().is_some() || self.has_ties() {
            return None;
        }
        let rank = Arc::new(Field::new("$rank", DataType::Int64, false));
        let fields: Vec<_> = self.input.fields().iter().cloned().chain([rank]).collect();
        Some(TopNNode { schema: Arc::new(Schema::new(fields)), ..self.clone() })
    }

    /// How updates change a ranked output, given that rows only come: the row at a rank gets better.
    fn monotonicity(&self) -> Vec<Monotonicity> {
        if self.strategy != Strategy::Append || !self.has_rank() || self.has_ties() {
            return vec![];
        }
        let mut columns = vec![Monotonicity::NotMonotonic; self.schema.fields().len()];
        if let Some((column, options)) = self.sort.first() {
            columns[*column] =
                if options.descending { Monotonicity::Increasing } else { Monotonicity::Decreasing };
        }
        for key in &self.keys {
            columns[*key] = Monotonicity::Constant;
        }
        columns
    }

    fn strategy_for(&self, traits: &StreamTraits) -> Strategy {
        if traits.mode.is_insert_only() {
            return Strategy::Append;
        }
        let only_improves = |(column, options): &(usize, SortOptions)| match traits.monotonicity_of(*column) {
            Monotonicity::Constant => true,
            Monotonicity::Increasing => options.descending,
            Monotonicity::Decreasing => !options.descending,
            Monotonicity::NotMonotonic => false,
        };
        let has_partition = |key: &&Vec<usize>| self.keys.iter().all(|column| key.contains(column));
        match traits.upsert_keys.iter().find(has_partition) {
            Some(key)
                if !self.has_ties()
                    && !traits.mode.contains(RowKind::Delete)
                    && !self.sort.is_empty()
                    && self.sort.iter().all(only_improves) =>
            {
                Strategy::Update(key.clone())
            }
            _ => Strategy::Retract,
        }
    }

    fn has_rank(&self) -> bool {
        self.schema.fields().len() > self.input.fields().len()
    }

    /// Whether rows share ranks.
    fn has_ties(&self) -> bool {
        self.function != RankFunction::RowNumber
    }

    /// Whether there is one row a partition, which is replaced.
    fn is_top_1(&self) -> bool {
        self.range.constant() == Some(1) && self.strategy != Strategy::Retract && !self.has_ties()
    }

    /// Whether changes are told rank by rank.
    fn is_ranked(&self) -> bool {
        self.has_rank() || (self.range.start > 1 && !self.has_ties())
    }

    fn operator_of<K: crate::state::SortKey>(&self) -> Result<Box<dyn Operator>> {
        let compared =
            || (0..self.input.fields().len()).filter(|column| !self.ignored.contains(column)).collect();
        if self.has_ties() {
            let compared = (self.strategy != Strategy::Append).then(compared);
            let ranking = TiedTopN::<K>::new(self.function == RankFunction::DenseRank, compared);
            return Ok(Box::new(TopN::try_new(self.clone(), ranking)?));
        }
        Ok(match &self.strategy {
            Strategy::Append => Box::new(TopN::try_new(self.clone(), AppendTopN::<K>::default())?),
            Strategy::Update(_) => Box::new(TopN::try_new(self.clone(), UpdateTopN::<K>::default())?),
            Strategy::Retract => Box::new(TopN::try_new(self.clone(), RetractTopN::<K>::new(compared()))?),
        })
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let types: Vec<DataType> =
            self.sort.iter().map(|(column, _)| self.input.field(*column).data_type().clone()).collect();
        match is_inline(&types) {
            true => self.operator_of::<InlineKey>(),
            false => self.operator_of::<LongKey>(),
        }
    }
}

impl StreamNode for TopNNode {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |column: &usize| self.input.field(*column).name().as_str();
        let strategy = match &self.strategy {
            Strategy::Append => "AppendFast".to_string(),
            Strategy::Update(key) => {
                format!("UpdateFast[{}]", key.iter().map(name).collect::<Vec<_>>().join(", "))
            }
            Strategy::Retract => "Retract".to_string(),
        };
        let end = match &self.range.end {
            RankEnd::Constant(end) => end.to_string(),
            RankEnd::Column(column) => name(column).to_string(),
        };
        let sort = self.sort.iter().map(|(column, options)| format!("{} {options}", name(column)));
        match self.function {
            RankFunction::RowNumber => {}
            RankFunction::Rank => f.write_str("function=[RANK], ")?,
            RankFunction::DenseRank => f.write_str("function=[DENSE_RANK], ")?,
        }
        write!(
            f,
            "strategy=[{strategy}], ranks=[{}, {end}], key=[{}], order=[{}]",
            self.range.start,
            self.keys.iter().map(name).collect::<Vec<_>>().join(", "),
            sort.collect::<Vec<_>>().join(", ")
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
        let input = inputs[0];
        let mut mode = ChangelogMode::INSERT_ONLY;
        let updates = self.is_top_1() || self.is_ranked() || matches!(self.strategy, Strategy::Update(_));
        if updates {
            mode = mode.with(RowKind::UpdateAfter);
            if self.update_before {
                mode = mode.with(RowKind::UpdateBefore);
            }
        }
        if self.strategy == Strategy::Retract || self.has_ties() || (!self.is_top_1() && !self.is_ranked()) {
            mode = mode.with(RowKind::Delete);
        }
        let mut upsert_keys = input.upsert_keys.clone();
        if self.has_ties() {
            // rows that share a rank are told apart by their own key only
        } else if self.range.constant().is_some() {
            upsert_keys.push(self.keys.clone());
        } else if self.has_rank() {
            // a row moves between ranks: its own key is none any more, as far as one rank goes
            upsert_keys.push(self.keys.iter().copied().chain([self.input.fields().len()]).collect());
            upsert_keys.rotate_right(1);
        }
        Ok(StreamTraits { mode, upsert_keys, monotonicity: self.monotonicity(), ..input.clone() })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys.as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        self.strategy == Strategy::Retract
    }

    fn with_update_before(&self, needed: bool) -> Option<Arc<dyn StreamNode>> {
        (needed != self.update_before)
            .then(|| Arc::new(TopNNode { update_before: needed, ..self.clone() }) as Arc<dyn StreamNode>)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

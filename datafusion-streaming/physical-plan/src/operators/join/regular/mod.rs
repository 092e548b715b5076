//! Regular joins: every row of one input with every row of the other that matches it, for as long as
//! both are there.
//!
//! Both inputs keep their rows, in lists by join key. A row that comes is matched with the rows of
//! the other side, which do not change during a batch of this one: so the candidates of many rows
//! are looked up, decoded and filtered together. What each row does follows Flink's order:
//!
//! ```text
//!   a row comes       -D of pads of the other side that end, then the pairs, or its own pad
//!   a row goes        the pairs or its own pad taken back, then pads of the other side that begin
//! ```
//!
//! The rows of a side that is padded, or of which only those with (or without) a match are in the
//! output, count their matches.

mod bundled;
mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinType, Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;

use self::bundled::{BundledJoin, Input};
use self::operator::RegularJoin;
use super::side::{JoinKeys, JoinSide, Retraction, SideOptions};
use super::{LEFT, OutputColumn, RIGHT, Residual};
use crate::changelog::{ChangelogMode, RowKind};
use crate::operators::aggregate::Bundling;
use crate::runtime::{Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits};

/// More keys than these are not worth knowing.
const MAX_UPSERT_KEYS: usize = 8;

/// Flink's Join: of two appends or changelogs, without bounds in time.
#[derive(Debug, Clone)]
pub struct RegularJoinNode {
    join_type: JoinType,
    /// The key columns of each side.
    keys: [Vec<usize>; 2],
    null_safe: bool,
    residual: Option<Residual>,
    inputs: [SchemaRef; 2],
    retractions: [Retraction; 2],
    ttl: [i64; 2],
    columns: Vec<OutputColumn>,
    schema: SchemaRef,
    /// With mini-batch: when bundles end, and of each side a key that identifies its rows.
    bundling: Option<(Bundling, [Option<Vec<usize>>; 2])>,
}

/// A join of two inputs.
#[derive(Debug, Clone)]
pub struct JoinSpec {
    /// Which rows are put out.
    pub join_type: JoinType,
    /// The key columns of the left and of the right input, of the same types.
    pub keys: [Vec<usize>; 2],
    /// Whether NULL keys are equal.
    pub null_safe: bool,
    /// What a pair must fulfil besides equal keys.
    pub residual: Option<Residual>,
    /// The schemas of the inputs.
    pub inputs: [SchemaRef; 2],
    /// The schema of the output.
    pub schema: SchemaRef,
    /// Which columns of the join's own output are put out; `None`: all.
    pub projection: Option<Vec<usize>>,
}

impl JoinSpec {
    /// What each output column is.
    pub fn columns(&self) -> Vec<OutputColumn> {
        let side = |port: usize| {
            (0..self.inputs[port].fields().len()).map(move |place| OutputColumn::Input(port, place))
        };
        let all: Vec<_> = match self.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => side(LEFT).collect(),
            JoinType::RightSemi | JoinType::RightAnti => side(RIGHT).collect(),
            JoinType::LeftMark => side(LEFT).chain([OutputColumn::Mark]).collect(),
            JoinType::RightMark => side(RIGHT).chain([OutputColumn::Mark]).collect(),
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
                side(LEFT).chain(side(RIGHT)).collect()
            }
        };
        match &self.projection {
            Some(projection) => projection.iter().filter_map(|place| all.get(*place).copied()).collect(),
            None => all,
        }
    }
}

impl RegularJoinNode {
    /// A join of inputs with these changelog modes. `ttl` is the time to live of each side's state in
    /// milliseconds, 0 for ever.
    pub fn try_new(spec: JoinSpec, modes: [ChangelogMode; 2], ttl: [i64; 2]) -> Result<Self> {
        for (left, right) in spec.keys[LEFT].iter().zip(&spec.keys[RIGHT]) {
            let (left, right) = (spec.inputs[LEFT].field(*left), spec.inputs[RIGHT].field(*right));
            if left.data_type() != right.data_type() {
                return plan_err!(
                    "the join key {} is of type {}, but {} is of type {}: cast one of them",
                    left.name(),
                    left.data_type(),
                    right.name(),
                    right.data_type()
                );
            }
        }
        Ok(RegularJoinNode {
            columns: spec.columns(),
            join_type: spec.join_type,
            keys: spec.keys,
            null_safe: spec.null_safe,
            residual: spec.residual,
            inputs: spec.inputs,
            retractions: modes.map(|mode| match mode.is_insert_only() {
                true => Retraction::Never,
                false => Retraction::ByContent,
            }),
            ttl,
            schema: spec.schema,
            bundling: None,
        })
    }

    /// The node for inputs that have, where `unique` says so, one row at most of a join key.
    pub fn with_unique_join_keys(self, unique: [bool; 2]) -> Self {
        let retraction = |port: usize| match self.retractions[port] {
            Retraction::ByContent if unique[port] => Retraction::ByKey,
            other => other,
        };
        RegularJoinNode { retractions: [retraction(LEFT), retraction(RIGHT)], ..self }
    }

    /// The node with mini-batch: changes are folded by a key that identifies the rows of their side, if
    /// there is one, before they are joined.
    pub fn with_bundling(self, bundling: Bundling, unique_keys: [Option<Vec<usize>>; 2]) -> Self {
        RegularJoinNode { bundling: Some((bundling, unique_keys)), ..self }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let types: Vec<_> =
            self.keys[LEFT].iter().map(|key| self.inputs[LEFT].field(*key).data_type().clone()).collect();
        let keys = JoinKeys::try_new(&types, self.null_safe)?;
        let form = Form::of(self.join_type);
        let side = |port: usize, name: &'static str| {
            let options = SideOptions {
                retraction: self.retractions[port],
                matches: form.counts_matches(port),
                ttl: self.ttl[port],
            };
            JoinSide::try_new(name, Arc::clone(&self.inputs[port]), self.keys[port].clone(), options)
        };
        let join = RegularJoin::new(self.clone(), form, keys, [side(LEFT, "left")?, side(RIGHT, "right")?]);
        Ok(match &self.bundling {
            None => Box::new(join),
            Some((bundling, [left, right])) => {
                let inputs = [(LEFT, left), (RIGHT, right)]
                    .map(|(port, key)| Input::new(Arc::clone(&self.inputs[port]), key.clone()));
                Box::new(BundledJoin::new(join, self.join_type, *bundling, inputs))
            }
        })
    }

    /// The place in the output of an input column.
    fn places(&self, port: usize, column: usize) -> Option<usize> {
        self.columns.iter().position(|output| *output == OutputColumn::Input(port, column))
    }

    /// The keys of the output. A key must hold the join key: rows with equal keys would otherwise
    /// come from several partitions, in any order.
    fn upsert_keys(&self, inputs: &[&StreamTraits]) -> Vec<Vec<usize>> {
        let place = |port: usize, key: &[usize]| {
            key.iter().map(|column| self.places(port, *column)).collect::<Option<Vec<_>>>()
        };
        let keys_of = |port: usize| {
            let covers = move |key: &&Vec<usize>| self.keys[port].iter().all(|column| key.contains(column));
            inputs[port].upsert_keys.iter().filter(covers)
        };
        let is_unique = |port: usize| has_unique_key_in(inputs[port], &self.keys[port]);
        let mut keys: Vec<Vec<usize>> = vec![];
        match Form::of(self.join_type) {
            Form::Pairs { padded } => {
                for (port, other) in [(LEFT, RIGHT), (RIGHT, LEFT)] {
                    // where the other side is padded, this one's columns are NULL several times
                    if is_unique(other) && !padded[other] {
                        keys.extend(keys_of(port).filter_map(|key| place(port, key)));
                    }
                }
                for left in keys_of(LEFT) {
                    for right in keys_of(RIGHT) {
                        if let (Some(left), Some(right)) = (place(LEFT, left), place(RIGHT, right)) {
                            keys.push(left.into_iter().chain(right).collect());
                        }
                    }
                }
            }
            Form::Semi(kept) | Form::Anti(kept) | Form::Mark(kept) => {
                keys.extend(keys_of(kept).filter_map(|key| place(kept, key)));
            }
        }
        keys.truncate(MAX_UPSERT_KEYS);
        keys
    }
}

/// Whether an input has one row at most for each value of these columns.
pub fn has_unique_key_in(input: &StreamTraits, columns: &[usize]) -> bool {
    input.upsert_keys.iter().any(|key| key.iter().all(|column| columns.contains(column)))
}

/// What is put out of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Pairs, and rows without a match of the sides that are padded.
    Pairs { padded: [bool; 2] },
    /// The rows of a side that have a match.
    Semi(usize),
    /// The rows of a side that have none.
    Anti(usize),
    /// The rows of a side and whether they have a match.
    Mark(usize),
}

impl Form {
    fn of(join_type: JoinType) -> Self {
        match join_type {
            JoinType::Inner => Form::Pairs { padded: [false, false] },
            JoinType::Left => Form::Pairs { padded: [true, false] },
            JoinType::Right => Form::Pairs { padded: [false, true] },
            JoinType::Full => Form::Pairs { padded: [true, true] },
            JoinType::LeftSemi => Form::Semi(LEFT),
            JoinType::RightSemi => Form::Semi(RIGHT),
            JoinType::LeftAnti => Form::Anti(LEFT),
            JoinType::RightAnti => Form::Anti(RIGHT),
            JoinType::LeftMark => Form::Mark(LEFT),
            JoinType::RightMark => Form::Mark(RIGHT),
        }
    }

    fn counts_matches(self, port: usize) -> bool {
        match self {
            Form::Pairs { padded } => padded[port],
            Form::Semi(kept) | Form::Anti(kept) | Form::Mark(kept) => kept == port,
        }
    }
}

impl StreamNode for RegularJoinNode {
    fn name(&self) -> &'static str {
        "Join"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |port: usize| {
            let names = self.keys[port].iter().map(|key| self.inputs[port].field(*key).name().as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        write!(f, "type=[{}], left_key=[{}], right_key=[{}]", self.join_type, names(LEFT), names(RIGHT))?;
        if self.null_safe {
            f.write_str(", null_safe=[true]")?;
        }
        if let Some(residual) = &self.residual {
            write!(f, ", where=[{residual}]")?;
        }
        if let Some((bundling, _)) = &self.bundling {
            write!(f, ", mini_batch=[{bundling}]")?;
        }
        match self.ttl {
            [0, 0] => Ok(()),
            [left, right] => write!(f, ", ttl=[{left} ms, {right} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let [left, right] = inputs else { return plan_err!("a join has two inputs") };
        let both = left.mode.union(right.mode);
        let mode = match Form::of(self.join_type) {
            Form::Pairs { padded: [false, false] } => both,
            Form::Semi(kept) => match inputs[1 - kept].mode.is_insert_only() {
                true => inputs[kept].mode,
                false => both,
            },
            Form::Pairs { .. } | Form::Anti(_) | Form::Mark(_) => {
                both.with(RowKind::Delete).with(RowKind::UpdateBefore).with(RowKind::UpdateAfter)
            }
        };
        Ok(StreamTraits { mode, upsert_keys: self.upsert_keys(inputs), ..StreamTraits::default() })
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        match self.keys[input].as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.residual.iter().map(Residual::expression).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

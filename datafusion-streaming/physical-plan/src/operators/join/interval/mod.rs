//! Interval joins: the rows of two streams whose times are near each other.
//!
//! ```text
//!   left.time  BETWEEN  right.time + lower  AND  right.time + upper
//! ```
//!
//! A row is kept until the watermark proves that no partner can come any more; then, in an outer
//! join, it is padded if it has had none. Rows are put out after the watermark has passed their
//! times, so the output's watermark is held back, as far as Flink holds it back.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinType, Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;

use self::operator::IntervalJoin;
use super::regular::JoinSpec;
use super::side::{JoinKeys, JoinSide, SideOptions};
use super::{LEFT, OutputColumn, RIGHT, Residual};
use crate::changelog::ChangelogMode;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttribute,
};

/// The times of an interval join, in milliseconds: the left row's less the right row's lies between
/// the bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The time columns of the left and of the right input.
    pub times: [usize; 2],
    /// The lower bound.
    pub lower: i64,
    /// The upper bound.
    pub upper: i64,
}

impl Interval {
    /// Whether no two rows fulfil it.
    fn is_empty(&self) -> bool {
        self.lower > self.upper
    }

    /// The times that partners of a row of `port` at `time` have, both included.
    fn partners(&self, port: usize, time: i64) -> (i64, i64) {
        match port {
            LEFT => (time.saturating_sub(self.upper), time.saturating_sub(self.lower)),
            _ => (time.saturating_add(self.lower), time.saturating_add(self.upper)),
        }
    }

    /// How far behind the input's watermark the output's is: Flink's delay.
    fn delay(&self) -> i64 {
        if self.is_empty() {
            return 0;
        }
        let (left, right) = (self.lower.saturating_neg(), self.upper);
        left.max(right).saturating_add(left.saturating_add(right) / 2).max(0)
    }
}

/// Flink's IntervalJoin by event time: of appends, giving appends.
#[derive(Debug, Clone)]
pub struct IntervalJoinNode {
    interval: Interval,
    padded: [bool; 2],
    join_type: JoinType,
    keys: [Vec<usize>; 2],
    null_safe: bool,
    residual: Option<Residual>,
    inputs: [SchemaRef; 2],
    columns: Vec<OutputColumn>,
    schema: SchemaRef,
}

impl IntervalJoinNode {
    /// A join of append-only inputs. The interval's conditions need not be among those of `spec`.
    pub fn try_new(spec: JoinSpec, interval: Interval) -> Result<Self> {
        let padded = match spec.join_type {
            JoinType::Inner => [false, false],
            JoinType::Left => [true, false],
            JoinType::Right => [false, true],
            JoinType::Full => [true, true],
            other => return plan_err!("there is no interval join of type {other}"),
        };
        Ok(IntervalJoinNode {
            interval,
            padded,
            join_type: spec.join_type,
            columns: spec.columns(),
            keys: spec.keys,
            null_safe: spec.null_safe,
            residual: spec.residual,
            inputs: spec.inputs,
            schema: spec.schema,
        })
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let types: Vec<_> =
            self.keys[LEFT].iter().map(|key| self.inputs[LEFT].field(*key).data_type().clone()).collect();
        let keys = JoinKeys::try_new(&types, self.null_safe)?;
        let side = |port: usize, name: &'static str| -> Result<JoinSide> {
            let options = SideOptions { matches: true, ..SideOptions::default() };
            let side =
                JoinSide::try_new(name, Arc::clone(&self.inputs[port]), self.keys[port].clone(), options)?;
            Ok(side.with_reach(self.interval.times[port], self.interval.partners(port, 0).1))
        };
        Ok(IntervalJoin::new(self.clone(), keys, [side(LEFT, "left")?, side(RIGHT, "right")?]))
    }
}

impl StreamNode for IntervalJoinNode {
    fn name(&self) -> &'static str {
        "IntervalJoin"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |port: usize, place: usize| self.inputs[port].field(place).name().as_str();
        let names =
            |port: usize| self.keys[port].iter().map(|key| name(port, *key)).collect::<Vec<_>>().join(", ");
        write!(
            f,
            "type=[{}], left_key=[{}], right_key=[{}], interval=[{} - {} BETWEEN {} ms AND {} ms]",
            self.join_type,
            names(LEFT),
            names(RIGHT),
            name(LEFT, self.interval.times[LEFT]),
            name(RIGHT, self.interval.times[RIGHT]),
            self.interval.lower,
            self.interval.upper
        )?;
        match &self.residual {
            Some(residual) => write!(f, ", where=[{residual}]"),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The time attributes of both inputs stay: the output's watermark is behind both.
    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let [left, right] = inputs else { return plan_err!("a join has two inputs") };
        if [left, right].iter().any(|input| !input.mode.is_insert_only()) {
            return plan_err!("an interval join takes appends only, but an input updates its rows");
        }
        let mut time_attributes = vec![];
        for (place, column) in self.columns.iter().enumerate() {
            if let OutputColumn::Input(port, column) = column
                && let Some(kind) = inputs[*port].time_attribute(*column)
            {
                time_attributes.push(TimeAttribute { column: place, kind });
            }
        }
        Ok(StreamTraits { mode: ChangelogMode::INSERT_ONLY, time_attributes, ..StreamTraits::default() })
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        match self.keys[input].as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
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

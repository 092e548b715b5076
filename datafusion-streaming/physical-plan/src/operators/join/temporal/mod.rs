//! Event-time temporal joins: each row of the left input with the version that a table had at the
//! row's time.
//!
//! The right input is the changelog of a table with a primary key; a row of it is a version from its
//! rowtime on, a deletion one without content. What time a version is of is only known when the
//! watermark has passed: so rows of the left side wait for it, and of the versions before it only
//! the last of each key is kept.

mod operator;
mod versions;
mod waiting;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinType, Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;

use self::operator::TemporalJoin;
use self::versions::Versions;
use self::waiting::Waiting;
use super::side::JoinKeys;
use super::{LEFT, OutputColumn, RIGHT, Residual};
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};

/// Flink's TemporalJoin by event time.
#[derive(Debug, Clone)]
pub struct TemporalJoinNode {
    keys: [Vec<usize>; 2],
    times: [usize; 2],
    outer: bool,
    residual: Option<Residual>,
    inputs: [SchemaRef; 2],
    schema: SchemaRef,
    /// Old contents of updates take back the version that they were.
    retracting: bool,
    /// The node is a plan's, in which the inputs are not streams yet.
    planned: bool,
}

impl TemporalJoinNode {
    /// A join of rows with the versions of a table at the left input's column `time`. `keys` are
    /// columns of both inputs that are equal. The node can be run when [`TemporalJoinNode::over`] has
    /// told it what its inputs are.
    pub fn try_new(
        join_type: JoinType,
        keys: [Vec<usize>; 2],
        time: usize,
        residual: Option<Residual>,
        inputs: [SchemaRef; 2],
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
        if keys[LEFT].is_empty() {
            return plan_err!(
                "a join FOR SYSTEM_TIME AS OF needs columns of both tables to be equal: the versioned table's primary key"
            );
        }
        Ok(TemporalJoinNode {
            keys,
            times: [time, 0],
            outer,
            residual,
            inputs,
            schema,
            retracting: false,
            planned: true,
        })
    }

    /// The node over streams: of these it takes the versioned table's rowtime and key.
    pub fn over(&self, left: &StreamTraits, right: &StreamTraits) -> Result<Self> {
        let time_field = self.inputs[LEFT].field(self.times[LEFT]);
        match left.time_attribute(self.times[LEFT]) {
            Some(TimeAttributeKind::Rowtime) => {}
            Some(TimeAttributeKind::Proctime) => {
                return plan_err!(
                    "FOR SYSTEM_TIME AS OF {}: a join with the present version of a changing table is not possible; use \
                     a rowtime, or a regular join",
                    time_field.name()
                );
            }
            None => {
                return plan_err!(
                    "FOR SYSTEM_TIME AS OF takes a time attribute of the left table, and {} is none",
                    time_field.name()
                );
            }
        }
        let rowtime =
            right.time_attributes.iter().find(|attribute| attribute.kind == TimeAttributeKind::Rowtime);
        let names = |columns: &[usize]| {
            let names = columns.iter().map(|column| self.inputs[RIGHT].field(*column).name().as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let Some(key) = right.upsert_keys.first() else {
            return plan_err!(
                "FOR SYSTEM_TIME AS OF: the versioned table has no primary key; declare PRIMARY KEY (…) NOT ENFORCED"
            );
        };
        let Some(rowtime) = rowtime else {
            return plan_err!(
                "FOR SYSTEM_TIME AS OF: the versioned table has no rowtime; declare a WATERMARK for it"
            );
        };
        let covered = |key: &Vec<usize>| key.iter().all(|column| self.keys[RIGHT].contains(column));
        if !right.upsert_keys.iter().any(covered) {
            return plan_err!(
                "FOR SYSTEM_TIME AS OF: the join must be on the primary key of the versioned table ({}), but it is on ({})",
                names(key),
                names(&self.keys[RIGHT])
            );
        }
        let (left_type, right_type) =
            (time_field.data_type(), self.inputs[RIGHT].field(rowtime.column).data_type());
        use arrow::datatypes::DataType::Timestamp;
        match (left_type, right_type) {
            (Timestamp(_, left), Timestamp(_, right)) if left.is_some() == right.is_some() => {}
            _ => {
                return plan_err!(
                    "FOR SYSTEM_TIME AS OF: the time {} is of type {left_type}, but that of the versioned table is of type \
                     {right_type}",
                    time_field.name()
                );
            }
        }
        for (left, right) in self.keys[LEFT].iter().zip(&self.keys[RIGHT]) {
            let (left, right) = (self.inputs[LEFT].field(*left), self.inputs[RIGHT].field(*right));
            if left.data_type() != right.data_type() {
                return plan_err!(
                    "FOR SYSTEM_TIME AS OF: {} is of type {}, but {} is of type {}",
                    left.name(),
                    left.data_type(),
                    right.name(),
                    right.data_type()
                );
            }
        }
        Ok(TemporalJoinNode { times: [self.times[LEFT], rowtime.column], planned: false, ..self.clone() })
    }

    /// The node over a versioned table with a filter above its changes. What an update makes of a row
    /// may fail the filter, which then lets the old content pass alone: as in Flink that deletes the
    /// version at the time from which it was valid.
    pub fn with_filtered_versions(self) -> Self {
        TemporalJoinNode { retracting: true, ..self }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let types: Vec<_> =
            self.keys[LEFT].iter().map(|key| self.inputs[LEFT].field(*key).data_type().clone()).collect();
        let [left, right] =
            [LEFT, RIGHT].map(|port| (Arc::clone(&self.inputs[port]), self.keys[port].clone()));
        let waiting = Waiting::try_new(left.0, left.1, self.times[LEFT])?;
        let versions = Versions::try_new(right.0, right.1, self.times[RIGHT])?;
        Ok(TemporalJoin::new(self.clone(), JoinKeys::try_new(&types, true)?, waiting, versions))
    }

    fn columns(&self) -> Vec<OutputColumn> {
        let side = |port: usize| {
            (0..self.inputs[port].fields().len()).map(move |place| OutputColumn::Input(port, place))
        };
        side(LEFT).chain(side(RIGHT)).collect()
    }
}

impl StreamNode for TemporalJoinNode {
    fn name(&self) -> &'static str {
        "TemporalJoin"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |port: usize| {
            let names = self.keys[port].iter().map(|key| self.inputs[port].field(*key).name().as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        write!(
            f,
            "type=[{}], left_key=[{}], right_key=[{}], time=[{}]",
            if self.outer { "Left" } else { "Inner" },
            names(LEFT),
            names(RIGHT),
            self.inputs[LEFT].field(self.times[LEFT]).name()
        )?;
        match &self.residual {
            Some(residual) => write!(f, ", where=[{residual}]"),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Those of the left input: each of its rows is put out once at most.
    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let [left, _] = inputs else { return plan_err!("a join has two inputs") };
        let mut traits = left.project(self.schema.fields().len(), |column| vec![column]);
        let covers = |key: &Vec<usize>| self.keys[LEFT].iter().all(|column| key.contains(column));
        traits.upsert_keys.retain(covers);
        traits.monotonicity.clear();
        Ok(traits)
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        Distribution::Hash(self.keys[input].clone())
    }

    /// A version ends when the next begins.
    fn needs_update_before(&self, input: usize, _output_needed: bool) -> bool {
        input == LEFT
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.residual.iter().map(Residual::expression).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        if self.planned {
            return plan_err!("FOR SYSTEM_TIME AS OF joins an unbounded table with a versioned one");
        }
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;

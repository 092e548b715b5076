//! The logical nodes of `FOR SYSTEM_TIME AS OF`.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use datafusion::common::{DFSchemaRef, JoinType, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

/// `t FOR SYSTEM_TIME AS OF time` in FROM, as it is parsed: a table at a time that the row to the left
/// has. [`LateralRule`](super::LateralRule) makes a [`TemporalJoin`] of the join that it is in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct VersionedTable {
    input: LogicalPlan,
    time: Expr,
    options: Vec<(String, String)>,
}

impl VersionedTable {
    /// The table `input` at `time`, a reference to an outer query's column.
    pub fn new(input: LogicalPlan, time: Expr) -> Self {
        VersionedTable { input, time, options: vec![] }
    }

    /// The table with options of how it is looked up, which go before its own.
    pub fn with_options(self, options: Vec<(String, String)>) -> Self {
        VersionedTable { options, ..self }
    }

    /// How the table is looked up.
    pub fn options(&self) -> &[(String, String)] {
        &self.options
    }

    /// The table.
    pub fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// The time.
    pub fn time(&self) -> &Expr {
        &self.time
    }
}

impl UserDefinedLogicalNodeCore for VersionedTable {
    fn name(&self) -> &str {
        "VersionedTable"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.time.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionedTable: {}", self.time)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (exprs.into_iter().next(), inputs.into_iter().next()) {
            (Some(time), Some(input)) => Ok(VersionedTable { input, time, options: self.options.clone() }),
            _ => plan_err!("FOR SYSTEM_TIME AS OF takes a table and a time"),
        }
    }
}

/// A join of rows with the versions that a table had at their time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TemporalJoin {
    left: LogicalPlan,
    right: LogicalPlan,
    join_type: JoinType,
    time: Expr,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
    options: Vec<(String, String)>,
    schema: DFSchemaRef,
}

impl TemporalJoin {
    /// A join at the time `time` of the left side on pairs of equal columns and a condition on both.
    pub fn new(
        (left, right): (LogicalPlan, LogicalPlan),
        join_type: JoinType,
        time: Expr,
        on: Vec<(Expr, Expr)>,
        filter: Option<Expr>,
        schema: DFSchemaRef,
    ) -> Self {
        TemporalJoin { left, right, join_type, time, on, filter, options: vec![], schema }
    }

    /// The join with options of how its right side is looked up.
    pub fn with_options(self, options: Vec<(String, String)>) -> Self {
        TemporalJoin { options, ..self }
    }

    /// How the right side is looked up.
    pub fn options(&self) -> &[(String, String)] {
        &self.options
    }

    /// Which rows are put out.
    pub fn join_type(&self) -> JoinType {
        self.join_type
    }

    /// The left side's time.
    pub fn time(&self) -> &Expr {
        &self.time
    }

    /// Columns of the left and of the right side that must be equal.
    pub fn on(&self) -> &[(Expr, Expr)] {
        &self.on
    }

    /// What a pair must fulfil besides.
    pub fn filter(&self) -> Option<&Expr> {
        self.filter.as_ref()
    }
}

impl PartialOrd for TemporalJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.left, &self.right, &self.time).partial_cmp(&(&other.left, &other.right, &other.time))
    }
}

impl UserDefinedLogicalNodeCore for TemporalJoin {
    fn name(&self) -> &str {
        "TemporalJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let on = self.on.iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
        std::iter::once(self.time.clone()).chain(on).chain(self.filter.clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = self.on.iter().map(|(left, right)| format!("{left} = {right}"));
        let conditions: Vec<_> = on.chain(self.filter.iter().map(Expr::to_string)).collect();
        write!(f, "{} TemporalJoin: as of {}, {}", self.join_type, self.time, conditions.join(" AND "))
    }

    /// What is filtered out of the versions would let older ones count.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut exprs = exprs.into_iter();
        let mut inputs = inputs.into_iter();
        let (Some(left), Some(right), Some(time)) = (inputs.next(), inputs.next(), exprs.next()) else {
            return plan_err!("a temporal join has two inputs and a time");
        };
        let mut on = vec![];
        for _ in &self.on {
            match (exprs.next(), exprs.next()) {
                (Some(left), Some(right)) => on.push((left, right)),
                _ => return plan_err!("a temporal join has pairs of columns"),
            }
        }
        Ok(TemporalJoin { left, right, time, on, filter: exprs.next(), ..self.clone() })
    }
}

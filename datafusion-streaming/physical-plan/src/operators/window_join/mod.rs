//! Window join: rows of two inputs that are in the same window.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinSide, JoinType, Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;

use self::operator::WindowJoin;
pub use super::window_rows::WindowColumns;
use super::window_rows::{WindowRows, window_rows_mode};
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    WindowProperties,
};

/// One input of a window join.
#[derive(Debug, Clone)]
pub struct WindowJoinInput {
    /// The columns of its windows.
    pub window: WindowColumns,
    /// The columns that must equal those of the other input, the window's aside.
    pub keys: Vec<usize>,
    /// The schema.
    pub schema: SchemaRef,
}

/// A condition besides the equal keys.
#[derive(Debug, Clone)]
pub struct WindowJoinFilter {
    /// The condition, over the columns below.
    pub condition: Arc<dyn PhysicalExpr>,
    /// Its columns: the side and the column there.
    pub columns: Vec<(JoinSide, usize)>,
    /// The schema of those columns.
    pub schema: SchemaRef,
}

/// What a window join joins by, and what it yields.
#[derive(Debug, Clone)]
pub struct WindowJoinNode {
    /// Left and right.
    pub inputs: [WindowJoinInput; 2],
    /// INNER, LEFT, RIGHT, FULL, or SEMI or ANTI of either side.
    pub join_type: JoinType,
    /// Whether NULL keys are equal.
    pub null_equals_null: bool,
    /// The residual condition.
    pub filter: Option<WindowJoinFilter>,
    /// The columns of the output.
    pub output: Vec<(JoinSide, usize)>,
    /// The schema of the output.
    pub schema: SchemaRef,
    /// How long after its end a window takes rows, in milliseconds: what late rows change of its join is
    /// taken back and emitted anew.
    pub lateness: i64,
}

impl WindowJoinNode {
    /// The operator of the node. A window is joined when the watermarks of both inputs have passed
    /// its end, and emitted once unless there is an allowed lateness; late rows are dropped and counted.
    pub fn operator(&self) -> impl Operator + 'static {
        let rows = |name, input: &WindowJoinInput| {
            let (keys, schema) = (input.keys.clone(), Arc::clone(&input.schema));
            WindowRows::new(name, input.window, keys, schema, self.lateness)
        };
        let [left, right] = &self.inputs;
        WindowJoin { rows: [rows("left", left), rows("right", right)], node: self.clone() }
    }

    /// The places in the output of a column of an input.
    fn places(&self, side: JoinSide, column: usize) -> Vec<usize> {
        let is_it = |(_, output): &(usize, &(JoinSide, usize))| **output == (side, column);
        self.output.iter().enumerate().filter(is_it).map(|(place, _)| place).collect()
    }
}

impl StreamNode for WindowJoinNode {
    fn name(&self) -> &'static str {
        "WindowJoin"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right] = &self.inputs;
        let name = |input: &WindowJoinInput, key: usize| input.schema.field(key).name().clone();
        let keys = left.keys.iter().zip(&right.keys);
        let keys: Vec<_> = keys.map(|(l, r)| format!("{} = {}", name(left, *l), name(right, *r))).collect();
        write!(f, "type=[{}], on=[{}]", self.join_type, keys.join(", "))?;
        if let Some(filter) = &self.filter {
            write!(f, ", where=[{}]", filter.condition)?;
        }
        match self.lateness {
            0 => Ok(()),
            lateness => write!(f, ", allowed_lateness=[{lateness} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let sides = [JoinSide::Left, JoinSide::Right];
        let (mut times, mut window): (Vec<TimeAttribute>, Option<WindowProperties>) = (vec![], None);
        for (side, input) in sides.into_iter().zip(inputs) {
            if !input.mode.is_insert_only() {
                return plan_err!(
                    "a join on window_start and window_end takes only inserts, but an input has updates (mode=[{}]); \
                     leave the equality of window_end out for an ordinary join",
                    input.mode
                );
            }
            let padded = match side {
                JoinSide::Left => matches!(self.join_type, JoinType::Right | JoinType::Full),
                _ => matches!(self.join_type, JoinType::Left | JoinType::Full),
            };
            if padded {
                continue;
            }
            for attribute in &input.time_attributes {
                let places = self.places(side, attribute.column).into_iter();
                times.extend(places.map(|column| TimeAttribute { column, kind: attribute.kind }));
            }
            let Some(own) = &input.window else { continue };
            let places = |columns: &[usize]| {
                columns.iter().flat_map(|column| self.places(side, *column)).collect::<Vec<_>>()
            };
            let (start, end, time) = (places(&own.start), places(&own.end), places(&own.time));
            match &mut window {
                Some(window) => {
                    window.start.extend(start);
                    window.end.extend(end);
                    window.time.extend(time);
                }
                None => window = Some(WindowProperties { start, end, time, ..own.clone() }),
            }
        }
        Ok(StreamTraits {
            mode: window_rows_mode(self.lateness),
            upsert_keys: vec![],
            time_attributes: times,
            window,
            monotonicity: vec![],
            never_negative: vec![],
        })
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        let keys = &self.inputs[input].keys;
        match keys.is_empty() {
            true => Distribution::Single,
            false => Distribution::Hash(keys.clone()),
        }
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.filter.iter().map(|filter| &filter.condition).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

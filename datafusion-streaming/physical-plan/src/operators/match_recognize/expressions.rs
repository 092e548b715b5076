//! Expressions over the rows of a match: conditions and measures.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion_physical_expr_common::physical_expr::fmt_sql;

use crate::operators::aggregate::{AggregateCall, Aggregates};
use crate::state::{Place, RowStore};
use crate::time::timestamps_of;

/// What an expression over a match refers to.
#[derive(Debug, Clone)]
pub enum PatternReference {
    /// A column of one row.
    Row {
        /// The variable whose rows are counted, by its place in the pattern; `None`: the rows of all.
        variable: Option<usize>,
        /// Whether rows are counted from the first one, not back from the last.
        first: bool,
        /// How many rows from there. NULL if there is no such row.
        offset: usize,
        /// The column of the input.
        column: usize,
    },
    /// An aggregate of rows.
    Aggregate {
        /// The variable whose rows are aggregated, by its place in the pattern; `None`: all rows.
        variable: Option<usize>,
        /// The function; its columns are places among the [arguments](PatternExpressions::new).
        call: AggregateCall,
    },
    /// The event time of the row that is matched.
    Rowtime,
    /// The processing time.
    Proctime,
}

/// Expressions over references to the rows of a match.
#[derive(Debug, Clone)]
pub struct PatternExpressions {
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    references: Vec<PatternReference>,
    /// The columns that the expressions are over: one for each reference.
    schema: SchemaRef,
    /// The arguments of aggregates, over `argument_columns` of the input.
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    argument_columns: Vec<usize>,
    argument_schema: SchemaRef,
    argument_types: Vec<DataType>,
}

impl PatternExpressions {
    /// Expressions over a column for each of `references`, of the types in `schema`. The arguments of
    /// aggregates are over rows of `input`.
    pub fn try_new(
        expressions: Vec<Arc<dyn PhysicalExpr>>,
        references: Vec<PatternReference>,
        schema: &Schema,
        arguments: &[Arc<dyn PhysicalExpr>],
        input: &Schema,
    ) -> Result<Self> {
        // only what the expressions read is gathered
        let used: BTreeSet<usize> =
            expressions.iter().flat_map(collect_columns).map(|column| column.index()).collect();
        let field = |reference: &usize| schema.field(*reference).clone().with_nullable(true);
        let schema: SchemaRef = Arc::new(Schema::new(used.iter().map(field).collect::<Vec<Field>>()));
        let expressions = expressions
            .into_iter()
            .map(|expression| reassign_expr_columns(expression, &schema))
            .collect::<Result<_>>()?;
        let mut references: Vec<_> = used.iter().map(|reference| references[*reference].clone()).collect();
        let mut read_arguments = vec![];
        for reference in &mut references {
            let PatternReference::Aggregate { call, .. } = reference else { continue };
            for argument in &mut call.args {
                read_arguments.push(Arc::clone(&arguments[*argument]));
                *argument = read_arguments.len() - 1;
            }
        }
        let arguments = read_arguments;
        let read: BTreeSet<usize> =
            arguments.iter().flat_map(collect_columns).map(|column| column.index()).collect();
        let argument_columns: Vec<usize> = read.into_iter().collect();
        let argument_schema: SchemaRef = Arc::new(input.project(&argument_columns)?);
        let argument_types =
            arguments.iter().map(|argument| argument.data_type(input)).collect::<Result<_>>()?;
        let arguments = arguments
            .into_iter()
            .map(|argument| reassign_expr_columns(argument, &argument_schema))
            .collect::<Result<_>>()?;
        Ok(PatternExpressions {
            expressions,
            references,
            schema,
            arguments,
            argument_columns,
            argument_schema,
            argument_types,
        })
    }

    /// The expressions.
    pub fn expressions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.expressions
    }

    /// What the expressions refer to.
    pub fn references(&self) -> &[PatternReference] {
        &self.references
    }

    /// What an expression comes to where it is a reference as it is.
    pub fn reference_of(&self, expression: usize) -> Option<&PatternReference> {
        let column = self.expressions[expression].downcast_ref::<Column>()?;
        self.references.get(column.index())
    }

    /// The expressions as text, with these names for what they refer to.
    pub(super) fn display(&self, names: &[String]) -> String {
        let named = |expression: &Arc<dyn PhysicalExpr>| {
            let named = Arc::clone(expression).transform_down(|expr| {
                Ok(match expr.downcast_ref::<Column>().and_then(|column| names.get(column.index())) {
                    Some(name) => Transformed::yes(Arc::new(Column::new(name, 0)) as Arc<dyn PhysicalExpr>),
                    None => Transformed::no(expr),
                })
            });
            match named {
                Ok(named) => fmt_sql(named.data.as_ref()).to_string(),
                Err(_) => expression.to_string(),
            }
        };
        self.expressions.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    /// Whether all that is referred to is the current row, which is the last one of the variable `own`.
    pub(super) fn of_current_row(&self, own: usize) -> bool {
        self.references.iter().all(|reference| match reference {
            PatternReference::Row { variable, first: false, offset: 0, .. } => {
                variable.is_none_or(|variable| variable == own)
            }
            PatternReference::Row { .. } | PatternReference::Aggregate { .. } => false,
            PatternReference::Rowtime | PatternReference::Proctime => true,
        })
    }

    /// The values of the expressions for each of the matches that `bound` tells of.
    pub(super) fn evaluate(&self, bound: &impl Bound, store: &RowStore) -> Result<Vec<ArrayRef>> {
        let rows = bound.matches();
        let mut aggregated = self.aggregate(bound, store)?.into_iter();
        let mut columns = Vec::with_capacity(self.references.len());
        for (reference, field) in self.references.iter().zip(self.schema.fields()) {
            columns.push(match reference {
                PatternReference::Row { variable, first, offset, column } => {
                    let variable = variable.map(|variable| variable as u16);
                    let place = |row| bound.row(row, variable, *first, *offset);
                    gather(store, *column, &(0..rows).map(place).collect::<Vec<_>>())?
                }
                PatternReference::Aggregate { .. } => match aggregated.next() {
                    Some(values) => values,
                    None => new_null_array(field.data_type(), rows),
                },
                PatternReference::Rowtime => {
                    timestamps_of((0..rows).map(|row| bound.time(row)).collect(), field.data_type())?
                }
                PatternReference::Proctime => {
                    timestamps_of(vec![bound.processing_time(); rows], field.data_type())?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.expressions.iter().map(|expression| expression.evaluate(&batch)?.into_array(rows)).collect()
    }

    /// The values of the aggregates, in the order of the references.
    fn aggregate(&self, bound: &impl Bound, store: &RowStore) -> Result<Vec<ArrayRef>> {
        let mut values = vec![];
        let mut rows_of: Vec<(Option<usize>, RecordBatch, Vec<u32>)> = vec![];
        for reference in &self.references {
            let PatternReference::Aggregate { variable, call } = reference else { continue };
            let known = match rows_of.iter().position(|(of, ..)| of == variable) {
                Some(known) => known,
                None => {
                    let (mut places, mut slots) = (vec![], vec![]);
                    for one in 0..bound.matches() {
                        bound.rows(one, variable.map(|variable| variable as u16), &mut places);
                        slots.resize(places.len(), one as u32);
                    }
                    rows_of.push((*variable, self.argument_batch(&places, store)?, slots));
                    rows_of.len() - 1
                }
            };
            let (_, batch, slots) = &rows_of[known];
            let mut aggregates =
                Aggregates::try_new(std::slice::from_ref(call), &self.argument_types, false)?;
            aggregates.grow(bound.matches());
            aggregates.accumulate(batch, slots, None)?;
            values.extend(aggregates.evaluate(&(0..bound.matches() as u32).collect::<Vec<_>>())?);
        }
        Ok(values)
    }

    /// The arguments of the aggregates for rows.
    fn argument_batch(&self, places: &[Place], store: &RowStore) -> Result<RecordBatch> {
        let columns = self.argument_columns.iter().map(|column| store.gather_column(*column, places));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&self.argument_schema), columns, &options)?;
        let argument = |argument: &Arc<dyn PhysicalExpr>| argument.evaluate(&rows)?.into_array(places.len());
        let arguments = self.arguments.iter().map(argument).collect::<Result<Vec<_>>>()?;
        let field = |(place, values): (usize, &ArrayRef)| {
            Field::new(format!("${place}"), values.data_type().clone(), true)
        };
        let fields: Vec<Field> = arguments.iter().enumerate().map(field).collect();
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arguments, &options)?)
    }
}

/// The matches that expressions are evaluated for.
pub(super) trait Bound {
    /// How many there are.
    fn matches(&self) -> usize;

    /// A row of a match: the `offset`-th of a variable or of all, from the first or back from the last.
    fn row(&self, one: usize, variable: Option<u16>, first: bool, offset: usize) -> Option<Place>;

    /// Adds the rows of a variable or of all, in their order.
    fn rows(&self, one: usize, variable: Option<u16>, places: &mut Vec<Place>);

    /// The event time of the row that was matched.
    fn time(&self, one: usize) -> i64;

    /// Processing time.
    fn processing_time(&self) -> i64;
}

/// A column of rows, NULL where there is none.
pub(super) fn gather(store: &RowStore, column: usize, places: &[Option<Place>]) -> Result<ArrayRef> {
    let Some(any) = places.iter().flatten().next() else {
        return Ok(new_null_array(store.schema().field(column).data_type(), places.len()));
    };
    let filled: Vec<Place> = places.iter().map(|place| place.unwrap_or(*any)).collect();
    let values = store.gather_column(column, &filled)?;
    if places.iter().all(Option::is_some) {
        return Ok(values);
    }
    let is_missing: BooleanArray = places.iter().map(|place| Some(place.is_none())).collect();
    Ok(nullif(&values, &is_missing)?)
}

/// Matches that are found, with their rows.
#[derive(Debug)]
pub(super) struct FoundMatches {
    pub processing_time: i64,
    found: Vec<Found>,
    rows: Vec<(u16, Place)>,
}

#[derive(Debug, Clone)]
struct Found {
    /// The place, among the rows that are matched, of the row that brought the match about.
    order: usize,
    time: i64,
    rows: Range<usize>,
}

impl FoundMatches {
    /// No matches yet, at this processing time.
    pub fn new(processing_time: i64) -> Self {
        FoundMatches { processing_time, found: vec![], rows: vec![] }
    }

    /// Adds a match with its rows from the last to the first.
    pub fn push(&mut self, order: usize, time: i64, back: impl Iterator<Item = (u16, Place)>) {
        let first = self.rows.len();
        self.rows.extend(back);
        self.rows[first..].reverse();
        self.found.push(Found { order, time, rows: first..self.rows.len() });
    }

    /// Puts the matches in the order of the rows that brought them about.
    pub fn sort(&mut self) {
        self.found.sort_by_key(|found| found.order);
    }

    /// A row of each match.
    pub fn first_rows(&self) -> Vec<Place> {
        self.found.iter().map(|found| self.rows[found.rows.start].1).collect()
    }

    fn rows_of(&self, one: usize, variable: Option<u16>) -> &[(u16, Place)] {
        let rows = &self.rows[self.found[one].rows.clone()];
        let Some(variable) = variable else { return rows };
        // variables follow each other in the order of the pattern
        let start = rows.partition_point(|(of, _)| *of < variable);
        let end = rows.partition_point(|(of, _)| *of <= variable);
        &rows[start..end]
    }
}

impl Bound for FoundMatches {
    fn matches(&self) -> usize {
        self.found.len()
    }

    fn row(&self, one: usize, variable: Option<u16>, first: bool, offset: usize) -> Option<Place> {
        let rows = self.rows_of(one, variable);
        let place = match first {
            true => offset,
            false => rows.len().checked_sub(offset + 1)?,
        };
        rows.get(place).map(|(_, place)| *place)
    }

    fn rows(&self, one: usize, variable: Option<u16>, places: &mut Vec<Place>) {
        places.extend(self.rows_of(one, variable).iter().map(|(_, place)| *place));
    }

    fn time(&self, one: usize) -> i64 {
        self.found[one].time
    }

    fn processing_time(&self) -> i64 {
        self.processing_time
    }
}

//! The logical nodes of UNNEST.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_streaming_physical_plan::operators::unnest::{ORDINALITY_COLUMN, element_fields};

/// `UNNEST(collection)` in FROM, as it is parsed: the elements of a collection that may be of the
/// row to the left. [`LateralRule`](super::LateralRule) makes an [`Unnest`] of the join that it is
/// in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnnestSource {
    collection: Expr,
    ordinality: bool,
    schema: DFSchemaRef,
}

impl UnnestSource {
    /// The elements of `collection`, whose columns may be references to an outer query's. `names`
    /// are those of the columns; none: Flink's.
    pub fn try_new(collection: Expr, ordinality: bool, names: &[String]) -> Result<Self> {
        let data_type = collection.get_type(&DFSchema::empty())?;
        let mut fields = element_fields(&data_type)?;
        if ordinality {
            fields.push(Field::new(ORDINALITY_COLUMN, DataType::Int32, false));
        }
        if !names.is_empty() && names.len() != fields.len() {
            return plan_err!(
                "UNNEST({collection}) has {} columns, but {} column aliases: {}",
                fields.len(),
                names.len(),
                names.join(", ")
            );
        }
        for (field, name) in fields.iter_mut().zip(names) {
            *field = field.clone().with_name(name);
        }
        let fields = fields.into_iter().map(|field| (None, Arc::new(field))).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, Default::default())?);
        Ok(UnnestSource { collection, ordinality, schema })
    }

    /// The collection.
    pub fn collection(&self) -> &Expr {
        &self.collection
    }

    /// Whether the last column is the element's position.
    pub fn ordinality(&self) -> bool {
        self.ordinality
    }
}

impl PartialOrd for UnnestSource {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.collection.partial_cmp(&other.collection)
    }
}

impl UserDefinedLogicalNodeCore for UnnestSource {
    fn name(&self) -> &str {
        "UnnestSource"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.collection.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnnestSource: {}", self.collection)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, _inputs: Vec<LogicalPlan>) -> Result<Self> {
        match exprs.into_iter().next() {
            Some(collection) => Ok(UnnestSource { collection, ..self.clone() }),
            None => plan_err!("UNNEST takes a collection"),
        }
    }
}

/// Rows with the elements of a collection of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unnest {
    input: LogicalPlan,
    collection: Expr,
    ordinality: bool,
    outer: bool,
    /// Over the columns of this node, and so not among its expressions, which are over the input's.
    condition: Option<Expr>,
    schema: DFSchemaRef,
}

impl Unnest {
    /// `input` with the elements of `collection`; `schema` has the columns of both.
    pub fn new(input: LogicalPlan, collection: Expr, ordinality: bool, schema: DFSchemaRef) -> Self {
        Unnest { input, collection, ordinality, outer: false, condition: None, schema }
    }

    /// The LEFT JOIN on a condition over the columns of both.
    pub fn outer(self, condition: Option<Expr>) -> Self {
        Unnest { outer: true, condition, ..self }
    }

    /// The collection.
    pub fn collection(&self) -> &Expr {
        &self.collection
    }

    /// Whether the last column is the element's position.
    pub fn ordinality(&self) -> bool {
        self.ordinality
    }

    /// Whether rows without an element are kept.
    pub fn is_outer(&self) -> bool {
        self.outer
    }

    /// What an element must fulfil in a LEFT JOIN.
    pub fn condition(&self) -> Option<&Expr> {
        self.condition.as_ref()
    }
}

impl PartialOrd for Unnest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.input, &self.collection).partial_cmp(&(&other.input, &other.collection))
    }
}

impl UserDefinedLogicalNodeCore for Unnest {
    fn name(&self) -> &str {
        "StreamingUnnest"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.collection.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unnest: {}, outer=[{}]", self.collection, self.outer)
    }

    /// The input does not have the columns of the elements.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let width = self.input.schema().fields().len();
        self.schema.fields().iter().skip(width).map(|field| field.name().clone()).collect()
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (exprs.into_iter().next(), inputs.into_iter().next()) {
            (Some(collection), Some(input)) => Ok(Unnest { input, collection, ..self.clone() }),
            _ => plan_err!("UNNEST takes an input and a collection"),
        }
    }
}

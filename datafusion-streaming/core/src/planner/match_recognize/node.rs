//! The logical nodes of MATCH_RECOGNIZE.
//!
//! Conditions and measures are over *references*: a row of a variable, an aggregate of its rows. Each
//! reference is a column of [`MatchValues`], a second input that has no rows, only a schema: so the
//! analyzer and the optimizer find the types of the expressions, and rewrite them as they do any others.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, TableReference, plan_err};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Extension, LogicalPlan, SortExpr, UserDefinedLogicalNodeCore,
};
use datafusion_streaming_physical_plan::operators::match_recognize::{AfterMatch, Pattern};

/// What an expression over a match refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MatchReference {
    /// A column of a row: the `offset`-th of the variable of this number, or of all, from the first or
    /// back from the last.
    Row {
        /// The variable, by its place in the pattern; `None`: all.
        variable: Option<usize>,
        /// Whether from the first row on.
        first: bool,
        /// How many rows from there.
        offset: usize,
        /// The column of the input.
        column: Expr,
    },
    /// An aggregate over the rows of a variable, or of all.
    Aggregate {
        /// The variable, by its place in the pattern; `None`: all.
        variable: Option<usize>,
        /// The call, over the columns of the input.
        call: Expr,
    },
    /// `MATCH_ROWTIME()`, of this type.
    Rowtime(DataType),
    /// `MATCH_PROCTIME()`.
    Proctime,
}

impl MatchReference {
    fn expression(&self) -> Option<&Expr> {
        match self {
            MatchReference::Row { column: expression, .. }
            | MatchReference::Aggregate { call: expression, .. } => Some(expression),
            MatchReference::Rowtime(_) | MatchReference::Proctime => None,
        }
    }

    fn with_expression(&self, expression: Expr) -> Self {
        match self.clone() {
            MatchReference::Row { variable, first, offset, .. } => {
                MatchReference::Row { variable, first, offset, column: expression }
            }
            MatchReference::Aggregate { variable, .. } => {
                MatchReference::Aggregate { variable, call: expression }
            }
            other => other,
        }
    }

    fn data_type(&self, input: &DFSchema) -> Result<DataType> {
        match self {
            MatchReference::Row { column: expression, .. }
            | MatchReference::Aggregate { call: expression, .. } => expression.get_type(input),
            MatchReference::Rowtime(data_type) => Ok(data_type.clone()),
            MatchReference::Proctime => Ok(DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        }
    }
}

/// The prefix of the columns that stand for references.
const REFERENCE: &str = "$match";

/// The name of the column that stands for a reference, by its number.
pub(super) fn reference_name(reference: usize) -> String {
    format!("{REFERENCE}{reference}")
}

/// The number of the reference that a column of this name stands for.
pub(super) fn reference_of(name: &str) -> Option<usize> {
    name.strip_prefix(REFERENCE)?.parse().ok()
}

/// The columns that stand for references.
pub(super) fn reference_schema(references: &[MatchReference], input: &DFSchema) -> Result<DFSchema> {
    let field = |(place, reference): (usize, &MatchReference)| -> Result<_> {
        let field = Field::new(reference_name(place), reference.data_type(input)?, true);
        Ok((None, Arc::new(field)))
    };
    let fields = references.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
    DFSchema::new_with_metadata(fields, HashMap::new())
}

/// The schema of the references of a MATCH_RECOGNIZE, as an input without rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MatchValues {
    schema: DFSchemaRef,
}

impl PartialOrd for MatchValues {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for MatchValues {
    fn name(&self) -> &str {
        "MatchValues"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatchValues: {}", self.schema)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, _inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(self.clone())
    }
}

/// What a MATCH_RECOGNIZE says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MatchClauses {
    /// The table.
    pub input: LogicalPlan,
    /// PARTITION BY.
    pub partition_by: Vec<Column>,
    /// ORDER BY; the first is the time attribute.
    pub order_by: Vec<SortExpr>,
    /// PATTERN.
    pub pattern: Pattern,
    /// AFTER MATCH.
    pub after: AfterMatch,
    /// WITHIN in milliseconds; 0: any time.
    pub within: i64,
    /// What definitions and measures refer to.
    pub references: Vec<MatchReference>,
    /// DEFINE, for each variable of the pattern, over references.
    pub definitions: Vec<Option<Expr>>,
    /// MEASURES, over references.
    pub measures: Vec<(String, Expr)>,
}

/// The matches of a pattern in a table: a row for each, with the columns of PARTITION BY and the measures.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MatchRecognize {
    clauses: MatchClauses,
    values: LogicalPlan,
    schema: DFSchemaRef,
}

impl MatchRecognize {
    /// The node of these clauses.
    pub fn try_new(clauses: MatchClauses) -> Result<Self> {
        let input = clauses.input.schema();
        let values = Arc::new(reference_schema(&clauses.references, input)?);
        for (variable, definition) in clauses.definitions.iter().enumerate() {
            let Some(definition) = definition else { continue };
            match definition.get_type(values.as_ref())? {
                DataType::Boolean | DataType::Null => {}
                other => {
                    return plan_err!(
                        "DEFINE {} must be a condition, but it is a {other}",
                        clauses.pattern.name(variable)
                    );
                }
            }
        }
        let mut fields: Vec<(Option<TableReference>, FieldRef)> = vec![];
        for column in &clauses.partition_by {
            let field = input.field(input.index_of_column(column)?);
            fields.push((None, Arc::new(field.as_ref().clone())));
        }
        for (name, measure) in &clauses.measures {
            let data_type = measure.get_type(values.as_ref())?;
            fields.push((None, Arc::new(Field::new(name, data_type, true))));
        }
        let mut names = HashSet::new();
        if let Some((_, field)) = fields.iter().find(|(_, field)| !names.insert(field.name().clone())) {
            return plan_err!(
                "MATCH_RECOGNIZE gives two columns the name {}: the columns of PARTITION BY come first, then the \
                 measures; give the measure another name",
                field.name()
            );
        }
        let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::new())?);
        let values = LogicalPlan::Extension(Extension { node: Arc::new(MatchValues { schema: values }) });
        Ok(MatchRecognize { clauses, values, schema })
    }

    /// What is matched.
    pub fn clauses(&self) -> &MatchClauses {
        &self.clauses
    }

    /// The schema of the references.
    pub fn values(&self) -> &DFSchemaRef {
        self.values.schema()
    }

    /// A reference as it is written.
    fn written(&self, reference: &MatchReference) -> String {
        let pattern = &self.clauses.pattern;
        match reference {
            MatchReference::Row { variable, first, offset, column } => {
                let name = match column {
                    Expr::Column(column) => column.name.clone(),
                    other => other.to_string(),
                };
                let name = match variable {
                    Some(variable) => format!("{}.{name}", pattern.name(*variable)),
                    None => name,
                };
                format!("{}({name}, {offset})", if *first { "FIRST" } else { "LAST" })
            }
            MatchReference::Aggregate { variable, call } => match variable {
                Some(variable) => format!("{call} OF {}", pattern.name(*variable)),
                None => call.to_string(),
            },
            MatchReference::Rowtime(_) => "MATCH_ROWTIME()".to_string(),
            MatchReference::Proctime => "MATCH_PROCTIME()".to_string(),
        }
    }
}

impl PartialOrd for MatchRecognize {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.clauses.input.partial_cmp(&other.clauses.input)
    }
}

impl UserDefinedLogicalNodeCore for MatchRecognize {
    fn name(&self) -> &str {
        "MatchRecognize"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.clauses.input, &self.values]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let MatchClauses { partition_by, order_by, references, definitions, measures, .. } = &self.clauses;
        let columns = partition_by.iter().cloned().map(Expr::Column);
        columns
            .chain(order_by.iter().map(|sort| sort.expr.clone()))
            .chain(references.iter().filter_map(MatchReference::expression).cloned())
            .chain(definitions.iter().flatten().cloned())
            .chain(measures.iter().map(|(_, measure)| measure.clone()))
            .collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatchClauses { partition_by, order_by, pattern, after, within, references, .. } = &self.clauses;
        let names: Vec<&str> = partition_by.iter().map(|column| column.name.as_str()).collect();
        let order: Vec<String> = order_by.iter().map(ToString::to_string).collect();
        write!(
            f,
            "MatchRecognize: partition=[{}], order=[{}], pattern=[{pattern}], after=[{}]",
            names.join(", "),
            order.join(", "),
            after.display(pattern)
        )?;
        if *within > 0 {
            write!(f, ", within=[{within} ms]")?;
        }
        let definitions = self.clauses.definitions.iter().enumerate();
        let definitions = definitions.filter_map(|(variable, definition)| {
            Some(format!("{} AS {}", pattern.name(variable), definition.as_ref()?))
        });
        let measures = self.clauses.measures.iter().map(|(name, measure)| format!("{measure} AS {name}"));
        let values = references
            .iter()
            .enumerate()
            .map(|(place, reference)| format!("{}={}", reference_name(place), self.written(reference)));
        write!(
            f,
            ", define=[{}], measures=[{}], values=[{}]",
            definitions.collect::<Vec<_>>().join(", "),
            measures.collect::<Vec<_>>().join(", "),
            values.collect::<Vec<_>>().join(", ")
        )
    }

    /// Rows that are filtered out would make other matches.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut exprs = exprs.into_iter();
        let mut next = || match exprs.next() {
            Some(expr) => Ok(expr),
            None => plan_err!("MATCH_RECOGNIZE has fewer expressions than before"),
        };
        let Some(input) = inputs.into_iter().next() else {
            return plan_err!("MATCH_RECOGNIZE has an input");
        };
        let mut clauses = MatchClauses { input, ..self.clauses.clone() };
        for column in &mut clauses.partition_by {
            match next()?.unalias() {
                Expr::Column(same) => *column = same,
                other => return plan_err!("PARTITION BY of MATCH_RECOGNIZE takes columns, not {other}"),
            }
        }
        for sort in &mut clauses.order_by {
            sort.expr = next()?;
        }
        for reference in clauses.references.iter_mut().filter(|it| it.expression().is_some()) {
            *reference = reference.with_expression(next()?);
        }
        for definition in clauses.definitions.iter_mut().flatten() {
            *definition = next()?;
        }
        for (_, measure) in &mut clauses.measures {
            *measure = next()?;
        }
        MatchRecognize::try_new(clauses)
    }

    /// The columns that are referred to, whichever measures are wanted: they decide what is a match.
    fn necessary_children_exprs(&self, _output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let input = self.clauses.input.schema();
        let mut needed = BTreeSet::new();
        let given = self.clauses.partition_by.iter().cloned().map(Expr::Column);
        let given = given.chain(self.clauses.order_by.iter().map(|sort| sort.expr.clone()));
        let referred = self.clauses.references.iter().filter_map(MatchReference::expression).cloned();
        for expr in given.chain(referred) {
            for column in expr.column_refs() {
                needed.insert(input.maybe_index_of_column(column)?);
            }
        }
        let values = (0..self.values().fields().len()).collect();
        Some(vec![needed.into_iter().collect(), values])
    }
}

//! What the names in DEFINE and MEASURES stand for.
//!
//! Every reference to rows of the match becomes a column that stands for it, and the expression around it
//! is planned over those columns:
//!
//! | written | refers to |
//! |---|---|
//! | `A.price` | the last row of A; in the definition of A the current row |
//! | `price` | the last row of all; in a definition the current row |
//! | `LAST(A.price, 2)`, `FIRST(A.price, 2)` | the row two rows before the last, two behind the first |
//! | `SUM(A.price * A.qty)` | all rows of A, in its definition with the current one |
//! | `COUNT(*)`, `SUM(price)` | all rows |

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DataFusionError, Result, ScalarValue, plan_err};
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, SortExpr};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, DuplicateTreatment, Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Value, VisitorMut,
};
use datafusion_streaming_physical_plan::operators::match_recognize::Pattern;

use super::node::{MatchReference, reference_name, reference_of, reference_schema};
use crate::sql::visit::visit_mut;

/// Plans definitions and measures, and collects what they refer to.
pub(super) struct Binder<'a> {
    cx: &'a mut dyn RelationPlannerContext,
    input: &'a DFSchema,
    pattern: &'a Pattern,
    /// The variables of the pattern, and behind them names that no row is ever matched to.
    variables: Vec<String>,
    /// The time attribute of ORDER BY.
    time: Option<&'a SortExpr>,
    references: Vec<MatchReference>,
    clause: Clause,
    /// Around what is bound: FIRST or LAST with its offset.
    navigation: Option<Navigation>,
}

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clause {
    Define,
    Measures,
}

#[derive(Debug, Clone, Copy)]
struct Navigation {
    first: bool,
    offset: usize,
    /// The variable of the columns so far.
    variable: Option<Option<usize>>,
}

/// A name: the variable that it begins with, the column of the input, the fields within it.
struct Resolved {
    variable: Option<usize>,
    column: Expr,
    fields: Vec<Ident>,
}

impl<'a> Binder<'a> {
    /// A binder for rows of `input`, whose time attribute is `time`. Flink takes the names in `defined`,
    /// of which the pattern need not know, and those of tables for variables, too.
    pub fn new(
        cx: &'a mut dyn RelationPlannerContext,
        input: &'a LogicalPlan,
        pattern: &'a Pattern,
        defined: impl Iterator<Item = String>,
        time: Option<&'a SortExpr>,
    ) -> Self {
        let input = input.schema();
        let mut variables: Vec<String> =
            pattern.elements().iter().map(|element| element.variable.clone()).collect();
        let tables = input.iter().filter_map(|(table, _)| Some(table?.table().to_string()));
        for name in defined.chain(tables) {
            if !variables.contains(&name) {
                variables.push(name);
            }
        }
        let (references, clause) = (vec![], Clause::Measures);
        Binder { cx, input, pattern, variables, time, references, clause, navigation: None }
    }

    /// What has been referred to.
    pub fn into_references(self) -> Vec<MatchReference> {
        self.references
    }

    /// The definition of a variable, over references.
    pub fn definition(&mut self, name: &str, definition: SqlExpr) -> Result<Expr> {
        self.clause = Clause::Define;
        self.expression(definition).map_err(|error| error.context(format!("in DEFINE {name}")))
    }

    /// A measure, over references.
    pub fn measure(&mut self, name: &str, measure: SqlExpr) -> Result<Expr> {
        self.clause = Clause::Measures;
        self.expression(measure).map_err(|error| error.context(format!("in the measure {name}")))
    }

    fn expression(&mut self, mut expr: SqlExpr) -> Result<Expr> {
        self.bind_all(&mut expr)?;
        let schema = reference_schema(&self.references, self.input)?;
        self.cx.sql_to_expr(expr, &schema)
    }

    fn bind_all(&mut self, expr: &mut SqlExpr) -> Result<()> {
        match visit_mut(expr, self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// Replaces an expression that refers to the match.
    fn bind(&mut self, expr: &mut SqlExpr) -> Result<()> {
        let bound = match expr {
            SqlExpr::Identifier(name) if is_bound(name) => None,
            SqlExpr::Identifier(name) => Some(self.column(std::slice::from_ref(name), vec![])?),
            SqlExpr::CompoundIdentifier(names) => Some(self.column(names, vec![])?),
            SqlExpr::CompoundFieldAccess { root, access_chain } => match names_of(root, access_chain) {
                Some((names, rest)) => Some(self.column(&names, rest)?),
                None => None,
            },
            SqlExpr::Function(function) => self.function(function)?,
            SqlExpr::Subquery(_) | SqlExpr::Exists { .. } | SqlExpr::InSubquery { .. } => {
                return plan_err!(
                    "{expr}: a sub-query is not possible in MATCH_RECOGNIZE; join its result to the input, or to the \
                     matches"
                );
            }
            _ => None,
        };
        if let Some(bound) = bound {
            *expr = bound;
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Result<Option<SqlExpr>> {
        let name = match function.name.0.as_slice() {
            [part] => part.as_ident().map(|name| name.value.to_lowercase()),
            _ => None,
        };
        let Some(name) = name else { return Ok(None) };
        match name.as_str() {
            "first" => self.navigate(function, true).map(Some),
            "last" => self.navigate(function, false).map(Some),
            "prev" | "next" => {
                let (value, offset) = self.value_and_offset(function, 1)?;
                if offset != 0 || self.clause == Clause::Measures {
                    return plan_err!(
                        "{function}: the rows beside a row cannot be referred to; LAST(A.x, 1) is the row of the \
                         variable A before its last one"
                    );
                }
                self.navigated(function, value, Navigation { first: false, offset, variable: None }).map(Some)
            }
            "final" => match (self.clause, arguments(function).as_deref()) {
                // the rows of a match are all there when its measures are computed
                (Clause::Measures, Some([value])) => Ok(Some(SqlExpr::Nested(Box::new(value.clone())))),
                _ => plan_err!("{function}: FINAL is possible in MEASURES only; leave it out"),
            },
            "match_rowtime" => self.rowtime(function).map(Some),
            "match_proctime" => Ok(Some(self.reference(MatchReference::Proctime))),
            "running" => plan_err!(
                "{function}: RUNNING has no meaning in ONE ROW PER MATCH; leave it out, or write FINAL"
            ),
            "classifier" | "match_number" => plan_err!(
                "{function}: there is no {}() over a stream; a constant or an expression over the variables can stand \
                 for it",
                name.to_uppercase()
            ),
            _ if self.cx.context_provider().get_aggregate_meta(&name).is_some() => {
                self.aggregate(function).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// FIRST or LAST: of an expression, each of its columns is that of the row.
    fn navigate(&mut self, function: &Function, first: bool) -> Result<SqlExpr> {
        let (value, offset) = self.value_and_offset(function, 0)?;
        self.navigated(function, value, Navigation { first, offset, variable: None })
    }

    fn navigated(
        &mut self,
        function: &Function,
        mut value: SqlExpr,
        navigation: Navigation,
    ) -> Result<SqlExpr> {
        if self.navigation.is_some() {
            return plan_err!("{function}: FIRST, LAST, PREV and NEXT cannot stand within each other");
        }
        self.navigation = Some(navigation);
        let bound = self.bind_all(&mut value);
        match (bound, self.navigation.take().and_then(|navigation| navigation.variable)) {
            (Err(error), _) => Err(error),
            (Ok(()), None) => {
                plan_err!("{function}: it takes an expression over a column of the rows of a variable")
            }
            (Ok(()), Some(_)) => Ok(SqlExpr::Nested(Box::new(value))),
        }
    }

    /// The arguments of FIRST, LAST, PREV or NEXT.
    fn value_and_offset(&mut self, function: &Function, default: usize) -> Result<(SqlExpr, usize)> {
        let usage = || {
            plan_err!(
                "{function}: it takes an expression over rows and a constant number of rows that is not negative"
            )
        };
        let (value, offset) = match arguments(function).as_deref() {
            Some([value]) => return Ok((value.clone(), default)),
            Some([value, offset]) => (value.clone(), offset.clone()),
            _ => return usage(),
        };
        let Ok(offset) = self.cx.sql_to_expr(offset, &DFSchema::empty()) else { return usage() };
        let simplified = ExprSimplifier::new(SimplifyContext::default()).simplify(offset)?;
        let Expr::Literal(offset, _) = simplified else { return usage() };
        match offset.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(offset))) if (0..=i64::from(i32::MAX)).contains(&offset) => {
                Ok((value, offset as usize))
            }
            _ => usage(),
        }
    }

    fn rowtime(&mut self, function: &Function) -> Result<SqlExpr> {
        let zone = match (arguments(function).as_deref(), self.time) {
            (Some([]), _) => None,
            (Some([name]), Some(time)) if self.clause == Clause::Measures => {
                let names = match name {
                    SqlExpr::Identifier(name) => std::slice::from_ref(name),
                    SqlExpr::CompoundIdentifier(names) => names.as_slice(),
                    other => return plan_err!("{function}: MATCH_ROWTIME takes a column, not {other}"),
                };
                let column = self.resolve(names)?.column;
                match column.get_type(self.input)? {
                    DataType::Timestamp(_, zone) if column == time.expr => zone,
                    _ => {
                        return plan_err!(
                            "{function}: MATCH_ROWTIME takes the rowtime of ORDER BY, {}",
                            time.expr
                        );
                    }
                }
            }
            _ => {
                return plan_err!(
                    "{function}: MATCH_ROWTIME takes nothing, or in MEASURES the rowtime of ORDER BY; in DEFINE the \
                     rowtime can be referred to as a column"
                );
            }
        };
        Ok(self.reference(MatchReference::Rowtime(DataType::Timestamp(TimeUnit::Millisecond, zone))))
    }

    /// An aggregate over the rows of one variable.
    fn aggregate(&mut self, function: &Function) -> Result<SqlExpr> {
        if self.navigation.is_some() {
            return plan_err!("{function}: an aggregate cannot stand within FIRST, LAST, PREV or NEXT");
        }
        if function.over.is_some() || function.filter.is_some() || !function.within_group.is_empty() {
            return plan_err!(
                "{function}: an aggregate of MATCH_RECOGNIZE takes no OVER, FILTER or WITHIN GROUP; use CASE WHEN … \
                 THEN … END for a filter"
            );
        }
        if let FunctionArguments::List(list) = &function.args
            && matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct))
        {
            return plan_err!("{function}: DISTINCT is not possible in an aggregate of MATCH_RECOGNIZE");
        }
        let mut plain = SqlExpr::Function(function.clone());
        let mut of_variable = OfVariable { binder: self, variable: None };
        let variable = match visit_mut(&mut plain, &mut of_variable) {
            ControlFlow::Continue(()) => of_variable.variable,
            ControlFlow::Break(error) => return Err(*error),
        };
        let is_count = is_named(function, &["count"]);
        let Some(variable) = variable.or(is_count.then_some(None)) else {
            return plan_err!("{function}: an aggregate of MATCH_RECOGNIZE takes an expression over columns");
        };
        let call = self.cx.sql_to_expr(plain, &numbered(self.input)?)?.unalias_nested().data;
        let call = call.transform(|expr| match &expr {
            Expr::Column(column) => match reference_of(&column.name) {
                Some(place) => Ok(Transformed::yes(Expr::Column(self.input.columns()[place].clone()))),
                None => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        })?;
        match call.data {
            call @ Expr::AggregateFunction(_) => {
                Ok(self.reference(MatchReference::Aggregate { variable, call }))
            }
            other => plan_err!("{function} is not an aggregate, but {other}"),
        }
    }

    /// The columns of a row.
    fn column(&mut self, names: &[Ident], rest: Vec<AccessExpr>) -> Result<SqlExpr> {
        let Resolved { variable, column, fields } = self.resolve(names)?;
        let (first, offset) = match &mut self.navigation {
            None => (false, 0),
            Some(navigation) => {
                if *navigation.variable.get_or_insert(variable) != variable {
                    return plan_err!("the columns are of several variables, where they must be of one");
                }
                (navigation.first, navigation.offset)
            }
        };
        let root = self.reference(MatchReference::Row { variable, first, offset, column });
        Ok(with_fields(root, fields, rest))
    }

    /// The column that stands for a reference.
    fn reference(&mut self, reference: MatchReference) -> SqlExpr {
        let known = self.references.iter().position(|known| *known == reference);
        let place = known.unwrap_or_else(|| {
            self.references.push(reference);
            self.references.len() - 1
        });
        SqlExpr::Identifier(stand_in(place))
    }

    fn resolve(&self, names: &[Ident]) -> Result<Resolved> {
        let name = |name: &Ident| self.cx.normalize_ident(name.clone());
        let (variable, names) = match names {
            [first, rest @ ..] if !rest.is_empty() => {
                let first = name(first);
                match self.variables.iter().position(|variable| *variable == first) {
                    Some(variable) => (Some(variable), rest),
                    None => (None, names),
                }
            }
            names => (None, names),
        };
        let Some((column, fields)) = names.split_first() else { return plan_err!("a name without parts") };
        let column = name(column);
        if variable.is_none()
            && !fields.is_empty()
            && self.input.qualified_fields_with_unqualified_name(&column).is_empty()
        {
            return plan_err!("{column} is no variable of PATTERN ({})", self.pattern);
        }
        let (qualifier, field) = self.input.qualified_field_with_unqualified_name(&column)?;
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        Ok(Resolved { variable, column, fields: fields.to_vec() })
    }
}

impl VisitorMut for Binder<'_> {
    type Break = Box<DataFusionError>;

    fn pre_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<Self::Break> {
        flow(self.bind(expr))
    }
}

/// Gives the columns of an aggregate numbers for names, and finds out the variable that they are of.
struct OfVariable<'a, 'b> {
    binder: &'a Binder<'b>,
    /// The variable of the columns so far.
    variable: Option<Option<usize>>,
}

impl OfVariable<'_, '_> {
    fn strip(&mut self, expr: &mut SqlExpr) -> Result<()> {
        let (names, rest) = match expr {
            SqlExpr::Identifier(name) if is_bound(name) => return Ok(()),
            SqlExpr::Identifier(name) => (vec![name.clone()], vec![]),
            SqlExpr::CompoundIdentifier(names) => (names.clone(), vec![]),
            SqlExpr::CompoundFieldAccess { root, access_chain } => match names_of(root, access_chain) {
                Some(names) => names,
                None => return Ok(()),
            },
            SqlExpr::Subquery(_) | SqlExpr::Exists { .. } | SqlExpr::InSubquery { .. } => {
                return plan_err!("{expr}: a sub-query is not possible in MATCH_RECOGNIZE");
            }
            SqlExpr::Function(function) if is_named(function, &["first", "last"]) => {
                // an aggregate goes over all rows, whichever one is navigated to
                if let Some(value) = arguments(function).and_then(|args| args.into_iter().next()) {
                    *expr = SqlExpr::Nested(Box::new(value));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let Resolved { variable, column, fields } = self.binder.resolve(&names)?;
        if *self.variable.get_or_insert(variable) != variable {
            return plan_err!(
                "{expr} and the other columns of the aggregate are of several variables, where they must be of one; \
                 SUM(A.x) + SUM(B.x) is the sum over both"
            );
        }
        let Expr::Column(column) = column else { return Ok(()) };
        let place = self.binder.input.index_of_column(&column)?;
        *expr = with_fields(SqlExpr::Identifier(stand_in(place)), fields, rest);
        Ok(())
    }
}

impl VisitorMut for OfVariable<'_, '_> {
    type Break = Box<DataFusionError>;

    fn pre_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<Self::Break> {
        flow(self.strip(expr))
    }
}

fn flow(result: Result<()>) -> ControlFlow<Box<DataFusionError>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

/// The name of the column that stands for a reference.
fn stand_in(reference: usize) -> Ident {
    Ident::with_quote('`', reference_name(reference))
}

fn is_bound(name: &Ident) -> bool {
    name.quote_style.is_some() && reference_of(&name.value).is_some()
}

/// The input with numbers for the names of its columns.
fn numbered(input: &DFSchema) -> Result<DFSchema> {
    let field = |(place, field): (usize, &FieldRef)| {
        (None, Arc::new(field.as_ref().clone().with_name(reference_name(place))))
    };
    DFSchema::new_with_metadata(input.fields().iter().enumerate().map(field).collect(), HashMap::new())
}

/// The names that an access begins with, and the rest of it; `None` where it begins with something else.
fn names_of(root: &SqlExpr, chain: &[AccessExpr]) -> Option<(Vec<Ident>, Vec<AccessExpr>)> {
    let mut names = match root {
        SqlExpr::Identifier(name) if !is_bound(name) => vec![name.clone()],
        SqlExpr::CompoundIdentifier(names) => names.clone(),
        _ => return None,
    };
    let mut rest = chain;
    while let [AccessExpr::Dot(SqlExpr::Identifier(name)), behind @ ..] = rest {
        names.push(name.clone());
        rest = behind;
    }
    Some((names, rest.to_vec()))
}

/// An expression with fields of its value.
fn with_fields(root: SqlExpr, fields: Vec<Ident>, rest: Vec<AccessExpr>) -> SqlExpr {
    let field = |name: Ident| AccessExpr::Dot(SqlExpr::value(Value::SingleQuotedString(name.value)));
    let access_chain: Vec<AccessExpr> = fields.into_iter().map(field).chain(rest).collect();
    match access_chain.is_empty() {
        true => root,
        false => SqlExpr::CompoundFieldAccess { root: Box::new(root), access_chain },
    }
}

fn is_named(function: &Function, names: &[&str]) -> bool {
    match function.name.0.as_slice() {
        [part] => {
            part.as_ident().is_some_and(|own| names.iter().any(|name| own.value.eq_ignore_ascii_case(name)))
        }
        _ => false,
    }
}

/// The arguments of a function, if they are plain expressions.
fn arguments(function: &Function) -> Option<Vec<SqlExpr>> {
    match &function.args {
        FunctionArguments::None => Some(vec![]),
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            })
            .collect(),
        FunctionArguments::Subquery(_) => None,
    }
}

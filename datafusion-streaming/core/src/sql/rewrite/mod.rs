//! Rewrites of sqlparser's AST, so that DataFusion's planner gives it Flink's meaning.
//!
//! | written | rewritten | why |
//! |---|---|---|
//! | `5`, `-5` | `CAST(5 AS INT)` | an integer literal is an INT if it fits, else a BIGINT |
//! | `0.5` | `CAST(0.5 AS DECIMAL(2, 1))` | a DECIMAL literal has all digits that were written |
//! | `1e3` | `DOUBLE '1e3'` | a number with an exponent is a DOUBLE |
//! | `N'x'`, `U&'\0041'`, `_UTF8'x'` | `'x'` | DataFusion plans only plain strings |
//! | `(a, b)` | `ROW(a, b)`, in GROUP BY `a, b` | |
//! | `WHERE (a, b) IN (SELECT …)` | `WHERE EXISTS (SELECT …)` | |
//! | `(a, b) OVERLAPS (c, d)` | `flink_overlaps(a, b, c, d)` | |
//! | `SELECT a + b, a, a` | `SELECT a + b AS EXPR$0, a, a AS a0` | names of columns are Flink's, and unique |
//! | `VALUES (1, 2)` | `SELECT * FROM (VALUES (1, 2)) AS v (EXPR$0, EXPR$1)` | |
//! | `… GROUP BY x`, where `x` is an alias | (see `aliases.rs`) | GROUP BY and HAVING do not see aliases |
//! | `TUMBLE_START(ts, size)` | `flink_window_start(tumble(ts, size))` | a function of the key `TUMBLE(ts, size)` |
//! | `GROUPING_ID(a, b)`, `GROUPING(a, b)` | `CAST(grouping(a, b) AS BIGINT)` | a BIGINT, as in Flink |
//! | `JOIN … USING (k)` | (see `using.rs`) | `k` is whichever of the two is there |
//! | `ROW_NUMBER() OVER (…)` | `… ROWS UNBOUNDED PRECEDING` | DataFusion has no RANGE over TIME |
//! | `OVER (w ORDER BY ts)` | `OVER (PARTITION BY k ORDER BY ts)` | DataFusion passes over the name `w` |
//! | `FETCH FIRST 5 ROWS ONLY` | `LIMIT 5` | |
//! | `FROM (SELECT …)` | `FROM (SELECT …) AS $derived1` | else the names of tables in it would be visible |
//! | `a IS DISTINCT FROM b` | ``a `IS DISTINCT FROM` b`` | an operator whose operands may be of different types |
//! | `VALUES (TIMESTAMP '…'), (TIMESTAMP '….5')` | `VALUES (TIMESTAMP(1) '…'), …` | of as many digits |
//! | `a[1].b` | `a[1].'b'` | DataFusion's form of it |
//! | `FROM TABLE(f(…))` | `FROM f(…)` | one form for all table functions |
//! | `FROM LATERAL TABLE(f(…))` | `FROM LATERAL f(…)` | |
//! | `a INTERSECT ALL b` | ``SELECT * FROM `$INTERSECT_ALL`((a), (b))`` | rows are counted |
//! | `JOIN t FOR SYSTEM_TIME AS OF a.ts` | ``JOIN LATERAL `$as_of`(a.ts, (SELECT * FROM t))`` | the time is of the row to the left |
//!
//! Numbers that are no expressions stay as they are: those of LIMIT and OFFSET, positions in ORDER BY, bounds of
//! window frames, and direct arguments of table functions. A number in GROUP BY is a constant, never a position.

mod aliases;
mod columns;
mod group_windows;
mod grouping;
mod inserted;
pub(super) mod lookup_hint;
pub(super) mod lookup_options;
mod numbers;
mod projection;
mod rows;
mod set_operations;
pub(super) mod state_ttl;
mod table_functions;
mod using;
mod values;
mod windows;

use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, Distinct, Expr, Fetch, Function, LimitClause, NamedWindowDefinition,
    NamedWindowExpr, ObjectName, Offset, OrderByKind, Query, Select, SelectItem, SetExpr, Statement,
    TableAlias, TableFactor, TableWithJoins, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::ast::{call, quoted, text};
use super::tokens;
use super::visit::visit_mut;
pub(crate) use inserted::{CastColumn, cast_inserted};
pub(crate) use lookup_hint::LOOKUP_HINT;
use numbers::keep;
pub(crate) use set_operations::{EXCEPT_ALL, INTERSECT_ALL};
pub(crate) use state_ttl::STATE_TTL;
pub(crate) use table_functions::AS_OF;

/// The operator that `a IS DISTINCT FROM b` becomes, which planners of operators get to see.
pub(crate) const IS_DISTINCT_FROM: &str = "IS DISTINCT FROM";

/// The operator that `a IS NOT DISTINCT FROM b` becomes.
pub(crate) const IS_NOT_DISTINCT_FROM: &str = "IS NOT DISTINCT FROM";

/// Rewrites a query in place.
///
/// # Errors
/// If a literal is out of the range of its type.
pub fn query(query: &mut Query) -> Result<(), ParserError> {
    rewrite(query, false)
}

/// Rewrites an INSERT in place.
///
/// # Errors
/// As for [`query`].
pub fn insert(statement: &mut Statement) -> Result<(), ParserError> {
    rewrite(statement, true)
}

/// Rewrites a single expression in place, such as that of a computed column.
///
/// # Errors
/// As for [`query`].
pub fn expression(expr: &mut Expr) -> Result<(), ParserError> {
    rewrite(expr, false)
}

fn rewrite(node: &mut impl VisitMut, inserting: bool) -> Result<(), ParserError> {
    match visit_mut(node, &mut Rewriter { inserting, depth: 0, derived: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewriter {
    inserting: bool,
    /// In how many queries we are.
    depth: usize,
    /// How many subqueries in FROM had no name.
    derived: usize,
}

type Flow = ControlFlow<Box<ParserError>>;

impl VisitorMut for Rewriter {
    type Break = Box<ParserError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        self.depth += 1;
        fetch_to_limit(query);
        prepare_operands(&mut query.body);
        projection::order_by_names(query);
        set_operations::count(&mut query.body);
        aliases::hide(query);
        keep_positions(query);
        if self.depth == 1
            && !self.inserting
            && let SetExpr::Select(select) = query.body.as_ref()
            && select.projection.iter().any(is_null)
        {
            return ControlFlow::Break(Box::new(ParserError::ParserError(
                "Illegal use of 'NULL': give it a type, as in CAST(NULL AS INT)".into(),
            )));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Flow {
        self.depth -= 1;
        if let SetExpr::Values(rows) = query.body.as_mut() {
            values::unify_timestamps(rows);
        }
        if !self.inserting {
            projection::name_values(query);
        } else if self.depth > 0 {
            projection::values_to_union(query);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Flow {
        if let Err(error) = check(select) {
            return ControlFlow::Break(Box::new(error));
        }
        windows::refine(select);
        for NamedWindowDefinition(_, window) in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = window {
                keep_frame(spec);
            }
        }
        grouping::flatten(select);
        select.selection.iter_mut().for_each(rows::expand_row_in);
        for TableWithJoins { relation, joins } in &mut select.from {
            let joined = joins.iter_mut().map(|join| &mut join.relation);
            std::iter::once(relation).chain(joined).for_each(|factor| self.prepare_factor(factor));
        }
        using::resolve(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        self.prepare_factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        rows::expand_overlaps(expr);
        rows::expand_equality(expr);
        match expr {
            Expr::Function(function) => {
                frame_ranking(function);
                if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
                    keep_frame(spec);
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => keep(expr),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        match rewrite_expr(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl Rewriter {
    /// Brings a table in FROM into its form. A subquery gets a name, so that those of the tables in it are not
    /// visible.
    fn prepare_factor(&mut self, factor: &mut TableFactor) {
        table_functions::unify(factor);
        if let TableFactor::Derived { alias: alias @ None, .. } = factor {
            self.derived += 1;
            let name = quoted(format!("$derived{}", self.derived));
            *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
        }
    }
}

fn rewrite_expr(expr: &mut Expr) -> Result<(), ParserError> {
    match expr {
        Expr::Value(ValueWithSpan { value, span }) => match value {
            Value::Number(_, kept @ true) => *kept = false,
            Value::Number(number, false) => {
                if let Some(typed) =
                    numbers::typed(number, false).map_err(|e| tokens::error(e, span.start))?
                {
                    *expr = typed;
                }
            }
            Value::NationalStringLiteral(text) | Value::UnicodeStringLiteral(text) => {
                *value = Value::SingleQuotedString(mem::take(text));
            }
            _ => {}
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } => {
            if let Expr::Value(ValueWithSpan { value: Value::Number(number, _), span }) = operand.as_ref()
                && let Some(typed) = numbers::typed(number, true).map_err(|e| tokens::error(e, span.start))?
            {
                *expr = typed;
            }
        }
        Expr::Array(Array { elem, .. }) if elem.is_empty() => {
            return Err(ParserError::ParserError("ARRAY[] has no element to take a type from".into()));
        }
        Expr::Function(function) => {
            if let Some(part) = group_windows::of_window(function) {
                *expr = part;
            } else if let Some(number) = grouping::number_of_set(function) {
                *expr = number;
            } else if let Some(subquery) = table_functions::input_of(function) {
                *expr = subquery;
            }
        }
        Expr::Prefixed { value, .. } => *expr = mem::replace(value, Expr::value(Value::Null)),
        Expr::CompoundFieldAccess { root, access_chain } => name_fields(root, access_chain),
        Expr::Tuple(values) => *expr = call("row", mem::take(values)),
        Expr::IsDistinctFrom(left, right) => {
            let (left, right) = (taken(left), taken(right));
            let op = BinaryOperator::Custom(IS_DISTINCT_FROM.into());
            *expr = Expr::BinaryOp { left, op, right };
        }
        Expr::IsNotDistinctFrom(left, right) => {
            let (left, right) = (taken(left), taken(right));
            let op = BinaryOperator::Custom(IS_NOT_DISTINCT_FROM.into());
            *expr = Expr::BinaryOp { left, op, right };
        }
        _ => {}
    }
    Ok(())
}

/// An expression out of its place.
fn taken(expr: &mut Box<Expr>) -> Box<Expr> {
    mem::replace(expr, Box::new(Expr::value(Value::Null)))
}

/// Refuses what sqlparser takes and Flink does not.
fn check(select: &Select) -> Result<(), ParserError> {
    let start = select.select_token.0.span.start;
    if let Some(Distinct::On(_)) = select.distinct {
        return Err(tokens::error(
            "Flink SQL has no DISTINCT ON: number the rows by ROW_NUMBER and take the first",
            start,
        ));
    }
    if select.selection.is_some() && select.from.is_empty() {
        return Err(tokens::error("This SELECT has a WHERE without a FROM", start));
    }
    Ok(())
}

/// Whether a column is NULL without a type.
fn is_null(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            matches!(expr, Expr::Value(ValueWithSpan { value: Value::Null, .. }))
        }
        _ => false,
    }
}

/// Turns fields behind a subscript or a call into strings. Those right behind a name are parts of that name.
fn name_fields(root: &Expr, access_chain: &mut [AccessExpr]) {
    let mut in_name = matches!(root, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    for access in access_chain {
        match access {
            AccessExpr::Dot(field) if !in_name => {
                if let Expr::Identifier(name) = field {
                    *field = text(mem::take(&mut name.value));
                }
            }
            AccessExpr::Dot(_) => {}
            AccessExpr::Subscript(_) => in_name = false,
        }
    }
}

/// The order of ranking functions says which rows they count, whatever the frame. Without one DataFusion takes a
/// RANGE, which it cannot over a TIME.
fn frame_ranking(function: &mut Function) {
    let ranking = ["row_number", "rank", "dense_rank"];
    let named = |name: &ObjectName| ranking.iter().any(|r| name.to_string().eq_ignore_ascii_case(r));
    if let Some(WindowType::WindowSpec(WindowSpec { window_name: None, window_frame: frame @ None, .. })) =
        &mut function.over
        && named(&function.name)
    {
        *frame = Some(WindowFrame {
            units: WindowFrameUnits::Rows,
            start_bound: WindowFrameBound::Preceding(None),
            end_bound: Some(WindowFrameBound::CurrentRow),
        });
    }
}

/// Names the columns of the query's own SELECTs, those of a UNION included.
fn prepare_operands(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => projection::name_items(select),
        SetExpr::SetOperation { left, right, .. } => {
            prepare_operands(left);
            prepare_operands(right);
        }
        _ => {}
    }
}

fn keep_positions(query: &mut Query) {
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(exprs) = &mut order_by.kind
    {
        exprs.iter_mut().for_each(|order| keep(&mut order.expr));
    }
    if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
        limit.iter_mut().for_each(keep);
        offset.iter_mut().for_each(|offset| keep(&mut offset.value));
    }
}

fn keep_frame(spec: &mut WindowSpec) {
    let Some(WindowFrame { start_bound, end_bound, .. }) = &mut spec.window_frame else { return };
    for bound in std::iter::once(start_bound).chain(end_bound) {
        if let WindowFrameBound::Preceding(Some(distance)) | WindowFrameBound::Following(Some(distance)) =
            bound
        {
            keep(distance);
        }
    }
}

fn fetch_to_limit(query: &mut Query) {
    let Some(Fetch { with_ties: false, percent: false, quantity }) = &mut query.fetch else { return };
    let rows = quantity.take().unwrap_or_else(|| Expr::value(Value::Number("1".into(), false)));
    let offset: Option<Offset> = match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { limit: None, offset, .. }) => offset,
        _ => None,
    };
    query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(rows), offset, limit_by: vec![] });
    query.fetch = None;
}

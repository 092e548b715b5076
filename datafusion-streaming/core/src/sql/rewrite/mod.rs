//! Rewrites of sqlparser's AST, so that DataFusion's planner gives it Flink's meaning.
//!
//! | written | rewritten | why |
//! |---|---|---|
//! | `5`, `-5` | `CAST(5 AS INT)` | an integer literal is an INT if it fits, else a BIGINT |
//! | `1e3` | `DOUBLE '1e3'` | a number with an exponent is a DOUBLE |
//! | `FETCH FIRST 5 ROWS ONLY` | `LIMIT 5` | DataFusion does not plan FETCH |
//! | `TABLE t` | `SELECT * FROM t` | nor this |
//! | `(a, b)` | `ROW(a, b)` | nor this |
//! | `FROM TABLE(f(…))` | `FROM f(…)` | one form for all table functions |
//! | `FROM LATERAL TABLE(f(…))` | `FROM LATERAL f(…)` | |
//! | `CROSS JOIN UNNEST(…)` | sqlparser's UNNEST | |
//!
//! Numbers that are no expressions stay as they are: those of LIMIT and OFFSET, positions in ORDER BY, bounds of
//! window frames, and direct arguments of table functions.

mod table_functions;

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Fetch, GroupByExpr, Ident, LimitClause, NamedWindowExpr, ObjectName, Offset, OrderByKind, Query,
    Select, SetExpr, Statement, TableFactor, TypedString, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
    WindowFrame, WindowFrameBound, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::functions::call;
use super::table_argument::{self, select_all};
use super::tokens;
use super::types::{FlinkType, TypeKind};

/// Rewrites a query in place.
///
/// # Errors
/// If a literal is out of the range of its type.
pub fn query(query: &mut Query) -> Result<(), ParserError> {
    rewrite(query)
}

/// Rewrites an INSERT in place.
///
/// # Errors
/// As for [`query`].
pub fn statement(statement: &mut Statement) -> Result<(), ParserError> {
    rewrite(statement)
}

/// Rewrites a single expression in place, such as a computed column.
///
/// # Errors
/// As for [`query`].
pub fn expression(expr: &mut Expr) -> Result<(), ParserError> {
    rewrite(expr)
}

fn rewrite(node: &mut impl VisitMut) -> Result<(), ParserError> {
    match node.visit(&mut Rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewriter;

type Flow = ControlFlow<Box<ParserError>>;

impl VisitorMut for Rewriter {
    type Break = Box<ParserError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        fetch_to_limit(query);
        keep_positions(query);
        table_to_select(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Flow {
        for window in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                keep_frame(spec);
            }
        }
        flatten_group_by(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        table_functions::unify(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        match expr {
            Expr::Function(function) => {
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

fn rewrite_expr(expr: &mut Expr) -> Result<(), ParserError> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(_, kept @ true), .. }) => *kept = false,
        Expr::Value(ValueWithSpan { value: Value::Number(number, false), span }) => {
            if let Some(typed) = typed_number(number, false).map_err(|e| tokens::error(e, span.start))? {
                *expr = typed;
            }
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } => {
            if let Expr::Value(ValueWithSpan { value: Value::Number(number, _), span }) = operand.as_ref()
                && let Some(typed) = typed_number(number, true).map_err(|e| tokens::error(e, span.start))?
            {
                *expr = typed;
            }
        }
        Expr::Tuple(values) => *expr = call("row", std::mem::take(values)),
        _ => {}
    }
    Ok(())
}

/// The literal with the type that it has in Flink, or `None` if DataFusion gives it that type.
fn typed_number(digits: &str, negative: bool) -> Result<Option<Expr>, String> {
    let sign = if negative { "-" } else { "" };
    let signed = format!("{sign}{digits}");
    if digits.contains(['e', 'E']) {
        if signed.parse::<f64>().is_ok_and(f64::is_finite) {
            return Ok(Some(Expr::TypedString(TypedString {
                data_type: FlinkType::nullable(TypeKind::Double).to_sql(),
                value: Value::SingleQuotedString(signed).into(),
                uses_odbc_syntax: false,
            })));
        }
        return Err(format!("The number {signed} is out of the range of DOUBLE"));
    }
    if digits.contains('.') {
        return Ok(None);
    }
    match digits.parse::<i64>() {
        Err(_) => Err(format!("The number {signed} is out of the range of BIGINT")),
        Ok(number) if i32::try_from(if negative { -number } else { number }).is_err() => Ok(None),
        Ok(_) => {
            let number = Expr::value(Value::Number(digits.to_string(), false));
            let number = match negative {
                true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number) },
                false => number,
            };
            Ok(Some(Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(number),
                data_type: FlinkType::nullable(TypeKind::Int).to_sql(),
                array: false,
                format: None,
            }))
        }
    }
}

/// Marks a number as one that is not to be typed. sqlparser's flag for `5L`, which Flink SQL has not, is the mark.
fn keep(expr: &mut Expr) {
    if let Expr::Value(ValueWithSpan { value: Value::Number(_, keep), .. }) = expr {
        *keep = true;
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
        if let WindowFrameBound::Preceding(Some(distance)) | WindowFrameBound::Following(Some(distance)) = bound {
            keep(distance);
        }
    }
}

/// `GROUP BY (a, b)` is `GROUP BY a, b`.
fn flatten_group_by(select: &mut Select) {
    if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
        *exprs = std::mem::take(exprs)
            .into_iter()
            .flat_map(|expr| match expr {
                Expr::Tuple(exprs) => exprs,
                expr => vec![expr],
            })
            .collect();
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

fn table_to_select(body: &mut SetExpr) {
    if let SetExpr::Table(table) = body {
        let parts = [&table.schema_name, &table.table_name].into_iter().flatten();
        let name: Vec<_> = parts.map(|part| Ident::with_quote('`', part)).collect();
        *body = select_all(table_argument::table(ObjectName::from(name)));
    }
}

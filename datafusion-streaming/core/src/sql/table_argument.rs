//! Table arguments of table functions: `TABLE t`, a subquery, and `PARTITION BY … ORDER BY …` behind either.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, OrderByExpr, Query, SetExpr,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::ast::{derived, query_of, select_all, table};
use super::tokens;

/// A table argument of a table function, such as the first one in
/// `SESSION(TABLE bids PARTITION BY bidder ORDER BY ts, DESCRIPTOR(ts), INTERVAL '10' MINUTE)`.
///
/// In the AST it is a subquery: `TABLE bids` is `(SELECT * FROM bids)`, and the partitioning and the order are
/// that SELECT's `DISTRIBUTE BY` and `SORT BY`, which no query of Flink SQL has otherwise. So tables within it
/// are resolved like any other, CTEs included.
#[derive(Debug, Clone, PartialEq)]
pub struct TableArgument {
    /// The argument as a query, without partitioning and order. To be planned as a derived table.
    pub query: Box<Query>,
    /// The columns of `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// The columns of `ORDER BY`.
    pub order_by: Vec<OrderByExpr>,
}

impl TableArgument {
    /// The table argument that this argument of a function is, or `None` if it is something else.
    pub fn from_expr(expr: &Expr) -> Option<Self> {
        let Expr::Subquery(query) = expr else { return None };
        let mut query = query.clone();
        let (mut partition_by, mut order_by) = (vec![], vec![]);
        if let SetExpr::Select(select) = query.body.as_mut() {
            partition_by = mem::take(&mut select.distribute_by);
            order_by = mem::take(&mut select.sort_by);
        }
        Some(Self { query, partition_by, order_by })
    }

    fn into_expr(mut self) -> Expr {
        if self.partition_by.is_empty() && self.order_by.is_empty() {
            return Expr::Subquery(self.query);
        }
        if !matches!(*self.query.body, SetExpr::Select(_)) {
            self.query = query_of(select_all(derived(self.query, None)));
        }
        if let SetExpr::Select(select) = self.query.body.as_mut() {
            select.distribute_by = self.partition_by;
            select.sort_by = self.order_by;
        }
        Expr::Subquery(self.query)
    }
}

/// The column names in `DESCRIPTOR(a, b)`, or `None` if the argument is no descriptor.
pub fn descriptor_columns(expr: &Expr) -> Option<Vec<Ident>> {
    let Expr::Function(function) = expr else { return None };
    let [name] = function.name.0.as_slice() else { return None };
    if !name.as_ident()?.value.eq_ignore_ascii_case("DESCRIPTOR") {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let column = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column))) => Some(column.clone()),
        _ => None,
    };
    list.args.iter().map(column).collect()
}

/// `TABLE name` or `TABLE (query)` with what may follow, if that comes next.
pub(super) fn parse_table(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    match parser.peek_nth_token_ref(1).token {
        Token::Word(_) => {
            parser.advance_token();
            Some(parser.parse_object_name(false).and_then(|name| {
                let table = select_all(table(name, None, None));
                parse_partitioning(parser, query_of(table))
            }))
        }
        Token::LParen => {
            parser.advance_token();
            Some(parse_parenthesized(parser).and_then(|query| parse_partitioning(parser, query)))
        }
        _ => None,
    }
}

/// `(query)`, perhaps with `PARTITION BY …`, if a subquery comes next.
pub(super) fn parse_subquery(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if !tokens::starts_query(&parser.peek_nth_token_ref(1).token) {
        return None;
    }
    // An ORDER BY alone would be the enclosing query's.
    Some(parse_parenthesized(parser).and_then(|query| {
        if tokens::at_words(parser, &["PARTITION", "BY"]) {
            parse_partitioning(parser, query)
        } else {
            Ok(Expr::Subquery(query))
        }
    }))
}

fn parse_parenthesized(parser: &mut Parser) -> Result<Box<Query>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(query)
}

/// `[PARTITION BY k | (k, …)] [ORDER BY k | (k, …)]`: more than one column needs parentheses.
fn parse_partitioning(parser: &mut Parser, query: Box<Query>) -> Result<Expr, ParserError> {
    let mut argument = TableArgument { query, partition_by: vec![], order_by: vec![] };
    if tokens::accept_words(parser, &["PARTITION", "BY"]) {
        argument.partition_by = one_or_more(parser, |parser| parser.parse_expr())?;
    }
    if tokens::accept_words(parser, &["ORDER", "BY"]) {
        argument.order_by = one_or_more(parser, |parser| parser.parse_order_by_expr())?;
    }
    Ok(argument.into_expr())
}

fn one_or_more<T>(
    parser: &mut Parser,
    parse: fn(&mut Parser) -> Result<T, ParserError>,
) -> Result<Vec<T>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(vec![parse(parser)?]);
    }
    let items = parser.parse_comma_separated(parse)?;
    parser.expect_token(&Token::RParen)?;
    Ok(items)
}

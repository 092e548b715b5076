//! Functions and predicates with a syntax of their own. They become plain calls, so that the session's function of
//! that name is the one that is called:
//!
//! | Flink SQL | becomes |
//! |---|---|
//! | `FLOOR(x)`, `CEIL(x)`, `CEILING(x)` | `floor(x)`, `ceil(x)` |
//! | `FLOOR(x TO unit)`, `CEIL(x TO unit)` | `flink_floor(x, 'UNIT')`, `flink_ceil(x, 'UNIT')` |
//! | `TIMESTAMPDIFF(unit, a, b)` | `flink_timestampdiff('UNIT', a, b)` |
//! | `TIMESTAMPADD(unit, n, t)` | `flink_timestampadd('UNIT', n, t)` |
//! | `(a - b) unit`, an interval | `flink_minus(a, b, 'UNIT')` |
//! | `SUBSTRING(x FROM a FOR n)` | `substring(x, a, n)` |
//! | `POSITION(a IN x FROM n)` | `locate(a, x, n)` |
//! | `OVERLAY(x PLACING y FROM a FOR n)` | `overlay(x, y, a, n)` |
//! | `TRIM(x)`, `TRIM(BOTH c FROM x)` | `trim(x)`, `btrim(x, c)`; `LEADING`: `ltrim`, `TRAILING`: `rtrim` |
//! | `MAP[k, v, …]` | `make_map(k, v, …)` |
//! | `x BETWEEN SYMMETRIC a AND b` | `(x BETWEEN a AND b OR x BETWEEN b AND a)` |
//! | `x = ANY (a, b)` | `(x = a OR x = b)` |
//! | `CASE x WHEN a, b THEN …` | `CASE x WHEN a THEN … WHEN b THEN …` |
//! | `FINAL LAST(x)`, `RUNNING LAST(x)` | `final(LAST(x))`, `running(LAST(x))`, of which MATCH_RECOGNIZE knows |
//!
//! [`super::json_functions`] has those for JSON.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{BinaryOperator, CaseWhen, CastKind, Expr};
use datafusion::sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::ast::{call, text};
use super::dialect::FlinkDialect;
use super::json_functions;
use super::tokens;
use super::types::parse_type;

pub(super) type Parse = fn(&mut Parser) -> Result<Expr, ParserError>;

/// How to parse a call of the function of this (upper-case) name, if it is a special form.
pub(super) fn special_form(name: &str) -> Option<Parse> {
    Some(match name {
        "CAST" | "TRY_CAST" => parse_cast,
        "CEIL" | "CEILING" | "FLOOR" => parse_rounding,
        "TIMESTAMPDIFF" | "TIMESTAMPADD" => parse_timestamp_function,
        "SUBSTRING" | "SUBSTR" => parse_substring,
        "POSITION" => parse_position,
        "OVERLAY" => parse_overlay,
        "TRIM" => parse_trim,
        _ => return json_functions::special_form(name),
    })
}

/// `name(`, with the name in upper case.
pub(super) fn open(parser: &mut Parser) -> Result<String, ParserError> {
    let name = parser.next_token();
    parser.expect_token(&Token::LParen)?;
    Ok(tokens::word(&name.token).unwrap_or_default().to_ascii_uppercase())
}

/// `)`
pub(super) fn close(parser: &mut Parser) -> Result<(), ParserError> {
    parser.expect_token(&Token::RParen).map(|_| ())
}

/// A unit of time as a string literal.
fn unit(parser: &mut Parser) -> Result<Expr, ParserError> {
    let unit = tokens::identifier(parser)?.value.to_ascii_uppercase();
    Ok(text(unit.strip_prefix("SQL_TSI_").unwrap_or(&unit)))
}

fn parse_cast(parser: &mut Parser) -> Result<Expr, ParserError> {
    let kind = if open(parser)? == "CAST" { CastKind::Cast } else { CastKind::TryCast };
    let expr = Box::new(parser.parse_expr()?);
    tokens::expect_words(parser, &["AS"])?;
    let data_type = parse_type(parser)?.to_sql();
    close(parser)?;
    Ok(Expr::Cast { kind, expr, data_type, array: false, format: None })
}

fn parse_rounding(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = if open(parser)? == "FLOOR" { "floor" } else { "ceil" };
    let value = parser.parse_expr()?;
    let rounded = if tokens::accept_words(parser, &["TO"]) {
        call(&format!("flink_{name}"), vec![value, unit(parser)?])
    } else {
        call(name, vec![value])
    };
    close(parser)?;
    Ok(rounded)
}

fn parse_timestamp_function(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = open(parser)?.to_ascii_lowercase();
    let mut args = vec![unit(parser)?];
    while parser.consume_token(&Token::Comma) {
        args.push(parser.parse_expr()?);
    }
    close(parser)?;
    Ok(call(&format!("flink_{name}"), args))
}

/// `MAP[key, value, …]`
pub(super) fn parse_map(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LBracket)?;
    let entries = parser.parse_comma_separated(Parser::parse_expr)?;
    let end = parser.expect_token(&Token::RBracket)?;
    if entries.len() % 2 != 0 {
        return Err(tokens::error("MAP[…] takes pairs of a key and a value", end.span.start));
    }
    Ok(call("make_map", entries))
}

/// `, expr` or `<word> expr`, if one of them comes next.
fn next_argument(parser: &mut Parser, word: &str, args: &mut Vec<Expr>) -> Result<bool, ParserError> {
    let found = parser.consume_token(&Token::Comma) || tokens::accept_words(parser, &[word]);
    if found {
        args.push(parser.parse_expr()?);
    }
    Ok(found)
}

fn parse_substring(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = open(parser)?.to_ascii_lowercase();
    let mut args = vec![parser.parse_expr()?];
    let _ = next_argument(parser, "FROM", &mut args)? && next_argument(parser, "FOR", &mut args)?;
    close(parser)?;
    Ok(call(&name, args))
}

fn parse_position(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    // Not a whole expression: IN would be its predicate.
    let mut args = vec![parser.parse_subexpr(FlinkDialect.prec_value(Precedence::Between))?];
    tokens::expect_words(parser, &["IN"])?;
    args.push(parser.parse_expr()?);
    if tokens::accept_words(parser, &["FROM"]) {
        args.push(parser.parse_expr()?);
    }
    close(parser)?;
    Ok(call("locate", args))
}

fn parse_overlay(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let mut args = vec![parser.parse_expr()?];
    let _ = next_argument(parser, "PLACING", &mut args)?
        && next_argument(parser, "FROM", &mut args)?
        && next_argument(parser, "FOR", &mut args)?;
    close(parser)?;
    Ok(call("overlay", args))
}

fn parse_trim(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let sides = [("LEADING", "ltrim"), ("TRAILING", "rtrim"), ("BOTH", "btrim")];
    let side = sides.into_iter().find(|(side, _)| tokens::accept_words(parser, &[side]));
    let mut args = vec![];
    if side.is_none() || !tokens::accept_words(parser, &["FROM"]) {
        args.push(parser.parse_expr()?);
    }
    let characters = tokens::accept_words(parser, &["FROM"]);
    if characters || args.is_empty() {
        args.insert(0, parser.parse_expr()?);
    }
    close(parser)?;
    let default = if characters { "btrim" } else { "trim" };
    Ok(call(side.map_or(default, |(_, name)| name), args))
}

/// `CASE [operand] WHEN value, … THEN result … [ELSE result] END`
pub(super) fn parse_case(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    let operand =
        if tokens::at_words(parser, &["WHEN"]) { None } else { Some(Box::new(parser.parse_expr()?)) };
    let mut conditions = vec![];
    while tokens::accept_words(parser, &["WHEN"]) {
        let values = parser.parse_comma_separated(Parser::parse_expr)?;
        tokens::expect_words(parser, &["THEN"])?;
        let result = parser.parse_expr()?;
        conditions.extend(values.into_iter().map(|condition| CaseWhen { condition, result: result.clone() }));
    }
    if conditions.is_empty() {
        return parser.expected("WHEN", parser.peek_token());
    }
    let else_result =
        if tokens::accept_words(parser, &["ELSE"]) { Some(Box::new(parser.parse_expr()?)) } else { None };
    tokens::expect_words(parser, &["END"])?;
    let [case_token, end_token] = [AttachedToken::empty(), AttachedToken::empty()];
    Ok(Expr::Case { case_token, end_token, operand, conditions, else_result })
}

/// `expr = ANY (a, b)` as `(expr = a OR expr = b)`, `expr < ALL (a, b)` as `(expr < a AND expr < b)`, if that comes
/// next. With a subquery in the brackets it is sqlparser's.
pub(super) fn parse_quantified(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let [operator, quantifier, bracket, first] = parser.peek_tokens_ref();
    let op = match operator.token {
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let joined_by = match tokens::word(&quantifier.token)?.to_ascii_uppercase().as_str() {
        "ANY" | "SOME" => BinaryOperator::Or,
        "ALL" => BinaryOperator::And,
        _ => return None,
    };
    if bracket.token != Token::LParen || tokens::starts_query(&first.token) {
        return None;
    }
    (0..3).for_each(|_| parser.advance_token());
    let compare =
        |value| Expr::BinaryOp { left: Box::new(expr.clone()), op: op.clone(), right: Box::new(value) };
    let join =
        |left, right| Expr::BinaryOp { left: Box::new(left), op: joined_by.clone(), right: Box::new(right) };
    Some(parser.parse_comma_separated(Parser::parse_expr).and_then(|values| {
        let end = parser.expect_token(&Token::RParen)?;
        let joined = values.into_iter().map(compare).reduce(join);
        joined
            .map(|joined| Expr::Nested(Box::new(joined)))
            .ok_or_else(|| tokens::error("An empty list", end.span.start))
    }))
}

/// Whether `) unit` stands here: the end of an interval like `(a - b) DAY`.
pub(super) fn at_unit_of_difference(parser: &Parser) -> bool {
    let units = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"];
    parser.get_current_token().token == Token::RParen
        && units.iter().any(|unit| tokens::at_words(parser, &[unit]))
}

/// `(a - b) unit`, of which `(a - b)` has been read.
pub(super) fn parse_difference(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let Expr::Nested(difference) = expr else { return None };
    let Expr::BinaryOp { left, op: BinaryOperator::Minus, right } = difference.as_ref() else { return None };
    if !at_unit_of_difference(parser) {
        return None;
    }
    let args = |unit| vec![left.as_ref().clone(), right.as_ref().clone(), unit];
    Some(unit(parser).map(|unit| call("flink_minus", args(unit))))
}

/// `expr IS [NOT] DISTINCT FROM other`, if that comes next. sqlparser would take everything behind it, an AND
/// included, for `other`.
pub(super) fn parse_distinct_from(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let distinct = tokens::accept_words(parser, &["IS", "DISTINCT", "FROM"]);
    if !distinct && !tokens::accept_words(parser, &["IS", "NOT", "DISTINCT", "FROM"]) {
        return None;
    }
    let left = Box::new(expr.clone());
    Some(parser.parse_subexpr(FlinkDialect.prec_value(Precedence::Is)).map(|right| match distinct {
        true => Expr::IsDistinctFrom(left, Box::new(right)),
        false => Expr::IsNotDistinctFrom(left, Box::new(right)),
    }))
}

/// `expr [NOT] BETWEEN {SYMMETRIC | ASYMMETRIC} low AND high`, if that comes next.
pub(super) fn parse_between(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = tokens::at_words(parser, &["NOT", "BETWEEN"]);
    let words = if negated { 2 } else { 1 };
    if !negated && !tokens::at_words(parser, &["BETWEEN"]) {
        return None;
    }
    let kind = &parser.peek_nth_token_ref(words).token;
    let symmetric = tokens::is_word(kind, "SYMMETRIC");
    if !symmetric && !tokens::is_word(kind, "ASYMMETRIC") {
        return None;
    }
    (0..=words).for_each(|_| parser.advance_token());
    Some(parse_bounds(parser).map(|[low, high]| {
        let between = |low: &Expr, high: &Expr| Expr::Between {
            expr: Box::new(expr.clone()),
            negated,
            low: Box::new(low.clone()),
            high: Box::new(high.clone()),
        };
        if !symmetric {
            return between(&low, &high);
        }
        let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
        let [left, right] = [between(&low, &high), between(&high, &low)].map(Box::new);
        Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))
    }))
}

fn parse_bounds(parser: &mut Parser) -> Result<[Expr; 2], ParserError> {
    let precedence = FlinkDialect.prec_value(Precedence::Between);
    let low = parser.parse_subexpr(precedence)?;
    tokens::expect_words(parser, &["AND"])?;
    Ok([low, parser.parse_subexpr(precedence)?])
}

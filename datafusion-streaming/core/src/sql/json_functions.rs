//! Functions and predicates on JSON. They become plain calls:
//!
//! | Flink SQL | becomes |
//! |---|---|
//! | `x IS JSON [ARRAY \| …]` | `is_json(x, 'VALUE' \| 'ARRAY' \| 'OBJECT' \| 'SCALAR')` |
//! | `JSON_EXISTS(x, path …)` | `json_exists(x, path, 'on error')` |
//! | `JSON_VALUE(x, path …)` | `json_value(x, path, 'type', 'on empty', default, 'on error', default)` |
//! | `JSON_QUERY(x, path …)` | `json_query(x, path, 'type', 'wrapper', 'on empty', 'on error')` |
//! | `JSON_OBJECT(k VALUE v, …)` | `json_object('on null', k, v, …)` |
//! | `JSON_ARRAY(v, …)` | `json_array('on null', v, …)` |
//! | `JSON_OBJECTAGG(k VALUE v …)` | `json_objectagg_null_on_null(k, v)`, `json_objectagg_absent_on_null(k, v)` |
//! | `JSON_ARRAYAGG(v …)` | `json_arrayagg_null_on_null(v)`, `json_arrayagg_absent_on_null(v)` |
//!
//! Every option is a string literal in the words of SQL (`'NULL'`, `'ERROR'`, `'DEFAULT'`, `'ABSENT'`,
//! `'EMPTY ARRAY'`, `'WITH CONDITIONAL ARRAY'`, …), always there, and Flink's default if it was not written.

use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::ast::{call, text};
use super::functions::{Parse, close, open};
use super::tokens;
use super::types::parse_type;

/// How to parse a call of the function of this (upper-case) name, if it is one of these.
pub(super) fn special_form(name: &str) -> Option<Parse> {
    Some(match name {
        "JSON_EXISTS" => parse_json_exists,
        "JSON_VALUE" => parse_json_value,
        "JSON_QUERY" => parse_json_query,
        "JSON_OBJECT" => parse_json_object,
        "JSON_ARRAY" => parse_json_array,
        "JSON_OBJECTAGG" => parse_json_objectagg,
        "JSON_ARRAYAGG" => parse_json_arrayagg,
        _ => return None,
    })
}

/// `expr IS [NOT] JSON [VALUE | ARRAY | OBJECT | SCALAR]`, if that comes next.
pub(super) fn parse_is_json(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = tokens::at_words(parser, &["IS", "NOT", "JSON"]);
    if !negated && !tokens::at_words(parser, &["IS", "JSON"]) {
        return None;
    }
    (0..if negated { 3 } else { 2 }).for_each(|_| parser.advance_token());
    let kinds = ["VALUE", "ARRAY", "OBJECT", "SCALAR"];
    let kind = kinds.into_iter().find(|kind| tokens::accept_words(parser, &[kind])).unwrap_or("VALUE");
    let is_json = call("is_json", vec![expr.clone(), text(kind)]);
    Some(Ok(if negated {
        Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(is_json) }
    } else {
        is_json
    }))
}

/// `x, path`
fn json_and_path(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    let json = parser.parse_expr()?;
    parser.expect_token(&Token::Comma)?;
    Ok(vec![json, parser.parse_expr()?])
}

/// The words `<choice> ON <event>`, if one of the choices stands here with that event.
fn behaviour(parser: &mut Parser, choices: &[&str], event: &str) -> Option<String> {
    choices.iter().find_map(|choice| {
        let words: Vec<&str> = choice.split(' ').chain(["ON", event]).collect();
        tokens::accept_words(parser, &words).then(|| choice.to_string())
    })
}

fn returning(parser: &mut Parser) -> Result<Expr, ParserError> {
    let data_type = if tokens::accept_words(parser, &["RETURNING"]) {
        parse_type(parser)?.to_string()
    } else {
        "STRING".into()
    };
    Ok(text(&data_type))
}

fn parse_json_exists(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let mut args = json_and_path(parser)?;
    let on_error = behaviour(parser, &["TRUE", "FALSE", "UNKNOWN", "ERROR"], "ERROR");
    args.push(text(on_error.as_deref().unwrap_or("FALSE")));
    close(parser)?;
    Ok(call("json_exists", args))
}

fn parse_json_value(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let mut args = json_and_path(parser)?;
    args.push(returning(parser)?);
    let null = || (text("NULL"), Expr::value(Value::Null));
    let [mut on_empty, mut on_error] = [null(), null()];
    loop {
        let (what, default) = if tokens::accept_words(parser, &["DEFAULT"]) {
            (text("DEFAULT"), parser.parse_expr()?)
        } else if tokens::accept_words(parser, &["NULL"]) {
            null()
        } else if tokens::accept_words(parser, &["ERROR"]) {
            (text("ERROR"), Expr::value(Value::Null))
        } else {
            break;
        };
        tokens::expect_words(parser, &["ON"])?;
        if tokens::accept_words(parser, &["EMPTY"]) {
            on_empty = (what, default);
        } else {
            tokens::expect_words(parser, &["ERROR"])?;
            on_error = (what, default);
        }
    }
    close(parser)?;
    args.extend([on_empty.0, on_empty.1, on_error.0, on_error.1]);
    Ok(call("json_value", args))
}

fn parse_json_query(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let mut args = json_and_path(parser)?;
    args.push(returning(parser)?);
    let mut wrapper = "WITHOUT ARRAY";
    if tokens::accept_words(parser, &["WITHOUT"]) {
        tokens::accept_words(parser, &["ARRAY"]);
        tokens::expect_words(parser, &["WRAPPER"])?;
    } else if tokens::accept_words(parser, &["WITH"]) {
        let conditional = tokens::accept_words(parser, &["CONDITIONAL"]);
        tokens::accept_words(parser, &["UNCONDITIONAL"]);
        tokens::accept_words(parser, &["ARRAY"]);
        tokens::expect_words(parser, &["WRAPPER"])?;
        wrapper = if conditional { "WITH CONDITIONAL ARRAY" } else { "WITH UNCONDITIONAL ARRAY" };
    }
    args.push(text(wrapper));
    let choices = ["NULL", "EMPTY ARRAY", "EMPTY OBJECT", "ERROR"];
    let on_empty = behaviour(parser, &choices, "EMPTY");
    let on_error = behaviour(parser, &choices, "ERROR");
    args.extend([on_empty, on_error].map(|choice| text(choice.as_deref().unwrap_or("NULL"))));
    close(parser)?;
    Ok(call("json_query", args))
}

const ON_NULL: [&str; 2] = ["NULL", "ABSENT"];

/// `[KEY] key VALUE value`
fn key_and_value(parser: &mut Parser) -> Result<[Expr; 2], ParserError> {
    if !tokens::at_words(parser, &["KEY", "VALUE"]) {
        tokens::accept_words(parser, &["KEY"]);
    }
    let key = parser.parse_expr()?;
    tokens::expect_words(parser, &["VALUE"])?;
    Ok([key, parser.parse_expr()?])
}

/// Members up to the end of the call, with what to do about nulls in front.
fn json_members(
    parser: &mut Parser,
    default: &str,
    mut member: impl FnMut(&mut Parser, &mut Vec<Expr>) -> Result<(), ParserError>,
) -> Result<Vec<Expr>, ParserError> {
    open(parser)?;
    let mut args = vec![text(default)];
    if parser.consume_token(&Token::RParen) {
        return Ok(args);
    }
    let mut on_null = behaviour(parser, &ON_NULL, "NULL");
    if on_null.is_none() {
        loop {
            member(parser, &mut args)?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        on_null = behaviour(parser, &ON_NULL, "NULL");
    }
    if let Some(on_null) = on_null {
        args[0] = text(&on_null);
    }
    close(parser)?;
    Ok(args)
}

fn parse_json_object(parser: &mut Parser) -> Result<Expr, ParserError> {
    let args = json_members(parser, "NULL", |parser, args| {
        args.extend(key_and_value(parser)?);
        Ok(())
    })?;
    Ok(call("json_object", args))
}

fn parse_json_array(parser: &mut Parser) -> Result<Expr, ParserError> {
    let args = json_members(parser, "ABSENT", |parser, args| {
        args.push(parser.parse_expr()?);
        Ok(())
    })?;
    Ok(call("json_array", args))
}

fn parse_json_objectagg(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let args = key_and_value(parser)?.into();
    json_aggregate(parser, "json_objectagg", args, "NULL")
}

fn parse_json_arrayagg(parser: &mut Parser) -> Result<Expr, ParserError> {
    open(parser)?;
    let args = vec![parser.parse_expr()?];
    json_aggregate(parser, "json_arrayagg", args, "ABSENT")
}

fn json_aggregate(
    parser: &mut Parser,
    name: &str,
    args: Vec<Expr>,
    default: &str,
) -> Result<Expr, ParserError> {
    let on_null = behaviour(parser, &ON_NULL, "NULL").unwrap_or_else(|| default.to_string());
    close(parser)?;
    let mut aggregate = call(&format!("{name}_{}_on_null", on_null.to_ascii_lowercase()), args);
    if tokens::accept_words(parser, &["FILTER"])
        && let Expr::Function(function) = &mut aggregate
    {
        parser.expect_token(&Token::LParen)?;
        tokens::expect_words(parser, &["WHERE"])?;
        function.filter = Some(Box::new(parser.parse_expr()?));
        close(parser)?;
    }
    Ok(aggregate)
}

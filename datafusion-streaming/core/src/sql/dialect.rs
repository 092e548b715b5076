//! The dialect: which of sqlparser's syntax Flink SQL has, and the expressions that sqlparser parses otherwise.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::ast::call;
use super::{functions, json_functions, literals, table_argument, tokens};

/// Flink SQL for sqlparser: identifiers are quoted by backticks and case-sensitive, strings by single quotes with
/// `''` as the only escape, comments do not nest and `/*+ … */` is a hint.
///
/// The dialect alone parses queries; [`super::parse`] adds Flink's statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlinkDialect;

impl Dialect for FlinkDialect {
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_' || ch == '$'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('`')
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_match_recognize(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let [first, second] = parser.peek_tokens_ref();
        if first.token == Token::LParen {
            return table_argument::parse_subquery(parser);
        }
        let name = tokens::word(&first.token)?.to_ascii_uppercase();
        if second.token == Token::LParen
            && let Some(form) = functions::special_form(&name)
        {
            return Some(form(parser));
        }
        match name.as_str() {
            "TABLE" => table_argument::parse_table(parser),
            "CASE" => Some(functions::parse_case(parser)),
            "FINAL" | "RUNNING" if matches!(second.token, Token::Word(_)) => {
                parser.advance_token();
                Some(parser.parse_prefix().map(|value| call(&name.to_ascii_lowercase(), vec![value])))
            }
            "MAP" if second.token == Token::LBracket => Some(functions::parse_map(parser)),
            "INTERVAL" => Some(literals::parse_interval(parser)),
            "DATE" | "TIME" | "TIMESTAMP" => literals::parse_datetime(parser),
            _ => None,
        }
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        functions::at_unit_of_difference(parser).then(|| Ok(self.prec_value(Precedence::DoubleColon)))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        json_functions::parse_is_json(parser, expr)
            .or_else(|| functions::parse_distinct_from(parser, expr))
            .or_else(|| functions::parse_between(parser, expr))
            .or_else(|| functions::parse_quantified(parser, expr))
            .or_else(|| functions::parse_difference(parser, expr))
    }
}

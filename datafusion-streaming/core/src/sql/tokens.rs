//! Flink SQL's tokens: the tokenizer's output brought into the form that the parser expects, the way back from
//! tokens to the source text, and small helpers to parse with.

use datafusion::common::TableReference;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

use super::dialect::FlinkDialect;
use super::{match_recognize, queries};

/// How deep expressions and subqueries may be nested, in calls of the parser: some 60 subqueries. Its default of 50
/// is that of a dozen.
const RECURSION_LIMIT: usize = 256;

/// A parser over `sql`, with Flink's lexical rules applied.
pub(super) fn parser(sql: &str) -> Result<Parser<'static>, ParserError> {
    Ok(parser_of(tokenize(sql)?))
}

/// A parser over these tokens.
pub(super) fn parser_of(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&FlinkDialect).with_tokens_with_locations(tokens).with_recursion_limit(RECURSION_LIMIT)
}

/// The tokens of `sql`, corrected where sqlparser would go wrong:
///
/// - `>>` is two closing brackets, as in `ARRAY<ARRAY<INT>>`: Flink has no shift operator.
/// - `"…"` and `!=` are errors, as in Flink.
/// - MATCH_RECOGNIZE is brought into the form that sqlparser knows, see [`match_recognize::adapt`], and so are
///   some queries, see [`queries`].
pub(super) fn tokenize(sql: &str) -> Result<Vec<TokenWithSpan>, ParserError> {
    let source = Source::new(sql);
    let mut tokens = Vec::new();
    for token in Tokenizer::new(&FlinkDialect, sql).tokenize_with_location()? {
        match &token.token {
            Token::ShiftRight => {
                tokens.push(TokenWithSpan { token: Token::Gt, span: token.span });
                tokens.push(TokenWithSpan { token: Token::Gt, span: token.span });
            }
            Token::DoubleQuotedString(name) => {
                return Err(error(
                    format!("\"{name}\": Flink SQL quotes identifiers with `…` and strings with '…'"),
                    token.span.start,
                ));
            }
            Token::Neq if source.between(token.span.start, token.span.end) == "!=" => {
                return Err(error("Flink SQL writes <> for !=", token.span.start));
            }
            _ => tokens.push(token),
        }
    }
    Ok(match_recognize::adapt(queries::adapt(tokens)))
}

/// The text of an unquoted word.
pub(super) fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value),
        _ => None,
    }
}

/// Whether the token is this word, unquoted, in any case.
pub(super) fn is_word(token: &Token, name: &str) -> bool {
    word(token).is_some_and(|word| word.eq_ignore_ascii_case(name))
}

/// Whether a query starts with this token.
pub(super) fn starts_query(token: &Token) -> bool {
    ["SELECT", "WITH", "VALUES"].iter().any(|name| is_word(token, name))
}

/// Whether these words come next.
pub(super) fn at_words(parser: &Parser, names: &[&str]) -> bool {
    names.iter().enumerate().all(|(i, name)| is_word(&parser.peek_nth_token_ref(i).token, name))
}

/// Steps over these words if they come next.
pub(super) fn accept_words(parser: &mut Parser, names: &[&str]) -> bool {
    let found = at_words(parser, names);
    if found {
        names.iter().for_each(|_| parser.advance_token());
    }
    found
}

/// Steps over these words.
pub(super) fn expect_words(parser: &mut Parser, names: &[&str]) -> Result<(), ParserError> {
    for name in names {
        if !accept_words(parser, &[name]) {
            return parser.expected(name, parser.peek_token());
        }
    }
    Ok(())
}

/// A name, quoted or not.
pub(super) fn identifier(parser: &mut Parser) -> Result<Ident, ParserError> {
    match parser.peek_token_ref().token {
        Token::Word(_) => parser.parse_identifier(),
        _ => parser.expected("a name", parser.peek_token()),
    }
}

/// `(name, …)`
pub(super) fn names(parser: &mut Parser) -> Result<Vec<String>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let names = parser.parse_comma_separated(|parser| Ok(identifier(parser)?.value))?;
    parser.expect_token(&Token::RParen)?;
    Ok(names)
}

/// `[[catalog.]database.]name`
pub(super) fn object_name(parser: &mut Parser) -> Result<ObjectName, ParserError> {
    let mut parts = vec![identifier(parser)?];
    while parts.len() < 3 && parser.consume_token(&Token::Period) {
        parts.push(identifier(parser)?);
    }
    Ok(ObjectName::from(parts))
}

/// The same as a reference for DataFusion's catalogs.
pub(super) fn table_reference(parser: &mut Parser) -> Result<TableReference, ParserError> {
    let location = parser.peek_token_ref().span.start;
    let name = object_name(parser)?;
    object_name_to_table_reference(name, false).map_err(|e| error(e, location))
}

/// A string literal.
pub(super) fn string(parser: &mut Parser) -> Result<String, ParserError> {
    match parser.next_token() {
        TokenWithSpan { token: Token::SingleQuotedString(text), .. } => Ok(text),
        token => parser.expected("a string literal", token),
    }
}

/// A syntax error with its place.
pub(super) fn error(message: impl std::fmt::Display, at: Location) -> ParserError {
    ParserError::ParserError(format!("{message}{at}"))
}

/// Finds places of tokens in the source text.
pub(super) struct Source<'a> {
    sql: &'a str,
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(sql: &'a str) -> Self {
        let starts = sql.match_indices('\n').map(|(newline, _)| newline + 1);
        Self { sql, lines: std::iter::once(0).chain(starts).collect() }
    }

    /// The text from one place up to another (or to the end), without white space around it.
    pub(super) fn between(&self, start: Location, end: Location) -> &'a str {
        let end = if end.line == 0 { self.sql.len() } else { self.offset(end) };
        self.sql[self.offset(start)..end].trim()
    }

    fn offset(&self, at: Location) -> usize {
        let line = self.lines.get(at.line.saturating_sub(1) as usize).copied().unwrap_or(self.sql.len());
        let characters = at.column.saturating_sub(1) as usize;
        self.sql[line..].char_indices().nth(characters).map_or(self.sql.len(), |(i, _)| line + i)
    }
}

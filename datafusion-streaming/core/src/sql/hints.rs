//! Hints: `/*+ STATE_TTL('o' = '1 d'), BROADCAST(c) */` behind a SELECT, `/*+ OPTIONS('k' = 'v') */` behind a table.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Select, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace};

use super::tokens;
use super::visit::visit_mut;

/// A hint. Hints stand in comments: STATE_TTL and LOOKUP are applied when their query is parsed, of others it is only said
/// which there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The hint's name in upper case, such as `STATE_TTL`.
    pub name: String,
    /// `'key' = 'value'`, or just a name.
    pub arguments: Vec<(String, Option<String>)>,
    /// The table in front of the hint, as written; `None` for a hint to a SELECT.
    pub table: Option<String>,
}

/// A hint and where it stands.
#[derive(Debug)]
pub(super) struct LocatedHint {
    pub(super) at: Location,
    /// Where the SELECT is that it is for, if it is for one.
    pub(super) select: Option<Location>,
    pub(super) hint: Hint,
}

/// Calls `apply` with each SELECT that has a hint of this name, and the hint.
pub(super) fn each_hinted_select(
    node: &mut impl VisitMut,
    hints: &[LocatedHint],
    name: &str,
    apply: impl Fn(&mut Select, &LocatedHint) -> Result<(), ParserError>,
) -> Result<(), ParserError> {
    let hints: Vec<&LocatedHint> = hints.iter().filter(|hint| hint.hint.name == name).collect();
    if hints.is_empty() {
        return Ok(());
    }
    match visit_mut(node, &mut HintedSelects { hints, apply }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct HintedSelects<'a, F> {
    hints: Vec<&'a LocatedHint>,
    apply: F,
}

impl<F: Fn(&mut Select, &LocatedHint) -> Result<(), ParserError>> VisitorMut for HintedSelects<'_, F> {
    type Break = Box<ParserError>;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let start = select.select_token.0.span.start;
        for hint in self.hints.iter().filter(|hint| hint.select == Some(start)) {
            if let Err(error) = (self.apply)(select, hint) {
                return ControlFlow::Break(Box::new(error));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The hints among these tokens, with their places.
pub(super) fn find(tokens: &[TokenWithSpan]) -> Result<Vec<LocatedHint>, ParserError> {
    let mut hints = vec![];
    for (i, token) in tokens.iter().enumerate() {
        let Token::Whitespace(Whitespace::MultiLineComment(comment)) = &token.token else { continue };
        let Some(text) = comment.strip_prefix('+') else { continue };
        let at = token.span.start;
        let table = table_before(&tokens[..i]);
        let before = tokens[..i].iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
        let select = before.filter(|t| tokens::is_word(&t.token, "SELECT")).map(|t| t.span.start);
        let named = parse(text).map_err(|e| tokens::error(format!("In the hint /*{comment}*/: {e}"), at))?;
        hints.extend(named.into_iter().map(|(name, arguments)| {
            let hint = Hint { name, arguments, table: table.clone() };
            LocatedHint { at, select, hint }
        }));
    }
    Ok(hints)
}

/// The possibly qualified name that ends right here, unless it is the keyword of a SELECT.
fn table_before(tokens: &[TokenWithSpan]) -> Option<String> {
    let mut name = vec![];
    let mut parts = tokens.iter().rev().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    loop {
        match &parts.next()?.token {
            word if tokens::is_word(word, "SELECT") => return None,
            Token::Word(word) => name.push(word.value.as_str()),
            _ => return None,
        }
        if !matches!(parts.next(), Some(TokenWithSpan { token: Token::Period, .. })) {
            name.reverse();
            return Some(name.join("."));
        }
    }
}

type Named = (String, Vec<(String, Option<String>)>);

fn parse(text: &str) -> Result<Vec<Named>, ParserError> {
    let mut parser = tokens::parser(text)?;
    let hints = parser.parse_comma_separated(|parser| {
        let name = tokens::identifier(parser)?.value.to_ascii_uppercase();
        let mut arguments = vec![];
        if parser.consume_token(&Token::LParen) && !parser.consume_token(&Token::RParen) {
            arguments = parser.parse_comma_separated(parse_argument)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok((name, arguments))
    })?;
    parser.expect_token(&Token::EOF)?;
    Ok(hints)
}

fn parse_argument(parser: &mut Parser) -> Result<(String, Option<String>), ParserError> {
    let mut parts = vec![parse_value(parser)?];
    while parser.consume_token(&Token::Period) {
        parts.push(parse_value(parser)?);
    }
    let value = parser.consume_token(&Token::Eq).then(|| parse_value(parser)).transpose()?;
    Ok((parts.join("."), value))
}

fn parse_value(parser: &mut Parser) -> Result<String, ParserError> {
    match parser.peek_token_ref().token.clone() {
        Token::SingleQuotedString(text) | Token::Number(text, _) => {
            parser.advance_token();
            Ok(text)
        }
        _ => Ok(tokens::identifier(parser)?.value),
    }
}

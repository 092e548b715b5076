//! Queries in forms that sqlparser has trouble with, on the level of tokens.
//!
//! Behind `FROM (` sqlparser tries a subquery, and if that fails a join in brackets, whose error it then reports:
//! `SELECT * FROM (SELECT FROM t)` is found to lack a `)`. And it has no MATCH_RECOGNIZE behind a subquery. As the
//! argument of a function neither is a problem, so `FROM (SELECT …)` is parsed as `FROM $input((SELECT …))`.
//!
//! Of the query `TABLE t` sqlparser swallows what stands behind it, so it is parsed as `SELECT * FROM t`.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::tokens::{self, is_word};

/// The function that stands for its argument. The rewriter removes it.
pub(super) const INPUT: &str = "$input";

/// Wraps all subqueries behind FROM and JOIN, and `TABLE(f(…))` in front of MATCH_RECOGNIZE; spells out `TABLE t`.
pub(super) fn adapt(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut wrapped: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<Open> = vec![];
    let mut closed: Option<Open> = None;
    let mut previous: Option<usize> = None;
    let mut inserting = false;
    for i in 0..tokens.len() {
        let token = &tokens[i];
        match token.token {
            Token::Whitespace(_) => {
                wrapped.push(token.clone());
                continue;
            }
            Token::LParen => {
                let before = previous.map(|at| &wrapped[at].token);
                let is_input = before.is_some_and(|t| is_word(t, "FROM") || is_word(t, "JOIN"))
                    && is_query(&tokens[i + 1..]);
                if is_input {
                    wrapped.push(like(token, input()));
                    wrapped.push(token.clone());
                }
                open.push(Open { is_input, before: previous });
            }
            Token::RParen => {
                closed = open.pop();
                if closed.as_ref().is_some_and(|closed| closed.is_input) {
                    wrapped.push(token.clone());
                }
            }
            Token::SemiColon => inserting = false,
            _ => {
                let before = previous.map(|at| &wrapped[at].token);
                inserting |= is_word(&token.token, "INSERT");
                if is_word(&token.token, "TABLE")
                    && is_name(&tokens[i + 1..])
                    && may_start_query(before, inserting)
                {
                    let words = [Token::make_keyword("SELECT"), space(), Token::Mul, space()];
                    wrapped.extend(words.map(|word| like(token, word)));
                    previous = Some(wrapped.len());
                    wrapped.push(like(token, Token::make_keyword("FROM")));
                    continue;
                }
                if is_word(&token.token, "MATCH_RECOGNIZE")
                    && previous.is_some_and(|at| wrapped[at].token == Token::RParen)
                    && let Some(Open { before: Some(before), .. }) = closed.take()
                    && is_word(&wrapped[before].token, "TABLE")
                {
                    wrapped[before].token = input();
                }
            }
        }
        previous = Some(wrapped.len());
        wrapped.push(token.clone());
    }
    wrapped
}

/// An opening bracket.
struct Open {
    is_input: bool,
    /// Where the token in front of it is.
    before: Option<usize>,
}

fn input() -> Token {
    Token::make_word(INPUT, Some('`'))
}

fn like(token: &TokenWithSpan, as_this: Token) -> TokenWithSpan {
    TokenWithSpan { token: as_this, span: token.span }
}

fn space() -> Token {
    Token::Whitespace(Whitespace::Space)
}

/// Whether a query may start behind this token. Behind a bracket or comma `TABLE t` is an argument.
fn may_start_query(before: Option<&Token>, inserting: bool) -> bool {
    let Some(before) = before else { return true };
    let words = ["UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT", "AS", "FOR"];
    *before == Token::SemiColon
        || words.iter().any(|word| is_word(before, word))
        // INSERT INTO s (a, b) TABLE t
        || inserting && (*before == Token::RParen || matches!(before, Token::Word(_)))
}

fn is_name(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
    matches!(first, Some(TokenWithSpan { token: Token::Word(_), .. }))
}

fn is_query(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
    first.is_some_and(|t| tokens::starts_query(&t.token))
}

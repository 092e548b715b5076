//! Subqueries in FROM, on the level of tokens.
//!
//! Behind `FROM (` sqlparser tries a subquery, and if that fails a join in brackets, whose error it then reports:
//! `SELECT * FROM (SELECT FROM t)` is found to lack a `)`. And it has no MATCH_RECOGNIZE behind a subquery. As the
//! argument of a function neither is a problem, so `FROM (SELECT …)` is parsed as `FROM $input((SELECT …))`.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::is_word;

/// The function that stands for its argument. The rewriter removes it.
pub(super) const INPUT: &str = "$input";

/// Wraps all subqueries behind FROM and JOIN, and `TABLE(f(…))` in front of MATCH_RECOGNIZE.
pub(super) fn wrap(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut wrapped: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<Open> = vec![];
    let mut closed: Option<Open> = None;
    let mut previous: Option<usize> = None;
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
                    && starts_query(&tokens[i + 1..]);
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
            _ => {
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

fn starts_query(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
    first.is_some_and(|t| ["SELECT", "WITH", "VALUES"].iter().any(|word| is_word(&t.token, word)))
}

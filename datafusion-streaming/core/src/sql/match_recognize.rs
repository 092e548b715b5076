//! MATCH_RECOGNIZE: what sqlparser's grammar of it lacks, put into a form that it has.

use datafusion::sql::sqlparser::ast::{Expr, SymbolDefinition};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::tokens::is_word;

/// The name under which the interval of `WITHIN` stands among the symbols.
const WITHIN: &str = "$within";

/// The interval of `PATTERN (…) WITHIN <interval>`, and the definitions of the symbols without it.
pub fn split_within(symbols: Vec<SymbolDefinition>) -> (Option<Expr>, Vec<SymbolDefinition>) {
    let (within, symbols): (Vec<_>, Vec<_>) =
        symbols.into_iter().partition(|symbol| symbol.symbol.value == WITHIN);
    (within.into_iter().next().map(|symbol| symbol.definition), symbols)
}

/// Rewrites the tokens of every MATCH_RECOGNIZE:
///
/// - `WITHIN <interval> DEFINE` becomes `DEFINE $within AS <interval>,`
/// - `SKIP TO a` becomes `SKIP TO LAST a`
/// - `SUBSET …` goes away, since Flink ignores it
pub(super) fn adapt(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut adapted: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        if !is_word(&token.token, "MATCH_RECOGNIZE") {
            adapted.push(token);
            continue;
        }
        adapted.push(token);
        let mut clause = Vec::new();
        let mut depth = 0;
        for token in rest.by_ref() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            let done = depth == 0 && token.token == Token::RParen;
            clause.push(token);
            if done {
                break;
            }
        }
        adapt_clause(&mut clause);
        adapted.extend(clause);
    }
    adapted
}

fn like(token: &TokenWithSpan, as_this: Token) -> TokenWithSpan {
    TokenWithSpan { token: as_this, span: token.span }
}

fn adapt_clause(clause: &mut Vec<TokenWithSpan>) {
    let mut words = significant_words(clause);
    if let Some(i) = words
        .windows(2)
        .position(|w| is_word(&clause[w[0]].token, "SKIP") && is_word(&clause[w[1]].token, "TO"))
        && let Some(&target) = words.get(i + 2)
        && !["NEXT", "FIRST", "LAST"].iter().any(|word| is_word(&clause[target].token, word))
    {
        let at = clause[target].clone();
        clause.splice(target..target, [like(&at, Token::make_keyword("LAST")), space(&at)]);
        words = significant_words(clause);
    }
    let find =
        |clause: &[TokenWithSpan], name| words.iter().copied().find(|&i| is_word(&clause[i].token, name));
    let Some(define) = find(clause, "DEFINE") else { return };
    let subset = find(clause, "SUBSET").filter(|subset| *subset < define).unwrap_or(define);
    let within = find(clause, "WITHIN").filter(|within| *within < subset);
    let at = clause[define].clone();
    let mut definitions = vec![at.clone(), space(&at)];
    if let Some(within) = within {
        definitions.extend([like(&at, Token::make_word(WITHIN, Some('`'))), space(&at)]);
        definitions.push(like(&at, Token::make_keyword("AS")));
        definitions.extend_from_slice(&clause[within + 1..subset]);
        definitions.push(like(&at, Token::Comma));
    }
    clause.splice(within.unwrap_or(subset)..=define, definitions);
}

/// Where the clause's own tokens are, not those in brackets within it.
fn significant_words(clause: &[TokenWithSpan]) -> Vec<usize> {
    let mut depth = 0;
    let mut words = vec![];
    for (i, token) in clause.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Whitespace(_) => {}
            _ if depth == 1 => words.push(i),
            _ => {}
        }
    }
    words
}

fn space(at: &TokenWithSpan) -> TokenWithSpan {
    like(at, Token::Whitespace(Whitespace::Space))
}

//! PATTERN: its syntax tree as a list of variables.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Ident, MatchRecognizePattern, MatchRecognizeSymbol, RepetitionQuantifier,
};
use datafusion_streaming_physical_plan::operators::match_recognize::{PatternElement, Quantifier};

/// The variables of a pattern in their order; `name` gives the name that an identifier stands for.
///
/// # Errors
/// For what Flink does not have: alternatives, groups with a quantifier, PERMUTE, exclusions.
pub(super) fn pattern_of(
    pattern: &MatchRecognizePattern,
    name: &dyn Fn(&Ident) -> String,
) -> Result<Vec<PatternElement>> {
    let mut elements = vec![];
    add(pattern, name, &mut elements)?;
    Ok(elements)
}

fn add(
    pattern: &MatchRecognizePattern,
    name: &dyn Fn(&Ident) -> String,
    elements: &mut Vec<PatternElement>,
) -> Result<()> {
    match pattern {
        MatchRecognizePattern::Symbol(MatchRecognizeSymbol::Named(variable)) => {
            elements.push(PatternElement { variable: name(variable), quantifier: Quantifier::ONE });
            Ok(())
        }
        // Flink passes over anchors
        MatchRecognizePattern::Symbol(MatchRecognizeSymbol::Start | MatchRecognizeSymbol::End) => Ok(()),
        MatchRecognizePattern::Concat(parts) => parts.iter().try_for_each(|part| add(part, name, elements)),
        MatchRecognizePattern::Group(inner) => add(inner, name, elements),
        MatchRecognizePattern::Repetition(repeated, quantifier) => {
            let (repeated, quantifier, is_reluctant) = match (repeated.as_ref(), quantifier) {
                // `A*?` is parsed as `(A*)?`
                (MatchRecognizePattern::Repetition(inner, quantifier), RepetitionQuantifier::AtMostOne) => {
                    (inner.as_ref(), quantifier, true)
                }
                (repeated, quantifier) => (repeated, quantifier, false),
            };
            let Some(variable) = single(repeated) else {
                return plan_err!(
                    "PATTERN has {pattern}, a group with a quantifier: quantifiers can only stand behind a variable"
                );
            };
            let (min, max) = bounds(pattern, quantifier)?;
            let quantifier = Quantifier { min, max, greedy: !is_reluctant };
            elements.push(PatternElement { variable: name(variable), quantifier });
            Ok(())
        }
        MatchRecognizePattern::Alternation(_) => plan_err!(
            "PATTERN has the alternatives {pattern}: use one variable whose definition takes either, by OR"
        ),
        MatchRecognizePattern::Permute(_) => {
            plan_err!(
                "PATTERN has {pattern}: write a query for each order of the variables, and join them by UNION ALL"
            )
        }
        MatchRecognizePattern::Exclude(_) => plan_err!(
            "PATTERN has the exclusion {pattern}: rows are excluded from ALL ROWS PER MATCH only, so write the variable \
             without {{- -}}"
        ),
    }
}

/// The variable that a part of a pattern consists of, in brackets or not.
fn single(pattern: &MatchRecognizePattern) -> Option<&Ident> {
    match pattern {
        MatchRecognizePattern::Symbol(MatchRecognizeSymbol::Named(variable)) => Some(variable),
        MatchRecognizePattern::Group(inner) => single(inner),
        _ => None,
    }
}

/// The bounds of a quantifier in `pattern`.
fn bounds(pattern: &MatchRecognizePattern, quantifier: &RepetitionQuantifier) -> Result<(u32, Option<u32>)> {
    Ok(match quantifier {
        RepetitionQuantifier::ZeroOrMore => (0, None),
        RepetitionQuantifier::OneOrMore => (1, None),
        RepetitionQuantifier::AtMostOne => (0, Some(1)),
        RepetitionQuantifier::Exactly(times) => (*times, Some(*times)),
        RepetitionQuantifier::AtLeast(min) => (*min, None),
        RepetitionQuantifier::AtMost(max) => {
            return plan_err!(
                "PATTERN has {pattern}: the lower bound of a quantifier must be at least 1; write {{1,{max}}}, or ? \
                 for at most one row"
            );
        }
        RepetitionQuantifier::Range(min, max) => (*min, Some(*max)),
    })
}

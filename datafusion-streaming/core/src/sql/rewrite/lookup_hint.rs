//! `SELECT /*+ LOOKUP('table' = 'd', 'retry-predicate' = 'lookup_miss', …) */`: how a lookup join waits and tries again.

use datafusion::sql::sqlparser::ast::{
    FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, Select, TableFactor, VisitMut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::lookup_options::looked_up;
use crate::sql::ast::text;
use crate::sql::hints::{LocatedHint, each_hinted_select};
use crate::sql::tokens;

/// The hint's name.
const LOOKUP: &str = "LOOKUP";

/// In front of the keys of a LOOKUP hint among the options of a table that is looked up.
pub(crate) const LOOKUP_HINT: &str = "LOOKUP.";

/// The option that names the table, by its alias or else its name.
const TABLE: &str = "table";

/// Gives the calls that stand for `t FOR SYSTEM_TIME AS OF time` the options of the LOOKUP hints of their SELECT as
/// further arguments: keys and values in turn. Where the table is joined in another way, a hint has, as in Flink, no
/// effect.
///
/// # Errors
/// If a hint names no table, or one that the SELECT does not have, or if an option has no value.
pub(in crate::sql) fn apply(node: &mut impl VisitMut, hints: &[LocatedHint]) -> Result<(), ParserError> {
    each_hinted_select(node, hints, LOOKUP, apply_to)
}

fn apply_to(select: &mut Select, hint: &LocatedHint) -> Result<(), ParserError> {
    let error = |message: String| tokens::error(message, hint.at);
    let mut options = vec![];
    let mut table = None;
    for (key, value) in &hint.hint.arguments {
        match value {
            Some(value) if key == TABLE => table = Some(value.as_str()),
            Some(value) => options.extend([format!("{LOOKUP_HINT}{key}"), value.clone()]),
            None => return Err(error(format!("'{key}' of the hint LOOKUP needs a value: '{key}' = '…'"))),
        }
    }
    let Some(table) = table else {
        return Err(error("the hint LOOKUP needs a table: LOOKUP('table' = 'name or alias', …)".to_string()));
    };
    let mut found = false;
    for from in &mut select.from {
        let joins = from.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut from.relation).chain(joins) {
            if name_of(factor).is_some_and(|name| name == table) {
                found = true;
                if let TableFactor::Function { lateral: true, args, .. } = factor {
                    let options = options.iter().cloned().map(text);
                    args.extend(options.map(|option| FunctionArg::Unnamed(FunctionArgExpr::Expr(option))));
                }
            }
        }
    }
    match found {
        true => Ok(()),
        false => Err(error(format!(
            "The options of following hints cannot match the name of input tables or views: `{table}` in `LOOKUP`"
        ))),
    }
}

/// The name by which a query knows a table; of others than those that are looked up only where they may be meant.
fn name_of(factor: &TableFactor) -> Option<&str> {
    match factor {
        TableFactor::Function { alias: Some(alias), .. } if looked_up(factor).is_some() => {
            Some(&alias.name.value)
        }
        TableFactor::Function { .. } => looked_up(factor).and_then(last_part),
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(&alias.name.value)
        }
        TableFactor::Table { name, args: None, .. } => last_part(name),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> Option<&str> {
    name.0.last().and_then(ObjectNamePart::as_ident).map(|part| part.value.as_str())
}

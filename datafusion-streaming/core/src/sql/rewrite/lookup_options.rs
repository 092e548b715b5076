//! `t /*+ OPTIONS('lookup.cache' = 'PARTIAL') */ FOR SYSTEM_TIME AS OF time`: how a table is looked up.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, SetExpr, TableFactor, VisitMut,
    VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::AS_OF;
use crate::sql::ast::text;
use crate::sql::hints::Hint;
use crate::sql::visit::visit_mut;

/// The hint's name.
const OPTIONS: &str = "OPTIONS";

/// Gives the calls that stand for `t FOR SYSTEM_TIME AS OF time` the options in the hint behind `t` as
/// further arguments: keys and values in turn.
pub(crate) fn apply<'a>(node: &mut impl VisitMut, hints: impl Iterator<Item = (Location, &'a Hint)>) {
    let hints: Vec<_> = hints.filter(|(_, hint)| hint.name == OPTIONS && hint.table.is_some()).collect();
    if !hints.is_empty() {
        let _ = visit_mut(node, &mut Applier { hints });
    }
}

struct Applier<'a> {
    hints: Vec<(Location, &'a Hint)>,
}

impl VisitorMut for Applier<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(hint) = looked_up(factor).and_then(|table| self.hint_behind(table))
            && let TableFactor::Function { args, .. } = factor
        {
            let options = hint
                .arguments
                .iter()
                .flat_map(|(key, value)| [key.clone(), value.clone().unwrap_or_default()]);
            args.extend(options.map(|option| FunctionArg::Unnamed(FunctionArgExpr::Expr(text(option)))));
        }
        ControlFlow::Continue(())
    }
}

impl Applier<'_> {
    /// The hint that stands behind the name of a table, before any other hint of that table.
    fn hint_behind(&self, table: &ObjectName) -> Option<&Hint> {
        let parts: Vec<_> = table.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let end = parts.last()?.span.end;
        let name = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let of_table =
            self.hints.iter().filter(|(at, hint)| hint.table.as_ref() == Some(&name) && *at >= end);
        of_table.min_by_key(|(at, _)| *at).map(|(_, hint)| *hint)
    }
}

/// The table of a call that stands for `t FOR SYSTEM_TIME AS OF time`; `None` for any other factor.
pub(super) fn looked_up(factor: &TableFactor) -> Option<&ObjectName> {
    let TableFactor::Function { lateral: true, name, args, .. } = factor else { return None };
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] if name.value == AS_OF => args.get(1).and_then(table_of),
        _ => None,
    }
}

/// The table in `(SELECT * FROM t)`.
fn table_of(arg: &FunctionArg) -> Option<&ObjectName> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query))) = arg else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    match select.from.as_slice() {
        [from] => match &from.relation {
            TableFactor::Table { name, .. } => Some(name),
            _ => None,
        },
        _ => None,
    }
}

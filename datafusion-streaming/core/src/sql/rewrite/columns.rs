//! A walk over the columns of expressions.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, VisitMut, VisitorMut};

use crate::sql::visit::visit_mut;

/// Shows the names of all unqualified columns outside of subqueries, and puts in their place what is returned.
pub(super) fn each_column(node: &mut impl VisitMut, replace: impl FnMut(&str) -> Option<Expr>) {
    let _ = visit_mut(node, &mut Columns { replace, depth: 0 });
}

struct Columns<F> {
    replace: F,
    depth: usize,
}

impl<F: FnMut(&str) -> Option<Expr>> VisitorMut for Columns<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && let Some(replacement) = (self.replace)(&name.value)
        {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}

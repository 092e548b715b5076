//! Walks over the syntax tree.
//!
//! sqlparser's walk is made anew for every type of visitor, and is some 1,500 functions each time. Here all visitors
//! go through one type, and the walk is compiled once, which takes minutes off a release build.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, VisitorMut,
    visit_expressions,
};

/// Shows all expressions in `node` to `visit`, from the outside in, until it breaks; whether it did not.
pub(crate) fn each_expr(
    node: &impl Visit,
    visit: &mut dyn FnMut(&Expr) -> ControlFlow<()>,
) -> ControlFlow<()> {
    visit_expressions(node, visit)
}

/// Shows `node` and what is in it to a visitor, until it breaks.
pub(crate) fn visit_mut<V: VisitorMut>(node: &mut impl VisitMut, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut keeping = Keeping { visitor, broken: None };
    let _ = node.visit(&mut Any(&mut keeping));
    match keeping.broken {
        Some(broken) => ControlFlow::Break(broken),
        None => ControlFlow::Continue(()),
    }
}

/// A visitor of any type.
struct Any<'a>(&'a mut dyn VisitorMut<Break = ()>);

/// A visitor that breaks with nothing and keeps what it was to break with.
struct Keeping<'a, V: VisitorMut> {
    visitor: &'a mut V,
    broken: Option<V::Break>,
}

impl<V: VisitorMut> Keeping<'_, V> {
    fn keep(&mut self, flow: ControlFlow<V::Break>) -> ControlFlow<()> {
        flow.map_break(|broken| self.broken = Some(broken))
    }
}

macro_rules! pass_on {
    ($($hook:ident($node:ty)),* $(,)?) => {
        impl VisitorMut for Any<'_> {
            type Break = ();

            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> {
                self.0.$hook(node)
            })*
        }

        impl<V: VisitorMut> VisitorMut for Keeping<'_, V> {
            type Break = ();

            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> {
                let flow = self.visitor.$hook(node);
                self.keep(flow)
            })*
        }
    };
}

pass_on!(
    pre_visit_query(Query),
    post_visit_query(Query),
    pre_visit_select(Select),
    post_visit_select(Select),
    pre_visit_relation(ObjectName),
    post_visit_relation(ObjectName),
    pre_visit_table_factor(TableFactor),
    post_visit_table_factor(TableFactor),
    pre_visit_expr(Expr),
    post_visit_expr(Expr),
    pre_visit_statement(Statement),
    post_visit_statement(Statement),
    pre_visit_value(ValueWithSpan),
    post_visit_value(ValueWithSpan),
);

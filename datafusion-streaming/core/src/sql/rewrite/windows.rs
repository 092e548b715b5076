//! `OVER (w ORDER BY …)`: a window that refines a named one. DataFusion passes over the name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, Select, VisitorMut, WindowSpec, WindowType,
};

use crate::sql::visit::visit_mut;

/// Writes out what windows take over from the named windows that they refine.
pub(super) fn refine(select: &mut Select) {
    let mut named: Vec<(String, WindowSpec)> = vec![];
    for NamedWindowDefinition(name, window) in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(spec) = window {
            refine_one(spec, &named);
            named.push((name.value.clone(), spec.clone()));
        }
    }
    if named.is_empty() {
        return;
    }
    let mut windows = Windows { named };
    let _ = visit_mut(&mut select.projection, &mut windows);
    let _ = visit_mut(&mut select.qualify, &mut windows);
}

struct Windows {
    named: Vec<(String, WindowSpec)>,
}

impl VisitorMut for Windows {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(WindowType::WindowSpec(spec)) = &mut function.over
        {
            refine_one(spec, &self.named);
        }
        ControlFlow::Continue(())
    }
}

fn refine_one(spec: &mut WindowSpec, named: &[(String, WindowSpec)]) {
    let Some(name) = &spec.window_name else { return };
    let Some((_, refined)) = named.iter().find(|(known, _)| *known == name.value) else { return };
    if spec.partition_by.is_empty() {
        spec.partition_by.clone_from(&refined.partition_by);
    }
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&refined.order_by);
    }
    if spec.window_frame.is_none() {
        spec.window_frame.clone_from(&refined.window_frame);
    }
    spec.window_name = None;
}

//! `OVER (w ORDER BY …)`: a window that refines a named one. DataFusion passes over the name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, Select, WindowSpec, WindowType, visit_expressions_mut,
};

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
    let visit = |expr: &mut Expr| {
        if let Expr::Function(function) = expr
            && let Some(WindowType::WindowSpec(spec)) = &mut function.over
        {
            refine_one(spec, &named);
        }
        ControlFlow::<()>::Continue(())
    };
    let _ = visit_expressions_mut(&mut select.projection, visit);
    let _ = visit_expressions_mut(&mut select.qualify, visit);
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

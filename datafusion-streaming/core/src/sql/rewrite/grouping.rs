//! GROUP BY with columns in brackets.

use std::mem;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Select};

/// `GROUP BY (a, b)` becomes `GROUP BY a, b`; `ROLLUP ((a, b), c)` and `CUBE ((a, b), c)`, of which DataFusion does
/// not plan the `(a, b)`, become GROUPING SETS.
pub(super) fn flatten(select: &mut Select) {
    let GroupByExpr::Expressions(exprs, _) = &mut select.group_by else { return };
    let flat = mem::take(exprs).into_iter().flat_map(|expr| match expr {
        Expr::Tuple(exprs) => exprs,
        Expr::Rollup(parts) if parts.iter().any(|part| part.len() != 1) => {
            let sets = (0..=parts.len()).rev().map(|n| parts[..n].concat());
            vec![Expr::GroupingSets(sets.collect())]
        }
        Expr::Cube(parts) if parts.iter().any(|part| part.len() != 1) => {
            let subsets = (0..1_usize << parts.len()).rev();
            let chosen = |subset: usize| {
                let parts =
                    parts.iter().enumerate().filter(|(i, _)| subset & (1 << (parts.len() - 1 - i)) != 0);
                parts.flat_map(|(_, part)| part.iter().cloned()).collect()
            };
            vec![Expr::GroupingSets(subsets.map(chosen).collect())]
        }
        expr => vec![expr],
    });
    *exprs = flat.collect();
}

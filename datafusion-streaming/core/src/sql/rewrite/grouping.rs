//! GROUP BY with columns in brackets, and the numbers of grouping sets.

use std::mem;

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Function, GroupByExpr, ObjectName, Select};

use super::quoted;

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

/// `GROUPING(…)` and `GROUPING_ID(…)`, which is the same, as a BIGINT.
pub(super) fn number_of_set(function: &Function) -> Option<Expr> {
    let name = function.name.to_string().to_ascii_lowercase();
    if !matches!(name.as_str(), "grouping" | "grouping_id") {
        return None;
    }
    let name = ObjectName::from(vec![quoted("grouping".to_string())]);
    let expr = Box::new(Expr::Function(Function { name, ..function.clone() }));
    let data_type = DataType::BigInt(None);
    Some(Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None })
}

//! INTERSECT ALL and EXCEPT ALL.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, ObjectName, SetExpr, SetOperator, SetQuantifier, Values,
};

use crate::sql::ast::{query_of, quoted, select_all, table};

/// What `a INTERSECT ALL b` is called as: a table function of two queries.
pub(crate) const INTERSECT_ALL: &str = "$INTERSECT_ALL";
/// What `a EXCEPT ALL b` is called as.
pub(crate) const EXCEPT_ALL: &str = "$EXCEPT_ALL";

/// INTERSECT ALL and EXCEPT ALL become calls of table functions: DataFusion plans them as joins, in
/// which a row on the right counts for any number on the left.
pub(super) fn count(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return };
    count(left);
    count(right);
    let function = match (&op, &set_quantifier) {
        (SetOperator::Intersect, SetQuantifier::All) => INTERSECT_ALL,
        (SetOperator::Except, SetQuantifier::All) => EXCEPT_ALL,
        _ => return,
    };
    let query = |side: &mut Box<SetExpr>| {
        let nothing = Values { explicit_row: false, value_keyword: false, rows: vec![] };
        let side = mem::replace(side.as_mut(), SetExpr::Values(nothing));
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query_of(side))))
    };
    let args = vec![query(left), query(right)];
    *body = select_all(table(ObjectName::from(vec![quoted(function)]), Some(args), None));
}

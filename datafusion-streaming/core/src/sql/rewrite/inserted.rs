//! The rows of an INSERT in the types of the table.

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Insert, SelectItem, SetExpr, TableAlias, TableAliasColumnDef,
};

use super::projection::{no_rows, values_to_union};
use crate::sql::ast::{call, derived, query_of, quoted, select_of};
use crate::sql::types::FlinkType;

/// The function that makes Arrow's own nanoseconds of a timestamp.
const ARROW_TIMESTAMP: &str = "arrow_timestamp";

/// A column of a table that DataFusion does not cast timestamps to.
#[derive(Debug, Clone)]
pub(crate) struct CastColumn {
    /// The type that the values are cast to.
    pub(crate) data_type: FlinkType,
    /// Whether the table has Arrow's own nanoseconds.
    pub(crate) is_arrow: bool,
}

/// Casts the columns of the rows that an INSERT writes to these types, where one is given: `INSERT INTO t SELECT a, b …`
/// becomes `INSERT INTO t SELECT c0, CAST(c1 AS TIMESTAMP(9)) FROM (SELECT a, b …) AS s (c0, c1)`.
pub(crate) fn cast_inserted(insert: &mut Insert, columns: &[Option<CastColumn>]) {
    let Some(source) = &mut insert.source else { return };
    if columns.iter().all(Option::is_none) {
        return;
    }
    values_to_union(source);
    let names: Vec<_> = (0..columns.len()).map(|index| quoted(format!("$column{index}"))).collect();
    let items = names.iter().zip(columns).map(|(name, column)| {
        let value = Expr::Identifier(name.clone());
        let expr = match column {
            None => value,
            Some(CastColumn { data_type, is_arrow }) => {
                let cast = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(value),
                    data_type: data_type.to_sql(),
                    array: false,
                    format: None,
                };
                if *is_arrow { call(ARROW_TIMESTAMP, vec![cast]) } else { cast }
            }
        };
        SelectItem::ExprWithAlias { expr, alias: name.clone() }
    });
    let items = items.collect();
    let columns = names.iter().map(|name| TableAliasColumnDef { name: name.clone(), data_type: None });
    let alias =
        TableAlias { explicit: true, name: quoted("$inserted"), columns: columns.collect(), at: None };
    let rows = std::mem::replace(source.as_mut(), *query_of(no_rows()));
    let body: SetExpr = select_of(items, Some(derived(Box::new(rows), Some(alias))));
    **source = *query_of(body);
}

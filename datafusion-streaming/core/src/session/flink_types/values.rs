//! VALUES.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Values};

use super::exact::merged_types;
use super::{functions, typed as typed_expr};

/// Rows of expressions, in columns of the types that they have in common: a column is NOT NULL if no value of it can be NULL.
pub(super) fn typed(values: Values) -> Result<Transformed<LogicalPlan>> {
    let Values { schema, values: rows } = values;
    let none = DFSchema::empty();
    let plan = |expr: Expr| {
        let expr = functions::cut_constants(expr, &none)?.data;
        Ok(typed_expr(expr, &none)?.data)
    };
    let rows = rows
        .into_iter()
        .map(|row| row.into_iter().map(plan).collect::<Result<Vec<_>>>())
        .collect::<Result<Vec<_>>>()?;
    let fields = schema.iter().enumerate().map(|(index, (qualifier, field))| {
        let column = rows.iter().filter_map(|row| row.get(index));
        let field = match merged_types(column, &none)? {
            // the values are cast to the column's type, which tells more about numbers than theirs
            Some(exact) if exact.kind.to_arrow() == *field.data_type() => {
                Arc::new(exact.to_field(field.name()))
            }
            Some(exact) => Arc::new(field.as_ref().clone().with_nullable(exact.nullable)),
            None => Arc::clone(field),
        };
        Ok((qualifier.cloned(), field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect::<Result<_>>()?, schema.metadata().clone())?;
    Ok(Transformed::yes(LogicalPlan::Values(Values { schema: Arc::new(schema), values: rows })))
}

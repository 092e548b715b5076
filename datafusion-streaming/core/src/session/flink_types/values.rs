//! VALUES.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, Values};

use super::exact::merged_types;
use super::{cast, choices, functions, typed as typed_expr};

/// Rows of expressions, in columns of the types that they have in common: a column is NOT NULL if no value of it can
/// be NULL.
pub(super) fn typed(values: Values) -> Result<Transformed<LogicalPlan>> {
    let Values { mut schema, values: mut rows } = values;
    let none = DFSchema::empty();
    for column in 0..schema.fields().len() {
        if let Some(narrow) = narrow(&mut rows, column, schema.field(column).data_type())? {
            schema = Arc::new(with_type(&schema, column, narrow)?);
        }
    }
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

/// The type of a column of exact numbers of which one is a BIGINT, and that DataFusion gave a digit too many: it
/// counts 20 for a BIGINT, and Flink 19. The values are cast to it.
fn narrow(rows: &mut [Vec<Expr>], column: usize, data_type: &DataType) -> Result<Option<DataType>> {
    let none = DFSchema::empty();
    let DataType::Decimal128(precision, scale) = data_type else { return Ok(None) };
    let inner = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, field }) if field.data_type() == data_type => expr.as_ref().clone(),
        other => other.clone(),
    };
    let values: Vec<Expr> = rows.iter().filter_map(|row| row.get(column)).map(inner).collect();
    let types = values.iter().map(|value| value.get_type(&none)).collect::<Result<Vec<_>>>()?;
    if i16::from(*precision) - i16::from(*scale) != 20 || !types.contains(&DataType::Int64) {
        return Ok(None);
    }
    let Some(common) = choices::in_common(&types) else { return Ok(None) };
    for ((row, value), from) in rows.iter_mut().zip(values).zip(&types) {
        if let Some(cell) = row.get_mut(column) {
            *cell = *cast(Box::new(value), from, &common);
        }
    }
    Ok(Some(common))
}

/// The schema with another type for a column.
fn with_type(schema: &DFSchema, changed: usize, data_type: DataType) -> Result<DFSchema> {
    let fields = schema.iter().enumerate().map(|(index, (qualifier, field))| {
        let field = match index == changed {
            true => Arc::new(field.as_ref().clone().with_data_type(data_type.clone())),
            false => Arc::clone(field),
        };
        (qualifier.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

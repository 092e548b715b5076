//! UNION.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Union};
use datafusion_streaming_udfs::common_type::common_type;
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;

use super::cast;
use super::choices::least_restrictive;
use super::kinds::{is_datetime, is_number, is_text};

/// Casts numbers and timestamps of the inputs to the types that they have in common in Flink, which are not always
/// DataFusion's. Refuses columns that have no type in common.
pub(super) fn typed(union: Union) -> Result<Transformed<LogicalPlan>> {
    check(&union)?;
    let Some((first, others)) = union.inputs.split_first() else {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    };
    let common = |(index, field): (usize, &Arc<arrow::datatypes::Field>)| {
        let mut types = others.iter().map(|other| other.schema().field(index).data_type());
        types.try_fold(field.data_type().clone(), |common, next| {
            let ours = is_number(&common) && is_number(next)
                || has_wide_timestamps(&common)
                || has_wide_timestamps(next);
            ours.then(|| least_restrictive(&common, next)).flatten()
        })
    };
    let common: Vec<Option<DataType>> = first.schema().fields().iter().enumerate().map(common).collect();
    // the first input may have got other types since the union was planned
    let mut changed =
        first.schema().fields().iter().zip(union.schema.fields()).any(|(now, before)| {
            now.data_type() != before.data_type() && has_wide_timestamps(now.data_type())
        });
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in &union.inputs {
        let mut casts = false;
        let mut columns = Vec::with_capacity(common.len());
        for ((qualifier, field), common) in input.schema().iter().zip(&common) {
            let column = Expr::Column(Column::from((qualifier, field)));
            match common {
                Some(common) if common != field.data_type() => {
                    casts = true;
                    let cast = cast(Box::new(column), field.data_type(), common);
                    columns.push(cast.alias_qualified(qualifier.cloned(), field.name()));
                }
                _ => columns.push(column),
            }
        }
        changed |= casts;
        inputs.push(match casts {
            true => Arc::new(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?)),
            false => Arc::clone(input),
        });
    }
    match changed {
        true => Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?))),
        false => Ok(Transformed::no(LogicalPlan::Union(union))),
    }
}

/// Refuses columns that have no type in common.
fn check(union: &Union) -> Result<()> {
    let Some((first, others)) = union.inputs.split_first() else { return Ok(()) };
    for other in others {
        for (index, (left, right)) in first.schema().fields().iter().zip(other.schema().fields()).enumerate()
        {
            let (left, right) = (left.data_type(), right.data_type());
            if simple(left) && simple(right) && common_type(left, right).is_none() {
                return plan_err!("Type mismatch in column {} of UNION ALL", index + 1);
            }
        }
    }
    Ok(())
}

fn simple(data_type: &DataType) -> bool {
    is_number(data_type) || is_text(data_type) || is_datetime(data_type) || data_type == &DataType::Boolean
}

//! VALUES of timestamps that have different numbers of digits.

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Value, Values};

use crate::sql::types::{FlinkType, TypeKind};

/// Casts the timestamps of a column to the most digits that one of them has, where that is what the column holds. DataFusion
/// has no type in common for those of more than six digits and others.
pub(super) fn unify_timestamps(values: &mut Values) {
    let columns = values.rows.first().map_or(0, |row| row.content.len());
    for column in 0..columns {
        let cells = values.rows.iter().filter_map(|row| row.content.get(column));
        let mut kinds = cells.filter_map(timestamp);
        let Some(first) = kinds.next() else { continue };
        let Some(common) = kinds.try_fold(first, common) else { continue };
        for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
            if timestamp(cell).is_none_or(|kind| kind == common) {
                continue;
            }
            let common = FlinkType::nullable(common.clone()).to_sql();
            if let Expr::TypedString(literal) = cell {
                literal.data_type = common;
            } else {
                let written = std::mem::replace(cell, Expr::value(Value::Null));
                *cell = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(written),
                    data_type: common,
                    array: false,
                    format: None,
                };
            }
        }
    }
}

/// The type of a timestamp literal or of a cast to a timestamp.
fn timestamp(cell: &Expr) -> Option<TypeKind> {
    let of = |data_type: &DataType| FlinkType::parse(&data_type.to_string()).ok().map(|parsed| parsed.kind);
    let kind = match cell {
        Expr::TypedString(literal) => of(&literal.data_type)?,
        Expr::Cast { data_type, .. } => of(data_type)?,
        Expr::Nested(inner) => timestamp(inner)?,
        _ => return None,
    };
    matches!(kind, TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_)).then_some(kind)
}

fn common(left: TypeKind, right: TypeKind) -> Option<TypeKind> {
    match (left, right) {
        (TypeKind::Timestamp(left), TypeKind::Timestamp(right)) => Some(TypeKind::Timestamp(left.max(right))),
        (TypeKind::TimestampLtz(left), TypeKind::TimestampLtz(right)) => {
            Some(TypeKind::TimestampLtz(left.max(right)))
        }
        _ => None,
    }
}

//! The type that several types have in common.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};

use crate::decimal::{MAX_PRECISION, is_decimal};
use crate::timestamps::TimestampType;

/// The digits of a DECIMAL that holds all values of an exact numeric type, and those of them behind the point.
pub fn decimal_digits(data_type: &DataType) -> Option<(u8, i8)> {
    Some(match data_type {
        DataType::Int8 => (3, 0),
        DataType::Int16 => (5, 0),
        DataType::Int32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::Decimal128(precision, scale) if is_decimal(data_type) => (*precision, *scale),
        _ => return None,
    })
}

/// The type to which Flink widens values of two types where a function, such as COALESCE or ARRAY_CONCAT, takes values of one
/// type; `None` if they have none in common. Numbers become the wider type, an exact one with a FLOAT or
/// DOUBLE the floating one, except that a DECIMAL with a FLOAT becomes a DOUBLE; times have the finer precision.
pub fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right || right.is_null() {
        return Some(left.clone());
    }
    if left.is_null() {
        return Some(right.clone());
    }
    let wider = |(left_digits, left_scale): (u8, i8), (right_digits, right_scale): (u8, i8)| {
        let scale = left_scale.max(right_scale);
        let whole = (i16::from(left_digits) - i16::from(left_scale))
            .max(i16::from(right_digits) - i16::from(right_scale));
        let limit = i16::from(MAX_PRECISION);
        // digits in front of the point go before those behind it
        let scale = i16::from(scale).min((limit - whole).max(0));
        DataType::Decimal128((whole + scale).min(limit) as u8, scale as i8)
    };
    if let (Some(left_of), Some(right_of)) = (TimestampType::of(left), TimestampType::of(right)) {
        let common = left_of.in_common(right_of);
        // a zone of the user's own stays
        let kept = [left, right].into_iter().find(|side| TimestampType::of(side) == Some(common));
        return Some(kept.cloned().unwrap_or_else(|| common.data_type()));
    }
    match (left, right) {
        (DataType::Float64, other) | (other, DataType::Float64) => {
            is_number(other).then_some(DataType::Float64)
        }
        (DataType::Float32, decimal) | (decimal, DataType::Float32) if is_decimal(decimal) => {
            Some(DataType::Float64)
        }
        (DataType::Float32, other) | (other, DataType::Float32) => {
            is_number(other).then_some(DataType::Float32)
        }
        _ if is_decimal(left) || is_decimal(right) => {
            Some(wider(decimal_digits(left)?, decimal_digits(right)?))
        }
        _ if left.is_signed_integer() && right.is_signed_integer() => {
            let wide = if left.primitive_width() >= right.primitive_width() { left } else { right };
            Some(wide.clone())
        }
        _ if is_text(left) && is_text(right) => Some(DataType::Utf8),
        _ if is_bytes(left) && is_bytes(right) => Some(DataType::Binary),
        (DataType::List(left), DataType::List(right)) => {
            let element = common_type(left.data_type(), right.data_type())?;
            Some(DataType::List(Arc::new(Field::new_list_field(element, true))))
        }
        (DataType::Map(left_entries, sorted), DataType::Map(right_entries, _)) => {
            let (DataType::Struct(left), DataType::Struct(right)) =
                (left_entries.data_type(), right_entries.data_type())
            else {
                return None;
            };
            let fields = left.iter().zip(right).map(|(left, right)| {
                let data_type = common_type(left.data_type(), right.data_type())?;
                Some(Arc::new(Field::new(left.name(), data_type, left.is_nullable() || right.is_nullable())))
            });
            let entries = DataType::Struct(fields.collect::<Option<_>>()?);
            Some(DataType::Map(Arc::new(left_entries.as_ref().clone().with_data_type(entries)), *sorted))
        }
        (DataType::Struct(left), DataType::Struct(right)) if left.len() == right.len() => {
            let fields = left.iter().zip(right).map(|(left, right)| {
                let data_type = common_type(left.data_type(), right.data_type())?;
                Some(Arc::new(Field::new(left.name(), data_type, true)))
            });
            Some(DataType::Struct(fields.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// The type that all of several types have in common.
pub fn common_type_of<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let mut types = types.into_iter();
    let first = types.next()?.clone();
    types.try_fold(first, |common, next| common_type(&common, next))
}

/// Whether values of a type are taken for those of another without a CAST.
pub fn is_widened_to(from: &DataType, to: &DataType) -> bool {
    common_type(from, to).as_ref() == Some(to)
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_signed_integer()
        || matches!(data_type, DataType::Float32 | DataType::Float64)
        || is_decimal(data_type)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn numbers_become_wider() {
        let decimal = DataType::Decimal128;
        for (left, right, expected) in [
            (DataType::Int8, DataType::Int64, Some(DataType::Int64)),
            (DataType::Int32, DataType::Float32, Some(DataType::Float32)),
            (DataType::Float32, DataType::Float64, Some(DataType::Float64)),
            (decimal(5, 2), DataType::Float32, Some(DataType::Float64)),
            (decimal(5, 2), decimal(10, 4), Some(decimal(10, 4))),
            (decimal(5, 2), decimal(38, 0), Some(decimal(38, 0))),
            (decimal(5, 2), DataType::Int32, Some(decimal(12, 2))),
            (decimal(38, 38), decimal(38, 0), Some(decimal(38, 0))),
            (DataType::Int32, DataType::Utf8, None),
            (DataType::Date32, DataType::Timestamp(TimeUnit::Second, None), None),
            (DataType::Null, DataType::Date32, Some(DataType::Date32)),
        ] {
            assert_eq!(common_type(&left, &right), expected, "{left} and {right}");
            assert_eq!(common_type(&right, &left), expected, "{right} and {left}");
        }
    }

    #[test]
    fn elements_become_wider() {
        let list = |data_type| DataType::List(Arc::new(Field::new_list_field(data_type, true)));
        assert_eq!(common_type(&list(DataType::Int32), &list(DataType::Int64)), Some(list(DataType::Int64)));
        assert!(is_widened_to(&DataType::Int32, &DataType::Int64));
        assert!(!is_widened_to(&DataType::Int64, &DataType::Int32));
        let milli = DataType::Timestamp(TimeUnit::Millisecond, None);
        let nano = DataType::Timestamp(TimeUnit::Nanosecond, None);
        assert_eq!(common_type_of([&milli, &nano, &DataType::Null]), Some(nano.clone()));
        let wide = TimestampType::with_digits(9, false).data_type();
        assert_eq!(common_type_of([&milli, &wide, &nano]), Some(wide.clone()));
        for number in [DataType::Int64, DataType::Float64, DataType::Decimal128(38, 0), DataType::Date32] {
            assert_eq!(common_type(&wide, &number), None, "{number}");
            assert_eq!(common_type(&number, &wide), None, "{number}");
        }
    }
}

//! Kinds of types.

use arrow::datatypes::DataType;
pub(super) use datafusion_streaming_udfs::decimal::is_decimal;
pub(super) use datafusion_streaming_udfs::timestamps::is_timestamp;

pub(super) fn is_exact(data_type: &DataType) -> bool {
    is_decimal(data_type) || data_type.is_signed_integer()
}

pub(super) fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

pub(super) fn is_number(data_type: &DataType) -> bool {
    is_exact(data_type) || is_float(data_type)
}

pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(super) fn is_datetime(data_type: &DataType) -> bool {
    is_timestamp(data_type)
        || matches!(data_type, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
}

pub(super) fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_))
}

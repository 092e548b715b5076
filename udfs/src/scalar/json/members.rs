//! What JSON_OBJECT and JSON_ARRAY share.

use arrow::array::StringArray;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

use crate::scalar::arguments::{constant_text, strings};

/// Any values: they are planned as JSON text, as calls of JSON_STRING or of these functions.
pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (!args.is_empty()).then(|| (args.to_vec(), DataType::Utf8))
}

/// Whether members that are NULL are left out, and the columns.
pub(super) fn columns(args: &ScalarFunctionArgs) -> Result<(bool, Vec<StringArray>)> {
    let absent = constant_text(args, 0).flatten() == Some("ABSENT");
    Ok((absent, (1..args.args.len()).map(|index| strings(args, index)).collect::<Result<_>>()?))
}

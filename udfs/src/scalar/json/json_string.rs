//! JSON_STRING.

use arrow::datatypes::DataType;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::json;
use crate::scalar::arguments::{array, result_of};

/// `JSON_STRING(value)`: a value as JSON text, NULL for NULL. DATE and TIME have none.
///
/// The arguments of `JSON_OBJECTAGG` and `JSON_ARRAYAGG` are planned as calls of it, except those that
/// are JSON already.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct JsonString {
    signature: Signature,
}

impl Default for JsonString {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for JsonString {
    fn name(&self) -> &str {
        "json_string"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [value] => json::check_type(value).map(|()| vec![value.clone()]),
            _ => plan_err!("JSON_STRING takes one argument"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        result_of(&args, json::json_strings(&array(&args, 0)?)?)
    }
}

//! MOD and `%`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::{CastOptions, cast, cast_with_options, try_binary};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, Result, exec_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::decimal::is_decimal;
use crate::scalar::arguments::{Integer, any_nullable, array, result_of, wrong_arguments};
use crate::scalar::decimal_arithmetic::{DecimalOperator, decimal_type};

/// `MOD(a, b)` and `a % b` over integers and DECIMALs. The remainder has the sign of the dividend;
/// a divisor of zero fails the query; NULL where an argument is.
///
/// The remainder by an integer has the divisor's type. That of a DECIMAL(p, 0) too, and as in Flink its
/// lowest 64 bits are taken for the dividend. Any other remainder of decimals is exact.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Modulo {
    signature: Signature,
    aliases: Vec<String>,
}

impl Default for Modulo {
    fn default() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["flink_mod".to_owned()],
        }
    }
}

fn is_number(data_type: &DataType) -> bool {
    is_decimal(data_type) || data_type.is_signed_integer()
}

impl ScalarUDFImpl for Modulo {
    fn name(&self) -> &str {
        "mod"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [dividend, divisor] if is_number(dividend) && is_number(divisor) => Ok(arg_types.to_vec()),
            _ => Err(wrong_arguments("MOD", arg_types, "MOD(<EXACT_NUMERIC>, <EXACT_NUMERIC>)")),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [dividend, divisor] if is_number(dividend) && is_number(divisor) => {
                DecimalOperator::Modulo.result_type(dividend, divisor)
            }
            _ => Err(wrong_arguments("MOD", arg_types, "MOD(<EXACT_NUMERIC>, <EXACT_NUMERIC>)")),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, any_nullable(args.arg_fields))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (dividends, divisors) = (array(&args, 0)?, array(&args, 1)?);
        let result_type = DecimalOperator::Modulo.result_type(dividends.data_type(), divisors.data_type())?;
        if let DataType::Decimal128(_, _) = result_type {
            let dividends = cast(&dividends, &decimal_type(dividends.data_type())?)?;
            let divisors = cast(&divisors, &decimal_type(divisors.data_type())?)?;
            return result_of(&args, DecimalOperator::Modulo.evaluate(&dividends, &divisors, &result_type)?);
        }
        let dividends = low_bits(&dividends)?;
        let remainders: Int64Array = match Integer::new(&args, 1)? {
            Integer::Constant(None) => Int64Array::new_null(dividends.len()),
            Integer::Constant(Some(0)) if dividends.null_count() == dividends.len() => dividends,
            Integer::Constant(Some(0)) => return exec_err!("{DIVISION_BY_ZERO}"),
            Integer::Constant(Some(divisor)) => dividends.unary(|dividend| dividend.wrapping_rem(divisor)),
            Integer::Column(divisors) => {
                try_binary(&dividends, &divisors, |dividend, divisor| match divisor {
                    0 => Err(ArrowError::DivideByZero),
                    divisor => Ok(dividend.wrapping_rem(divisor)),
                })
                .or_else(|error| match error {
                    ArrowError::DivideByZero => exec_err!("{DIVISION_BY_ZERO}"),
                    error => Err(DataFusionError::from(error)),
                })?
            }
        };
        let remainders: ArrayRef = Arc::new(remainders);
        let options = CastOptions { safe: false, ..CastOptions::default() };
        result_of(&args, cast_with_options(&remainders, &result_type, &options)?)
    }
}

const DIVISION_BY_ZERO: &str = "/ by zero";

/// The lowest 64 bits of integers and of decimals without a fraction.
fn low_bits(array: &ArrayRef) -> Result<Int64Array> {
    match array.as_primitive_opt::<Decimal128Type>() {
        Some(decimals) => Ok(decimals.unary(|value| value as i64)),
        None => Ok(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone()),
    }
}

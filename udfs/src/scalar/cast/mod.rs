//! CAST and TRY_CAST.

mod datetime;
mod decimal_text;
mod nested;
mod number;
mod precision;
mod text;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, exec_datafusion_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::arguments::{array, result_of};
use crate::common_type::decimal_digits;
use crate::decimal::is_decimal;
use crate::scalar::interval::MONTHS;
use crate::timestamps::is_timestamp;
use crate::types::{FLINK_TYPE, field_type_name, type_name};

/// `CAST(x AS type)` and `TRY_CAST(x AS type)` where Flink's answer is another than Arrow's. What cannot
/// be read fails the query, or is NULL for TRY_CAST.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FlinkCast {
    target: FieldRef,
    lenient: bool,
    signature: Signature,
}

/// What a cast needs to know beside its input.
struct Casting<'a> {
    target: &'a DataType,
    lenient: bool,
    config: &'a ConfigOptions,
    /// Whether an interval is one of months.
    of_months: bool,
    /// The digits of the fraction of timestamps that are cast.
    from_digits: Option<u32>,
    /// The digits of the fraction of the timestamps they become.
    to_digits: Option<u32>,
}

impl Casting<'_> {
    /// The result for a value that cannot be cast: NULL or an error.
    fn refuse<T>(&self, value: &dyn std::fmt::Display) -> Result<Option<T>> {
        if self.lenient { Ok(None) } else { Err(self.error(value)) }
    }

    fn error(&self, value: &dyn std::fmt::Display) -> DataFusionError {
        exec_datafusion_err!(
            "cannot cast '{value}' to {}; TRY_CAST gives NULL instead",
            type_name(self.target)
        )
    }

    /// The same with another type as target.
    fn to<'b>(&'b self, target: &'b DataType) -> Casting<'b> {
        Casting {
            target,
            lenient: self.lenient,
            config: self.config,
            of_months: self.of_months,
            from_digits: None,
            to_digits: None,
        }
    }
}

impl FlinkCast {
    /// The cast to the type of a field, whose exact Flink type may stand in its metadata; `lenient` for TRY_CAST.
    pub fn new(target: FieldRef, lenient: bool) -> Self {
        Self { target, lenient, signature: Signature::user_defined(Volatility::Stable) }
    }

    /// Whether a cast has to be this function, and an error if Flink has no such cast.
    pub fn differs(from: &DataType, target: &Field) -> Result<bool> {
        let to = target.data_type();
        if refused(from, to) {
            return plan_err!(
                "Cast function cannot convert value of type {} to type {}",
                type_name(from),
                type_name(to)
            );
        }
        if from.is_null() {
            return Ok(false);
        }
        if text::length(target).is_some() && (is_text(to) || is_binary(to)) {
            return Ok(true);
        }
        if from == to {
            // a timestamp may lose digits that Arrow's unit does not tell
            return Ok(is_timestamp(to) && target.metadata().contains_key(FLINK_TYPE));
        }
        Ok(match (from, to) {
            (DataType::List(from), DataType::List(to)) => nested::differs(from, to)?,
            (DataType::Struct(from), DataType::Struct(to)) => {
                if from.len() != to.len() {
                    return plan_err!("a ROW of {} fields cannot be cast to one of {}", from.len(), to.len());
                }
                for (from, to) in from.iter().zip(to) {
                    nested::differs(from, to)?;
                }
                true
            }
            (DataType::Map(from, _), DataType::Map(to, _)) => nested::differs(from, to)?,
            _ if is_text(from) => !is_text(to) && !is_binary(to) && (is_simple(to)),
            _ if is_text(to) => true,
            _ if is_time(from) && is_time(to) => true,
            (DataType::Boolean, _) | (_, DataType::Boolean) => is_number(from) || is_number(to),
            _ => is_number(from) && is_number(to),
        })
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_signed_integer()
        || matches!(data_type, DataType::Float32 | DataType::Float64)
        || is_decimal(data_type)
}

fn is_time(data_type: &DataType) -> bool {
    is_timestamp(data_type)
        || matches!(data_type, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
}

fn is_simple(data_type: &DataType) -> bool {
    is_number(data_type) || is_time(data_type) || data_type == &DataType::Boolean
}

/// Pairs that Flink refuses.
fn refused(from: &DataType, to: &DataType) -> bool {
    (is_number(from) || from == &DataType::Boolean) && (is_time(to) || is_binary(to))
        || is_time(from) && (is_number(to) || to == &DataType::Boolean || is_binary(to))
        || from == &DataType::Date32 && matches!(to, DataType::Time32(_) | DataType::Time64(_))
        || matches!(from, DataType::Time32(_) | DataType::Time64(_)) && to == &DataType::Date32
}

/// Whether a value may have too many digits for a DECIMAL, as which it is NULL.
fn may_overflow(from: &DataType, to: &DataType) -> bool {
    let DataType::Decimal128(precision, scale) = to else { return false };
    if !is_decimal(to) {
        return false;
    }
    match decimal_digits(from) {
        // digits behind the point that are cut round up
        Some((digits, behind)) => {
            let rounded = i16::from(behind > *scale);
            i16::from(digits) - i16::from(behind) + rounded > i16::from(*precision) - i16::from(*scale)
        }
        None => true,
    }
}

fn cast(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let to = casting.target;
    if from.data_type() == to && casting.from_digits == casting.to_digits {
        return Ok(Arc::clone(from));
    }
    match from.data_type() {
        DataType::List(_) | DataType::Struct(_) | DataType::Map(_, _) if !is_text(to) => {
            nested::cast(from, casting)
        }
        source if is_text(source) && is_time(to) => datetime::from_text(from, casting),
        source if is_text(source) && is_simple(to) => number::from_text(from, casting),
        _ if is_text(to) => text::from_any(from, casting),
        source if is_time(source) && is_time(to) => datetime::between(from, casting),
        source if is_simple(source) && is_simple(to) => number::between(from, casting),
        _ => arrow_cast(from, to, casting.lenient),
    }
}

/// Arrow's cast, with an error for what does not fit unless `lenient`.
fn arrow_cast(from: &ArrayRef, to: &DataType, lenient: bool) -> Result<ArrayRef> {
    let options = CastOptions { safe: lenient, ..CastOptions::default() };
    Ok(cast_with_options(from, to, &options)?)
}

impl ScalarUDFImpl for FlinkCast {
    fn name(&self) -> &str {
        if self.lenient { "flink_try_cast" } else { "flink_cast" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn display_name(&self, args: &[datafusion_expr::Expr]) -> Result<String> {
        let value = args.first().map(ToString::to_string).unwrap_or_default();
        let name = if self.lenient { "TRY_CAST" } else { "CAST" };
        let target = Field::new("", self.target.data_type().clone(), true)
            .with_metadata(self.target.metadata().clone());
        Ok(format!("{name}({value} AS {})", field_type_name(&target, crate::types::TypeNames::Short)))
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let from = &args.arg_fields[0];
        let nullable =
            from.is_nullable() || self.lenient || may_overflow(from.data_type(), self.target.data_type());
        let mut metadata = self.target.metadata().clone();
        if let Some(name) = metadata.get_mut(FLINK_TYPE) {
            *name = name.trim_end_matches(" NOT NULL").to_owned();
        }
        Ok(Arc::new(
            Field::new(self.name(), self.target.data_type().clone(), nullable).with_metadata(metadata),
        ))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let casting = Casting {
            target: self.target.data_type(),
            lenient: self.lenient,
            config: &args.config_options,
            of_months: args.arg_fields[0].metadata().get(FLINK_TYPE).is_some_and(|name| name == MONTHS),
            from_digits: precision::fraction_digits(&args.arg_fields[0]),
            to_digits: precision::fraction_digits(&self.target),
        };
        let values = cast(&array(&args, 0)?, &casting)?;
        result_of(&args, text::of_length(values, args.arg_fields[0].data_type(), &self.target)?)
    }
}

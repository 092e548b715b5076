//! What IS_ALPHA, IS_DIGIT and IS_DECIMAL share.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, lit};

use crate::scalar::arguments::{Text, is_text};
use crate::scalar::folding::cannot_fail;
use crate::scalar::plain::{Nullable, Plain, PlannedAs, is_number};

/// A predicate on a text or a number, which is never NULL.
pub(super) fn predicate(
    name: &'static str,
    form: &'static str,
    evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
    planned_as: PlannedAs,
) -> ScalarUDF {
    Plain::new(name, form, types, evaluate).nullable(Nullable::Never).planned_as(planned_as).udf()
}

/// The constant that a predicate is for a number, which only its type decides, if the number need not be evaluated.
pub(super) fn folded(
    args: Vec<Expr>,
    context: &SimplifyContext,
    number: impl Fn(&DataType) -> bool,
) -> ExprSimplifyResult {
    match args.first().map(|arg| (arg, arg.get_type(context.schema().as_ref()))) {
        Some((arg, Ok(data_type))) if !is_text(&data_type) && cannot_fail(arg, context) => {
            ExprSimplifyResult::Simplified(lit(number(&data_type)))
        }
        _ => ExprSimplifyResult::Original(args),
    }
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Boolean)),
        [number] if is_number(number) => Some((vec![number.clone()], DataType::Boolean)),
        _ => None,
    }
}

/// Whether a text holds; FALSE for NULL and the empty text. Of a number its type decides.
pub(super) fn check(
    args: &ScalarFunctionArgs,
    text: impl Fn(&str) -> bool,
    number: impl Fn(&DataType) -> bool,
) -> Result<ArrayRef> {
    let data_type = args.arg_fields[0].data_type();
    if !is_text(data_type) {
        return Ok(Arc::new(BooleanArray::from(vec![number(data_type); args.number_rows])));
    }
    let texts = Text::new(args, 0)?;
    let holds = |row: usize| Some(texts.get(row).is_some_and(|value| !value.is_empty() && text(value)));
    Ok(Arc::new((0..args.number_rows).map(holds).collect::<BooleanArray>()))
}

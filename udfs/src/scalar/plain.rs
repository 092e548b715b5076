//! Functions whose types follow from the types of their arguments alone.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::arguments::{any_nullable, result_of, wrong_arguments};
use crate::decimal::is_decimal;

/// The types that the arguments are cast to, and that of the result; `None` if the function does not
/// take such arguments.
pub(super) type Types = fn(&[DataType]) -> Option<(Vec<DataType>, DataType)>;

/// Whether a result can be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nullable {
    /// If an argument can.
    IfArgument,
    /// If the first argument can.
    IfFirst,
    /// If all arguments can.
    IfAll,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a call is planned as.
pub(super) type PlannedAs = fn(Vec<Expr>, &SimplifyContext) -> ExprSimplifyResult;

/// A function: its name, types and evaluation.
pub(super) struct Plain {
    name: &'static str,
    form: &'static str,
    types: Types,
    nullable: Nullable,
    evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
    signature: Signature,
    aliases: Vec<String>,
    planned_as: Option<PlannedAs>,
}

impl Plain {
    /// A function that gives the same for the same arguments, and NULL only for NULL. `form` is how it is called, for errors.
    pub(super) fn new(
        name: &'static str,
        form: &'static str,
        types: Types,
        evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
    ) -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self {
            name,
            form,
            types,
            nullable: Nullable::IfArgument,
            evaluate,
            signature,
            aliases: vec![],
            planned_as: None,
        }
    }

    /// With another rule for NULL.
    pub(super) fn nullable(self, nullable: Nullable) -> Self {
        Self { nullable, ..self }
    }

    /// NULL only where the first argument is.
    pub(super) fn of_first(self) -> Self {
        self.nullable(Nullable::IfFirst)
    }

    /// That also depends on the session: its zone or its clock.
    pub(super) fn stable(self) -> Self {
        Self { signature: Signature::user_defined(Volatility::Stable), ..self }
    }

    /// That is planned as an expression, whose parts are evaluated only for the rows that need them.
    pub(super) fn planned_as(self, planned_as: PlannedAs) -> Self {
        Self { planned_as: Some(planned_as), ..self }
    }

    /// With one more name.
    pub(super) fn alias(mut self, name: &str) -> Self {
        self.aliases.push(name.to_owned());
        self
    }

    /// How it is called in SQL.
    pub(super) fn form(&self) -> &'static str {
        self.form
    }

    pub(super) fn udf(self) -> ScalarUDF {
        ScalarUDF::from(self)
    }

    fn checked(&self, arg_types: &[DataType]) -> Result<(Vec<DataType>, DataType)> {
        (self.types)(arg_types)
            .ok_or_else(|| wrong_arguments(&self.name.to_ascii_uppercase(), arg_types, self.form))
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.checked(arg_types)?.0)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.checked(arg_types)?.1)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = match self.nullable {
            Nullable::IfArgument => any_nullable(args.arg_fields),
            Nullable::IfFirst => args.arg_fields.first().is_some_and(|field| field.is_nullable()),
            Nullable::IfAll => args.arg_fields.iter().all(|field| field.is_nullable()),
            Nullable::Always => true,
            Nullable::Never => false,
        };
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, nullable)))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.planned_as {
            Some(plan) => plan(args, context),
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        result_of(&args, (self.evaluate)(&args)?)
    }
}

/// Whether a type is an integer, or an untyped NULL.
pub(super) fn is_integer(data_type: &DataType) -> bool {
    data_type.is_signed_integer() || data_type.is_null()
}

/// Whether a type is a number, or an untyped NULL.
pub(super) fn is_number(data_type: &DataType) -> bool {
    is_integer(data_type)
        || matches!(data_type, DataType::Float32 | DataType::Float64)
        || is_decimal(data_type)
}

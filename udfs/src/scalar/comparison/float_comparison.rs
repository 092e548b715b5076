//! The comparison operators on FLOAT and DOUBLE.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion_common::{Result, ScalarValue, internal_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use crate::scalar::arguments::{any_nullable, array};

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS DISTINCT FROM`
    Distinct,
    /// `IS NOT DISTINCT FROM`
    NotDistinct,
}

impl FloatOperator {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::Distinct,
        Self::NotDistinct,
    ];

    /// What `NOT` makes of it. As in Flink, `NOT (a < b)` is `a >= b`, which for NaN is not the same.
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Distinct => Self::NotDistinct,
            Self::NotDistinct => Self::Distinct,
        }
    }

    /// The operator with its sides exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }

    /// Whether it asks for what is less.
    pub fn is_upper_bound(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual)
    }

    /// Whether it asks for what is greater.
    pub fn is_lower_bound(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }

    /// Whether the answer is never NULL.
    fn is_certain(self) -> bool {
        matches!(self, Self::Distinct | Self::NotDistinct)
    }

    /// Whether it asks for an order, and not for equality.
    pub fn is_order(self) -> bool {
        self.is_upper_bound() || self.is_lower_bound()
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}

/// A comparison of two FLOATs or two DOUBLEs as Java compares them: NaN is equal to nothing, and neither less nor
/// greater, and -0.0 is equal to 0.0. DataFusion's operators follow the total order of IEEE 754.
///
/// Where a number is compared with a DECIMAL by `<`, `<=`, `>` or `>=`, Flink takes the total order of Java's `Double.compare`, in which
/// NaN is greater than all else and -0.0 less than 0.0.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FloatComparison {
    operator: FloatOperator,
    is_total: bool,
    signature: Signature,
}

impl FloatComparison {
    /// The comparison by an operator.
    pub fn new(operator: FloatOperator) -> Self {
        Self { operator, is_total: false, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// The comparison by an operator, which if it asks for an order takes the total one.
    pub fn total(operator: FloatOperator) -> Self {
        Self { is_total: operator.is_order(), ..Self::new(operator) }
    }

    /// Whether it takes the total order.
    pub fn is_total(&self) -> bool {
        self.is_total
    }

    /// The comparison by another operator in the same order.
    pub fn with_operator(&self, operator: FloatOperator) -> Self {
        if self.is_total { Self::total(operator) } else { Self::new(operator) }
    }

    /// Its operator.
    pub fn operator(&self) -> FloatOperator {
        self.operator
    }

    fn compare<T: ArrowPrimitiveType>(
        &self,
        args: &ScalarFunctionArgs,
        total: fn(T::Native, T::Native) -> Ordering,
    ) -> Result<ArrayRef>
    where
        T::Native: PartialOrd,
    {
        let (left, right) = (Operand::<T>::new(args, 0)?, Operand::<T>::new(args, 1)?);
        let rows = args.number_rows;
        let values = match self.operator {
            FloatOperator::Less if self.is_total => collect(rows, &left, &right, |a, b| total(a, b).is_lt()),
            FloatOperator::LessOrEqual if self.is_total => {
                collect(rows, &left, &right, |a, b| total(a, b).is_le())
            }
            FloatOperator::Greater if self.is_total => {
                collect(rows, &left, &right, |a, b| total(a, b).is_gt())
            }
            FloatOperator::GreaterOrEqual if self.is_total => {
                collect(rows, &left, &right, |a, b| total(a, b).is_ge())
            }
            FloatOperator::Equal => collect(rows, &left, &right, |a, b| a == b),
            FloatOperator::NotEqual => collect(rows, &left, &right, |a, b| a != b),
            FloatOperator::Less => collect(rows, &left, &right, |a, b| a < b),
            FloatOperator::LessOrEqual => collect(rows, &left, &right, |a, b| a <= b),
            FloatOperator::Greater => collect(rows, &left, &right, |a, b| a > b),
            FloatOperator::GreaterOrEqual => collect(rows, &left, &right, |a, b| a >= b),
            FloatOperator::Distinct | FloatOperator::NotDistinct => {
                let equal = collect(rows, &left, &right, |a, b| a == b);
                let distinct =
                    BooleanBuffer::collect_bool(rows, |row| match (left.is_null(row), right.is_null(row)) {
                        (false, false) => !equal.value(row),
                        (left, right) => left != right,
                    });
                let distinct = if self.operator == FloatOperator::Distinct { distinct } else { !&distinct };
                return Ok(Arc::new(BooleanArray::new(distinct, None)));
            }
        };
        let nulls = NullBuffer::union(left.nulls(rows).as_ref(), right.nulls(rows).as_ref());
        Ok(Arc::new(BooleanArray::new(values, nulls)))
    }
}

/// The order of `Double.compare`. There is one NaN in it.
fn java_order(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.total_cmp(&right),
        (left, right) => left.cmp(&right),
    }
}

/// One side: a constant is not repeated.
pub(super) enum Operand<T: ArrowPrimitiveType> {
    Constant(Option<T::Native>),
    Column(PrimitiveArray<T>),
}

impl<T: ArrowPrimitiveType> Operand<T> {
    pub(super) fn new(args: &ScalarFunctionArgs, index: usize) -> Result<Self> {
        Ok(match args.args.get(index) {
            Some(ColumnarValue::Scalar(value)) => {
                let value = value.to_array()?;
                let value = value.as_primitive::<T>();
                Self::Constant(value.is_valid(0).then(|| value.value(0)))
            }
            _ => Self::Column(array(args, index)?.as_primitive::<T>().clone()),
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Constant(value) => value.is_none(),
            Self::Column(values) => values.is_null(row),
        }
    }

    pub(super) fn nulls(&self, rows: usize) -> Option<NullBuffer> {
        match self {
            Self::Constant(Some(_)) => None,
            Self::Constant(None) => Some(NullBuffer::new_null(rows)),
            Self::Column(values) => values.nulls().cloned(),
        }
    }
}

pub(super) fn collect<T: ArrowPrimitiveType>(
    rows: usize,
    left: &Operand<T>,
    right: &Operand<T>,
    compare: impl Fn(T::Native, T::Native) -> bool,
) -> BooleanBuffer {
    match (left, right) {
        (Operand::Column(left), Operand::Column(right)) => {
            let (left, right) = (left.values(), right.values());
            BooleanBuffer::collect_bool(rows, |row| compare(left[row], right[row]))
        }
        (Operand::Column(left), Operand::Constant(right)) => {
            let (left, right) = (left.values(), right.unwrap_or_default());
            BooleanBuffer::collect_bool(rows, |row| compare(left[row], right))
        }
        (Operand::Constant(left), Operand::Column(right)) => {
            let (left, right) = (left.unwrap_or_default(), right.values());
            BooleanBuffer::collect_bool(rows, |row| compare(left, right[row]))
        }
        (Operand::Constant(left), Operand::Constant(right)) => {
            let equal = compare(left.unwrap_or_default(), right.unwrap_or_default());
            BooleanBuffer::collect_bool(rows, |_| equal)
        }
    }
}

impl ScalarUDFImpl for FloatComparison {
    fn name(&self) -> &str {
        match self.operator {
            FloatOperator::Equal => "flink_float_equal",
            FloatOperator::NotEqual => "flink_float_not_equal",
            FloatOperator::Less => "flink_float_less",
            FloatOperator::LessOrEqual => "flink_float_less_or_equal",
            FloatOperator::Greater => "flink_float_greater",
            FloatOperator::GreaterOrEqual => "flink_float_greater_or_equal",
            FloatOperator::Distinct => "flink_float_distinct",
            FloatOperator::NotDistinct => "flink_float_not_distinct",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn display_name(&self, args: &[datafusion_expr::Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!("{left} {} {right}", self.operator.symbol())),
            _ => plan_err!("{} takes two numbers", self.name()),
        }
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [DataType::Float32, DataType::Float32] | [DataType::Float64, DataType::Float64] => {
                Ok(arg_types.to_vec())
            }
            [_, _] => Ok(vec![DataType::Float64; 2]),
            _ => plan_err!("{} takes two numbers", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = !self.operator.is_certain() && any_nullable(args.arg_fields);
        Ok(Arc::new(Field::new(self.name(), DataType::Boolean, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let result = match args.arg_fields[0].data_type() {
            DataType::Float32 => self.compare::<Float32Type>(&args, |a, b| java_order(a.into(), b.into()))?,
            DataType::Float64 => self.compare::<Float64Type>(&args, java_order)?,
            other => return internal_err!("{} of {other}", self.name()),
        };
        if constant && !result.is_empty() {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

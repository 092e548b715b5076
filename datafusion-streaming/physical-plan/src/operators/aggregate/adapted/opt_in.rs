//! The word of an author that a function's accumulator works in streams.

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature};

/// An aggregate function whose accumulator serves a stream as it is. Its author vouches for this:
///
/// - `evaluate` and `state` leave the accumulator as it was: it goes on being used;
/// - `retract_batch` takes back the values that it is given, not the oldest ones, and when all have
///   been taken back, the accumulator is as it was when it was new.
///
/// In batch queries the function stays what it is.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow::datatypes::DataType;
/// # use datafusion_common::Result;
/// # use datafusion_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};
/// use datafusion_streaming_physical_plan::operators::aggregate::RetractableUdaf;
/// # fn accumulator() -> Result<Box<dyn Accumulator>> {
/// #     datafusion_common::not_impl_err!("an example")
/// # }
/// let product = create_udaf(
///     "product",
///     vec![DataType::Float64],
///     Arc::new(DataType::Float64),
///     Volatility::Immutable,
///     Arc::new(|_| accumulator()),
///     Arc::new(vec![DataType::Float64]),
/// );
/// let product = AggregateUDF::from(RetractableUdaf::new(product));
/// // ctx.register_udaf(product), and in a stream: SELECT k, product(x) FROM t GROUP BY k
/// # assert_eq!(product.name(), "product");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RetractableUdaf {
    udf: AggregateUDF,
}

impl RetractableUdaf {
    /// The function, vouched for.
    pub fn new(udf: AggregateUDF) -> Self {
        RetractableUdaf { udf }
    }
}

impl AggregateUDFImpl for RetractableUdaf {
    fn name(&self) -> &str {
        self.udf.name()
    }

    fn aliases(&self) -> &[String] {
        self.udf.aliases()
    }

    fn signature(&self) -> &Signature {
        self.udf.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.udf.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.udf.return_field(arg_fields)
    }

    fn is_nullable(&self) -> bool {
        self.udf.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.udf.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.udf.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.udf.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.udf.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.udf.inner().create_sliding_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.udf.order_sensitivity()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.udf.coerce_types(arg_types)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.udf.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.udf.supports_null_handling_clause()
    }
}

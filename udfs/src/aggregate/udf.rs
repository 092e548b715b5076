//! Flink's aggregates as DataFusion's.

use std::any::type_name_of_val;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility,
};

use super::StreamingAggregate;
use super::accumulator::{GroupAccumulator, SlotAccumulator, StateFactory};

/// A [`StreamingAggregate`] as an aggregate function of DataFusion: its types in planning, its state
/// in batch aggregation and, through [`streaming_aggregate_of`](super::streaming_aggregate_of), in
/// streams.
pub struct FlinkAggregateUdf {
    function: Arc<dyn StreamingAggregate>,
    signature: Signature,
}

impl FlinkAggregateUdf {
    /// Wraps a function.
    pub fn new(function: Arc<dyn StreamingAggregate>) -> Self {
        Self { function, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// The function.
    pub fn function(&self) -> &Arc<dyn StreamingAggregate> {
        &self.function
    }

    fn factory(&self, args: &AccumulatorArgs<'_>, retracting: bool) -> StateFactory {
        StateFactory {
            function: Arc::clone(&self.function),
            arg_types: args.expr_fields.iter().map(|field| field.data_type().clone()).collect(),
            return_type: args.return_type().clone(),
            retracting,
            ignore_nulls: args.ignore_nulls,
            distinct: args.is_distinct,
        }
    }
}

impl Debug for FlinkAggregateUdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlinkAggregateUdf").field(&self.function).finish()
    }
}

// DataFusion compares functions to compare expressions: the same function is one of the same name and type.
impl PartialEq for FlinkAggregateUdf {
    fn eq(&self, other: &Self) -> bool {
        self.function.name() == other.function.name()
            && type_name_of_val(&*self.function) == type_name_of_val(&*other.function)
    }
}

impl Eq for FlinkAggregateUdf {}

impl Hash for FlinkAggregateUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl AggregateUDFImpl for FlinkAggregateUdf {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn aliases(&self) -> &[String] {
        self.function.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.function.return_type(arg_types)
    }

    fn is_nullable(&self) -> bool {
        self.function.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        if self.is_nullable() { ScalarValue::try_from(data_type) } else { ScalarValue::new_zero(data_type) }
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let function = Arc::clone(&self.function);
        Some(Box::new(move |mut call, _| {
            if let Some(args) = function.rewrite_args(&call.params.args) {
                call.params.args = args;
            }
            Ok(Expr::AggregateFunction(call))
        }))
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.function.supports_null_handling()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let factory = StateFactory {
            function: Arc::clone(&self.function),
            arg_types: args.input_fields.iter().map(|field| field.data_type().clone()).collect(),
            return_type: args.return_type().clone(),
            retracting: false,
            ignore_nulls: false,
            distinct: args.is_distinct,
        };
        let states = factory.states()?;
        let named = |field: Field| {
            let name = format_state_name(args.name, field.name());
            Arc::new(field.with_name(name))
        };
        Ok(states.state_fields().into_iter().map(named).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SlotAccumulator::try_new(&self.factory(&args, false))?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SlotAccumulator::try_new(&self.factory(&args, true))?))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupAccumulator::try_new(self.factory(&args, false))?))
    }
}

impl From<Arc<dyn StreamingAggregate>> for FlinkAggregateUdf {
    fn from(function: Arc<dyn StreamingAggregate>) -> Self {
        Self::new(function)
    }
}

impl FlinkAggregateUdf {
    /// The function as DataFusion registers it.
    pub fn into_udf(self) -> Arc<AggregateUDF> {
        Arc::new(AggregateUDF::new_from_impl(self))
    }
}

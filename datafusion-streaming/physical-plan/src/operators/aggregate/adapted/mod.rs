//! Any aggregate function of DataFusion's, and so of a user's, as a streaming one.
//!
//! There are three ways for a function into a stream, the best first:
//!
//! 1. A [`StreamingAggregate`] of one's own, registered through
//!    [`FlinkAggregateUdf`](datafusion_streaming_udfs::aggregate::FlinkAggregateUdf): typed columns of
//!    state, like Flink's functions.
//! 2. An `AggregateUDF` whose accumulator keeps its state when it is asked for its value, and takes
//!    values back exactly: say so by [`RetractableUdaf`].
//! 3. Any other `AggregateUDF`. Nothing is known of its accumulator: `evaluate` may use it up, and
//!    `retract_batch`, made for the frames of window functions, may take the oldest value instead of the
//!    one it is given. So the values of each group are kept, and the value of the function is computed
//!    anew after each row. That is right for every function and only fit for small groups.

mod accumulators;
mod opt_in;
mod values;

use std::fmt::{self, Debug};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_streaming_udfs::aggregate::{
    AggregateArgs, AggregateState, Fate, Fold, OutputLayout, Rows, StreamingAggregate,
};

use self::accumulators::AccumulatorGroups;
pub use self::opt_in::RetractableUdaf;
use self::values::ValueGroups;

/// An `AggregateUDF` as a streaming aggregate, for one call of it.
#[derive(Debug)]
pub struct AdaptedAggregate {
    udf: Arc<AggregateUDF>,
    /// The arguments that are constants, which some functions want to see as such.
    constants: Vec<Option<ScalarValue>>,
}

impl AdaptedAggregate {
    /// The function for a call with these constants among its arguments.
    pub fn new(udf: Arc<AggregateUDF>, constants: Vec<Option<ScalarValue>>) -> Self {
        AdaptedAggregate { udf, constants }
    }
}

impl StreamingAggregate for AdaptedAggregate {
    fn name(&self) -> &str {
        self.udf.name()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.udf.coerce_types(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.udf.return_type(arg_types)
    }

    fn is_nullable(&self) -> bool {
        self.udf.is_nullable()
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let fields = args.arg_types.iter().enumerate();
        let fields: Vec<FieldRef> =
            fields.map(|(n, arg)| Arc::new(Field::new(format!("arg{n}"), arg.clone(), true))).collect();
        let arg = |(n, field): (usize, &FieldRef)| match self.constants.get(n).cloned().flatten() {
            Some(constant) => Arc::new(Literal::new(constant)) as Arc<dyn PhysicalExpr>,
            None => Arc::new(Column::new(field.name(), n)),
        };
        let call = Call {
            udf: Arc::clone(&self.udf),
            args: fields.iter().enumerate().map(arg).collect(),
            schema: Schema::new(fields.clone()),
            fields,
            return_field: Arc::new(Field::new(self.udf.name(), args.return_type.clone(), self.is_nullable())),
            ignore_nulls: args.ignore_nulls,
        };
        // the default value of a group without rows, and whether there is an accumulator at all
        call.accumulator()?;
        Ok(match self.udf.inner().downcast_ref::<RetractableUdaf>() {
            Some(_) => Box::new(AdaptedState { groups: AccumulatorGroups::try_new(call)?, values: vec![] }),
            None => Box::new(AdaptedState { groups: ValueGroups::try_new(call)?, values: vec![] }),
        })
    }
}

/// A call: what its accumulators are made of.
struct Call {
    udf: Arc<AggregateUDF>,
    args: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
    schema: Schema,
    return_field: FieldRef,
    ignore_nulls: bool,
}

impl Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?})", self.udf.name(), self.args)
    }
}

impl Call {
    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.udf.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &[],
            is_reversed: false,
            name: self.udf.name(),
            is_distinct: false,
            exprs: &self.args,
            expr_fields: &self.fields,
        })
    }

    fn state_fields(&self) -> Result<Vec<FieldRef>> {
        self.udf.state_fields(StateFieldsArgs {
            name: self.udf.name(),
            input_fields: &self.fields,
            return_field: Arc::clone(&self.return_field),
            ordering_fields: &[],
            is_distinct: false,
        })
    }
}

/// What is kept of the groups of a call, by slot.
trait Groups: Debug + Send + Sync {
    fn grow(&mut self, slots: usize);
    fn clear(&mut self, slot: usize);
    /// Adds the row of the arguments to a group, or takes it back.
    fn apply(&mut self, slot: usize, args: &[ArrayRef], row: usize, retract: bool) -> Result<()>;
    fn value(&self, slot: usize) -> Result<ScalarValue>;
    fn state_fields(&self) -> Vec<Field>;
    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>>;
    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()>;
    fn memory_size(&self) -> usize;
}

/// The state of a call.
#[derive(Debug)]
struct AdaptedState<G> {
    groups: G,
    /// The value of each slot where it is known.
    values: Vec<Option<ScalarValue>>,
}

impl<G: Groups> AdaptedState<G> {
    fn apply(&mut self, slot: usize, args: &[ArrayRef], row: usize, retract: bool) -> Result<()> {
        self.values[slot] = None;
        self.groups.apply(slot, args, row, retract)
    }

    /// The value of a slot, which is then known.
    fn value(&mut self, slot: usize) -> Result<ScalarValue> {
        match &self.values[slot] {
            Some(value) => Ok(value.clone()),
            None => Ok(self.values[slot].insert(self.groups.value(slot)?).clone()),
        }
    }
}

fn counts(rows: &Rows<'_>, row: usize) -> bool {
    rows.filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

impl<G: Groups> AggregateState for AdaptedState<G> {
    fn grow(&mut self, slots: usize) {
        if slots > self.values.len() {
            self.values.resize(slots, None);
            self.groups.grow(slots);
        }
    }

    fn clear(&mut self, slots: &[u32]) {
        for slot in slots {
            self.values[*slot as usize] = None;
            self.groups.clear(*slot as usize);
        }
    }

    fn accumulate(&mut self, rows: &Rows<'_>, args: &[ArrayRef]) -> Result<()> {
        for (row, slot) in rows.slots.iter().enumerate().filter(|(row, _)| counts(rows, *row)) {
            let retract = rows.retract.is_some_and(|retract| retract[row]);
            self.apply(*slot as usize, args, row, retract)?;
        }
        Ok(())
    }

    fn fold(&mut self, fold: &Fold<'_>, args: &[ArrayRef], changed: &mut [bool]) -> Result<ArrayRef> {
        let rows = &fold.rows;
        let mut output = Vec::with_capacity(2 * rows.slots.len());
        for (row, slot) in rows.slots.iter().enumerate() {
            let slot = *slot as usize;
            let before = self.value(slot)?;
            if counts(rows, row) {
                let retract = rows.retract.is_some_and(|retract| retract[row]);
                self.apply(slot, args, row, retract)?;
            }
            let after = match fold.fates[row] {
                Fate::Last => {
                    self.clear(&[slot as u32]);
                    before.clone()
                }
                Fate::First | Fate::Update => self.value(slot)?,
            };
            changed[row] |= fold.fates[row] == Fate::Update && before != after;
            if fold.layout == OutputLayout::Pairs {
                output.push(before);
            }
            output.push(after);
        }
        match output.is_empty() {
            true => self.evaluate(&[]),
            false => ScalarValue::iter_to_array(output),
        }
    }

    fn evaluate(&self, slots: &[u32]) -> Result<ArrayRef> {
        let value = |slot: &u32| self.groups.value(*slot as usize);
        match slots.is_empty() {
            // the type is that of a value
            true => Ok(self.groups.value(usize::MAX)?.to_array()?.slice(0, 0)),
            false => ScalarValue::iter_to_array(slots.iter().map(value).collect::<Result<Vec<_>>>()?),
        }
    }

    fn state_fields(&self) -> Vec<Field> {
        self.groups.state_fields()
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.groups.snapshot(slots)
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        for slot in slots {
            self.values[*slot as usize] = None;
        }
        if state.len() != self.groups.state_fields().len() {
            return internal_err!("the state of {:?} has another form", self.groups);
        }
        self.groups.merge(slots, state)
    }

    fn memory_size(&self) -> usize {
        self.groups.memory_size() + self.values.capacity() * size_of::<Option<ScalarValue>>()
    }
}

/// Columns of a row.
fn row_of(args: &[ArrayRef], row: usize) -> Vec<ArrayRef> {
    args.iter().map(|arg| arg.slice(row, 1)).collect()
}

#[cfg(test)]
mod tests;

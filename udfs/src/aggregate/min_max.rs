//! MIN and MAX.

use std::fmt::Debug;
use std::marker::PhantomData;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, not_impl_err, plan_err};

use super::cells::{CellState, Cells, Retraction};
use super::column::{Element, NullableColumn, Values, dispatch_native, state_column};
use super::extremes::RetractableExtremes;
use super::frame_extremes::FrameExtremes;
use super::members::{Native, Text};
use super::signature::{one_argument, storage_type};
use super::string_extreme::StringExtremes;
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};
use crate::types::type_name;

/// `MIN`: the least value that is not NULL. See [`Max`].
#[derive(Debug)]
pub struct Min;

/// `MAX`: the greatest value that is not NULL, of any type with an order but BYTES.
///
/// On insert-only input one running extreme is kept per group. As in Flink it compares floats as
/// IEEE 754 does: a NaN that comes first stays, one that comes later is not taken, and of two zeros
/// the first stays. With retractions a multiset of the values is kept, in the order of Java's
/// `compareTo`: there NaN is the greatest value, and `-0.0` less than `0.0`. Where they leave in the order in which
/// they came, only those are kept that are the extreme of what leaves after them.
#[derive(Debug)]
pub struct Max;

impl StreamingAggregate for Min {
    fn name(&self) -> &str {
        "min"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Min
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        ordered_argument::<Least>(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        one_argument(Least::NAME, arg_types).cloned()
    }

    fn value_is_state(&self, _distinct: bool, _return_type: &DataType) -> bool {
        true
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        state::<Least>(args)
    }
}

impl StreamingAggregate for Max {
    fn name(&self) -> &str {
        "max"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Max
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        ordered_argument::<Greatest>(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        one_argument(Greatest::NAME, arg_types).cloned()
    }

    fn value_is_state(&self, _distinct: bool, _return_type: &DataType) -> bool {
        true
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        state::<Greatest>(args)
    }
}

/// Which extreme of an order is looked for.
pub(super) trait Extreme: Debug + Default + Copy + Send + Sync + 'static {
    /// The function's name in messages.
    const NAME: &str;
    const GREATEST: bool;

    /// Whether `a` takes the place of `b`.
    #[inline(always)]
    fn beats<T: PartialOrd + ?Sized>(a: &T, b: &T) -> bool {
        if Self::GREATEST { a > b } else { a < b }
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Least;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Greatest;

impl Extreme for Least {
    const NAME: &str = "Min";
    const GREATEST: bool = false;
}

impl Extreme for Greatest {
    const NAME: &str = "Max";
    const GREATEST: bool = true;
}

fn ordered_argument<X: Extreme>(arg_types: &[DataType]) -> Result<Vec<DataType>> {
    let arg = storage_type(one_argument(X::NAME, arg_types)?);
    match arg {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(vec![arg.clone()]),
        _ => dispatch_native!(arg, N => {
            let _: PhantomData<N> = PhantomData;
            Ok(vec![arg.clone()])
        }, _ => plan_err!("{} aggregate function does not support type: ''{}''.", X::NAME, type_name(arg))),
    }
}

fn state<X: Extreme>(args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
    let data_type = args.return_type;
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if args.retracting && args.in_order => {
            CellState::boxed(FrameExtremes::<_, X>::new(Text, data_type))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if args.retracting => {
            CellState::boxed(RetractableExtremes::<_, X>::new(Text, data_type))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            CellState::boxed(StringExtremes::<X>::new(data_type))
        }
        _ => dispatch_native!(data_type, N => {
            if args.retracting && args.in_order {
                CellState::boxed(FrameExtremes::<_, X>::new(Native::<N>::default(), data_type))
            } else if args.retracting {
                CellState::boxed(RetractableExtremes::<_, X>::new(Native::<N>::default(), data_type))
            } else {
                CellState::boxed(RunningExtreme::<N, X>::new(data_type))
            }
        }, _ => not_impl_err!("{} of {data_type}", X::NAME)),
    }
}

/// The extremes of values that are never retracted.
#[derive(Debug)]
struct RunningExtreme<E, X> {
    data_type: DataType,
    extremes: NullableColumn<E>,
    extreme: PhantomData<X>,
}

impl<E: Element, X: Extreme> RunningExtreme<E, X> {
    fn new(data_type: &DataType) -> Self {
        Self { data_type: data_type.clone(), extremes: NullableColumn::default(), extreme: PhantomData }
    }

    #[inline(always)]
    fn offer(&mut self, slot: usize, extreme: Option<E>, value: E) -> Option<E> {
        match extreme {
            Some(extreme) if X::beats(&value, &extreme) => self.extremes.update(slot, Some(value)),
            Some(_) => extreme,
            None => self.extremes.set(slot, value),
        }
    }
}

impl<E: Element, X: Extreme> Cells for RunningExtreme<E, X> {
    type Args = E::Values;
    type Value = Option<E>;
    type Output = Values<E>;

    const RETRACTION: Retraction = Retraction::Ignored;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        E::values(state_column(args, 0)?)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, before: Option<E>, args: &Self::Args, row: usize) -> Option<E> {
        self.offer(slot, before, E::get(args, row))
    }

    fn retract(&mut self, _: usize, before: Option<E>, _: &Self::Args, _: usize) -> Option<E> {
        before
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<E> {
        self.extremes.get(slot)
    }

    fn output(&self, len: usize) -> Self::Output {
        Values::new(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, _: usize, value: Option<E>, output: &mut Self::Output) {
        output.put(at, value);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        self.extremes.grow(slots);
    }

    fn clear(&mut self, slot: usize) {
        self.extremes.clear(slot);
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("extreme", self.data_type.clone(), true)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.extremes.gather(slots, &self.data_type)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let extremes = state_column(state, 0)?;
        let values = E::values(extremes)?;
        for (row, &slot) in slots.iter().enumerate() {
            if extremes.is_valid(row) {
                let slot = slot as usize;
                self.offer(slot, self.extremes.get(slot), E::get(&values, row));
            }
        }
        Ok(())
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        for (&into, &from) in into.iter().zip(from) {
            if let Some(extreme) = self.extremes.get(from as usize) {
                let into = into as usize;
                self.offer(into, self.extremes.get(into), extreme);
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.extremes.memory_size()
    }
}

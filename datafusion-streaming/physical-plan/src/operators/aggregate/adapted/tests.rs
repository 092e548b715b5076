use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array};
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};
use datafusion_streaming_udfs::aggregate::{
    AggregateArgs, AggregateKind, AggregateState, Fate, Fold, OutputLayout, Rows, StreamingAggregate,
};

use super::{AdaptedAggregate, RetractableUdaf};

/// The product of values. Asked for its value, it is used up, as some of DataFusion's are.
#[derive(Debug)]
struct Product {
    product: Option<f64>,
    used_up: bool,
}

impl Accumulator for Product {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_any().downcast_ref::<Float64Array>().unwrap();
        for value in values.iter().flatten() {
            self.product = Some(self.product.unwrap_or(1.0) * value);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_any().downcast_ref::<Float64Array>().unwrap();
        for value in values.iter().flatten() {
            self.product = self.product.map(|product| product / value);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let product = if self.used_up { self.product.take() } else { self.product };
        Ok(ScalarValue::Float64(product))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Float64(self.product)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

fn product(used_up: bool) -> AggregateUDF {
    named("product", used_up)
}

fn named(name: &str, used_up: bool) -> AggregateUDF {
    create_udaf(
        name,
        vec![DataType::Float64],
        Arc::new(DataType::Float64),
        Volatility::Immutable,
        Arc::new(move |_| Ok(Box::new(Product { product: None, used_up }))),
        Arc::new(vec![DataType::Float64]),
    )
}

fn state(udf: AggregateUDF) -> Result<Box<dyn AggregateState>> {
    AdaptedAggregate::new(Arc::new(udf), vec![None]).state(&AggregateArgs {
        arg_types: &[DataType::Float64],
        return_type: &DataType::Float64,
        retracting: true,
        in_order: false,
        ignore_nulls: false,
    })
}

/// Values before and after 2, 3, a row that is filtered out, -2, NULL and the last row, which ends the group.
fn fold(mut state: Box<dyn AggregateState>) -> Result<()> {
    state.grow(2);
    let values: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(2.0), Some(3.0), Some(5.0), Some(2.0), None, Some(3.0)]));
    let retract = [false, false, false, true, false, true];
    let filter = BooleanArray::from(vec![true, true, false, true, true, true]);
    let rows = Rows { slots: &[1; 6], retract: Some(&retract), filter: Some(&filter) };
    let fates = [Fate::First, Fate::Update, Fate::Update, Fate::Update, Fate::Update, Fate::Last];
    let mut changed = [false; 6];
    let output =
        state.fold(&Fold { rows, fates: &fates, layout: OutputLayout::Single }, &[values], &mut changed)?;
    let expected: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 6.0, 6.0, 3.0, 3.0, 3.0]));
    assert_eq!(&output, &expected);
    assert_eq!(changed, [false, true, false, true, false, false]);
    let empty: ArrayRef = Arc::new(Float64Array::from(vec![None::<f64>]));
    assert_eq!(&state.evaluate(&[1])?, &empty, "the group has ended");
    Ok(())
}

#[test]
fn a_function_that_nobody_vouches_for_is_computed_anew() -> Result<()> {
    fold(state(product(true))?)
}

#[test]
fn an_accumulator_that_is_vouched_for_is_kept() -> Result<()> {
    fold(state(RetractableUdaf::new(product(false)).into())?)
}

#[test]
fn both_are_saved_and_restored_with_what_was_taken_too_early() -> Result<()> {
    for udf in [product(true), RetractableUdaf::new(product(false)).into()] {
        let mut saved = state(udf.clone())?;
        saved.grow(2);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 3.0, 7.0]));
        let rows = Rows { slots: &[0, 1, 0], retract: None, filter: None };
        saved.accumulate(&rows, &[values])?;
        let mut restored = state(udf)?;
        restored.grow(3);
        restored.merge(&[2, 0], &saved.snapshot(&[0, 1])?)?;
        let expected: ArrayRef = Arc::new(Float64Array::from(vec![Some(3.0), None, Some(14.0)]));
        assert_eq!(&restored.evaluate(&[0, 1, 2])?, &expected);
        assert!(restored.memory_size() > 0);
        restored.clear(&[0, 2]);
        let empty: ArrayRef = Arc::new(Float64Array::from(vec![None::<f64>; 2]));
        assert_eq!(&restored.evaluate(&[0, 2])?, &empty);
        assert!(restored.evaluate(&[])?.is_empty());
    }
    let mut owing = state(product(true))?;
    owing.grow(1);
    let value: ArrayRef = Arc::new(Float64Array::from(vec![2.0]));
    owing.accumulate(&Rows { slots: &[0], retract: Some(&[true]), filter: None }, &[Arc::clone(&value)])?;
    let mut restored = state(product(true))?;
    restored.grow(1);
    restored.merge(&[0], &owing.snapshot(&[0])?)?;
    restored.accumulate(&Rows { slots: &[0], retract: None, filter: None }, &[value])?;
    let empty: ArrayRef = Arc::new(Float64Array::from(vec![None::<f64>]));
    assert_eq!(&restored.evaluate(&[0])?, &empty, "the value came after it was taken");
    Ok(())
}

/// A product named MAX may well fall when rows are added.
#[test]
fn nothing_is_concluded_from_the_name_of_a_function() {
    for name in ["max", "count", "sum", "listagg"] {
        let adapted = AdaptedAggregate::new(Arc::new(named(name, false)), vec![None]);
        assert_eq!((adapted.name(), adapted.kind()), (name, AggregateKind::Other));
    }
}

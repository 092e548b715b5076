//! ARRAY_AGG.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, internal_err};

use super::cells::CellState;
use super::column::{NullMask, state_column};
use super::lists::{Form, List, Lists};
use super::members::{Members, dispatch_members};
use super::signature::{one_argument, storage_type};
use super::text::too_large;
use super::{AggregateArgs, AggregateState, StreamingAggregate};

/// `ARRAY_AGG`: the values of a group as an ARRAY in the order of their arrival, with NULLs unless they
/// are ignored (`IGNORE NULLS`); of no value NULL. A retraction takes the first of equal values.
///
/// As in Flink, an array with a NULL or a NaN does not equal itself, and is emitted again by a row that
/// does not change it.
#[derive(Debug)]
pub struct ArrayAgg;

impl StreamingAggregate for ArrayAgg {
    fn name(&self) -> &str {
        "array_agg"
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![storage_type(one_argument("ARRAY_AGG", arg_types)?).clone()])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(one_argument("ARRAY_AGG", arg_types)?.clone(), true))
    }

    fn supports_null_handling(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let DataType::List(item) = args.return_type else {
            return internal_err!("ARRAY_AGG as {}", args.return_type);
        };
        let form = ArrayForm { item: Arc::clone(item), ignore_nulls: args.ignore_nulls };
        dispatch_members!(item.data_type(), members => {
            CellState::boxed(Lists::new(members, form, item.data_type()))
        })
    }
}

#[derive(Debug)]
struct ArrayForm {
    item: FieldRef,
    ignore_nulls: bool,
}

/// Arrays on their way into an array of them.
#[derive(Debug)]
pub(super) struct ArrayOutput<M: Members> {
    elements: M::Output,
    lengths: Vec<usize>,
    total: usize,
    nulls: NullMask,
}

impl<M: Members> Form<M> for ArrayForm {
    type Output = ArrayOutput<M>;

    const BY_VALUE: bool = true;

    fn values(&mut self, args: &[ArrayRef]) -> Result<ArrayRef> {
        state_column(args, 0).cloned()
    }

    fn takes_nulls(&self) -> bool {
        !self.ignore_nulls
    }

    fn output(&self, members: &M, len: usize) -> ArrayOutput<M> {
        let lengths = Vec::with_capacity(len);
        ArrayOutput { elements: members.output(0), lengths, total: 0, nulls: NullMask::new(len) }
    }

    fn push(&self, members: &M, list: &List<M::Key>, output: &mut ArrayOutput<M>) {
        if list.values.is_empty() {
            output.nulls.set_null(output.lengths.len());
        }
        for value in &list.values {
            members.put(output.total, value.as_ref(), &mut output.elements);
            output.total += 1;
        }
        output.lengths.push(list.values.len());
    }

    fn finish(&self, members: &M, output: ArrayOutput<M>) -> Result<ArrayRef> {
        if i32::try_from(output.total).is_err() {
            return Err(too_large("the arrays of ARRAY_AGG", output.total, "elements"));
        }
        let nulls = output.nulls.finish(output.lengths.len());
        let elements = members.finish(output.elements, self.item.data_type())?;
        let offsets = OffsetBuffer::from_lengths(output.lengths);
        Ok(Arc::new(ListArray::try_new(Arc::clone(&self.item), offsets, elements, nulls)?))
    }
}

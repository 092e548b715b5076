//! The contract between aggregate functions and the operators that drive them.

use std::fmt::Debug;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Field};
use datafusion_common::Result;
use datafusion_expr::Expr;

/// What a row does to the life of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// The group lives before and after the row.
    Update,
    /// The group starts with this row: there is no value before it.
    First,
    /// The group ends with this row: there is no value after it, and the state of its slot is
    /// cleared when the row has been folded, so that a later row may start the group again.
    Last,
}

/// The rows of one batch as an aggregate sees them.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// The group slot of each row.
    pub slots: &'a [u32],
    /// For each row, whether it takes its value back (`-U`, `-D`). `None`: no row does.
    pub retract: Option<&'a [bool]>,
    /// The rows that count: those of the FILTER clause, or for DISTINCT those that add or remove a
    /// member. A row whose mask is false or NULL leaves the state as it is. `None`: all count.
    pub filter: Option<&'a BooleanArray>,
}

/// Where [`AggregateState::fold`] puts its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputLayout {
    /// Two values a row: before at `2 * row`, after at `2 * row + 1`. For an output with `-U`.
    Pairs,
    /// One value a row: the value after it; of a row with [`Fate::Last`], the value before it.
    Single,
}

/// The arguments of [`AggregateState::fold`] that all aggregates of an operator share.
#[derive(Debug, Clone, Copy)]
pub struct Fold<'a> {
    /// The rows. `rows.filter` is this aggregate's own.
    pub rows: Rows<'a>,
    /// What each row does to its group.
    pub fates: &'a [Fate],
    /// The layout of the result.
    pub layout: OutputLayout,
}

/// The state of one aggregate call for all groups of an operator: columns indexed by slot.
///
/// A slot that is not in use is *clear*: as if no row had ever been folded into it. Slots beyond
/// [`AggregateState::grow`] must not be passed.
pub trait AggregateState: Send + Sync + Debug {
    /// Makes room for slots `0..slots`; new slots are clear. Never shrinks.
    fn grow(&mut self, slots: usize);

    /// Clears slots so that they can serve another group.
    fn clear(&mut self, slots: &[u32]);

    /// Folds rows without output: for windows and partial aggregation.
    ///
    /// `args` holds the evaluated arguments of the call, each as long as `rows.slots`.
    fn accumulate(&mut self, rows: &Rows<'_>, args: &[ArrayRef]) -> Result<()>;

    /// Folds rows in order and returns the aggregate's value before and after each, in the layout
    /// asked for: an array of the aggregate's return type, of `2 * rows` or `rows` values. The
    /// value *before* a row with [`Fate::First`] and *after* a row with [`Fate::Last`] in the
    /// pairs layout is unspecified: nobody reads it.
    ///
    /// Sets `changed[row]` for each [`Fate::Update`] row whose value differs after the row from
    /// before it (by Flink's equality: NULL equals NULL; floats are compared as Java's
    /// generated `==` does); leaves it alone otherwise, so that the aggregates of an
    /// operator can share one mask.
    fn fold(&mut self, fold: &Fold<'_>, args: &[ArrayRef], changed: &mut [bool]) -> Result<ArrayRef>;

    /// The aggregate's values for `slots`, in that order: what a window emits when it fires.
    /// The value of a clear slot is the aggregate of no rows (0 for COUNT, NULL for most).
    fn evaluate(&self, slots: &[u32]) -> Result<ArrayRef>;

    /// The fields of [`AggregateState::snapshot`]. One row a slot.
    fn state_fields(&self) -> Vec<Field>;

    /// The state of `slots` as arrays of [`AggregateState::state_fields`]: for checkpoints, for
    /// the exchange between local and global aggregation, and for merging windows.
    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>>;

    /// Folds state made by [`AggregateState::snapshot`] (row i belongs to `slots[i]`; a slot may
    /// occur more than once) into this state: values that one state owes are taken from the other.
    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()>;

    /// Takes back state made by [`AggregateState::snapshot`] into slots that are clear, exactly as it
    /// was. Row i belongs to `slots[i]`; no slot occurs twice.
    ///
    /// The default is [`AggregateState::merge`]. A state that settles something in merging, such as a
    /// value that was taken before it came, must restore without.
    fn restore(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.merge(slots, state)
    }

    /// Merges the state of `from[i]` into `into[i]`, for windows that are made of slices. The
    /// slots `from` keep their state.
    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        let state = self.snapshot(from)?;
        self.merge(into, &state)
    }

    /// Bytes held, by capacity.
    fn memory_size(&self) -> usize;
}

/// What the planner knows of a call when it makes its state.
#[derive(Debug, Clone)]
pub struct AggregateArgs<'a> {
    /// The types of the arguments, after coercion.
    pub arg_types: &'a [DataType],
    /// The type of the result. [`StreamingAggregate::return_type`] under Flink's rules; DataFusion's
    /// own under `SessionContext::sql`. The state honours either.
    pub return_type: &'a DataType,
    /// Whether rows may be retracted. `false` lets a state keep only what appends need (one running
    /// extreme instead of a multiset).
    pub retracting: bool,
    /// Whether values are retracted in the order in which they were added, as those of a frame of OVER are.
    pub in_order: bool,
    /// Whether NULL inputs are skipped by functions that otherwise take them (`IGNORE NULLS`).
    pub ignore_nulls: bool,
}

/// Which of the functions an aggregate is of whose algebra the planner makes use: that it only grows with its
/// rows, say, or that it can be made of parts. A name does not tell, since users may give theirs any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AggregateKind {
    /// COUNT.
    Count,
    /// SUM.
    Sum,
    /// `$SUM0`, a sum that is 0 over no rows.
    Sum0,
    /// AVG.
    Avg,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// FIRST_VALUE.
    FirstValue,
    /// LAST_VALUE.
    LastValue,
    /// SINGLE_VALUE.
    SingleValue,
    /// LISTAGG.
    ListAgg,
    /// Any other, users' among them.
    #[default]
    Other,
}

impl AggregateKind {
    /// Whether it is MIN or MAX.
    pub fn is_extreme(self) -> bool {
        matches!(self, AggregateKind::Min | AggregateKind::Max)
    }
}

/// An aggregate function of Flink's: its types and its state.
///
/// [`FlinkAggregateUdf`](super::FlinkAggregateUdf) makes a DataFusion `AggregateUDF` of it.
pub trait StreamingAggregate: Send + Sync + Debug {
    /// The function's name in SQL, in lower case.
    fn name(&self) -> &str;

    /// Which of the functions it is that the planner knows.
    fn kind(&self) -> AggregateKind {
        AggregateKind::Other
    }

    /// Other names of the function.
    fn aliases(&self) -> &[String] {
        &[]
    }

    /// The types that the arguments are cast to, given the types they have; an error that names
    /// the function and the types where it does not take them.
    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>>;

    /// The result type by Flink's rules, for coerced argument types.
    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType>;

    /// Whether the result can be NULL. COUNT's cannot.
    fn is_nullable(&self) -> bool {
        true
    }

    /// The arguments as they are planned, `None` if they stay as they are written.
    fn rewrite_args(&self, _: &[Expr]) -> Option<Vec<Expr>> {
        None
    }

    /// Whether `IGNORE NULLS` and `RESPECT NULLS` may follow the call.
    fn supports_null_handling(&self) -> bool {
        false
    }

    /// Whether the value of a call is all that it knows of the rows so far: a row more or less that leaves the
    /// value as it was then changes none that follows. For DISTINCT: whether the value says that there is a row
    /// like it.
    fn value_is_state(&self, distinct: bool, return_type: &DataType) -> bool {
        let _ = (distinct, return_type);
        false
    }

    /// Whether the state of a group, but for DISTINCT, is a number or a value or a few, so that a copy costs little.
    fn has_small_state(&self) -> bool {
        false
    }

    /// A new state for a call. Errors where the types have no implementation.
    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>>;
}

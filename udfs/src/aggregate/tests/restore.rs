//! Every state, written and read back at random moments of a random changelog, beside one that is left
//! alone. Many retractions are of values that are not there.

use std::collections::BTreeMap;

use arrow::array::{BooleanBuilder, Float64Array, StructArray};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};

use super::*;

const SLOTS: u32 = 3;
const ROUNDS: usize = 40;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Five values of a type and a NULL.
fn domain(data_type: &DataType) -> ArrayRef {
    let numbers: ArrayRef =
        Arc::new(Int32Array::from(vec![Some(0), Some(1), Some(2), Some(3), Some(4), None]));
    match data_type {
        DataType::Float32 | DataType::Float64 => {
            let values = vec![Some(0.0), Some(-0.0), Some(f64::NAN), Some(1.5), Some(-7.25), None];
            cast(&Float64Array::from(values), data_type).unwrap()
        }
        DataType::Boolean => Arc::new(BooleanArray::from(vec![
            Some(true),
            Some(false),
            Some(true),
            Some(false),
            Some(true),
            None,
        ])),
        DataType::Decimal128(38, 0) => {
            // two of the large ones do not fit together
            let large = 6 * 10_i128.pow(37);
            Arc::new(decimals(&[Some(large), Some(-large), Some(1), Some(2), Some(large - 1), None], 38, 0))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = strings(&[Some(""), Some("a"), Some("b"), Some("\u{1F600}"), Some("a"), None]);
            cast(&texts, data_type).unwrap()
        }
        DataType::List(item) => {
            let offsets = arrow::buffer::OffsetBuffer::from_lengths([0, 1, 2, 1, 2, 0]);
            let nulls = arrow::buffer::NullBuffer::from(vec![true, true, true, true, true, false]);
            let items = cast(&numbers, item.data_type()).unwrap();
            Arc::new(arrow::array::ListArray::new(Arc::clone(item), offsets, items, Some(nulls)))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| domain(field.data_type())).collect();
            Arc::new(StructArray::new(fields.clone(), columns, None))
        }
        DataType::Timestamp(..) | DataType::Time64(_) => {
            cast(&cast(&numbers, &DataType::Int64).unwrap(), data_type).unwrap()
        }
        DataType::Binary => cast(&domain(&DataType::Utf8), data_type).unwrap(),
        _ => cast(&numbers, data_type).unwrap(),
    }
}

/// Which changes of a group a function takes without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    All,
    Appends,
    /// SINGLE_VALUE: at most one row less than none, and one more.
    One,
    /// JSON_OBJECTAGG: a key that is not there.
    NewKeys,
}

/// Random rows of all slots.
struct Changes {
    random: Random,
    takes: Takes,
    rows: BTreeMap<u32, i64>,
    keys: BTreeMap<(u32, u32), Option<u32>>,
}

impl Changes {
    /// Slots, whether each row is a retraction, and the places of its arguments in their domains.
    fn next(&mut self) -> (Vec<u32>, Vec<bool>, Vec<u32>) {
        let (mut slots, mut retract, mut values) = (vec![], vec![], vec![]);
        for _ in 0..1 + self.random.below(9) {
            let slot = self.random.below(SLOTS.into()) as u32;
            let value = self.random.below(6) as u32;
            let back = self.takes != Takes::Appends && self.random.below(5) < 2;
            let rows = self.rows.entry(slot).or_default();
            let taken = match self.takes {
                Takes::All | Takes::Appends => true,
                Takes::One => matches!((*rows, back), (..=0, false) | (0 | 1, true)),
                // the argument of the key is that of the value, and NULL is no key
                Takes::NewKeys if value == 5 => false,
                Takes::NewKeys if back => {
                    self.keys.remove(&(slot, value));
                    true
                }
                Takes::NewKeys => self.keys.insert((slot, value), Some(value)).is_none(),
            };
            if taken {
                *rows += if back { -1 } else { 1 };
                slots.push(slot);
                retract.push(back);
                values.push(value);
            }
        }
        (slots, retract, values)
    }
}

/// Drives two states of a call, whose arguments are domains, one of which is restored again and again.
fn check_restores(call: &Call, takes: Takes, seed: u64) {
    let what = || format!("{} of {:?}, seed {seed}", call.function.name(), call.args[0].data_type());
    let mut random = Random(seed);
    let mut changes =
        Changes { random: Random(seed ^ 0xabcd), takes, rows: BTreeMap::new(), keys: BTreeMap::new() };
    let all: Vec<u32> = (0..SLOTS).collect();
    let retracting = takes != Takes::Appends;
    let new = || {
        let mut state = call.state(retracting);
        state.grow(SLOTS as usize);
        state
    };
    let (mut alone, mut restored) = (new(), new());
    for round in 0..ROUNDS {
        let (slots, retract, values) = changes.next();
        let args = call.take_args(&UInt32Array::from(values));
        let fates = vec![Fate::Update; slots.len()];
        let retract = retracting.then_some(&*retract);
        let rows = Rows { slots: &slots, retract, filter: None };
        let fold = Fold { rows, fates: &fates, layout: OutputLayout::Pairs };
        let mut both = [&mut alone, &mut restored].map(|state| {
            let mut changed = vec![false; slots.len()];
            let values = state.fold(&fold, &args, &mut changed).unwrap();
            (text(&values), changed)
        });
        let [one, other] = &mut both;
        assert_eq!(one, other, "{}, round {round}: {slots:?} {retract:?}", what());
        if random.below(3) == 0 {
            let snapshot = restored.snapshot(&all).unwrap();
            restored = new();
            restored.restore(&all, &snapshot).unwrap();
            let values = [&alone, &restored].map(|state| text(&state.evaluate(&all).unwrap()));
            assert_eq!(values[0], values[1], "{}, restored in round {round}", what());
        }
    }
}

fn check_all(function: impl StreamingAggregate + 'static, types: &[DataType], takes: &[Takes]) {
    let function: Arc<dyn StreamingAggregate> = Arc::new(function);
    for data_type in types {
        let call = Call {
            function: Arc::clone(&function),
            args: vec![domain(data_type)],
            filter: None,
            distinct: false,
            ignore_nulls: false,
        };
        for (seed, takes) in (1..=5).flat_map(|seed| takes.iter().map(move |takes| (seed, *takes))) {
            check_restores(&call, takes, seed);
        }
    }
}

fn numbers() -> Vec<DataType> {
    let decimals = [DataType::Decimal128(10, 2), DataType::Decimal128(38, 0)];
    let integers = [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64];
    integers.into_iter().chain([DataType::Float32, DataType::Float64]).chain(decimals).collect()
}

fn ordered() -> Vec<DataType> {
    let times = [
        DataType::Date32,
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(TimeUnit::Microsecond, None),
    ];
    numbers()
        .into_iter()
        .chain(times)
        .chain([DataType::Utf8, DataType::Utf8View, DataType::Boolean])
        .collect()
}

fn any() -> Vec<DataType> {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Float64, true)]);
    let nested = [DataType::new_list(DataType::Int32, true), DataType::Struct(fields), DataType::Binary];
    ordered().into_iter().chain(nested).collect()
}

const BOTH: [Takes; 2] = [Takes::All, Takes::Appends];

#[test]
fn sums_and_counts_go_on_where_they_were() {
    check_all(Count, &any(), &BOTH);
    check_all(Sum, &numbers(), &BOTH);
    check_all(Sum0, &numbers(), &BOTH);
    check_all(Avg, &numbers(), &BOTH);
    for statistic in Statistic::all() {
        check_all(statistic, &numbers(), &BOTH);
    }
}

#[test]
fn extremes_go_on_where_they_were() {
    check_all(Min, &ordered(), &BOTH);
    check_all(Max, &ordered(), &BOTH);
}

#[test]
fn firsts_and_lasts_go_on_where_they_were() {
    check_all(FirstValue, &any(), &BOTH);
    check_all(LastValue, &any(), &BOTH);
    check_all(SingleValue, &any(), &[Takes::One]);
}

#[test]
fn collections_go_on_where_they_were() {
    check_all(ListAgg, &[DataType::Utf8], &BOTH);
    check_all(ArrayAgg, &any(), &BOTH);
    check_all(Collect, &any(), &BOTH);
    let separated = call(ListAgg, vec![domain(&DataType::Utf8), strings(&[Some("; "); 6])]);
    for seed in 1..=5 {
        check_restores(&separated, Takes::All, seed);
        check_restores(&separated, Takes::Appends, seed);
    }
    for on_null in [OnNull::Null, OnNull::Absent] {
        check_all(JsonArrayAgg(on_null), &[DataType::Int32, DataType::Utf8], &BOTH);
        let keys = strings(&[Some("a"), Some("b"), Some("c"), Some("d"), Some("e"), None]);
        let object =
            call(JsonObjectAgg(on_null), vec![keys, ints(&[Some(1), None, Some(3), Some(1), None, None])]);
        for seed in 1..=10 {
            check_restores(&object, Takes::NewKeys, seed);
        }
    }
}

#[test]
fn percentiles_go_on_where_they_were() {
    let fractions: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 6]));
    let percentile = call(Percentile, vec![domain(&DataType::Float64), fractions]);
    for seed in 1..=5 {
        check_restores(&percentile, Takes::All, seed);
        check_restores(&percentile, Takes::Appends, seed);
    }
}

#[test]
fn members_of_distinct_go_on_where_they_were() {
    for data_type in any() {
        for (filters, retracting) in [(1, false), (1, true), (3, false), (3, true), (70, true)] {
            check_membership(&data_type, filters, retracting);
        }
    }
}

fn check_membership(data_type: &DataType, filters: usize, retracting: bool) {
    let takes = if retracting { Takes::All } else { Takes::Appends };
    let mut random = Random(filters as u64);
    let mut changes = Changes { random: Random(99), takes, rows: BTreeMap::new(), keys: BTreeMap::new() };
    let all: Vec<u32> = (0..SLOTS).collect();
    let values = domain(data_type);
    let new = || {
        let mut membership = DistinctMembership::try_new(data_type, filters, retracting).unwrap();
        membership.grow(SLOTS as usize);
        membership
    };
    let (mut alone, mut restored) = (new(), new());
    for round in 0..ROUNDS {
        let (slots, retract, places) = changes.next();
        let values = take(&values, &UInt32Array::from(places), None).unwrap();
        let mut passing = || {
            let mut filter = BooleanBuilder::new();
            slots.iter().for_each(|_| filter.append_value(random.below(3) > 0));
            filter.finish()
        };
        let passing: Vec<_> = (0..filters).map(|_| passing()).collect();
        let passing: Vec<_> = passing.iter().map(Some).collect();
        let rows = DistinctRows { slots: &slots, retract: retracting.then_some(&*retract), fates: None };
        let masks = [&mut alone, &mut restored].map(|it| it.apply(&rows, &values, &passing).unwrap());
        assert_eq!(masks[0], masks[1], "{data_type}, {filters} filters, round {round}");
        if random.below(3) == 0 {
            let snapshot = restored.snapshot(&all).unwrap();
            restored = new();
            restored.merge(&all, &snapshot).unwrap();
        }
    }
}

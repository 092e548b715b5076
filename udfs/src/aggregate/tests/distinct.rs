//! DISTINCT of all of them.

use arrow::array::{Float32Array, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDFImpl, EmitTo};

use super::*;

#[test]
fn of_appended_rows() {
    let v = ints(&[Some(1), Some(1), Some(2), None, Some(2), Some(4)]);
    let of = |function: Call| function.distinct();
    check(
        &[
            of(call(Count, vec![Arc::clone(&v)])),
            of(call(Sum, vec![Arc::clone(&v)])),
            of(call(Avg, vec![Arc::clone(&v)])),
            of(call(Max, vec![Arc::clone(&v)])),
            of(call(LastValue, vec![Arc::clone(&v)])),
            call(Count, vec![Arc::clone(&v)]),
        ],
        "+0 +0 +0 +0 +0 +0",
        &[
            "+I 0 1 1 1 1 1 1",
            "-U 0 1 1 1 1 1 1",
            "+U 0 1 1 1 1 1 2",
            "-U 0 1 1 1 1 1 2",
            "+U 0 2 3 1 2 2 3",
            "-U 0 2 3 1 2 2 3",
            "+U 0 2 3 1 2 2 4",
            "-U 0 2 3 1 2 2 4",
            "+U 0 3 7 2 4 4 5",
        ],
    );
}

#[test]
fn each_filter_counts_for_itself() {
    let v = ints(&[Some(3), Some(3), Some(5), Some(3), Some(3), Some(5), None]);
    let ok = || vec![Some(true), Some(false), Some(true), Some(true), Some(false), Some(true), None];
    let not_ok = vec![Some(false), Some(true), Some(false), Some(false), Some(true), Some(false), None];
    let count = || call(Count, vec![Arc::clone(&v)]).distinct();
    check(
        &[
            count(),
            count().filtered(ok()),
            count().filtered(not_ok),
            call(Sum, vec![Arc::clone(&v)]).distinct().filtered(ok()),
        ],
        "+0 +0 +0 -0 -0 -0 +1",
        &[
            "+I 0 1 1 0 3",
            "-U 0 1 1 0 3",
            "+U 0 1 1 1 3",
            "-U 0 1 1 1 3",
            "+U 0 2 2 1 8",
            "-U 0 2 2 1 8",
            "+U 0 2 1 1 5",
            "-U 0 2 1 1 5",
            "+U 0 1 1 0 5",
            "-D 0 1 1 0 5",
            "+I 1 0 0 0 NULL",
        ],
    );
}

#[test]
fn more_filters_than_bits() {
    let v = ints(&[Some(1), Some(1), Some(2), Some(1)]);
    let w = [5, 70, 100, 70];
    for retracting in [false, true] {
        let calls: Vec<_> = (0..100)
            .map(|least| {
                let filter: Vec<bool> = w.iter().map(|w| *w > least).collect();
                call(Count, vec![Arc::clone(&v)]).distinct().filtered(filter)
            })
            .collect();
        let last = if retracting { '-' } else { '+' };
        let mode = Mode { batch: 4, layout: OutputLayout::Single, restore: true, retracting };
        let log = changelog(&calls, &[('+', 0), ('+', 0), ('+', 0), (last, 0)], mode);
        let counts =
            |line: &str| line.split(' ').skip(2).map(|count| count.parse().unwrap()).collect::<Vec<i32>>();
        let expected = |values: [(i32, i32); 2]| {
            (0..100).map(|least| values.iter().filter(|(_, w)| *w > least).count() as i32).collect::<Vec<_>>()
        };
        assert_eq!(counts(&log[2]), expected([(1, 70), (2, 100)]));
        if retracting {
            // the first row, of five, still has the value
            assert_eq!(counts(&log[3]), expected([(1, 5), (2, 100)]));
        }
    }
}

#[test]
fn lists_keep_the_first_of_equal_values() {
    let s = strings(&[Some("p"), None, Some("q"), Some("p"), None, Some("p"), Some("p")]);
    check(
        &[call(ListAgg, vec![Arc::clone(&s)]).distinct(), call(Count, vec![Arc::clone(&s)])],
        "+0 +0 +0 +0 +0 -0 -0",
        &[
            "+I 0 p 1",
            "-U 0 p 1",
            "+U 0 p,q 2",
            "-U 0 p,q 2",
            "+U 0 p,q 3",
            "-U 0 p,q 3",
            "+U 0 p,q 2",
            "-U 0 p,q 2",
            "+U 0 q 1",
        ],
    );
    // one NULL is kept; an array with a NULL is told again
    let s = strings(&[Some("p"), None, None, Some("p")]);
    check_values(
        &[call(ArrayAgg, vec![s]).distinct()],
        "+0 +0 +0 +0",
        &["[p]", "[p, NULL]", "[p, NULL]", "[p, NULL]"],
    );
}

#[test]
fn early_retractions_cancel() {
    let v = ints(&[Some(1), Some(2), Some(9), Some(9), Some(4), Some(1)]);
    check(
        &[call(Count, vec![Arc::clone(&v)]).distinct(), call(Count, vec![Arc::clone(&v)])],
        "+0 +0 -0 +0 +0 -0",
        &[
            "+I 0 1 1", "-U 0 1 1", "+U 0 2 2", "-U 0 2 2", "+U 0 2 1", "-U 0 2 1", "+U 0 2 2", "-U 0 2 2",
            "+U 0 3 3", "-U 0 3 3", "+U 0 2 2",
        ],
    );
}

#[test]
fn members_end_with_their_group() {
    let v = ints(&[Some(7), Some(7), Some(7), Some(7)]);
    check(&[call(Count, vec![v]).distinct()], "+0 -0 +0 +1", &["+I 0 1", "-D 0 1", "+I 0 1", "+I 1 1"]);
}

#[test]
fn zeros_are_two_and_nans_one() {
    let d: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 0.0, f64::NAN]));
    let f: ArrayRef = Arc::new(Float32Array::from(vec![0.0, -0.0, f32::NAN, -f32::NAN, 0.0, f32::NAN]));
    check_values(
        &[
            call(Count, vec![Arc::clone(&d)]).distinct(),
            call(Count, vec![f]).distinct(),
            call(Count, vec![d]),
        ],
        "+0 +0 +0 +0 +0 +0",
        &["1 1 1", "2 2 2", "3 3 3", "3 3 4", "3 3 5", "3 3 6"],
    );
}

#[test]
fn values_of_every_family() {
    let de: ArrayRef = Arc::new(decimals(&[Some(100), Some(250), Some(100), None], 10, 2));
    let b: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(true), Some(false), None]));
    let s = strings(&[Some("x"), Some("X"), Some(""), Some("x")]);
    let list = |values: [Option<Vec<Option<i32>>>; 4]| {
        Arc::new(arrow::array::ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>(values))
            as ArrayRef
    };
    let a = list([
        Some(vec![Some(1), Some(2)]),
        Some(vec![Some(2), Some(1)]),
        Some(vec![]),
        Some(vec![Some(2), Some(1)]),
    ]);
    let calls = [de, b, s, a].map(|arg| call(Count, vec![arg]).distinct());
    check_values(&calls, "+0 +0 +0 +0", &["1 1 1 1", "2 1 2 2", "2 2 3 3"]);
}

#[test]
fn groups_of_many_members() {
    let v: Vec<_> = (0..2_000).map(|row| Some(row % 700)).collect();
    let v = ints(&v);
    let mut membership = DistinctMembership::try_new(&DataType::Int32, 1, true).unwrap();
    membership.grow(3);
    let empty = membership.memory_size();
    let slots: Vec<u32> = (0..2_000).map(|row| row % 2).collect();
    let rows = DistinctRows { slots: &slots, retract: None, fates: None };
    let masks = membership.apply(&rows, &v, &[None]).unwrap();
    // 700 is even: a value comes to one group only
    assert_eq!(masks[0].true_count(), 700);
    assert!(membership.memory_size() > empty);
    // into an empty slot come all members of both
    let merged = membership.merge_slots(&[2, 2], &[0, 1]).unwrap();
    assert_eq!((merged.slots.len(), merged.values.len()), (700, 700));
    assert!(merged.retract.iter().all(|retract| !retract));
    assert_eq!(merged.masks[0].true_count(), 700);
    // again they add nothing
    assert!(membership.merge_slots(&[2], &[0]).unwrap().slots.is_empty());
    // the last copies go
    let retract = vec![true; 2_000];
    let masks = membership.apply(&DistinctRows { retract: Some(&retract), ..rows }, &v, &[None]).unwrap();
    assert_eq!(masks[0].true_count(), 700);
    membership.clear(&[2]);
    assert_eq!(membership.memory_size(), empty);
}

#[test]
fn members_come_and_go_in_merging() {
    let state = |rows: &[(i32, bool, [bool; 2])]| {
        let mut membership = DistinctMembership::try_new(&DataType::Int32, 2, true).unwrap();
        membership.grow(1);
        let values = ints(&rows.iter().map(|row| Some(row.0)).collect::<Vec<_>>());
        let retract: Vec<_> = rows.iter().map(|row| row.1).collect();
        let filters =
            [0, 1].map(|filter| BooleanArray::from(rows.iter().map(|row| row.2[filter]).collect::<Vec<_>>()));
        let slots = vec![0; rows.len()];
        let distinct = DistinctRows { slots: &slots, retract: Some(&retract), fates: None };
        membership.apply(&distinct, &values, &[Some(&filters[0]), Some(&filters[1])]).unwrap();
        membership
    };
    let mut membership = state(&[(1, false, [true, false]), (2, false, [true, true])]);
    // 1 goes for the first filter and comes for the second; 2 has another copy
    let other = state(&[(1, true, [true, false]), (1, false, [false, true]), (2, false, [true, true])]);
    let merged = membership.merge(&[0], &other.snapshot(&[0]).unwrap()).unwrap();
    assert_eq!(text(&merged.values), ["1", "1"]);
    assert_eq!(merged.retract, [false, true]);
    assert_eq!(merged.masks[0], BooleanArray::from(vec![false, true]));
    assert_eq!(merged.masks[1], BooleanArray::from(vec![true, false]));
}

fn with_distinct_args<T>(
    udf: &FlinkAggregateUdf,
    args: &[DataType],
    make: impl FnOnce(AccumulatorArgs) -> T,
) -> T {
    let fields: Vec<FieldRef> =
        args.iter().map(|arg| Arc::new(Field::new("v", arg.clone(), true)) as FieldRef).collect();
    let result = udf.return_type(args).unwrap();
    make(AccumulatorArgs {
        return_field: Arc::new(Field::new("r", result, true)),
        schema: &Schema::empty(),
        ignore_nulls: false,
        order_bys: &[],
        is_reversed: false,
        name: "r",
        is_distinct: true,
        exprs: &[],
        expr_fields: &fields,
    })
}

#[test]
fn batch_accumulators() {
    let v: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), Some(5), None, Some(7), Some(5)]));
    for (function, whole, window, groups) in [
        (Arc::new(Count) as Arc<dyn StreamingAggregate>, "2", "2", ["1", "2"]),
        (Arc::new(Sum), "12", "12", ["5", "12"]),
        (Arc::new(Avg), "6", "6", ["5", "6"]),
    ] {
        let udf = FlinkAggregateUdf::new(function);
        let types = [DataType::Int64];
        let accumulator = || with_distinct_args(&udf, &types, |args| udf.accumulator(args)).unwrap();
        let mut first: Box<dyn Accumulator> = accumulator();
        first.update_batch(&[v.slice(0, 3)]).unwrap();
        let mut second = accumulator();
        second.update_batch(&[v.slice(1, 4)]).unwrap();
        let state = second.state().unwrap();
        let state: Vec<_> = state.iter().map(|value| value.to_array_of_size(1).unwrap()).collect();
        first.merge_batch(&state).unwrap();
        assert_eq!(first.evaluate().unwrap().to_string(), whole);
        let result = Arc::new(Field::new("r", udf.return_type(&types).unwrap(), true));
        let fields = udf
            .state_fields(StateFieldsArgs {
                name: "r",
                input_fields: &[Arc::new(Field::new("v", DataType::Int64, true))],
                return_field: result,
                ordering_fields: &[],
                is_distinct: true,
            })
            .unwrap();
        assert_eq!(fields.len(), state.len());
        assert_eq!(fields[0].data_type(), state[0].data_type());

        let mut sliding =
            with_distinct_args(&udf, &types, |args| udf.create_sliding_accumulator(args)).unwrap();
        sliding.update_batch(&[Arc::clone(&v)]).unwrap();
        sliding.retract_batch(&[v.slice(0, 2)]).unwrap();
        assert_eq!(sliding.evaluate().unwrap().to_string(), window);

        let grouped =
            || with_distinct_args(&udf, &types, |args| udf.create_groups_accumulator(args)).unwrap();
        let mut partial = grouped();
        partial.update_batch(&[Arc::clone(&v)], &[0, 0, 0, 1, 1], None, 2).unwrap();
        let mut last = grouped();
        last.update_batch(
            &[Arc::clone(&v)],
            &[0, 0, 0, 0, 0],
            Some(&BooleanArray::from(vec![true, false, true, false, false])),
            2,
        )
        .unwrap();
        last.merge_batch(&partial.state(EmitTo::All).unwrap(), &[0, 1], 2).unwrap();
        assert_eq!(text(&last.evaluate(EmitTo::First(1)).unwrap()), groups[..1]);
        assert_eq!(text(&last.evaluate(EmitTo::All).unwrap()), groups[1..]);
    }
}

#[test]
fn batch_listagg_keeps_its_separator() {
    let udf = FlinkAggregateUdf::new(Arc::new(ListAgg));
    let types = [DataType::Utf8, DataType::Utf8];
    let accumulator = || with_distinct_args(&udf, &types, |args| udf.accumulator(args)).unwrap();
    let mut first = accumulator();
    first.update_batch(&[strings(&[Some("a"), Some("a"), Some("b")]), strings(&[Some("#"); 3])]).unwrap();
    let state = first.state().unwrap();
    let state: Vec<_> = state.iter().map(|value| value.to_array_of_size(1).unwrap()).collect();
    let mut second = accumulator();
    second.merge_batch(&state).unwrap();
    assert_eq!(second.evaluate().unwrap().to_string(), "a#b");
}

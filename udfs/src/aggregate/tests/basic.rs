//! COUNT, SUM, SUM0, AVG, MIN and MAX, and the adapter to DataFusion.

use arrow::array::{
    BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array, Int64Array,
    LargeStringArray, StringViewArray, TimestampMillisecondArray,
};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDFImpl, EmitTo, GroupsAccumulator};

use super::*;

#[test]
fn count_sum_avg_min_max_of_integers() {
    let v =
        || Int32Array::from(vec![Some(400), Some(300), None, Some(-5), Some(300), Some(400), None, Some(-5)]);
    check(
        &[
            one(Count, Int64Array::from(vec![1; 8])),
            one(Count, v()),
            one(Sum, v()),
            one(Sum0, v()),
            one(Avg, v()),
            one(Min, v()),
            one(Max, v()),
        ],
        "+0 +0 +1 +0 -0 -0 -1 -0",
        &[
            "+I 0 1 1 400 400 400 400 400",
            "-U 0 1 1 400 400 400 400 400",
            "+U 0 2 2 700 700 350 300 400",
            "+I 1 1 0 NULL 0 NULL NULL NULL",
            "-U 0 2 2 700 700 350 300 400",
            "+U 0 3 3 695 695 231 -5 400",
            "-U 0 3 3 695 695 231 -5 400",
            "+U 0 2 2 395 395 197 -5 400",
            "-U 0 2 2 395 395 197 -5 400",
            "+U 0 1 1 -5 -5 -5 -5 -5",
            "-D 1 1 0 NULL 0 NULL NULL NULL",
            "-D 0 1 1 -5 -5 -5 -5 -5",
        ],
    );
}

#[test]
fn a_group_returns_after_its_death() {
    let v = || Int64Array::from(vec![Some(7), Some(7), None, Some(9)]);
    check(
        &[one(Sum, v()), one(Avg, v()), one(Max, v())],
        "+0 -0 +0 +0",
        &["+I 0 7 7 7", "-D 0 7 7 7", "+I 0 NULL NULL NULL", "-U 0 NULL NULL NULL", "+U 0 9 9 9"],
    );
}

#[test]
fn unchanged_values_are_not_reported() {
    let v = || Int32Array::from(vec![Some(3), Some(3), None, Some(0), Some(2)]);
    check(&[one(Max, v())], "+0 +0 +0 +0 +0", &["+I 0 3"]);
    check(&[one(Sum, v())], "+0 +0 +0 +0 +0", &["+I 0 3", "-U 0 3", "+U 0 6", "-U 0 6", "+U 0 8"]);
}

#[test]
fn a_filter_selects_rows() {
    let v = || Int64Array::from(vec![Some(1), Some(2), None, Some(4), Some(8)]);
    let filter = vec![Some(false), Some(true), Some(true), None, Some(true)];
    check(
        &[
            one(Count, v()).filtered(filter.clone()),
            one(Sum, v()).filtered(filter.clone()),
            one(Sum0, v()).filtered(filter.clone()),
            one(Min, v()).filtered(filter),
        ],
        "+0 +0 +0 +0 +0",
        &["+I 0 0 NULL 0 NULL", "-U 0 0 NULL 0 NULL", "+U 0 1 2 2 2", "-U 0 1 2 2 2", "+U 0 2 10 10 2"],
    );
}

#[test]
fn count_of_several_arguments_skips_rows_with_a_null() {
    let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), Some("y"), None, Some("z")]));
    check(&[call(Count, vec![a, b])], "+0 +0 +0 +0", &["+I 0 1", "-U 0 1", "+U 0 2"]);
}

#[test]
fn integers_wrap() {
    let ti = || Int8Array::from(vec![100, 100, 100]);
    let si = || Int16Array::from(vec![32_000, 32_000, 32_000]);
    let bi = || Int64Array::from(vec![i64::MAX, 1, i64::MAX]);
    check(
        &[one(Sum, ti()), one(Avg, ti()), one(Sum, si()), one(Avg, si()), one(Sum, bi()), one(Avg, bi())],
        "+0 +0 +0",
        &[
            "+I 0 100 100 32000 32000 9223372036854775807 9223372036854775807",
            "-U 0 100 100 32000 32000 9223372036854775807 9223372036854775807",
            "+U 0 -56 100 -1536 32000 -9223372036854775808 -4611686018427387904",
            "-U 0 -56 100 -1536 32000 -9223372036854775808 -4611686018427387904",
            "+U 0 44 100 30464 32000 -1 0",
        ],
    );
}

#[test]
fn floats_add_up_in_their_own_width_and_their_mean_in_doubles() {
    let f = || Float32Array::from(vec![Some(0.1), Some(0.2), None, Some(0.3), Some(-0.6)]);
    let d = || Float64Array::from(vec![Some(0.1), Some(0.2), None, Some(0.3), Some(-0.6)]);
    let expected = |a: [&str; 4]| {
        vec![
            format!("+I 0 {}", a[0]),
            format!("-U 0 {}", a[0]),
            format!("+U 0 {}", a[1]),
            format!("-U 0 {}", a[1]),
            format!("+U 0 {}", a[2]),
            format!("-U 0 {}", a[2]),
            format!("+U 0 {}", a[3]),
        ]
    };
    let lines = expected(["0.1 0.1", "0.3 0.15", "0.6 0.2", "0.0 -1.8626451e-9"]);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    check(&[one(Sum, f()), one(Avg, f())], "+0 +0 +0 +0 +0", &lines);
    let lines = expected([
        "0.1 0.1",
        "0.30000000000000004 0.15000000000000002",
        "0.6000000000000001 0.20000000000000004",
        "1.1102230246251565e-16 2.7755575615628914e-17",
    ]);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    check(&[one(Sum, d()), one(Avg, d())], "+0 +0 +0 +0 +0", &lines);
}

#[test]
fn a_sum_of_negative_zeros_is_negative_zero() {
    let d = || Float64Array::from(vec![-0.0]);
    check(&[one(Sum, d()), one(Sum0, d()), one(Avg, d())], "+0", &["+I 0 -0.0 0.0 0.0"]);
}

#[test]
fn floats_do_not_recover_from_nan() {
    let d = || Float64Array::from(vec![1.0, f64::INFINITY, f64::INFINITY]);
    check(
        &[one(Sum, d()), one(Avg, d())],
        "+0 +0 -0",
        &["+I 0 1.0 1.0", "-U 0 1.0 1.0", "+U 0 inf inf", "-U 0 inf inf", "+U 0 NaN NaN"],
    );
}

/// The changelog of an insert-only input that the planner knows to be one.
fn insert_only(calls: &[Call], rows: &[(char, u32)]) -> Vec<String> {
    let mode = Mode { batch: 2, layout: OutputLayout::Pairs, restore: true, retracting: false };
    changelog(calls, rows, mode)
}

#[test]
fn running_extremes_compare_floats_as_ieee() {
    let d = || Float64Array::from(vec![2.0, f64::NAN, 3.0, f64::NAN, 2.0, 0.0, -0.0, -0.0, 0.0]);
    let rows = [('+', 0), ('+', 0), ('+', 0), ('+', 1), ('+', 1), ('+', 2), ('+', 2), ('+', 3), ('+', 3)];
    assert_eq!(
        insert_only(&[one(Min, d()), one(Max, d())], &rows),
        [
            "+I 0 2.0 2.0",
            "-U 0 2.0 2.0",
            "+U 0 2.0 3.0",
            "+I 1 NaN NaN",
            // NaN does not equal itself: an unchanged one is told again
            "-U 1 NaN NaN",
            "+U 1 NaN NaN",
            "+I 2 0.0 0.0",
            "+I 3 -0.0 -0.0",
        ]
    );
}

#[test]
fn retractable_extremes_order_floats_as_java_compares() {
    let f = || Float32Array::from(vec![2.0, f32::NAN, 5.0, f32::NAN, 5.0, 0.0, -0.0, 0.0]);
    check(
        &[one(Min, f()), one(Max, f()), one(Count, f())],
        "+0 +0 +0 -0 -0 +1 +1 -1",
        &[
            "+I 0 2.0 2.0 1",
            "-U 0 2.0 2.0 1",
            "+U 0 2.0 NaN 2",
            "-U 0 2.0 NaN 2",
            "+U 0 2.0 NaN 3",
            "-U 0 2.0 NaN 3",
            "+U 0 2.0 5.0 2",
            "-U 0 2.0 5.0 2",
            "+U 0 2.0 2.0 1",
            "+I 1 0.0 0.0 1",
            "-U 1 0.0 0.0 1",
            "+U 1 -0.0 0.0 2",
            "-U 1 -0.0 0.0 2",
            "+U 1 -0.0 -0.0 1",
        ],
    );
}

#[test]
fn running_extremes_ignore_what_is_taken_back() {
    // the planner lets MAX of an increasing value do without retractions
    let v = Int64Array::from(vec![1, 1, 2]);
    let mut state = call(Max, vec![Arc::new(v.clone())]).state(false);
    state.grow(1);
    let retract = [false, true, false];
    let rows = Rows { slots: &[0, 0, 0], retract: Some(&retract), filter: None };
    state.accumulate(&rows, &[Arc::new(v.clone())]).unwrap();
    assert_eq!(text(&state.evaluate(&[0]).unwrap()), ["2"]);
    // a sum cannot
    let mut state = call(Sum, vec![Arc::new(v.clone())]).state(false);
    state.grow(1);
    let error = state.accumulate(&rows, &[Arc::new(v)]).unwrap_err().to_string();
    assert!(error.contains("insert-only"), "{error}");
}

#[test]
fn an_overflown_decimal_sum_is_null_and_starts_anew() {
    let most = 10_i128.pow(38) - 1;
    let m = || decimals(&[Some(most), Some(1), Some(5), Some(7)], 38, 0);
    check(
        &[one(Sum, m()), one(Avg, m())],
        "+0 +0 +0 +0",
        &[
            "+I 0 99999999999999999999999999999999999999 NULL",
            "-U 0 99999999999999999999999999999999999999 NULL",
            "+U 0 NULL NULL",
            "-U 0 NULL NULL",
            "+U 0 5 NULL",
            "-U 0 5 NULL",
            "+U 0 12 NULL",
        ],
    );
    // on a changelog the overflown sum counts as zero
    let m = || decimals(&[Some(most), Some(1), Some(1), Some(4), Some(most), Some(4), Some(6)], 38, 0);
    check(
        &[one(Sum, m()), one(Avg, m())],
        "+0 +0 -0 +0 -0 -0 +0",
        &[
            "+I 0 99999999999999999999999999999999999999 NULL",
            "-U 0 99999999999999999999999999999999999999 NULL",
            "+U 0 NULL NULL",
            "-U 0 NULL NULL",
            "+U 0 -1 NULL",
            "-U 0 -1 NULL",
            "+U 0 3 NULL",
            "-U 0 3 NULL",
            "+U 0 -99999999999999999999999999999999999996 NULL",
            "-D 0 -99999999999999999999999999999999999996 NULL",
            "+I 0 6 6.000000",
        ],
    );
}

#[test]
fn the_mean_of_decimals_is_rounded_half_up() {
    let n5 = || decimals(&[Some(100), Some(200), None, Some(200), Some(-500)], 5, 2);
    let n18 = || decimals(&[Some(1), Some(2), None, Some(2), Some(-5)], 18, 9);
    check(
        &[one(Sum, n5()), one(Avg, n5()), one(Avg, n18())],
        "+0 +0 +1 +0 +0",
        &[
            "+I 0 1.00 1.000000 0.000000001",
            "-U 0 1.00 1.000000 0.000000001",
            "+U 0 3.00 1.500000 0.000000002",
            "+I 1 NULL NULL NULL",
            "-U 0 3.00 1.500000 0.000000002",
            "+U 0 5.00 1.666667 0.000000002",
            "-U 0 5.00 1.666667 0.000000002",
            "+U 0 0.00 0.000000 0.000000000",
        ],
    );
    let refused = Avg.return_type(&[DataType::Decimal128(38, 38)]).unwrap_err().to_string();
    assert!(refused.contains("cannot convert 0 to DECIMAL(38, 38) due to overflow"), "{refused}");
}

#[test]
fn extremes_of_strings() {
    let check_type = |array: &dyn Fn(Vec<Option<&str>>) -> ArrayRef| {
        let s = || array(vec![Some("m"), Some(""), None, Some("zebra"), Some("zebra"), Some("m"), None]);
        check(
            &[call(Min, vec![s()]), call(Max, vec![s()]), call(Count, vec![s()])],
            "+0 +0 +1 +0 -0 -0 -1",
            &[
                "+I 0 m m 1",
                "-U 0 m m 1",
                "+U 0  m 2",
                "+I 1 NULL NULL 0",
                "-U 0  m 2",
                "+U 0  zebra 3",
                "-U 0  zebra 3",
                "+U 0  m 2",
                "-U 0  m 2",
                "+U 0   1",
                "-D 1 NULL NULL 0",
            ],
        );
        let s = || array(vec![Some("m"), Some("a"), None, Some("z"), Some("b")]);
        check(
            &[call(Min, vec![s()]), call(Max, vec![s()])],
            "+0 +0 +0 +0 +0",
            &["+I 0 m m", "-U 0 m m", "+U 0 a m", "-U 0 a m", "+U 0 a z"],
        );
    };
    check_type(&|values| Arc::new(StringArray::from(values)));
    check_type(&|values| Arc::new(LargeStringArray::from(values)));
    check_type(&|values| Arc::new(StringViewArray::from(values)));
}

#[test]
fn extremes_of_other_types() {
    let b = || BooleanArray::from(vec![false, true, true]);
    let dt = || Date32Array::from(vec![0, -719_162, -719_162]);
    let z3 = || TimestampMillisecondArray::from(vec![1, -1, -1]).with_timezone("UTC");
    let n38 = || decimals(&[Some(1), Some(10_i128.pow(38) - 1), Some(10_i128.pow(38) - 1)], 38, 18);
    let both = |array: ArrayRef| [call(Min, vec![Arc::clone(&array)]), call(Max, vec![array])];
    let calls: Vec<_> = [Arc::new(b()) as ArrayRef, Arc::new(dt()), Arc::new(z3()), Arc::new(n38())]
        .into_iter()
        .flat_map(both)
        .collect();
    let first = "false false 1970-01-01 1970-01-01 1970-01-01T00:00:00.001Z 1970-01-01T00:00:00.001Z \
                 0.000000000000000001 0.000000000000000001";
    let second = "false true 0001-01-01 1970-01-01 1969-12-31T23:59:59.999Z 1970-01-01T00:00:00.001Z \
                  0.000000000000000001 99999999999999999999.999999999999999999";
    check(
        &calls,
        "+0 +0 -0",
        &[
            &format!("+I 0 {first}"),
            &format!("-U 0 {first}"),
            &format!("+U 0 {second}"),
            &format!("-U 0 {second}"),
            &format!("+U 0 {first}"),
        ],
    );
    for call in &calls {
        let arg = call.args[0].data_type();
        assert_eq!(call.function.return_type(std::slice::from_ref(arg)).unwrap(), *arg);
    }
}

#[test]
fn a_value_taken_before_it_came_becomes_the_extreme() {
    let v = || Int32Array::from(vec![1, 2, 9, 9, 4, 1]);
    let lines = [
        "+I 0 1 1 1 1 1",
        "-U 0 1 1 1 1 1",
        "+U 0 3 2 1 2 1",
        "-U 0 3 2 1 2 1",
        "+U 0 -6 1 1 2 -6",
        "-U 0 -6 1 1 2 -6",
        "+U 0 3 2 1 9 1",
        "-U 0 3 2 1 9 1",
        "+U 0 7 3 1 9 2",
        "-U 0 7 3 1 9 2",
        "+U 0 6 2 2 9 3",
    ];
    check(
        &[one(Sum, v()), one(Count, v()), one(Min, v()), one(Max, v()), one(Avg, v())],
        "+0 +0 -0 +0 +0 -0",
        &lines,
    );
    // strings take the same way
    let v = || StringArray::from(vec!["1", "2", "9", "9", "4", "1"]);
    let lines = ["+I 0 1 1", "-U 0 1 1", "+U 0 1 2", "-U 0 1 2", "+U 0 1 9", "-U 0 1 9", "+U 0 2 9"];
    check(&[one(Min, v()), one(Max, v())], "+0 +0 -0 +0 +0 -0", &lines);
    // ignored as long as the group has no row
    check(&[one(Max, Int32Array::from(vec![3, 4, 4]))], "-0 +0 +0", &["+I 0 4"]);
}

#[test]
fn windows_are_merged_from_slices() {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), Some(7), None, Some(2)]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("c"), None, Some("a")]));
    for retracting in [false, true] {
        for (call, expected) in [
            (call(Count, vec![Arc::clone(&values)]), "3"),
            (call(Sum, vec![Arc::clone(&values)]), "14"),
            (call(Sum0, vec![Arc::clone(&values)]), "14"),
            (call(Avg, vec![Arc::clone(&values)]), "4"),
            (call(Min, vec![Arc::clone(&values)]), "2"),
            (call(Max, vec![Arc::clone(&values)]), "7"),
            (call(Min, vec![Arc::clone(&strings)]), "a"),
            (call(Max, vec![Arc::clone(&strings)]), "c"),
        ] {
            let mut state = call.state(retracting);
            state.grow(6);
            let rows = Rows { slots: &[0, 1, 2, 3], retract: None, filter: None };
            state.accumulate(&rows, &call.args).unwrap();
            state.merge_slots(&[5, 5, 5, 5, 4], &[0, 1, 2, 3, 0]).unwrap();
            let merged = text(&state.evaluate(&[5, 4, 0]).unwrap());
            assert_eq!(merged[0], expected, "{}", call.function.name());
            assert_eq!(merged[1], merged[2], "{}", call.function.name());
            // partials of the same slot in one snapshot
            let partials = state.snapshot(&[0, 1, 2, 3]).unwrap();
            let mut global = call.state(retracting);
            global.grow(1);
            global.merge(&[0, 0, 0, 0], &partials).unwrap();
            assert_eq!(text(&global.evaluate(&[0]).unwrap()), [expected], "{}", call.function.name());
        }
    }
}

#[test]
fn partial_retractions_cancel_when_merged() {
    let v: ArrayRef = Arc::new(Int64Array::from(vec![5, 9, 9]));
    let max = call(Max, vec![Arc::clone(&v)]);
    let mut local = max.state(true);
    local.grow(2);
    let retract = [false, false, true];
    local.accumulate(&Rows { slots: &[0, 0, 1], retract: Some(&retract), filter: None }, &max.args).unwrap();
    let partials = local.snapshot(&[0, 1]).unwrap();
    let mut global = max.state(true);
    global.grow(1);
    global.merge(&[0, 0], &partials).unwrap();
    assert_eq!(text(&global.evaluate(&[0]).unwrap()), ["5"]);
}

#[test]
fn cleared_slots_give_their_memory_back() {
    let strings: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|i| format!("value {i}"))));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200));
    for (call, retracting) in [
        (call(Max, vec![Arc::clone(&strings)]), false),
        (call(Max, vec![Arc::clone(&strings)]), true),
        (call(Min, vec![Arc::clone(&strings)]), true),
        (call(Max, vec![Arc::clone(&numbers)]), true),
    ] {
        let mut state = call.state(retracting);
        state.grow(2);
        let empty = state.memory_size();
        let slots: Vec<u32> = (0..200).map(|row| row % 2).collect();
        state.accumulate(&Rows { slots: &slots, retract: None, filter: None }, &call.args).unwrap();
        assert!(state.memory_size() > empty);
        state.clear(&[0, 1]);
        assert_eq!(state.memory_size(), empty);
        assert_eq!(text(&state.evaluate(&[0, 1]).unwrap()), ["NULL", "NULL"]);
        // taking all values one by one frees them too
        if retracting {
            state.accumulate(&Rows { slots: &slots, retract: None, filter: None }, &call.args).unwrap();
            let retract = vec![true; 200];
            let rows = Rows { slots: &slots, retract: Some(&retract), filter: None };
            state.accumulate(&rows, &call.args).unwrap();
            assert_eq!(state.memory_size(), empty);
        }
    }
}

#[test]
fn a_million_groups_take_26_bytes_each() {
    let slots = 1_000_000;
    let v: ArrayRef = Arc::new(Int64Array::from(vec![0; 0]));
    let size: usize =
        [call(Count, vec![Arc::clone(&v)]), call(Sum, vec![Arc::clone(&v)]), call(Max, vec![v])]
            .iter()
            .map(|call| {
                let mut state = call.state(false);
                for grown in (0..=slots).step_by(4_000) {
                    state.grow(grown);
                }
                state.memory_size()
            })
            .sum();
    assert!(size <= 26 * slots, "{size}");
}

#[test]
fn types_follow_flink() {
    let result = |function: &dyn StreamingAggregate, arg: DataType| {
        let args = function.coerce_types(&[arg]).unwrap();
        function.return_type(&args).unwrap()
    };
    for number in [
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
    ] {
        assert_eq!(result(&Sum, number.clone()), number);
        assert_eq!(result(&Avg, number.clone()), number);
        assert_eq!(result(&Max, number.clone()), number);
        assert_eq!(result(&Count, number), DataType::Int64);
    }
    assert_eq!(result(&Sum, DataType::Decimal128(5, 2)), DataType::Decimal128(38, 2));
    assert_eq!(result(&Avg, DataType::Decimal128(5, 2)), DataType::Decimal128(38, 6));
    assert_eq!(result(&Avg, DataType::Decimal128(18, 9)), DataType::Decimal128(38, 9));
    assert_eq!(result(&Min, DataType::Decimal128(5, 2)), DataType::Decimal128(5, 2));

    let refused = |function: &dyn StreamingAggregate, arg: DataType| {
        function.coerce_types(&[arg]).unwrap_err().to_string()
    };
    let message = refused(&Sum, DataType::Boolean);
    assert!(
        message.contains(
            "Cannot apply 'SUM' to arguments of type 'SUM(<BOOLEAN>)'. Supported form(s): 'SUM(<NUMERIC>)'"
        ),
        "{message}"
    );
    assert!(refused(&Avg, DataType::Date32).contains("AVG(<DATE>)"));
    assert!(refused(&Min, DataType::Binary).contains("Min aggregate function does not support type"));
    assert!(refused(&Count, DataType::Null).contains("untyped NULL"));
}

#[test]
fn states_honour_the_result_types_of_datafusion() {
    let state = |function: &dyn StreamingAggregate, arg_type: DataType, return_type: DataType| {
        let args = AggregateArgs {
            arg_types: &[arg_type],
            return_type: &return_type,
            retracting: false,
            in_order: false,
            ignore_nulls: false,
        };
        let mut state = function.state(&args).unwrap();
        state.grow(1);
        state
    };
    let rows = Rows { slots: &[0, 0, 0], retract: None, filter: None };
    let values: ArrayRef = Arc::new(decimals(&[Some(100), Some(200), Some(200)], 5, 2));
    let mut avg = state(&Avg, DataType::Decimal128(5, 2), DataType::Decimal128(9, 6));
    avg.accumulate(&rows, &[Arc::clone(&values)]).unwrap();
    let mean = avg.evaluate(&[0]).unwrap();
    assert_eq!((mean.data_type(), &*text(&mean)[0]), (&DataType::Decimal128(9, 6), "1.666667"));
    let mut sum = state(&Sum, DataType::Decimal128(5, 2), DataType::Decimal128(15, 2));
    sum.accumulate(&rows, &[values]).unwrap();
    let total = sum.evaluate(&[0]).unwrap();
    assert_eq!((total.data_type(), &*text(&total)[0]), (&DataType::Decimal128(15, 2), "5.00"));
}

/// The arguments that DataFusion makes an accumulator with.
fn with_accumulator_args<T>(
    udf: &FlinkAggregateUdf,
    arg: &DataType,
    make: impl FnOnce(AccumulatorArgs) -> T,
) -> T {
    let field: FieldRef = Arc::new(Field::new("v", arg.clone(), true));
    let result = udf.return_type(std::slice::from_ref(arg)).unwrap();
    make(AccumulatorArgs {
        return_field: Arc::new(Field::new("r", result, true)),
        schema: &Schema::empty(),
        ignore_nulls: false,
        order_bys: &[],
        is_reversed: false,
        name: "r",
        is_distinct: false,
        exprs: &[],
        expr_fields: &[field],
    })
}

#[test]
fn batch_accumulators() {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), Some(7), None, Some(2)]));
    for (function, whole, sliding, groups) in [
        (Arc::new(Count) as Arc<dyn StreamingAggregate>, "3", "1", ["2", "0", "1"]),
        (Arc::new(Sum), "14", "2", ["12", "NULL", "2"]),
        (Arc::new(Avg), "4", "2", ["6", "NULL", "2"]),
        (Arc::new(Min), "2", "2", ["5", "NULL", "2"]),
        (Arc::new(Max), "7", "2", ["7", "NULL", "2"]),
    ] {
        let udf = FlinkAggregateUdf::new(function);
        let mut accumulator =
            with_accumulator_args(&udf, &DataType::Int32, |args| udf.accumulator(args)).unwrap();
        accumulator.update_batch(&[Arc::clone(&values)]).unwrap();
        assert_eq!(accumulator.evaluate().unwrap().to_string(), whole);
        let state = accumulator.state().unwrap();
        let state: Vec<_> = state.iter().map(|value| value.to_array_of_size(2).unwrap()).collect();
        let mut merged = with_accumulator_args(&udf, &DataType::Int32, |args| udf.accumulator(args)).unwrap();
        merged.merge_batch(&state[..].iter().map(|column| column.slice(0, 1)).collect::<Vec<_>>()).unwrap();
        assert_eq!(merged.evaluate().unwrap().to_string(), whole);
        assert!(!merged.supports_retract_batch());

        let mut window =
            with_accumulator_args(&udf, &DataType::Int32, |args| udf.create_sliding_accumulator(args))
                .unwrap();
        assert!(window.supports_retract_batch());
        window.update_batch(&[Arc::clone(&values)]).unwrap();
        window.retract_batch(&[values.slice(0, 2)]).unwrap();
        assert_eq!(window.evaluate().unwrap().to_string(), sliding);

        let grouped = |make: fn(&FlinkAggregateUdf, AccumulatorArgs) -> Box<dyn GroupsAccumulator>| {
            with_accumulator_args(&udf, &DataType::Int32, |args| make(&udf, args))
        };
        let make =
            |udf: &FlinkAggregateUdf, args: AccumulatorArgs<'_>| udf.create_groups_accumulator(args).unwrap();
        let mut partial = grouped(make);
        partial.update_batch(&[Arc::clone(&values)], &[0, 0, 1, 2], None, 3).unwrap();
        let mut last = grouped(make);
        last.merge_batch(&partial.state(EmitTo::All).unwrap(), &[0, 1, 2], 3).unwrap();
        assert_eq!(text(&last.evaluate(EmitTo::First(1)).unwrap()), &groups[..1]);
        assert_eq!(text(&last.evaluate(EmitTo::All).unwrap()), &groups[1..]);
        // skipped partial aggregation turns rows into states
        let filter = BooleanArray::from(vec![true, true, true, false]);
        let state = last.convert_to_state(&[Arc::clone(&values)], Some(&filter)).unwrap();
        last.merge_batch(&state, &[0, 0, 1, 2], 3).unwrap();
        let expected = [groups[0], groups[1], if groups[1] == "0" { "0" } else { "NULL" }];
        assert_eq!(text(&last.evaluate(EmitTo::All).unwrap()), expected);
    }
}

#[test]
fn functions_are_found_by_what_they_are() {
    let names: Vec<_> = flink_aggregates().iter().map(|udf| udf.name().to_owned()).collect();
    assert!(
        ["count", "sum", "$sum0", "avg", "min", "max"].iter().all(|name| names.contains(&(*name).to_owned()))
    );
    for udf in flink_aggregates() {
        assert_eq!(streaming_aggregate_of(&udf).unwrap().name(), udf.name());
    }
    for udf in datafusion_functions_aggregate::all_default_aggregate_functions() {
        let known = ["count", "sum", "avg", "min", "max"].contains(&udf.name());
        assert!(streaming_aggregate_of(&udf).is_some() >= known, "{}", udf.name());
    }
}

#[test]
fn a_batch_must_fit_its_rows() {
    let v: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let mut state = call(Sum, vec![Arc::clone(&v)]).state(false);
    state.grow(1);
    let rows = Rows { slots: &[0], retract: None, filter: None };
    assert!(state.accumulate(&rows, &[v]).is_err());
    let wrong: ArrayRef = concat(&[&StringArray::from(vec!["x"])]).unwrap();
    assert!(state.accumulate(&rows, &[wrong]).is_err());
}

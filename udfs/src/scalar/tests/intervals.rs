//! Intervals.

use super::*;
use arrow::array::IntervalMonthDayNanoArray;
use arrow::datatypes::IntervalMonthDayNano;

fn interval(months: i32, days: i32, millis: i64) -> ColumnarValue {
    column(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(months, days, millis * 1_000_000)]))
}

/// A function as text cast by Flink.
fn difference(end: &str, start: &str, unit: &str) -> IntervalMonthDayNano {
    use arrow::array::AsArray;
    use arrow::datatypes::IntervalMonthDayNanoType;
    let time = |text: &str| ColumnarValue::Array(timestamps(&[text], TimeUnit::Millisecond));
    let udf = function("flink_minus");
    let args = vec![time(end), time(start), constant(unit)];
    let fields: Vec<FieldRef> =
        args.iter().map(|arg| Arc::new(Field::new("a", arg.data_type(), true)) as FieldRef).collect();
    let unit = ScalarValue::from(unit);
    let scalars = [None, None, Some(&unit)];
    let return_field = udf
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &scalars })
        .unwrap();
    let args = ScalarFunctionArgs {
        args,
        arg_fields: fields,
        number_rows: 1,
        return_field,
        config_options: Arc::default(),
    };
    let array = udf.invoke_with_args(args).unwrap().to_array(1).unwrap();
    array.as_primitive::<IntervalMonthDayNanoType>().value(0)
}

#[test]
fn differences_of_times() {
    let millis = |days, millis: i64| IntervalMonthDayNano::new(0, days, millis * 1_000_000);
    assert_eq!(difference("2024-03-01T00:00:00", "2024-02-01T00:00:00.001", "DAY"), millis(28, 86_399_999));
    assert_eq!(difference("1970-01-01T00:00:00", "1970-01-01T00:00:00.001", "SECOND"), millis(0, -1));
    assert_eq!(
        difference("2024-02-29T00:00:00", "2023-01-31T00:00:00", "MONTH"),
        IntervalMonthDayNano::new(13, 0, 0)
    );
}

#[test]
fn intervals_times_numbers() {
    let text = |args| call("flink_interval_times", args);
    assert_eq!(text(vec![interval(0, 1, 3_600_000), ints(&[Some(-24)])]), ["-25 days"]);
    assert_eq!(text(vec![interval(14, 0, 0), ints(&[Some(2)])]), ["28 mons"]);
    assert_eq!(text(vec![interval(0, 1, 0), ints(&[None])]), ["NULL"]);
    assert!(
        error("flink_interval_times", vec![interval(0, i32::MAX, 0), ints(&[Some(2)])])
            .contains("out of range")
    );
}

#[test]
fn periods_overlap() {
    let time = |text: &str| ColumnarValue::Array(timestamps(&[text], TimeUnit::Millisecond));
    let (one, two, three) = ("2024-01-01T00:00:00", "2024-01-02T00:00:00", "2024-01-03T00:00:00");
    for (a, b, c, d, expected) in [
        (one, two, two, three, "true"),
        (two, one, three, two, "true"),
        (one, one, two, three, "false"),
        ("NULL", one, two, three, "NULL"),
        (one, "NULL", one, three, "NULL"),
    ] {
        assert_eq!(
            call("flink_overlaps", vec![time(a), time(b), time(c), time(d)]),
            [expected],
            "{a} {b} {c} {d}"
        );
    }
    let args = vec![time(one), interval(0, 1, 0), time(two), interval(1, 0, 0)];
    assert_eq!(call("flink_overlaps", args), ["true"]);
}

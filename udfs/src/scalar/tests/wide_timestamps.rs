//! TIMESTAMP(7) to (9), which are held in 128 bits.

use arrow::array::IntervalMonthDayNanoArray;
use arrow::datatypes::IntervalMonthDayNano;

use super::*;
use crate::timestamps::TimestampType;

const LOCAL: u8 = 37;

/// A cast of texts, or of what they are cast to first.
fn cast_to(
    zone: &str,
    value: ColumnarValue,
    target: Field,
    lenient: bool,
) -> Result<(DataType, Vec<String>)> {
    invoke(zone, &ScalarUDF::from(FlinkCast::new(Arc::new(target), lenient)), vec![value])
}

fn field(digits: u8, is_instant: bool) -> Field {
    let field = Field::new("", TimestampType::with_digits(digits, is_instant).data_type(), true);
    if matches!(digits, 0 | 3 | 6 | 9) {
        return field;
    }
    let name = if is_instant { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
    field.with_metadata([(FLINK_TYPE.to_owned(), format!("{name}({digits})"))].into())
}

/// Timestamps of nine digits.
fn wide(texts: &[Option<&str>]) -> ColumnarValue {
    let udf = ScalarUDF::from(FlinkCast::new(Arc::new(field(9, false)), false));
    let args = vec![super::texts(texts)];
    let arg_fields: Vec<FieldRef> = vec![Arc::new(Field::new("a", DataType::Utf8, true))];
    udf.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields,
        number_rows: texts.len(),
        return_field: Arc::new(field(9, false)),
        config_options: Arc::default(),
    })
    .unwrap()
}

const ENDS: [Option<&str>; 4] = [
    Some("0001-01-01 00:00:00.000000001"),
    Some("9999-12-31 23:59:59.999999999"),
    Some("1969-12-31 23:59:59.999999999"),
    None,
];

#[test]
fn texts_of_the_whole_range() {
    let (data_type, times) = cast_to("UTC", super::texts(&ENDS), field(9, false), false).unwrap();
    assert_eq!(data_type, DataType::Decimal128(LOCAL, -9));
    assert_eq!(
        times,
        [
            "0001-01-01T00:00:00.000000001",
            "9999-12-31T23:59:59.999999999",
            "1969-12-31T23:59:59.999999999",
            "NULL"
        ]
    );
    let text = Field::new("", DataType::Utf8, true);
    let (_, texts) = cast_to("UTC", wide(&ENDS), text, false).unwrap();
    assert_eq!(texts, ENDS.map(|text| text.unwrap_or("NULL")));
    let malformed = super::texts(&[Some("2024-13-01 00:00:00")]);
    assert!(cast_to("UTC", malformed.clone(), field(9, false), false).is_err());
    assert_eq!(cast_to("UTC", malformed, field(9, false), true).unwrap().1, ["NULL"]);
}

#[test]
fn fewer_digits_are_cut() {
    for (digits, expected) in [
        (
            8,
            [
                "0001-01-01T00:00:00.000000001",
                "9999-12-31T23:59:59.999999990",
                "1969-12-31T23:59:59.999999990",
            ],
        ),
        (
            7,
            [
                "0001-01-01T00:00:00.000000001",
                "9999-12-31T23:59:59.999999900",
                "1969-12-31T23:59:59.999999900",
            ],
        ),
        (6, ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"]),
        (3, ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999", "1969-12-31T23:59:59.999"]),
        // of a second and less toward 1970
        (0, ["0001-01-01T00:00:00", "9999-12-31T23:59:59", "1970-01-01T00:00:00"]),
    ] {
        let (_, times) = cast_to("UTC", wide(&ENDS), field(digits, false), false).unwrap();
        assert_eq!(times[..3], expected, "{digits}");
    }
}

#[test]
fn more_digits_and_zones() {
    let millis =
        || ColumnarValue::Array(timestamps(&["9999-12-31T23:59:59.999", "NULL"], TimeUnit::Millisecond));
    assert_eq!(
        cast_to("UTC", millis(), field(9, false), false).unwrap().1,
        ["9999-12-31T23:59:59.999", "NULL"]
    );
    let (data_type, instants) =
        cast_to("America/New_York", wide(&[Some("2024-07-01 12:34:56.123456789")]), field(9, true), false)
            .unwrap();
    assert_eq!(data_type, DataType::Decimal128(38, -9));
    assert_eq!(instants, ["2024-07-01T16:34:56.123456789Z"]);
    // Arrow's own nanoseconds are taken, too, and given up to their range
    let arrow = Field::new("", DataType::Timestamp(TimeUnit::Nanosecond, None), true);
    let near = wide(&[Some("2024-07-01 12:34:56.123456789"), None]);
    let (_, narrow) = cast_to("UTC", near.clone(), arrow.clone(), false).unwrap();
    assert_eq!(narrow, ["2024-07-01T12:34:56.123456789", "NULL"]);
    assert_eq!(call("arrow_timestamp", vec![near]), narrow);
    assert!(cast_to("UTC", wide(&ENDS), arrow.clone(), false).is_err());
    assert_eq!(cast_to("UTC", wide(&ENDS), arrow, true).unwrap().1[..2], ["NULL", "NULL"]);
    assert!(error("arrow_timestamp", vec![wide(&ENDS)]).contains("1677 to 2262"));
    let nanos = ColumnarValue::Array(timestamps(&["2024-07-01T12:34:56.123456789"], TimeUnit::Nanosecond));
    assert_eq!(cast_to("UTC", nanos, field(9, false), false).unwrap().1, ["2024-07-01T12:34:56.123456789"]);
    let date = Field::new("", DataType::Date32, true);
    assert_eq!(
        cast_to("UTC", wide(&ENDS), date, false).unwrap().1,
        ["0001-01-01", "9999-12-31", "1970-01-01", "NULL"]
    );
}

#[test]
fn fields() {
    for (name, expected) in [
        ("year", ["1", "9999", "1970", "NULL"]),
        ("month", ["1", "12", "1", "NULL"]),
        ("dayofmonth", ["1", "31", "1", "NULL"]),
        ("hour", ["0", "23", "0", "NULL"]),
        ("second", ["0", "59", "0", "NULL"]),
    ] {
        assert_eq!(call(name, vec![wide(&ENDS)]), expected, "{name}");
    }
    assert_eq!(
        call("date_part", vec![constant("NANOSECOND"), wide(&ENDS)]),
        ["1", "999999999", "-1", "NULL"]
    );
    let early = || wide(&[Some("0001-01-01 01:02:03.004005006"), Some("1969-12-31 23:59:59.000000005")]);
    for (unit, expected) in [
        ("HOUR", ["-22", "0"]),
        ("SECOND", ["-56", "-1"]),
        ("MILLISECOND", ["-996", "0"]),
        ("MICROSECOND", ["-995995", "0"]),
        ("NANOSECOND", ["-995994994", "5"]),
    ] {
        assert_eq!(call("date_part", vec![constant(unit), early()]), expected, "{unit}");
    }
    assert_eq!(
        call("date_part", vec![constant("EPOCH"), wide(&ENDS)]),
        ["-62135596800", "253402300799", "0", "NULL"]
    );
    assert_eq!(
        call("date_format", vec![wide(&ENDS), constant("yyyy ss.SSSSSSSSS")]),
        ["0001 00.000000001", "9999 59.999999999", "1969 59.999999999", "NULL"]
    );
    assert_eq!(
        call("flink_floor", vec![wide(&ENDS), constant("SECOND")]),
        ["0001-01-01T00:00:00", "9999-12-31T23:59:59", "1969-12-31T23:59:59", "NULL"]
    );
    assert_eq!(
        call("flink_ceil", vec![wide(&ENDS), constant("MILLISECOND")]),
        ["0001-01-01T00:00:00.001", "10000-01-01T00:00:00", "1970-01-01T00:00:00", "NULL"]
    );
}

#[test]
fn plus_and_minus() {
    let interval = |months, days, millis: i64| {
        let value = IntervalMonthDayNano::new(months, days, millis * 1_000_000);
        column(IntervalMonthDayNanoArray::from(vec![Some(value), Some(value), Some(value), None]))
    };
    let times = || {
        wide(&[
            Some("2024-01-31 10:00:00.123456789"),
            Some("0001-01-01 00:00:00.000000001"),
            None,
            Some("2024-01-01 00:00:00"),
        ])
    };
    assert_eq!(
        call("flink_shift", vec![times(), interval(1, 0, 0)]),
        ["2024-02-29T10:00:00.123456789", "0001-02-01T00:00:00.000000001", "NULL", "NULL"]
    );
    assert_eq!(
        call("flink_shift_back", vec![times(), interval(0, 1, 1)]),
        ["2024-01-30T10:00:00.122456789", "0000-12-30T23:59:59.999000001", "NULL", "NULL"]
    );
    assert_eq!(
        call("flink_timestampadd", vec![constant("MONTH"), int(1), times()])[..2],
        ["2024-02-29T10:00:00.123456789", "0001-02-01T00:00:00.000000001"]
    );
    assert_eq!(
        call("flink_timestampadd", vec![constant("SECOND"), int(-1), times()])[..2],
        ["2024-01-31T09:59:59.123456789", "0000-12-31T23:59:59.000000001"]
    );
    let far = ColumnarValue::Scalar(ScalarValue::from(i64::MAX));
    assert!(error("flink_timestampadd", vec![constant("WEEK"), far, times()]).contains("out of range"));
    assert_eq!(
        call("flink_timestampdiff", vec![constant("YEAR"), wide(&ENDS[..1]), wide(&ENDS[1..2])]),
        ["9998"]
    );
}

#[test]
fn they_are_no_numbers() {
    for name in ["abs", "sign", "sqrt", "floor", "round", "mod"] {
        let args = if name == "mod" { vec![wide(&ENDS), int(2)] } else { vec![wide(&ENDS)] };
        let refused = error(name, args);
        assert!(refused.contains("TIMESTAMP(9)"), "{name}: {refused}");
    }
    let field = |digits, is_instant| {
        Field::new("a", TimestampType::with_digits(digits, is_instant).data_type(), true)
    };
    assert_eq!(type_of(field(9, false), None), "TIMESTAMP(9)");
    assert_eq!(type_of(field(7, true), None), "TIMESTAMP_LTZ(9)");
}

//! Functions of dates and times that are read from and written as text.

use super::*;

#[test]
fn text_as_date() {
    let rows = || texts(&[Some("2024-02-29 10:11"), Some("2023-02-29"), None, Some("2024-2"), Some("x")]);
    assert_eq!(call("to_date", vec![rows()]), ["2024-02-29", "NULL", "NULL", "2024-02-01", "NULL"]);
    let rows = || texts(&[Some("29/02/2024 tail"), Some("30/02/2024"), None, Some("x")]);
    assert_eq!(
        call("to_date", vec![rows(), constant("dd/MM/yyyy")]),
        ["2024-02-29", "2024-03-01", "NULL", "NULL"]
    );
    assert!(error("to_date", vec![rows(), constant("b")]).contains("Illegal pattern character"));
}

#[test]
fn seconds_since_the_epoch() {
    let rows = || texts(&[Some("1970-01-01 00:00:01"), Some("x"), None]);
    assert_eq!(call("unix_timestamp", vec![rows()]), ["1", "-9223372036854775808", "NULL"]);
    let berlin = |name: &str, args| call_in("Europe/Berlin", name, args).unwrap().1;
    // 02:30 comes twice: the later one
    assert_eq!(berlin("unix_timestamp", vec![constant("2024-10-27 02:30:00")]), ["1729992600"]);
    assert_eq!(
        berlin("unix_timestamp", vec![constant("27.10.2024"), constant("dd.MM.yyyy")]),
        ["1729980000"]
    );
    assert_eq!(
        berlin("from_unixtime", vec![longs(&[Some(0), Some(-1), None])]),
        ["1970-01-01 01:00:00", "1970-01-01 00:59:59", "NULL"]
    );
    assert_eq!(call("from_unixtime", vec![longs(&[Some(0)]), constant("EEE d MMM")]), ["Thu 1 Jan"]);
    assert_eq!(call("from_unixtime", vec![longs(&[Some(0)]), null(DataType::Utf8)]), ["NULL"]);
    assert_eq!(
        call(
            "convert_tz",
            vec![constant("2024-11-03 01:30:00"), constant("America/New_York"), constant("UTC")]
        ),
        ["2024-11-03 06:30:00"]
    );
}

#[test]
fn fields_of_times() {
    let time = ColumnarValue::Array(timestamps(&["2024-02-29T13:45:59", "NULL"], TimeUnit::Millisecond));
    for (name, expected) in [
        ("year", "2024"),
        ("quarter", "1"),
        ("month", "2"),
        ("week", "9"),
        ("dayofyear", "60"),
        ("dayofmonth", "29"),
        ("dayofweek", "5"),
        ("hour", "13"),
        ("minute", "45"),
        ("second", "59"),
    ] {
        assert_eq!(call(name, vec![time.clone()]), [expected, "NULL"], "{name}");
    }
    let time = column(Time32SecondArray::from(vec![3_600]));
    assert_eq!(call("hour", vec![time.clone()]), ["1"]);
    assert!(error("year", vec![time]).contains("YEAR can not be applied to time"));
}

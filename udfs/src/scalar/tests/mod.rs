//! Scalar functions as DataFusion calls them, with Flink's answers.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Int8Array, Int32Array, Int64Array, ListArray, StringArray,
    Time32SecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};

use super::*;
use crate::types::FLINK_TYPE;

mod choices;
mod collections;
mod decimals;
mod encodings;
mod intervals;
mod numbers;
mod texts;
mod times;
mod wide_timestamps;

fn function(name: &str) -> Arc<ScalarUDF> {
    let named = |udf: &Arc<ScalarUDF>| udf.name() == name || udf.aliases().iter().any(|alias| alias == name);
    flink_scalars().into_iter().find(named).unwrap()
}

fn constant(text: &str) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(text))
}

fn column(array: impl Array + 'static) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(array))
}

/// Coerces and calls a function in a session with a zone.
fn call_in(zone: &str, name: &str, args: Vec<ColumnarValue>) -> Result<(DataType, Vec<String>)> {
    invoke(zone, &function(name), args)
}

/// Coerces the arguments and calls a function.
fn invoke(zone: &str, udf: &ScalarUDF, args: Vec<ColumnarValue>) -> Result<(DataType, Vec<String>)> {
    let name = udf.name();
    let types: Vec<_> = args.iter().map(ColumnarValue::data_type).collect();
    let types = udf.coerce_types(&types)?;
    let args: Vec<_> =
        args.into_iter().zip(&types).map(|(arg, to)| arg.cast_to(to, None)).collect::<Result<_>>()?;
    let number_rows = args
        .iter()
        .find_map(|arg| match arg {
            ColumnarValue::Array(array) => Some(array.len()),
            ColumnarValue::Scalar(_) => None,
        })
        .unwrap_or(1);
    let arg_fields: Vec<FieldRef> =
        types.iter().map(|data_type| Arc::new(Field::new("a", data_type.clone(), true))).collect();
    let scalars: Vec<_> = args
        .iter()
        .map(|arg| match arg {
            ColumnarValue::Scalar(value) => Some(value),
            ColumnarValue::Array(_) => None,
        })
        .collect();
    let return_field =
        udf.return_field_from_args(ReturnFieldArgs { arg_fields: &arg_fields, scalar_arguments: &scalars })?;
    let mut config = ConfigOptions::default();
    config.execution.time_zone = Some(zone.to_owned());
    let constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let result = udf.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields,
        number_rows,
        return_field: Arc::clone(&return_field),
        config_options: Arc::new(config),
    })?;
    assert_eq!(matches!(result, ColumnarValue::Scalar(_)), constant, "{name}");
    let array = result.to_array(number_rows)?;
    assert_eq!((array.data_type(), array.len()), (return_field.data_type(), number_rows), "{name}");
    let options = FormatOptions::default().with_null("NULL");
    let array = crate::timestamps::readable(&array)?;
    let formatter = ArrayFormatter::try_new(&array, &options).unwrap();
    let texts = (0..array.len()).map(|row| formatter.value(row).to_string()).collect();
    Ok((return_field.data_type().clone(), texts))
}

fn texts(texts: &[Option<&str>]) -> ColumnarValue {
    column(StringArray::from(texts.to_vec()))
}

fn ints(numbers: &[Option<i32>]) -> ColumnarValue {
    column(Int32Array::from(numbers.to_vec()))
}

fn longs(numbers: &[Option<i64>]) -> ColumnarValue {
    column(Int64Array::from(numbers.to_vec()))
}

fn int(number: i32) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(number))
}

fn null(data_type: DataType) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::try_from(&data_type).unwrap())
}

/// Arrays of INT.
fn lists(lists: &[Option<Vec<Option<i32>>>]) -> ColumnarValue {
    column(ListArray::from_iter_primitive::<Int32Type, _, _>(lists.to_vec()))
}

fn call(name: &str, args: Vec<ColumnarValue>) -> Vec<String> {
    call_in("UTC", name, args).unwrap().1
}

fn error(name: &str, args: Vec<ColumnarValue>) -> String {
    call_in("UTC", name, args).unwrap_err().to_string()
}

fn timestamps(texts: &[&str], unit: TimeUnit) -> ArrayRef {
    let texts: StringArray = texts.iter().map(|text| Some(*text).filter(|text| *text != "NULL")).collect();
    cast(&texts, &DataType::Timestamp(unit, None)).unwrap()
}

fn decimals(values: &[Option<i128>], precision: u8, scale: i8) -> ColumnarValue {
    column(Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap())
}

const TIMES: [&str; 7] = [
    "2024-05-17T13:45:59.123",
    "1970-01-01T00:00:00",
    "1969-12-31T23:59:59.999",
    "2001-01-01T00:00:00.001",
    "1899-11-30T06:30:30.500",
    "NULL",
    "2024-12-29T23:59:59.999",
];

fn round(name: &str, unit: &str) -> Vec<String> {
    let times = timestamps(&TIMES, TimeUnit::Millisecond);
    call(name, vec![ColumnarValue::Array(times), constant(unit)])
        .into_iter()
        .map(|text| text.trim_end_matches("T00:00:00").to_owned())
        .collect()
}

#[test]
fn floor_of_timestamps() {
    for (unit, expected) in [
        (
            "YEAR",
            ["2024-01-01", "1970-01-01", "1970-01-01", "2001-01-01", "1899-01-01", "NULL", "2024-01-01"],
        ),
        (
            "QUARTER",
            ["2024-04-01", "1970-01-01", "1970-01-01", "2001-01-01", "1899-10-01", "NULL", "2024-10-01"],
        ),
        (
            "MONTH",
            ["2024-05-01", "1970-01-01", "1970-01-01", "2001-01-01", "1899-12-01", "NULL", "2024-12-01"],
        ),
        (
            "WEEK",
            ["2024-05-12", "1969-12-28", "1969-12-28", "2000-12-31", "1899-11-26", "NULL", "2024-12-29"],
        ),
        ("DAY", ["2024-05-17", "1970-01-01", "1969-12-31", "2001-01-01", "1899-11-30", "NULL", "2024-12-29"]),
        (
            "DECADE",
            ["2020-01-01", "1970-01-01", "1970-01-01", "2000-01-01", "1890-01-01", "NULL", "2020-01-01"],
        ),
        (
            "CENTURY",
            ["2001-01-01", "1901-01-01", "1901-01-01", "2001-01-01", "1801-01-01", "NULL", "2001-01-01"],
        ),
        (
            "MILLENNIUM",
            ["2001-01-01", "1001-01-01", "1001-01-01", "2001-01-01", "1001-01-01", "NULL", "2001-01-01"],
        ),
    ] {
        assert_eq!(round("flink_floor", unit), expected, "{unit}");
    }
    assert_eq!(
        round("flink_floor", "HOUR"),
        [
            "2024-05-17T13:00:00",
            "1970-01-01",
            "1969-12-31T23:00:00",
            "2001-01-01",
            "1899-11-30T06:00:00",
            "NULL",
            "2024-12-29T23:00:00"
        ]
    );
    assert_eq!(
        round("flink_floor", "SECOND")[2..5],
        ["1969-12-31T23:59:59", "2001-01-01", "1899-11-30T06:30:30"]
    );
}

#[test]
fn ceil_of_timestamps() {
    for (unit, expected) in [
        (
            "YEAR",
            ["2025-01-01", "1970-01-01", "1970-01-01", "2001-01-01", "1900-01-01", "NULL", "2025-01-01"],
        ),
        (
            "QUARTER",
            ["2024-07-01", "1970-01-01", "1970-01-01", "2001-01-01", "1900-01-01", "NULL", "2025-01-01"],
        ),
        (
            "MONTH",
            ["2024-06-01", "1970-01-01", "1970-01-01", "2001-01-01", "1899-12-01", "NULL", "2025-01-01"],
        ),
        (
            "WEEK",
            ["2024-05-19", "1970-01-04", "1970-01-04", "2001-01-07", "1899-12-03", "NULL", "2024-12-29"],
        ),
        ("DAY", ["2024-05-18", "1970-01-01", "1970-01-01", "2001-01-02", "1899-12-01", "NULL", "2024-12-30"]),
        (
            "DECADE",
            ["2030-01-01", "1980-01-01", "1980-01-01", "2010-01-01", "1900-01-01", "NULL", "2030-01-01"],
        ),
        (
            "CENTURY",
            ["2101-01-01", "2001-01-01", "2001-01-01", "2101-01-01", "1901-01-01", "NULL", "2101-01-01"],
        ),
        (
            "MILLENNIUM",
            ["3001-01-01", "2001-01-01", "2001-01-01", "3001-01-01", "2001-01-01", "NULL", "3001-01-01"],
        ),
    ] {
        assert_eq!(round("flink_ceil", unit), expected, "{unit}");
    }
    assert_eq!(round("flink_ceil", "SECOND")[3..5], ["2001-01-01T00:00:01", "1899-11-30T06:30:31"]);
}

#[test]
fn rounding_of_nanoseconds() {
    let times = || {
        let texts = [
            "2024-05-17T13:45:59.123456789",
            "1969-12-31T23:59:59.999999999",
            "2001-01-01T00:00:00.000000001",
        ];
        ColumnarValue::Array(timestamps(&texts, TimeUnit::Nanosecond))
    };
    assert_eq!(
        call("flink_floor", vec![times(), constant("MILLISECOND")]),
        ["2024-05-17T13:45:59.123", "1969-12-31T23:59:59.999", "2001-01-01T00:00:00"]
    );
    assert_eq!(
        call("flink_ceil", vec![times(), constant("MILLISECOND")]),
        ["2024-05-17T13:45:59.124", "1970-01-01T00:00:00", "2001-01-01T00:00:00.001"]
    );
    assert_eq!(
        call("flink_ceil", vec![times(), constant("SECOND")]),
        ["2024-05-17T13:46:00", "1970-01-01T00:00:00", "2001-01-01T00:00:00"]
    );
}

#[test]
fn rounding_of_dates_and_times() {
    let dates = || {
        let texts = StringArray::from(vec![Some("2024-05-17"), Some("1970-01-01"), Some("1969-12-31"), None]);
        ColumnarValue::Array(cast(&texts, &DataType::Date32).unwrap())
    };
    for (name, unit, expected) in [
        ("flink_floor", "WEEK", ["2024-05-12", "1969-12-28", "1969-12-28", "NULL"]),
        ("flink_floor", "QUARTER", ["2024-04-01", "1970-01-01", "1969-10-01", "NULL"]),
        ("flink_floor", "HOUR", ["2024-05-17", "1970-01-01", "1969-12-31", "NULL"]),
        ("flink_ceil", "DAY", ["2024-05-18", "1970-01-02", "1970-01-01", "NULL"]),
        ("flink_ceil", "HOUR", ["2024-05-17", "1970-01-01", "1969-12-31", "NULL"]),
        ("flink_ceil", "MONTH", ["2024-06-01", "1970-01-01", "1970-01-01", "NULL"]),
    ] {
        assert_eq!(call(name, vec![dates(), constant(unit)]), expected, "{name} {unit}");
    }
    let seconds = |hour: i32, minute: i32, second: i32| (hour * 60 + minute) * 60 + second;
    let times = || column(Time32SecondArray::from(vec![Some(seconds(13, 45, 59)), Some(0), Some(1), None]));
    for (name, unit, expected) in [
        ("flink_floor", "HOUR", ["13:00:00", "00:00:00", "00:00:00", "NULL"]),
        ("flink_ceil", "HOUR", ["14:00:00", "00:00:00", "01:00:00", "NULL"]),
        ("flink_ceil", "MINUTE", ["13:46:00", "00:00:00", "00:01:00", "NULL"]),
        ("flink_floor", "DAY", ["13:45:59", "00:00:00", "00:00:01", "NULL"]),
        ("flink_ceil", "DAY", ["13:45:59", "00:00:00", "00:00:01", "NULL"]),
        ("flink_floor", "MONTH", ["13:45:58", "00:00:00", "00:00:00", "NULL"]),
    ] {
        assert_eq!(call(name, vec![times(), constant(unit)]), expected, "{name} {unit}");
    }
    let late = column(Time32SecondArray::from(vec![seconds(23, 59, 59)]));
    assert!(error("flink_ceil", vec![late, constant("HOUR")]).contains("out of the range of a day"));
    assert!(error("flink_floor", vec![dates(), constant("FORTNIGHT")]).contains("FORTNIGHT"));
    let refused = error("flink_floor", vec![constant("2024-01-01"), constant("DAY")]);
    assert!(refused.contains("Cannot apply 'FLOOR'"), "{refused}");
}

#[test]
fn instants_are_rounded_in_the_session_zone() {
    let texts = ["2024-03-10T07:30:15.123", "2024-11-03T05:30:15.123", "1969-12-31T23:59:59.999", "NULL"];
    let instants = || {
        let times = timestamps(&texts, TimeUnit::Millisecond);
        let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        ColumnarValue::Array(cast(&times, &utc).unwrap())
    };
    let rounded =
        |zone: &str, name: &str, unit: &str| call_in(zone, name, vec![instants(), constant(unit)]).unwrap().1;
    // the offset is that of the instant, also across a clock change
    assert_eq!(
        rounded("America/New_York", "flink_floor", "DAY"),
        ["2024-03-10T04:00:00Z", "2024-11-03T04:00:00Z", "1969-12-31T05:00:00Z", "NULL"]
    );
    assert_eq!(
        rounded("America/New_York", "flink_ceil", "MONTH"),
        ["2024-04-01T04:00:00Z", "2024-12-01T04:00:00Z", "1970-01-01T05:00:00Z", "NULL"]
    );
    assert_eq!(
        rounded("Asia/Kathmandu", "flink_floor", "HOUR"),
        ["2024-03-10T07:15:00Z", "2024-11-03T05:15:00Z", "1969-12-31T23:30:00Z", "NULL"]
    );
    assert_eq!(rounded("Asia/Kathmandu", "flink_floor", "MINUTE")[0], "2024-03-10T07:30:00Z");
    let shown =
        call_in("Asia/Kathmandu", "date_format", vec![instants(), constant("yyyy-MM-dd HH:mm")]).unwrap().1;
    assert_eq!(shown, ["2024-03-10 13:15", "2024-11-03 11:15", "1970-01-01 05:29", "NULL"]);
}

#[test]
fn date_format() {
    let times = || column(TimestampMillisecondArray::from(vec![Some(1_707_483_907_089), Some(-1), None]));
    assert_eq!(
        call("date_format", vec![times(), constant("yyyy-MM-dd HH:mm:ss.SSS")]),
        ["2024-02-09 13:05:07.089", "1969-12-31 23:59:59.999", "NULL"]
    );
    let patterns = StringArray::from(vec![Some("EEE"), None, Some("EEE")]);
    assert_eq!(call("date_format", vec![times(), column(patterns)]), ["Fri", "NULL", "NULL"]);
    assert_eq!(
        call("date_format", vec![times(), ColumnarValue::Scalar(ScalarValue::Utf8(None))]),
        ["NULL"; 3]
    );
    let nanos = column(TimestampNanosecondArray::from(vec![1_707_483_907_123_456_789]));
    assert_eq!(call("date_format", vec![nanos, constant("ss.SSSSSSSSS")]), ["07.123456789"]);
    let texts = StringArray::from(vec![Some("2024-02-09 13:05:07"), Some("not a time"), None]);
    assert_eq!(
        call("date_format", vec![column(texts), constant("dd.MM.yyyy")]),
        ["09.02.2024", "NULL", "NULL"]
    );
    assert_eq!(call("date_format", vec![constant("2024-02-09 13:05:07"), constant("HH")]), ["13"]);
    assert!(error("date_format", vec![times(), constant("yyyy b")]).contains("Unknown pattern letter: b"));
    let date = column(Date32Array::from(vec![0]));
    let refused = error("date_format", vec![date, constant("yyyy")]);
    assert!(
        refused.contains("Cannot apply 'DATE_FORMAT' to arguments of type 'DATE_FORMAT(<DATE>"),
        "{refused}"
    );
}

#[test]
fn to_timestamp() {
    let texts = || {
        column(StringArray::from(vec![
            Some("2024-02-29 10:11:12.123456"),
            Some("2024-02-29 25:00:00"),
            Some("garbage"),
            None,
        ]))
    };
    assert_eq!(call("to_timestamp", vec![texts()]), ["2024-02-29T10:11:12.123", "NULL", "NULL", "NULL"]);
    // the fallback lets 25 o'clock roll over
    assert_eq!(
        call("to_timestamp", vec![texts(), constant("yyyy-MM-dd HH:mm:ss")]),
        ["2024-02-29T10:11:12.123", "2024-03-01T01:00:00", "NULL", "NULL"]
    );
    assert_eq!(call("to_timestamp", vec![texts(), constant("yyyy b")]), ["NULL"; 4]);
    let (data_type, _) = call_in("UTC", "to_timestamp", vec![texts()]).unwrap();
    assert_eq!(data_type, DataType::Timestamp(TimeUnit::Millisecond, None));
    assert!(
        error("to_timestamp", vec![column(Int32Array::from(vec![1]))])
            .contains("Cannot apply 'TO_TIMESTAMP'")
    );
}

#[test]
fn split_index() {
    let texts =
        || column(StringArray::from(vec![Some("banana"), Some(""), None, Some("é漢😀漢"), Some("a,b,,c")]));
    let index = |index: i32| ColumnarValue::Scalar(ScalarValue::from(index));
    assert_eq!(
        call("split_index", vec![texts(), constant(","), index(0)]),
        ["banana", "NULL", "NULL", "é漢😀漢", "a"]
    );
    assert_eq!(call("split_index", vec![texts(), constant(","), index(2)])[4], "");
    assert_eq!(call("split_index", vec![texts(), constant(","), index(-1)]), ["NULL"; 5]);
    assert_eq!(call("split_index", vec![texts(), constant(","), index(99)]), ["NULL"; 5]);
    assert_eq!(call("split_index", vec![texts(), constant("an"), index(2)])[0], "a");
    assert_eq!(call("split_index", vec![texts(), constant(""), index(0)])[3], "é漢😀漢");
    assert_eq!(call("split_index", vec![texts(), constant(""), index(1)]), ["NULL"; 5]);
    assert_eq!(call("split_index", vec![texts(), index(44), index(3)])[4], "c");
    assert_eq!(call("split_index", vec![texts(), index(97), index(1)])[0], "n");
    for code in [0, 256, -1] {
        assert_eq!(call("split_index", vec![texts(), index(code), index(0)]), ["NULL"; 5]);
    }
}

fn type_of(field: Field, full: Option<bool>) -> String {
    let udf = function("typeof");
    let mut args = vec![column(arrow::array::NullArray::new(3))];
    let mut arg_fields: Vec<FieldRef> = vec![Arc::new(field)];
    if let Some(full) = full {
        args.push(ColumnarValue::Scalar(ScalarValue::from(full)));
        arg_fields.push(Arc::new(Field::new("full", DataType::Boolean, false)));
    }
    let result = udf
        .invoke_with_args(ScalarFunctionArgs {
            args,
            arg_fields,
            number_rows: 3,
            return_field: Arc::new(Field::new("t", DataType::Utf8, false)),
            config_options: Arc::default(),
        })
        .unwrap();
    match result {
        ColumnarValue::Scalar(text) => text.to_string(),
        ColumnarValue::Array(_) => panic!("TYPEOF is a constant"),
    }
}

#[test]
fn names_of_types() {
    let null = |data_type: DataType| type_of(Field::new("a", data_type, true), None);
    let int = |null| Field::new("item", DataType::Int32, null);
    let row = DataType::Struct(
        vec![Field::new("p", DataType::Int32, true), Field::new("q", DataType::Utf8, true)].into(),
    );
    let entries = Field::new(
        "entries",
        DataType::Struct(
            vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int64, true)].into(),
        ),
        false,
    );
    for (data_type, expected) in [
        (DataType::Boolean, "BOOLEAN"),
        (DataType::Int8, "TINYINT"),
        (DataType::Int64, "BIGINT"),
        (DataType::Float32, "FLOAT"),
        (DataType::Decimal128(38, 2), "DECIMAL(38, 2)"),
        (DataType::Utf8, "STRING"),
        (DataType::Utf8View, "STRING"),
        (DataType::Binary, "BYTES"),
        (DataType::Date32, "DATE"),
        (DataType::Time32(TimeUnit::Second), "TIME(0)"),
        (DataType::Timestamp(TimeUnit::Millisecond, None), "TIMESTAMP(3)"),
        (DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), "TIMESTAMP_LTZ(9)"),
        (DataType::List(Arc::new(int(true))), "ARRAY<INT>"),
        (DataType::List(Arc::new(int(false))), "ARRAY<INT NOT NULL>"),
        (DataType::Map(Arc::new(entries), false), "MAP<STRING, BIGINT>"),
        (row.clone(), "ROW<`p` INT, `q` STRING>"),
        (DataType::Null, "NULL"),
    ] {
        assert_eq!(null(data_type), expected);
    }
    assert_eq!(type_of(Field::new("a", DataType::Int64, false), None), "BIGINT NOT NULL");
    let char3 = Field::new("a", DataType::Utf8, false)
        .with_metadata([(FLINK_TYPE.to_owned(), "CHAR(3)".to_owned())].into());
    assert_eq!(type_of(char3, None), "CHAR(3) NOT NULL");
    assert_eq!(type_of(Field::new("a", DataType::Utf8, true), Some(true)), "VARCHAR(2147483647)");
    assert_eq!(type_of(Field::new("a", DataType::Utf8, true), Some(false)), "STRING");
    assert_eq!(type_of(Field::new("a", row, true), Some(true)), "ROW<`p` INT, `q` VARCHAR(2147483647)>");
}

#[test]
fn typeof_is_planned_as_a_constant() {
    use datafusion_common::DFSchema;
    use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
    use datafusion_expr::{col, lit};
    let schema = arrow::datatypes::Schema::new(vec![Field::new("v", DataType::Int64, false)]);
    let schema = Arc::new(DFSchema::try_from(schema).unwrap());
    let context = SimplifyContext::builder().with_schema(schema).build();
    match function("typeof").simplify(vec![col("v")], &context).unwrap() {
        ExprSimplifyResult::Simplified(expr) => assert_eq!(expr, lit("BIGINT NOT NULL")),
        ExprSimplifyResult::Original(_) => panic!("not simplified"),
    }
}

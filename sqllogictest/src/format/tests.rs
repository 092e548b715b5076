use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Fields, Int32Type, IntervalDayTime, IntervalMonthDayNano, Schema};

use super::*;

/// The text of every value of an array.
fn texts(array: impl Array) -> Vec<String> {
    (0..array.len()).map(|row| cell(&array, row).unwrap()).collect()
}

#[test]
fn null_and_the_empty_string_can_be_told_apart() {
    let strings = vec![Some("NULL"), None, Some(""), Some(" a b ")];
    let expected = ["NULL", "NULL", "(empty)", " a b "];
    assert_eq!(texts(StringArray::from(strings.clone())), expected);
    assert_eq!(texts(LargeStringArray::from(strings.clone())), expected);
    assert_eq!(texts(StringViewArray::from(strings)), expected);
    assert_eq!(texts(NullArray::new(1)), ["NULL"]);
}

#[test]
fn booleans_and_integers() {
    assert_eq!(texts(BooleanArray::from(vec![Some(true), Some(false), None])), ["true", "false", "NULL"]);
    assert_eq!(texts(Int8Array::from(vec![-128])), ["-128"]);
    assert_eq!(texts(Int16Array::from(vec![-32768])), ["-32768"]);
    assert_eq!(texts(Int32Array::from(vec![i32::MAX])), ["2147483647"]);
    assert_eq!(texts(Int64Array::from(vec![i64::MIN])), ["-9223372036854775808"]);
    assert_eq!(texts(UInt64Array::from(vec![u64::MAX])), ["18446744073709551615"]);
}

/// From scalar/float_arithmetic.slt and aggregate/floats.slt.
#[test]
fn floats_are_the_shortest_digits_without_exponent() {
    let doubles = [
        (10.0, "10"),
        (0.1, "0.1"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e10, "10000000000"),
        (-1.5e20, "-150000000000000000000"),
        (1e-20, "0.00000000000000000001"),
        (0.1 + 0.2, "0.30000000000000004"),
        (9223372036854775807.0, "9223372036854776000"),
        (0.1f32 as f64 * 2.0, "0.20000000298023224"),
        (2.0 / 3.0, "0.6666666666666666"),
        (f64::NAN, "NaN"),
        (-f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ];
    for (number, text) in doubles {
        assert_eq!(texts(Float64Array::from(vec![number])), [text]);
    }
    let floats = [
        (0.1, "0.1"),
        (-0.0, "0"),
        (1.000_000_05e-20, "0.0000000000000000000100000005"),
        (4.0 / 3.0, "1.3333334"),
        (16777216.0, "16777216"),
        (f32::MAX, "340282350000000000000000000000000000000"),
        (f32::NAN, "NaN"),
        (f32::NEG_INFINITY, "-Infinity"),
    ];
    for (number, text) in floats {
        assert_eq!(texts(Float32Array::from(vec![number])), [text]);
    }
}

#[test]
fn decimals_have_all_digits_of_their_scale() {
    let decimals = |values: Vec<i128>, precision, scale| {
        texts(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap())
    };
    assert_eq!(decimals(vec![0, 5, -5, 150, -12345], 5, 2), ["0.00", "0.05", "-0.05", "1.50", "-123.45"]);
    assert_eq!(decimals(vec![0, -7], 9, 0), ["0", "-7"]);
    assert_eq!(decimals(vec![4_000_000_000_000_000_001], 38, 18), ["4.000000000000000001"]);
    assert_eq!(
        decimals(vec![10i128.pow(38) - 1], 38, 38),
        [format!("0.{}", "9".repeat(38))],
        "no digit left of the point"
    );
    let wide = Decimal256Array::from(vec![i256::from_i128(-1050)]).with_precision_and_scale(40, 3).unwrap();
    assert_eq!(texts(wide), ["-1.050"]);
}

#[test]
fn bytes_are_lower_case_hex() {
    let bytes: Vec<&[u8]> = vec![&[0, 10, 171, 255], &[]];
    assert_eq!(texts(BinaryArray::from(bytes.clone())), ["000aabff", ""]);
    assert_eq!(texts(LargeBinaryArray::from(bytes.clone())), ["000aabff", ""]);
    assert_eq!(texts(BinaryViewArray::from(bytes)), ["000aabff", ""]);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1u8, 2u8]].into_iter()).unwrap();
    assert_eq!(texts(fixed), ["0102"]);
}

#[test]
fn dates_of_any_year() {
    let dates = vec![0, -1, 19_753, 2_932_897, -719_529, -721_354, 108_853_281];
    let expected = [
        "1970-01-01",
        "1969-12-31",
        "2024-01-31",
        "+10000-01-01",
        "-0001-12-31",
        "-0005-01-01",
        "+300000-02-29",
    ];
    assert_eq!(texts(Date32Array::from(dates)), expected);
    assert_eq!(texts(Date64Array::from(vec![-1, 86_400_000])), ["1969-12-31", "1970-01-02"]);
}

#[test]
fn times_have_the_fewest_digits_that_lose_nothing() {
    assert_eq!(texts(Time32SecondArray::from(vec![0, 86_399])), ["00:00:00", "23:59:59"]);
    assert_eq!(texts(Time32MillisecondArray::from(vec![1_000, 1_500])), ["00:00:01", "00:00:01.500"]);
    assert_eq!(texts(Time64MicrosecondArray::from(vec![45_000_001_000])), ["12:30:00.001"]);
    assert_eq!(
        texts(Time64NanosecondArray::from(vec![1_000, 1, 10_000_000])),
        ["00:00:00.000001", "00:00:00.000000001", "00:00:00.010"]
    );
}

/// From aggregate/group_keys.slt, except the years.
#[test]
fn timestamps_before_and_after_the_epoch() {
    let millis = vec![1_704_067_200_001, -1, 0, 1_704_067_200_000];
    let expected =
        ["2024-01-01T00:00:00.001", "1969-12-31T23:59:59.999", "1970-01-01T00:00:00", "2024-01-01T00:00:00"];
    assert_eq!(texts(TimestampMillisecondArray::from(millis.clone())), expected);
    assert_eq!(
        texts(TimestampMillisecondArray::from(millis).with_timezone("UTC")),
        expected.map(|text| format!("{text}Z")),
    );
    assert_eq!(texts(TimestampSecondArray::from(vec![-62_167_219_200])), ["0000-01-01T00:00:00"]);
    assert_eq!(
        texts(TimestampMicrosecondArray::from(vec![-1, 1_000, 1_500_000])),
        ["1969-12-31T23:59:59.999999", "1970-01-01T00:00:00.001", "1970-01-01T00:00:01.500"]
    );
    assert_eq!(texts(TimestampNanosecondArray::from(vec![i64::MIN])), ["1677-09-21T00:12:43.145224192"]);
    assert_eq!(
        texts(TimestampMillisecondArray::from(vec![i64::MAX, i64::MIN])),
        ["+292278994-08-17T07:12:55.807", "-292275055-05-16T16:47:04.192"]
    );
}

/// As `java.time.Period` and `java.time.Duration` print them.
#[test]
fn intervals_are_iso_8601() {
    assert_eq!(texts(IntervalYearMonthArray::from(vec![14, -14, 12, 5])), ["P1Y2M", "P-1Y-2M", "P1Y", "P5M"]);
    let day_time = [(0, 0), (1, 7_384_005), (-1, -7_384_005), (0, -500), (0, 60_000), (0, -1_500)];
    assert_eq!(
        texts(IntervalDayTimeArray::from_iter_values(
            day_time.map(|(days, milliseconds)| IntervalDayTime { days, milliseconds })
        )),
        ["PT0S", "PT26H3M4.005S", "PT-26H-3M-4.005S", "PT-0.5S", "PT1M", "PT-1.5S"]
    );
    let mixed = [(0, 2, 1), (1, 0, 0), (1, 0, 500_000_000)];
    assert_eq!(
        texts(IntervalMonthDayNanoArray::from_iter_values(
            mixed.map(|(months, days, nanoseconds)| IntervalMonthDayNano { months, days, nanoseconds })
        )),
        ["PT48H0.000000001S", "P1M", "P1M PT0.5S"]
    );
    assert_eq!(texts(DurationMillisecondArray::from(vec![3_661_000])), ["PT1H1M1S"]);
}

#[test]
fn arrays_of_all_layouts() {
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let expected = ["[1, NULL]", "NULL", "[]"];
    assert_eq!(texts(ListArray::from_iter_primitive::<Int32Type, _, _>(lists.clone())), expected);
    assert_eq!(texts(LargeListArray::from_iter_primitive::<Int32Type, _, _>(lists.clone())), expected);
    assert_eq!(
        texts(ListViewArray::from(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        expected
    );
    let pairs = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), Some(2)]), None],
        2,
    );
    assert_eq!(texts(pairs), ["[1, 2]", "NULL"]);
}

/// A map for each number of entries in `lengths`.
fn map(keys: ArrayRef, values: ArrayRef, lengths: &[usize]) -> MapArray {
    let fields = Fields::from(vec![
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), true),
    ]);
    let entries = StructArray::new(fields.clone(), vec![keys, values], None);
    MapArray::new(
        Arc::new(Field::new_struct("entries", fields, false)),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        entries,
        None,
        false,
    )
}

#[test]
fn maps_are_sorted_as_text() {
    let keys = Arc::new(StringArray::from(vec!["b", "a", ""]));
    let values = Arc::new(Int32Array::from(vec![Some(2), Some(1), None]));
    assert_eq!(texts(map(keys, values, &[2, 0, 1])), ["{a: 1, b: 2}", "{}", "{(empty): NULL}"]);
    let numbers = Arc::new(Int32Array::from(vec![9, 10]));
    assert_eq!(texts(map(numbers.clone(), numbers, &[2])), ["{10: 10, 9: 9}"]);
}

/// From aggregate/nested_values.slt: a multiset of rows is a map from the row to its count.
#[test]
fn multisets_of_rows() {
    let elements = StructArray::from(vec![
        (
            Arc::new(Field::new("f0", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![1, 1])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("f1", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("u"), None])) as ArrayRef,
        ),
    ]);
    assert_eq!(texts(elements.clone()), ["(1, u)", "(1, NULL)"]);
    let counts = Arc::new(Int32Array::from(vec![2, 1]));
    assert_eq!(texts(map(Arc::new(elements), counts, &[2])), ["{(1, NULL): 1, (1, u): 2}"]);
}

#[test]
fn dictionaries_print_their_values() {
    let words: DictionaryArray<Int32Type> = vec![Some("x"), None, Some("")].into_iter().collect();
    assert_eq!(texts(words), ["x", "NULL", "(empty)"]);
}

#[test]
fn a_row_is_its_values_separated_by_single_spaces() {
    let batch = RecordBatch::try_new(
        Arc::new(Schema::new(vec![
            Field::new("k", DataType::Utf8, true),
            Field::new("b", DataType::Binary, true),
            Field::new("n", DataType::Int32, true),
        ])),
        vec![
            Arc::new(StringArray::from(vec![Some("a"), None])),
            Arc::new(BinaryArray::from(vec![Some(b"".as_slice()), None])),
            Arc::new(Int32Array::from(vec![Some(1), None])),
        ],
    )
    .unwrap();
    assert_eq!(rows(&batch).unwrap(), ["a  1", "NULL NULL NULL"]);
}

#[test]
fn a_type_without_text_is_an_error() {
    let run_ends = RunArray::<Int32Type>::from_iter(["a", "a"]);
    assert!(cell(&run_ends, 0).unwrap_err().to_string().contains("RunEndEncoded"));
}

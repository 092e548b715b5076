//! Functions of arrays and maps.

use super::*;
use arrow::array::{BooleanArray, Float64Array};
use arrow::datatypes::Float64Type;

fn samples() -> ColumnarValue {
    lists(&[Some(vec![Some(3), Some(1), Some(1)]), Some(vec![]), None, Some(vec![None, Some(1)])])
}

fn numbers() -> ColumnarValue {
    ints(&[Some(1), Some(9), Some(1), None])
}

#[test]
fn elements() {
    for (name, args, expected) in [
        ("flink_item", vec![samples(), int(2)], ["1", "NULL", "NULL", "1"]),
        ("flink_item", vec![samples(), int(0)], ["NULL"; 4]),
        ("flink_item", vec![samples(), numbers()], ["3", "NULL", "NULL", "NULL"]),
        ("cardinality", vec![samples()], ["3", "0", "NULL", "2"]),
        ("array_contains", vec![samples(), numbers()], ["true", "false", "NULL", "true"]),
        ("array_position", vec![samples(), numbers()], ["2", "0", "NULL", "NULL"]),
        ("array_max", vec![samples()], ["3", "NULL", "NULL", "1"]),
        ("array_min", vec![samples()], ["1", "NULL", "NULL", "1"]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("array_contains", vec![samples(), longs(&[Some(1)])]).contains("Cannot apply"));
    assert!(error("flink_item", vec![samples(), constant("a")]).contains("Cannot apply"));
    let one = || lists(&[Some(vec![Some(5)]), Some(vec![]), None]);
    assert_eq!(call("element", vec![one()]), ["5", "NULL", "NULL"]);
    assert!(error("element", vec![samples()]).contains("one of 3"));
}

#[test]
fn new_arrays() {
    for (name, args, expected) in [
        ("array_append", vec![samples(), numbers()], ["[3, 1, 1, 1]", "[9]", "NULL", "[NULL, 1, NULL]"]),
        ("array_prepend", vec![samples(), numbers()], ["[1, 3, 1, 1]", "[9]", "NULL", "[NULL, NULL, 1]"]),
        (
            "array_concat",
            vec![samples(), samples()],
            ["[3, 1, 1, 3, 1, 1]", "[]", "NULL", "[NULL, 1, NULL, 1]"],
        ),
        ("array_remove", vec![samples(), numbers()], ["[3]", "[]", "NULL", "[1]"]),
        ("array_distinct", vec![samples()], ["[3, 1]", "[]", "NULL", "[NULL, 1]"]),
        (
            "array_union",
            vec![samples(), lists(&[Some(vec![Some(1), None]), Some(vec![]), Some(vec![]), None])],
            ["[3, 1, NULL]", "[]", "NULL", "NULL"],
        ),
        ("array_slice", vec![samples(), int(2)], ["[1, 1]", "[]", "NULL", "[1]"]),
        ("array_slice", vec![samples(), int(-2), int(-1)], ["[1, 1]", "[]", "NULL", "[NULL, 1]"]),
        ("array_slice", vec![samples(), int(0), int(0)], ["[3]", "[]", "NULL", "[NULL]"]),
        ("array_slice", vec![samples(), int(3), int(2)], ["[]", "[]", "NULL", "[]"]),
        ("array_sort", vec![samples()], ["[1, 1, 3]", "[]", "NULL", "[NULL, 1]"]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    let descending = ColumnarValue::Scalar(ScalarValue::from(false));
    assert_eq!(
        call("array_sort", vec![samples(), descending.clone()]),
        ["[3, 1, 1]", "[]", "NULL", "[1, NULL]"]
    );
    assert_eq!(call("array_sort", vec![samples(), descending.clone(), descending])[3], "[1, NULL]");
    let unknown = column(BooleanArray::from(vec![None, Some(true), None, None]));
    assert_eq!(call("array_sort", vec![samples(), unknown]), ["NULL", "[]", "NULL", "NULL"]);
    let wide =
        column(ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(vec![
            Some(vec![Some(7)]);
            4
        ]));
    assert_eq!(call("array_concat", vec![samples(), wide]), ["[3, 1, 1, 7]", "[7]", "NULL", "[NULL, 1, 7]"]);
    assert!(error("array_join", vec![samples(), constant(",")]).contains("Cannot apply"));
    let words = || call_split("a,,b");
    assert_eq!(call("array_join", vec![words(), constant("-")]), ["a--b"]);
    assert_eq!(call("array_join", vec![words(), null(DataType::Utf8)]), ["NULL"]);
}

/// An array of texts.
fn call_split(text: &str) -> ColumnarValue {
    let mut lists = arrow::array::ListBuilder::new(arrow::array::StringBuilder::new());
    text.split(',').for_each(|part| lists.values().append_value(part));
    lists.append(true);
    column(lists.finish())
}

#[test]
fn nan_is_equal_to_nothing() {
    let doubles = || {
        let list = vec![Some(1.5), Some(f64::NAN), Some(f64::NAN), Some(-0.0), Some(0.0)];
        column(ListArray::from_iter_primitive::<Float64Type, _, _>(vec![Some(list)]))
    };
    assert_eq!(call("array_distinct", vec![doubles()]), ["[1.5, NaN, NaN, -0.0]"]);
    let needle = |value: f64| column(Float64Array::from(vec![value]));
    assert_eq!(call("array_contains", vec![doubles(), needle(f64::NAN)]), ["false"]);
    assert_eq!(call("array_position", vec![doubles(), needle(0.0)]), ["4"]);
    assert_eq!(call("array_max", vec![doubles()]), ["1.5"]);
}

#[test]
fn maps() {
    let args = vec![constant("a"), int(1), constant("b"), numbers(), constant("a"), int(2)];
    let args: Vec<_> = args.into_iter().map(|arg| ColumnarValue::Array(arg.to_array(4).unwrap())).collect();
    assert_eq!(call("make_map", args), ["{a: 2, b: 1}", "{a: 2, b: 9}", "{a: 2, b: 1}", "{a: 2, b: NULL}"]);
    let keys = || lists(&[Some(vec![Some(1), Some(2)]), Some(vec![]), None]);
    let values = || lists(&[Some(vec![Some(7), None]), Some(vec![]), Some(vec![])]);
    assert_eq!(call("map_from_arrays", vec![keys(), values()]), ["{1: 7, 2: NULL}", "{}", "NULL"]);
    let twice = lists(&[Some(vec![Some(1), Some(1)])]);
    assert_eq!(call("map_from_arrays", vec![twice, lists(&[Some(vec![Some(7), Some(8)])])]), ["{1: 8}"]);
    let short = lists(&[Some(vec![Some(1)]), None, None]);
    assert!(error("map_from_arrays", vec![keys(), short]).contains("not 2 and 1"));
    let null_key = lists(&[Some(vec![None])]);
    assert!(
        error("map_from_arrays", vec![null_key, lists(&[Some(vec![Some(1)])])]).contains("must not be NULL")
    );
}

fn map(keys: &[i32], values: &[i32]) -> ColumnarValue {
    let list = |items: &[i32]| lists(&[Some(items.iter().map(|item| Some(*item)).collect())]);
    let udf = function("map_from_arrays");
    let args = vec![list(keys), list(values)];
    let fields: Vec<FieldRef> =
        args.iter().map(|arg| Arc::new(Field::new("a", arg.data_type(), true)) as FieldRef).collect();
    let return_field = udf
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &[None, None] })
        .unwrap();
    udf.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields: fields,
        number_rows: 1,
        return_field,
        config_options: Arc::default(),
    })
    .unwrap()
}

#[test]
fn values_of_maps() {
    let of = || map(&[1, 2], &[10, 20]);
    assert_eq!(call("flink_item", vec![of(), column(Int32Array::from(vec![2]))]), ["20"]);
    assert_eq!(call("flink_item", vec![of(), column(Int32Array::from(vec![3]))]), ["NULL"]);
    assert_eq!(call("flink_item", vec![of(), column(Int32Array::from(vec![None]))]), ["NULL"]);
    assert_eq!(call("map_union", vec![of(), map(&[2, 3], &[21, 31])]), ["{1: 10, 2: 21, 3: 31}"]);
    assert_eq!(call("cardinality", vec![of()]), ["2"]);
}

//! FIRST_VALUE, LAST_VALUE, SINGLE_VALUE, LISTAGG, ARRAY_AGG, COLLECT and the aggregates of JSON.

use arrow::array::{BinaryArray, Float64Array, ListArray, MapArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int32Type};

use super::*;

#[test]
fn first_and_last_of_appended_values() {
    check(
        &[
            call(FirstValue, vec![ints(&[None, Some(3), Some(1), None, Some(2), Some(2)])]),
            call(LastValue, vec![ints(&[None, Some(3), Some(1), None, Some(2), Some(2)])]),
            call(FirstValue, vec![strings(&[None, Some("c"), Some(""), None, Some("b"), Some("b")])]),
            call(LastValue, vec![strings(&[None, Some("c"), Some(""), None, Some("b"), Some("b")])]),
        ],
        "+0 +0 +0 +0 +0 +0",
        &[
            "+I 0 NULL NULL NULL NULL",
            "-U 0 NULL NULL NULL NULL",
            "+U 0 3 3 c c",
            "-U 0 3 3 c c",
            "+U 0 3 1 c ",
            "-U 0 3 1 c ",
            "+U 0 3 2 c b",
        ],
    );
}

#[test]
fn first_and_last_of_a_changelog() {
    // an update takes the old value and brings the new one to the end
    let v = || {
        ints(&[
            None,
            Some(3),
            Some(5),
            Some(3),
            Some(3),
            Some(3),
            Some(5),
            Some(6),
            Some(7),
            Some(6),
            None,
            Some(7),
            None,
            None,
            Some(1),
        ])
    };
    let rows = "+0 +0 +0 +0 -0 -0 -0 +0 +0 -0 +0 -0 -0 -0 +0";
    check(
        &[call(FirstValue, vec![v()]), call(LastValue, vec![v()])],
        rows,
        &[
            "+I 0 NULL NULL",
            "-U 0 NULL NULL",
            "+U 0 3 3",
            "-U 0 3 3",
            "+U 0 3 5",
            "-U 0 3 5",
            "+U 0 3 3",
            "-U 0 3 3",
            "+U 0 5 3",
            "-U 0 5 3",
            "+U 0 5 5",
            "-U 0 5 5",
            "+U 0 NULL NULL",
            "-U 0 NULL NULL",
            "+U 0 6 6",
            "-U 0 6 6",
            "+U 0 6 7",
            "-U 0 6 7",
            "+U 0 7 7",
            "-U 0 7 7",
            "+U 0 NULL NULL",
            "-D 0 NULL NULL",
            "+I 0 1 1",
        ],
    );
    // what was never there is not taken
    let v = || strings(&[Some("1"), Some("2"), Some("9"), Some("9"), Some("4"), Some("1")]);
    check(
        &[call(FirstValue, vec![v()]), call(LastValue, vec![v()])],
        "+0 +0 -0 +0 +0 -0",
        &[
            "+I 0 1 1", "-U 0 1 1", "+U 0 1 2", "-U 0 1 2", "+U 0 1 9", "-U 0 1 9", "+U 0 1 4", "-U 0 1 4",
            "+U 0 2 4",
        ],
    );
}

#[test]
fn first_and_last_of_slices() {
    let v = ints(&[Some(1), Some(2), Some(3), Some(4)]);
    for retracting in [false, true] {
        for (call, expected) in
            [(call(FirstValue, vec![Arc::clone(&v)]), "1"), (call(LastValue, vec![Arc::clone(&v)]), "4")]
        {
            let mut state = call.state(retracting);
            state.grow(3);
            let rows = Rows { slots: &[0, 1, 1, 0], retract: None, filter: None };
            state.accumulate(&rows, &call.args).unwrap();
            // in whatever order slices are merged, it is the order of arrival that counts
            state.merge_slots(&[2, 2], &[1, 0]).unwrap();
            assert_eq!(text(&state.evaluate(&[2]).unwrap()), [expected]);
        }
    }
}

fn row_type() -> Fields {
    Fields::from(vec![Field::new("p", DataType::Int32, true), Field::new("q", DataType::Utf8, true)])
}

fn rows(values: &[Option<(Option<i32>, Option<&str>)>]) -> ArrayRef {
    let p = values.iter().map(|row| row.and_then(|row| row.0)).collect::<Vec<_>>();
    let q = values.iter().map(|row| row.and_then(|row| row.1)).collect::<Vec<_>>();
    let valid = values.iter().map(Option::is_some).collect::<Vec<_>>();
    Arc::new(StructArray::new(row_type(), vec![ints(&p), strings(&q)], Some(valid.into())))
}

fn lists(values: &[Option<Vec<Option<i32>>>]) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values.to_vec()))
}

fn maps(values: &[&[(&str, Option<i32>)]]) -> ArrayRef {
    let entries: Vec<_> = values.iter().flat_map(|entries| entries.iter()).collect();
    let keys = strings(&entries.iter().map(|entry| Some(entry.0)).collect::<Vec<_>>());
    let counts = ints(&entries.iter().map(|entry| entry.1).collect::<Vec<_>>());
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Int32, true),
    ]);
    let entries = StructArray::new(fields.clone(), vec![keys, counts], None);
    let offsets = OffsetBuffer::from_lengths(values.iter().map(|entries| entries.len()));
    Arc::new(MapArray::new(
        Arc::new(Field::new("entries", DataType::Struct(fields), false)),
        offsets,
        entries,
        None,
        false,
    ))
}

#[test]
fn nested_values_are_kept() {
    let r = || rows(&[Some((Some(1), Some("a"))), Some((Some(2), None)), Some((Some(1), Some("a"))), None]);
    let a = || lists(&[Some(vec![Some(1)]), Some(vec![Some(2), None]), Some(vec![Some(1)]), None]);
    check(
        &[
            call(FirstValue, vec![r()]),
            call(LastValue, vec![r()]),
            call(FirstValue, vec![a()]),
            call(LastValue, vec![a()]),
            call(Count, vec![a()]),
        ],
        "+0 +0 -0 +0",
        &[
            "+I 0 {p: 1, q: a} {p: 1, q: a} [1] [1] 1",
            "-U 0 {p: 1, q: a} {p: 1, q: a} [1] [1] 1",
            "+U 0 {p: 1, q: a} {p: 2, q: NULL} [1] [2, NULL] 2",
            "-U 0 {p: 1, q: a} {p: 2, q: NULL} [1] [2, NULL] 2",
            "+U 0 {p: 2, q: NULL} {p: 2, q: NULL} [2, NULL] [2, NULL] 1",
        ],
    );
}

/// Whether a row that does not change a value has it told again.
fn told_again(function: impl StreamingAggregate + 'static, arg: ArrayRef) -> bool {
    let call = call(function, vec![arg]).filtered(vec![true, false]);
    let mode = Mode { batch: 2, layout: OutputLayout::Single, restore: true, retracting: false };
    changelog(&[call], &[('+', 0), ('+', 0)], mode).len() > 1
}

#[test]
fn values_that_do_not_equal_themselves_are_told_again() {
    let doubled =
        |array: ArrayRef| arrow::compute::take(&array, &UInt32Array::from(vec![0, 0]), None).unwrap();
    let floats = |value: f64| Arc::new(Float64Array::from(vec![value, value])) as ArrayRef;
    let float_row = |value: f64| {
        let fields = Fields::from(vec![Field::new("x", DataType::Float64, true)]);
        Arc::new(StructArray::new(fields, vec![floats(value)], None)) as ArrayRef
    };
    let map = |value: Option<i32>| doubled(maps(&[&[("a", value)]]));
    assert!(!told_again(LastValue, doubled(rows(&[Some((Some(1), None))]))));
    assert!(!told_again(LastValue, doubled(lists(&[Some(vec![Some(1), None])]))));
    assert!(!told_again(LastValue, map(Some(1))));
    assert!(told_again(LastValue, map(None)));
    assert!(!told_again(LastValue, float_row(1.5)));
    assert!(told_again(LastValue, float_row(f64::NAN)));
    assert!(told_again(LastValue, floats(f64::NAN)));
    assert!(!told_again(ArrayAgg, floats(1.5)));
    assert!(told_again(ArrayAgg, floats(f64::NAN)));
    assert!(told_again(ArrayAgg, ints(&[None, None])));
    assert!(!told_again(Collect, floats(f64::NAN)));
}

#[test]
fn a_single_value_stands_alone() {
    let v = || ints(&[Some(3), Some(3), None, None, Some(10)]);
    check(
        &[call(SingleValue, vec![v()])],
        "+0 -0 +0 -0 +0",
        &["+I 0 3", "-D 0 3", "+I 0 NULL", "-D 0 NULL", "+I 0 10"],
    );
    for second in [Some(2), None] {
        let call = call(SingleValue, vec![ints(&[Some(1), second])]);
        for retracting in [false, true] {
            let mut state = call.state(retracting);
            state.grow(1);
            let rows = Rows { slots: &[0, 0], retract: None, filter: None };
            let error = state.accumulate(&rows, &call.args).unwrap_err().to_string();
            assert!(error.contains("SingleValueAggFunction received more than one element."), "{error}");
        }
    }
}

#[test]
fn listagg_of_appended_texts() {
    let s = || strings(&[Some("p"), None, Some("q"), Some("p"), Some("")]);
    let separator = |separator: &str| strings(&[Some(separator); 5]);
    check(
        &[
            call(ListAgg, vec![s()]),
            call(ListAgg, vec![s(), separator(" | ")]),
            call(ListAgg, vec![s(), separator("")]),
        ],
        "+0 +0 +0 +0 +0",
        &[
            "+I 0 p p p",
            "-U 0 p p p",
            "+U 0 p,q p | q pq",
            "-U 0 p,q p | q pq",
            "+U 0 p,q,p p | q | p pqp",
            "-U 0 p,q,p p | q | p pqp",
            "+U 0 p,q,p, p | q | p |  pqp",
        ],
    );
    // nothing is added to nothing
    check(&[call(ListAgg, vec![strings(&[Some(""); 3]), strings(&[Some(""); 3])])], "+0 +0 +0", &["+I 0 "]);
    check(&[call(ListAgg, vec![strings(&[None, None])])], "+0 +0", &["+I 0 NULL"]);
    assert!(
        ListAgg.coerce_types(&[DataType::Int32]).unwrap_err().to_string().contains("Cannot apply 'LISTAGG'")
    );
}

/// The changes of an element and a group: p, q, p becomes p2, q again, NULL; then all go.
fn changing() -> (ArrayRef, &'static str) {
    let s = strings(&[
        Some("p"),
        Some("q"),
        Some("p"),
        Some("p2"),
        Some("q"),
        None,
        Some("q"),
        Some("p2"),
        Some("q"),
        Some(""),
        None,
        Some(""),
        Some("z"),
    ]);
    (s, "+0 +0 -0 +0 +0 +0 -0 -0 -0 +0 -0 -0 +0")
}

#[test]
fn listagg_of_a_changelog() {
    let (s, rows) = changing();
    check(
        &[call(ListAgg, vec![Arc::clone(&s)]), call(Count, vec![Arc::clone(&s)])],
        rows,
        &[
            "+I 0 p 1",
            "-U 0 p 1",
            "+U 0 p,q 2",
            "-U 0 p,q 2",
            "+U 0 q 1",
            "-U 0 q 1",
            "+U 0 q,p2 2",
            "-U 0 q,p2 2",
            "+U 0 q,p2,q 3",
            "-U 0 q,p2,q 3",
            "+U 0 p2,q 2",
            "-U 0 p2,q 2",
            "+U 0 q 1",
            "-U 0 q 1",
            "+U 0 NULL 0",
            "-U 0 NULL 0",
            "+U 0  1",
            "-D 0  1",
            "+I 0 z 1",
        ],
    );
}

#[test]
fn array_agg_of_a_changelog() {
    let (s, rows) = changing();
    check(
        &[call(ArrayAgg, vec![s])],
        rows,
        &[
            "+I 0 [p]",
            "-U 0 [p]",
            "+U 0 [p, q]",
            "-U 0 [p, q]",
            "+U 0 [q]",
            "-U 0 [q]",
            "+U 0 [q, p2]",
            "-U 0 [q, p2]",
            "+U 0 [q, p2, q]",
            "-U 0 [q, p2, q]",
            "+U 0 [q, p2, q, NULL]",
            "-U 0 [q, p2, q, NULL]",
            "+U 0 [p2, q, NULL]",
            "-U 0 [p2, q, NULL]",
            "+U 0 [q, NULL]",
            "-U 0 [q, NULL]",
            "+U 0 [NULL]",
            "-U 0 [NULL]",
            "+U 0 [NULL, ]",
            "-U 0 [NULL, ]",
            "+U 0 []",
            "-D 0 []",
            "+I 0 [z]",
        ],
    );
}

#[test]
fn array_agg_of_other_types() {
    let n = || ints(&[None, Some(4), Some(7)]);
    let r = || rows(&[Some((Some(1), Some("u"))), Some((Some(1), None)), None]);
    let a = || lists(&[Some(vec![Some(1), Some(2)]), None, Some(vec![])]);
    let de = || Arc::new(decimals(&[Some(350), None, Some(150)], 10, 2)) as ArrayRef;
    check_values(
        &[
            call(ArrayAgg, vec![n()]),
            call(ArrayAgg, vec![n()]).ignore_nulls(),
            call(ArrayAgg, vec![n()]).filtered(vec![false, true, false]),
            call(ArrayAgg, vec![r()]),
            call(ArrayAgg, vec![a()]),
            call(ArrayAgg, vec![de()]),
        ],
        "+0 +0 +0",
        &[
            "[NULL] NULL NULL [{p: 1, q: u}] [[1, 2]] [3.50]",
            "[NULL, 4] [4] [4] [{p: 1, q: u}, {p: 1, q: NULL}] [[1, 2], NULL] [3.50, NULL]",
            "[NULL, 4, 7] [4, 7] [4] [{p: 1, q: u}, {p: 1, q: NULL}, NULL] [[1, 2], NULL, []] [3.50, NULL, 1.50]",
        ],
    );
    assert_eq!(ArrayAgg.return_type(&[DataType::Utf8]).unwrap(), DataType::new_list(DataType::Utf8, true));
}

#[test]
fn lists_are_merged_with_their_debts() {
    let s = strings(&[Some("p"), Some("q"), Some("p"), Some("x")]);
    let call = call(ListAgg, vec![Arc::clone(&s)]);
    let mut local = call.state(true);
    local.grow(2);
    // the second part takes what the first has, and x, which nobody has
    let retract = [false, false, true, true];
    local
        .accumulate(&Rows { slots: &[0, 0, 1, 1], retract: Some(&retract), filter: None }, &call.args)
        .unwrap();
    let partials = local.snapshot(&[0, 1]).unwrap();
    let mut global = call.state(true);
    global.grow(1);
    global.merge(&[0, 0], &partials).unwrap();
    assert_eq!(text(&global.evaluate(&[0]).unwrap()), ["q"]);
    // the debt of x is kept
    let more = call.state(true);
    let mut more = {
        let mut more = more;
        more.grow(1);
        more
    };
    more.accumulate(&Rows { slots: &[0], retract: None, filter: None }, &[s.slice(3, 1)]).unwrap();
    global.merge(&[0], &more.snapshot(&[0]).unwrap()).unwrap();
    assert_eq!(text(&global.evaluate(&[0]).unwrap()), ["q"]);
}

#[test]
fn collect_counts_values() {
    let (s, rows) = changing();
    check(
        &[call(Collect, vec![s])],
        rows,
        &[
            "+I 0 {p: 1}",
            "-U 0 {p: 1}",
            "+U 0 {p: 1, q: 1}",
            "-U 0 {p: 1, q: 1}",
            "+U 0 {q: 1}",
            "-U 0 {q: 1}",
            "+U 0 {p2: 1, q: 1}",
            "-U 0 {p2: 1, q: 1}",
            "+U 0 {p2: 1, q: 2}",
            "-U 0 {p2: 1, q: 2}",
            "+U 0 {p2: 1, q: 1}",
            "-U 0 {p2: 1, q: 1}",
            "+U 0 {q: 1}",
            "-U 0 {q: 1}",
            "+U 0 {}",
            "-U 0 {}",
            "+U 0 {: 1}",
            "-D 0 {: 1}",
            "+I 0 {z: 1}",
        ],
    );
    let n = || ints(&[Some(4), None, Some(5), Some(4)]);
    let bytes = || Arc::new(BinaryArray::from_vec(vec![b"a", b"b", b"a", b"a"])) as ArrayRef;
    check_values(
        &[call(Collect, vec![n()]), call(Collect, vec![rows_of_one()]), call(Collect, vec![bytes()])],
        "+0 +0 +0 +0",
        &[
            "{4: 1} {{p: 1, q: x}: 1} {61: 1}",
            "{4: 1} {{p: 1, q: x}: 2} {61: 1, 62: 1}",
            "{4: 1, 5: 1} {{p: 1, q: x}: 3} {61: 2, 62: 1}",
            "{4: 2, 5: 1} {{p: 1, q: x}: 4} {61: 3, 62: 1}",
        ],
    );
    // of a group without values the multiset is empty
    check(&[call(Collect, vec![ints(&[None, None])])], "+0 +0", &["+I 0 {}"]);
    // a value that was taken before it came
    check(
        &[call(Collect, vec![ints(&[Some(1), Some(9), Some(9)])])],
        "+0 -0 +0",
        &["+I 0 {1: 1}", "-D 0 {1: 1}", "+I 0 {9: 1}"],
    );
    check(
        &[call(Collect, vec![ints(&[Some(1), Some(2), Some(9), Some(9)])])],
        "+0 +0 -0 +0",
        &[
            "+I 0 {1: 1}",
            "-U 0 {1: 1}",
            "+U 0 {1: 1, 2: 1}",
            "-U 0 {1: 1, 2: 1}",
            "+U 0 {1: 1, 2: 1, 9: -1}",
            "-U 0 {1: 1, 2: 1, 9: -1}",
            "+U 0 {1: 1, 2: 1, 9: 0}",
        ],
    );
}

fn rows_of_one() -> ArrayRef {
    rows(&[Some((Some(1), Some("x"))); 4])
}

#[test]
fn json_arrays() {
    // arguments are planned as JSON text
    let json = |array: ArrayRef| crate::json::json_strings(&array).unwrap();
    let (s, rows) = changing();
    let s = json(s);
    check(
        &[
            call(JsonArrayAgg(OnNull::Absent), vec![Arc::clone(&s)]),
            call(JsonArrayAgg(OnNull::Null), vec![Arc::clone(&s)]),
        ],
        rows,
        &[
            r#"+I 0 ["p"] ["p"]"#,
            r#"-U 0 ["p"] ["p"]"#,
            r#"+U 0 ["p","q"] ["p","q"]"#,
            r#"-U 0 ["p","q"] ["p","q"]"#,
            r#"+U 0 ["q"] ["q"]"#,
            r#"-U 0 ["q"] ["q"]"#,
            r#"+U 0 ["q","p2"] ["q","p2"]"#,
            r#"-U 0 ["q","p2"] ["q","p2"]"#,
            r#"+U 0 ["q","p2","q"] ["q","p2","q"]"#,
            r#"-U 0 ["q","p2","q"] ["q","p2","q"]"#,
            r#"+U 0 ["q","p2","q"] ["q","p2","q",null]"#,
            r#"-U 0 ["q","p2","q"] ["q","p2","q",null]"#,
            r#"+U 0 ["p2","q"] ["p2","q",null]"#,
            r#"-U 0 ["p2","q"] ["p2","q",null]"#,
            r#"+U 0 ["q"] ["q",null]"#,
            r#"-U 0 ["q"] ["q",null]"#,
            r#"+U 0 [] [null]"#,
            r#"-U 0 [] [null]"#,
            r#"+U 0 [""] [null,""]"#,
            r#"-U 0 [""] [null,""]"#,
            r#"+U 0 [""] [""]"#,
            r#"-D 0 [""] [""]"#,
            r#"+I 0 ["z"] ["z"]"#,
        ],
    );
    // other types are written as they come
    check_values(
        &[
            call(JsonArrayAgg(OnNull::Absent), vec![ints(&[None, Some(3)])]),
            one(JsonArrayAgg(OnNull::Null), decimals(&[Some(350), None], 10, 2)),
        ],
        "+0 +0",
        &["[] [3.50]", "[3] [3.50,null]"],
    );
}

#[test]
fn json_objects() {
    let id = || strings(&[Some("1"), Some("2"), Some("1"), Some("1"), Some("4"), Some("4"), Some("2")]);
    let n = || ints(&[Some(1), Some(2), Some(1), Some(10), None, None, Some(2)]);
    check(
        &[
            call(JsonObjectAgg(OnNull::Null), vec![id(), n()]),
            call(JsonObjectAgg(OnNull::Absent), vec![id(), n()]),
        ],
        "+0 +0 -0 +0 +0 -0 -0",
        &[
            r#"+I 0 {"1":1} {"1":1}"#,
            r#"-U 0 {"1":1} {"1":1}"#,
            r#"+U 0 {"1":1,"2":2} {"1":1,"2":2}"#,
            r#"-U 0 {"1":1,"2":2} {"1":1,"2":2}"#,
            r#"+U 0 {"2":2} {"2":2}"#,
            r#"-U 0 {"2":2} {"2":2}"#,
            r#"+U 0 {"1":10,"2":2} {"1":10,"2":2}"#,
            r#"-U 0 {"1":10,"2":2} {"1":10,"2":2}"#,
            r#"+U 0 {"1":10,"2":2,"4":null} {"1":10,"2":2}"#,
            r#"-U 0 {"1":10,"2":2,"4":null} {"1":10,"2":2}"#,
            r#"+U 0 {"1":10,"2":2} {"1":10,"2":2}"#,
            r#"-U 0 {"1":10,"2":2} {"1":10,"2":2}"#,
            r#"+U 0 {"1":10} {"1":10}"#,
        ],
    );
    // keys are sorted by UTF-16 code units: the emoji before the wide tilde
    let keys = strings(&[Some("b"), Some("～"), Some("😀"), Some("10"), Some("9"), Some("a\"b")]);
    let mode = Mode { batch: 6, layout: OutputLayout::Single, restore: false, retracting: false };
    let log = changelog(
        &[call(JsonObjectAgg(OnNull::Null), vec![keys, ints(&[Some(1); 6])])],
        &[('+', 0); 6],
        mode,
    );
    assert_eq!(log[5], r#"+U 0 {"10":1,"9":1,"a\"b":1,"b":1,"😀":1,"～":1}"#);
}

#[test]
fn json_objects_refuse_keys() {
    for (key, message) in [(Some("a"), "Key 'a' is already present"), (None, "must not be NULL")] {
        let call =
            call(JsonObjectAgg(OnNull::Null), vec![strings(&[Some("a"), key]), ints(&[Some(1), Some(2)])]);
        let mut state = call.state(false);
        state.grow(1);
        let rows = Rows { slots: &[0, 0], retract: None, filter: None };
        let error = state.accumulate(&rows, &call.args).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(JsonArrayAgg(OnNull::Null).coerce_types(&[DataType::Date32]).is_err());
}

#[test]
fn arguments_of_json_aggregates_are_planned_as_json() {
    use datafusion_expr::{ScalarUDF, col};
    let json_string = ScalarUDF::from(crate::scalar::JsonString::default());
    let value = || vec![col("k"), col("v")];
    let planned = JsonObjectAgg(OnNull::Null).rewrite_args(&value()).unwrap();
    assert_eq!(planned, vec![col("k"), json_string.call(vec![col("v")])]);
    // once is enough
    assert_eq!(JsonObjectAgg(OnNull::Null).rewrite_args(&planned), None);
    assert_eq!(JsonArrayAgg(OnNull::Null).rewrite_args(&[json_string.call(vec![col("v")]).alias("x")]), None);
    assert_eq!(Sum.rewrite_args(&value()), None);
}

#[test]
fn collections_give_their_memory_back() {
    let s: Vec<String> = (0..300).map(|row| format!("value {}", row % 150)).collect();
    let s = strings(&s.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>());
    let unique: Vec<String> = (0..300).map(|row| format!("key {row}")).collect();
    let unique = strings(&unique.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>());
    let n: ArrayRef = Arc::new(Float64Array::from_iter_values((0..300).map(f64::from)));
    let half: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 300]));
    let slots: Vec<u32> = (0..300).map(|row| row % 2).collect();
    for call in [
        call(FirstValue, vec![Arc::clone(&s)]),
        call(LastValue, vec![Arc::clone(&s)]),
        call(ListAgg, vec![Arc::clone(&s)]),
        call(ArrayAgg, vec![Arc::clone(&s)]),
        call(Collect, vec![Arc::clone(&s)]),
        call(JsonArrayAgg(OnNull::Null), vec![Arc::clone(&s)]),
        call(JsonObjectAgg(OnNull::Null), vec![Arc::clone(&unique), Arc::clone(&s)]),
        call(Percentile, vec![Arc::clone(&n), half]),
    ] {
        for retracting in [false, true] {
            let mut state = call.state(retracting);
            state.grow(2);
            let empty = state.memory_size();
            let rows = Rows { slots: &slots, retract: None, filter: None };
            state.accumulate(&rows, &call.args).unwrap();
            assert!(state.memory_size() > empty, "{}", call.function.name());
            state.clear(&[0, 1]);
            assert_eq!(state.memory_size(), empty, "{}", call.function.name());
            if retracting {
                state.accumulate(&rows, &call.args).unwrap();
                let retract = vec![true; 300];
                state.accumulate(&Rows { retract: Some(&retract), ..rows }, &call.args).unwrap();
                assert!(
                    state.memory_size() <= empty + 2_048,
                    "{} {}",
                    call.function.name(),
                    state.memory_size()
                );
            }
        }
    }
}

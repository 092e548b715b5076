//! Functions of texts, regular expressions, LIKE and JSON strings.

use super::*;

const NONE: ColumnarValue = ColumnarValue::Scalar(ScalarValue::Utf8(None));

/// Texts with characters of one to four bytes, the empty text and NULL.
fn samples() -> ColumnarValue {
    texts(&[Some("abcdef"), Some(""), None, Some("é漢😀z")])
}

#[test]
fn parts_of_texts() {
    for (name, args, expected) in [
        ("substring", vec![samples(), int(2), int(2)], ["bc", "", "NULL", "漢😀"]),
        ("substring", vec![samples(), int(-2)], ["ef", "", "NULL", "😀z"]),
        ("substring", vec![samples(), int(0), int(-1)], ["NULL", "NULL", "NULL", "NULL"]),
        ("left", vec![samples(), int(3)], ["abc", "", "NULL", "é漢😀"]),
        ("left", vec![samples(), int(-1)], ["", "", "NULL", ""]),
        ("right", vec![samples(), int(2)], ["ef", "", "NULL", "😀z"]),
        ("right", vec![samples(), int(99)], ["abcdef", "", "NULL", "é漢😀z"]),
        ("overlay", vec![samples(), constant("ZZ"), int(3)], ["abZZef", "", "NULL", "é漢ZZz"]),
        ("overlay", vec![samples(), constant("ZZ"), int(2), int(0)], ["aZZ", "", "NULL", "éZZ"]),
        ("overlay", vec![samples(), constant("!"), int(99)], ["abcdef", "", "NULL", "é漢😀z"]),
        ("lpad", vec![samples(), int(8), constant("xy")], ["xyabcdef", "xyxyxyxy", "NULL", "xyxé漢😀z"]),
        ("rpad", vec![samples(), int(3), constant("*")], ["abc", "***", "NULL", "é漢?"]),
        ("lpad", vec![samples(), int(-1), constant("*")], ["NULL"; 4]),
        ("lpad", vec![samples(), int(1), constant("")], ["NULL"; 4]),
        ("repeat", vec![samples(), int(2)], ["abcdefabcdef", "", "NULL", "é漢😀zé漢😀z"]),
        ("repeat", vec![samples(), int(-2)], ["", "", "NULL", ""]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("substring", vec![int(1), int(1)]).contains("Cannot apply 'SUBSTRING'"));
}

#[test]
fn texts_are_found() {
    let haystack = || texts(&[Some("banana"), Some(""), None, Some("漢an")]);
    for (name, args, expected) in [
        ("locate", vec![constant("an"), haystack(), int(3)], ["4", "0", "NULL", "0"]),
        ("locate", vec![constant(""), haystack()], ["1", "1", "NULL", "1"]),
        ("instr", vec![haystack(), constant("an")], ["2", "0", "NULL", "2"]),
        ("instr", vec![haystack(), constant("an"), int(1), int(2)], ["4", "0", "NULL", "0"]),
        ("instr", vec![haystack(), constant("an"), int(-1)], ["4", "0", "NULL", "2"]),
        ("instr", vec![haystack(), constant("an"), int(0)], ["0", "0", "NULL", "0"]),
        ("startswith", vec![haystack(), constant("ba")], ["true", "false", "NULL", "false"]),
        ("endswith", vec![haystack(), constant("")], ["true", "true", "NULL", "true"]),
        ("ascii", vec![haystack()], ["98", "0", "NULL", "-26"]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("instr", vec![haystack(), constant("a"), int(1), int(0)]).contains("from 1, not 0"));
}

#[test]
fn texts_are_changed() {
    for (name, args, expected) in [
        (
            "concat",
            vec![samples(), constant("-"), samples()],
            ["abcdef-abcdef", "-", "NULL", "é漢😀z-é漢😀z"],
        ),
        ("concat", vec![samples(), NONE], ["NULL"; 4]),
        (
            "replace",
            vec![samples(), constant(""), constant("-")],
            ["-a-b-c-d-e-f-", "-", "NULL", "-é-漢-😀-z-"],
        ),
        ("translate", vec![samples(), constant("aéb"), constant("xy")], ["xcdef", "", "NULL", "y漢😀z"]),
        ("translate", vec![samples(), NONE, constant("x")], ["abcdef", "", "NULL", "é漢😀z"]),
        ("initcap", vec![samples()], ["Abcdef", "", "NULL", "é漢😀Z"]),
        ("url_encode", vec![samples()], ["abcdef", "", "NULL", "%C3%A9%E6%BC%A2%F0%9F%98%80z"]),
        (
            "url_decode",
            vec![texts(&[Some("a+%C3%A9"), Some(""), None, Some("%x")])],
            ["a é", "", "NULL", "NULL"],
        ),
        ("elt", vec![int(1), samples(), constant("x")], ["abcdef", "", "NULL", "é漢😀z"]),
        ("elt", vec![int(3), samples(), constant("x")], ["NULL"; 4]),
        ("chr", vec![longs(&[Some(65), Some(-1), None, Some(353)])], ["A", "", "NULL", "a"]),
        ("printf", vec![constant("<%s>"), samples()], ["<abcdef>", "<>", "<null>", "<é漢😀z>"]),
        ("printf", vec![constant("%d"), samples()], ["NULL", "NULL", "null", "NULL"]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("concat", vec![samples(), int(1)]).contains("CONCAT(<STRING>, <INT>)"));
}

#[test]
fn texts_are_split() {
    let listed = || texts(&[Some("a,b,,c"), Some(""), None, Some(",")]);
    assert_eq!(call("split", vec![listed(), constant(",")]), ["[a, b, , c]", "[]", "NULL", "[, ]"]);
    assert_eq!(call("split", vec![constant("é1"), constant("")]), ["[é, 1]"]);
    let pairs = || texts(&[Some("a=1,b=2,a=3,"), Some(""), None, Some("x")]);
    assert_eq!(call("str_to_map", vec![pairs()]), ["{a: 3, b: 2}", "{}", "NULL", "{x: NULL}"]);
    assert_eq!(
        call("str_to_map", vec![constant("a.1|b.2"), constant(r"\|"), constant(r"\.")]),
        ["{a: 1, b: 2}"]
    );
    assert!(
        error("str_to_map", vec![constant("a"), constant("("), constant("=")])
            .contains("no regular expression")
    );
}

#[test]
fn urls() {
    let urls = || texts(&[Some("https://u:p@h.org:1/a?q=1&r#f"), Some("no url"), None, Some("http://h")]);
    for (part, expected) in [
        ("HOST", ["h.org", "NULL", "NULL", "h"]),
        ("PATH", ["/a", "NULL", "NULL", ""]),
        ("QUERY", ["q=1&r", "NULL", "NULL", "NULL"]),
        ("REF", ["f", "NULL", "NULL", "NULL"]),
        ("PROTOCOL", ["https", "NULL", "NULL", "http"]),
        ("FILE", ["/a?q=1&r", "NULL", "NULL", ""]),
        ("AUTHORITY", ["u:p@h.org:1", "NULL", "NULL", "h"]),
        ("USERINFO", ["u:p", "NULL", "NULL", "NULL"]),
        ("host", ["NULL"; 4]),
    ] {
        assert_eq!(call("parse_url", vec![urls(), constant(part)]), expected, "{part}");
    }
    assert_eq!(
        call("parse_url", vec![urls(), constant("QUERY"), constant("q")]),
        ["1", "NULL", "NULL", "NULL"]
    );
    assert_eq!(call("parse_url", vec![urls(), constant("HOST"), constant("q")]), ["NULL"; 4]);
}

#[test]
fn regular_expressions() {
    let rows = || texts(&[Some("k=v; k2=v2"), Some(""), None, Some("123")]);
    for (name, args, expected) in [
        ("regexp", vec![rows(), constant(r"\d")], ["true", "false", "NULL", "true"]),
        ("regexp", vec![rows(), constant("(")], ["false", "false", "NULL", "false"]),
        ("regexp_extract", vec![rows(), constant(r"(\w)=(\w)"), int(2)], ["v", "NULL", "NULL", "NULL"]),
        ("regexp_extract", vec![rows(), constant(r"(\w)=(\w)"), int(3)], ["NULL"; 4]),
        ("regexp_extract_all", vec![rows(), constant(r"\d"), int(0)], ["[2, 2]", "[]", "NULL", "[1, 2, 3]"]),
        ("regexp_substr", vec![rows(), constant(r"\d+")], ["2", "NULL", "NULL", "123"]),
        ("regexp_count", vec![rows(), constant("x*")], ["11", "1", "NULL", "4"]),
        ("regexp_instr", vec![rows(), constant(";")], ["4", "0", "NULL", "0"]),
        (
            "regexp_replace",
            vec![rows(), constant(r"\d"), constant("$1")],
            ["k=v; k$1=v$1", "", "NULL", "$1$1$1"],
        ),
        ("regexp_replace", vec![rows(), constant("["), constant("")], ["NULL"; 4]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(error("regexp_extract_all", vec![rows(), constant("a"), int(1)]).contains("range 0 to 0"));
}

#[test]
fn patterns() {
    let rows = || texts(&[Some("a%c"), Some(""), None, Some("abc")]);
    for (name, args, expected) in [
        ("flink_like", vec![rows(), constant("a%c")], ["true", "false", "NULL", "true"]),
        ("flink_like", vec![rows(), constant("a!%c"), constant("!")], ["true", "false", "NULL", "false"]),
        ("flink_like", vec![rows(), rows()], ["true", "true", "NULL", "true"]),
        ("flink_similar", vec![rows(), constant("[a-b]+c")], ["false", "false", "NULL", "true"]),
        ("flink_similar", vec![rows(), NONE], ["NULL"; 4]),
    ] {
        assert_eq!(call(name, args), expected, "{name}");
    }
    assert!(
        error("flink_like", vec![rows(), constant("a!b"), constant("!")]).contains("Invalid escape sequence")
    );
    assert!(error("flink_similar", vec![rows(), constant("[a")]).contains("Invalid regular expression"));
}

#[test]
fn json_strings_and_back() {
    let rows = || texts(&[Some("a\"/é"), Some(""), None]);
    assert_eq!(call("json_quote", vec![rows()]), [r#""a\"\/\u00e9""#, "\"\"", "NULL"]);
    let quoted = texts(&[Some(r#""a\u00e9""#), Some("\"a"), None, Some("[1]")]);
    assert_eq!(call("json_unquote", vec![quoted]), ["aé", "\"a", "NULL", "[1]"]);
}

#[test]
fn predicates_on_texts() {
    let rows = || texts(&[Some("abé"), Some(""), None, Some("12"), Some("٣"), Some("1e5"), Some("Ⅷ")]);
    assert_eq!(
        call("is_alpha", vec![rows()]),
        ["true", "false", "false", "false", "false", "false", "false"]
    );
    assert_eq!(call("is_digit", vec![rows()]), ["false", "false", "false", "true", "true", "false", "false"]);
    assert_eq!(
        call("is_decimal", vec![rows()]),
        ["false", "false", "false", "true", "true", "true", "false"]
    );
    assert_eq!(call("is_digit", vec![ints(&[Some(1), None])]), ["true", "true"]);
}

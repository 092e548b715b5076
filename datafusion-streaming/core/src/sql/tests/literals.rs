//! Literals.

use super::*;

fn literal(text: &str) -> String {
    let query = rewritten(&format!("SELECT {text} AS x FROM t"));
    query.trim_start_matches("SELECT ").trim_end_matches(" AS x FROM t").to_string()
}

#[test]
fn numbers_have_flinks_types() {
    for (written, typed) in [
        ("5", "CAST(5 AS INT)"),
        ("007", "CAST(007 AS INT)"),
        ("-5", "CAST(-5 AS INT)"),
        ("- -5", "-CAST(-5 AS INT)"),
        ("5.", "CAST(5 AS INT)"),
        ("2147483647", "CAST(2147483647 AS INT)"),
        ("2147483648", "2147483648"),
        ("-2147483648", "CAST(-2147483648 AS INT)"),
        ("-2147483649", "-2147483649"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.50", "1.50"),
        ("0.5", "CAST(0.5 AS DECIMAL(2, 1))"),
        (".5", ".5"),
        ("0.05", "CAST(0.05 AS DECIMAL(3, 2))"),
        ("-10.0", "-10.0"),
        ("1e3", "DOUBLE '1e3'"),
        ("-1.5E-2", "DOUBLE '-1.5E-2'"),
        ("a - 1", "a - CAST(1 AS INT)"),
    ] {
        assert_eq!(literal(written), typed);
    }
    for (written, of) in [
        ("9223372036854775808", "BIGINT"),
        ("-9223372036854775809", "BIGINT"),
        ("12345678901234567890.5", "DECIMAL"),
        ("1e400", "DOUBLE"),
    ] {
        let message = refused(&format!("SELECT {written} FROM t"));
        assert!(message.contains(&format!("out of the range of {of}")), "{message}");
    }
}

#[test]
fn strings() {
    for (written, plain) in [
        (r"'a\nb'", r"'a\nb'"),
        ("'it''s'", "'it''s'"),
        ("U&'\\0041'", "'A'"),
        ("N'y'", "'y'"),
        ("_UTF8'x'", "'x'"),
        ("X'0a'", "X'0a'"),
        ("'a'\n 'b'", "'ab'"),
    ] {
        assert_eq!(literal(written), plain);
    }
    assert!(refused("SELECT ARRAY[] FROM t").contains("ARRAY[] has no element"));
}

#[test]
fn intervals() {
    for (written, planned) in [
        ("INTERVAL '5' SECOND", "5000 milliseconds"),
        ("INTERVAL '10' MINUTES", "600000 milliseconds"),
        ("INTERVAL '1:30' MINUTE TO SECOND", "90000 milliseconds"),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "1 days 7384500 milliseconds"),
        ("INTERVAL '1 12' DAY TO HOUR", "1 days 43200000 milliseconds"),
        ("INTERVAL '24' HOUR", "1 days 0 milliseconds"),
        ("INTERVAL '-36' HOUR", "-1 days -43200000 milliseconds"),
        ("INTERVAL -'1' DAY", "-1 days 0 milliseconds"),
        ("INTERVAL -'-1' DAY", "1 days 0 milliseconds"),
        ("INTERVAL '+2' WEEK", "14 days 0 milliseconds"),
        ("INTERVAL '1-2' YEAR TO MONTH", "14 months"),
        ("INTERVAL '-1' QUARTER", "-3 months"),
        ("INTERVAL '9000' YEAR(4)", "108000 months"),
        ("INTERVAL '3' SECOND(3)", "3000 milliseconds"),
        ("INTERVAL '0.12345' SECOND", "123 milliseconds"),
        ("INTERVAL '1.123456789' SECOND(2, 9)", "1123 milliseconds"),
        ("INTERVAL '100' DAY(3)", "100 days 0 milliseconds"),
        ("INTERVAL 100 DAY", "100 days 0 milliseconds"),
    ] {
        assert_eq!(literal(written), format!("INTERVAL '{planned}'"), "{written}");
    }
    assert_eq!(literal("INTERVAL a DAY"), "flink_interval(a, 'DAY')");
    assert_eq!(literal("INTERVAL -(a + 1) MONTHS"), "-flink_interval((a + CAST(1 AS INT)), 'MONTH')");
    for (written, expected) in [
        ("INTERVAL '100' DAY", "The interval's 100 exceeds the precision of DAY(2); write DAY(3)"),
        ("INTERVAL '5 x' DAY", "'5 x' is not an interval of DAY at Line: 1, Column: 17"),
        ("INTERVAL '1:60' MINUTE TO SECOND", "not an interval of MINUTE TO SECOND"),
        ("INTERVAL '1.1234567' SECOND", "not an interval of SECOND"),
        ("INTERVAL '1-12' YEAR TO MONTH", "not an interval of YEAR TO MONTH"),
        ("INTERVAL '' DAY", "not an interval of DAY"),
        ("INTERVAL '1' DAY TO MONTH", "There is no interval DAY TO MONTH"),
        ("INTERVAL '1' FORTNIGHT", "the unit of an interval, found: FORTNIGHT"),
        ("INTERVAL '9999999999' DAY(10)", "is too large"),
    ] {
        let message = refused(&format!("SELECT {written} FROM t"));
        assert!(message.contains(expected), "{written}: {message}");
    }
}

#[test]
fn dates_and_times() {
    for (written, typed) in [
        ("DATE '2020-1-02'", "DATE '2020-01-02'"),
        ("TIME '10:00:00.123'", "TIME(0) '10:00:00'"),
        ("TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP(0) '2020-01-01 00:00:00'"),
        ("TIMESTAMP '2020-01-01 00:00:00.1200'", "TIMESTAMP(4) '2020-01-01 00:00:00.1200'"),
        ("TIMESTAMP '2020-01-01 00:00:00.1234567891'", "TIMESTAMP(9) '2020-01-01 00:00:00.123456789'"),
        (
            "TIMESTAMP WITH LOCAL TIME ZONE '2020-01-01 00:00:00.1'",
            "CAST(TIMESTAMP(1) '2020-01-01 00:00:00.1' AS TIMESTAMP_LTZ(1))",
        ),
        ("date", "date"),
    ] {
        assert_eq!(literal(written), typed);
    }
    for written in
        ["DATE '2020-13-01'", "TIME '25:00:00'", "TIMESTAMP '2020-01-01T00:00:00'", "TIMESTAMP '2020-01-01'"]
    {
        let message = refused(&format!("SELECT {written} FROM t"));
        assert!(message.contains("of the form"), "{written}: {message}");
    }
}

//! Types as text and in Arrow.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use super::*;

fn arrow(text: &str) -> DataType {
    FlinkType::parse(text).unwrap().kind.to_arrow()
}

#[test]
fn text_of_types() {
    for (text, printed) in [
        ("boolean", "BOOLEAN"),
        ("TinyInt", "TINYINT"),
        ("INTEGER NULL", "INT"),
        ("BIGINT NOT NULL", "BIGINT NOT NULL"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DEC", "DECIMAL(10, 0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)"),
        ("DECIMAL(50, 10)", "DECIMAL(38, 10)"),
        ("CHAR", "CHAR(1)"),
        ("CHARACTER(3)", "CHAR(3)"),
        ("CHARACTER VARYING(3)", "VARCHAR(3)"),
        ("VARCHAR", "STRING"),
        ("VARCHAR(2147483647)", "STRING"),
        ("BINARY", "BINARY(1)"),
        ("BINARY VARYING(4)", "VARBINARY(4)"),
        ("VARBINARY", "BYTES"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(12)", "TIMESTAMP(9)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(3) NOT NULL"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ(6)"),
        ("INTERVAL DAY(3) TO SECOND(6)", "INTERVAL SECOND(3)"),
        ("INTERVAL YEAR TO MONTH", "INTERVAL MONTH"),
        ("INTERVAL MONTH", "INTERVAL MONTH"),
        ("ARRAY<ARRAY<INT NOT NULL>>", "ARRAY<ARRAY<INT NOT NULL>>"),
        ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
        ("MULTISET<STRING>", "MULTISET<STRING>"),
        ("MAP<STRING, MAP<INT, CHAR(2)>>", "MAP<STRING, MAP<INT, CHAR(2)>>"),
        (
            "ROW<a INT, `b c` ROW(x STRING NOT NULL 'x', y BYTES)>",
            "ROW<`a` INT, `b c` ROW<`x` STRING NOT NULL, `y` BYTES>>",
        ),
    ] {
        let parsed = FlinkType::parse(text).unwrap();
        assert_eq!(parsed.to_string(), printed, "{text}");
        assert_eq!(FlinkType::parse(printed).unwrap(), parsed, "{printed}");
    }
}

#[test]
fn no_types() {
    for (text, expected) in [
        ("REAL", "a type of Flink SQL, found: REAL"),
        ("INT INT", "Expected: EOF, found: INT"),
        (
            "DECIMAL(5, 6)",
            "The scale of a DECIMAL is between 0 and its precision 5, not 6 at Line: 1, Column: 9",
        ),
        ("DECIMAL(0)", "The precision of a DECIMAL is between 1 and 38, not 0"),
        ("CHAR(0)", "between 1 and 2147483647, not 0"),
        ("MAP<INT>", "This type takes 2 type(s), not 1 at Line: 1, Column: 4"),
        ("ARRAY", "Expected: <"),
        ("INTERVAL DAY TO MONTH", "the same kind of unit"),
        ("`INT`", "Expected: a type"),
    ] {
        let message = FlinkType::parse(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn arrow_counterparts() {
    let ltz = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    for (text, expected) in [
        ("TINYINT", DataType::Int8),
        ("FLOAT", DataType::Float32),
        ("DECIMAL(5, 2)", DataType::Decimal128(5, 2)),
        ("CHAR(3)", DataType::Utf8),
        ("BYTES", DataType::Binary),
        ("TIME(0)", DataType::Time32(TimeUnit::Second)),
        ("TIME(2)", DataType::Time32(TimeUnit::Millisecond)),
        ("TIME(4)", DataType::Time64(TimeUnit::Microsecond)),
        ("TIME(9)", DataType::Time64(TimeUnit::Nanosecond)),
        ("TIMESTAMP(0)", DataType::Timestamp(TimeUnit::Second, None)),
        ("TIMESTAMP(1)", DataType::Timestamp(TimeUnit::Millisecond, None)),
        ("TIMESTAMP_LTZ(6)", ltz(TimeUnit::Microsecond)),
        ("TIMESTAMP(9)", DataType::Decimal128(37, -9)),
        ("TIMESTAMP_LTZ(7)", DataType::Decimal128(38, -9)),
        ("INTERVAL DAY", DataType::Interval(IntervalUnit::MonthDayNano)),
        ("ARRAY<INT NOT NULL>", DataType::new_list(DataType::Int32, true)),
        (
            "ROW<a INT, b STRING>",
            DataType::Struct(
                vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)].into(),
            ),
        ),
    ] {
        assert_eq!(arrow(text), expected, "{text}");
    }
    let map = |value| {
        let entries = DataType::Struct(vec![Field::new("key", DataType::Utf8, false), value].into());
        DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
    };
    assert_eq!(arrow("MAP<STRING, BIGINT>"), map(Field::new("value", DataType::Int64, true)));
    assert_eq!(arrow("MULTISET<STRING>"), map(Field::new("value", DataType::Int32, false)));
}

#[test]
fn fields_carry_what_arrow_cannot_tell() {
    for text in [
        "CHAR(3) NOT NULL",
        "VARCHAR(3)",
        "BINARY(2)",
        "TIMESTAMP(1)",
        "TIMESTAMP(8)",
        "TIME(4)",
        "ARRAY<INT NOT NULL>",
        "MULTISET<STRING>",
        "ROW<`a` CHAR(2), `b` INT NOT NULL>",
        "INTERVAL MONTH",
    ] {
        let declared = FlinkType::parse(text).unwrap();
        let field = declared.to_field("c");
        assert!(field.metadata().contains_key(FLINK_TYPE_KEY), "{text}");
        assert_eq!(FlinkType::from_field(&field).unwrap(), declared);
    }
    for text in [
        "INT",
        "STRING",
        "BYTES",
        "TIMESTAMP(3)",
        "TIMESTAMP_LTZ(9) NOT NULL",
        "TIME(6)",
        "DECIMAL(7, 3)",
        "ARRAY<INT>",
        "MAP<STRING, INT>",
        "ROW<`a` INT>",
        "INTERVAL SECOND(3)",
    ] {
        let declared = FlinkType::parse(text).unwrap();
        let field = declared.to_field("c");
        assert!(field.metadata().is_empty(), "{text}");
        assert_eq!(FlinkType::from_field(&field).unwrap(), declared);
    }
}

#[test]
fn stale_metadata_is_not_believed() {
    let field = FlinkType::parse("CHAR(3)").unwrap().to_field("c").with_data_type(DataType::Int32);
    assert_eq!(FlinkType::from_field(&field).unwrap().to_string(), "INT");
}

#[test]
fn types_of_other_tables() {
    for (data_type, expected) in [
        (DataType::Utf8View, "STRING"),
        (DataType::LargeBinary, "BYTES"),
        (DataType::UInt32, "BIGINT"),
        (DataType::UInt64, "DECIMAL(20, 0)"),
        (DataType::FixedSizeBinary(4), "BINARY(4)"),
        (DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Paris".into())), "TIMESTAMP_LTZ(3)"),
        (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "STRING"),
        (DataType::new_fixed_size_list(DataType::Int8, 2, true), "ARRAY<TINYINT>"),
        (DataType::Decimal256(20, 2), "DECIMAL(20, 2)"),
        (DataType::Null, "NULL"),
    ] {
        assert_eq!(TypeKind::from_arrow(&data_type).unwrap().to_string(), expected);
    }
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    assert!(TypeKind::from_arrow(&union).unwrap_err().to_string().contains("no type for Arrow's Union"));
    assert!(TypeKind::from_arrow(&DataType::Decimal256(60, 2)).is_err());
}

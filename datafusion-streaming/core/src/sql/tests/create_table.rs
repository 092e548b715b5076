//! CREATE TABLE.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::TableReference;

use super::*;

fn table(sql: &str) -> CreateTable {
    match one(sql).statement {
        Statement::CreateTable(table) => *table,
        other => panic!("{sql} is {other:?}"),
    }
}

#[test]
fn every_clause() {
    let table = table(
        "CREATE TEMPORARY TABLE IF NOT EXISTS c.d.Orders (
           id BIGINT COMMENT 'the id',
           `user` STRING NOT NULL,
           price DECIMAL(10, 2),
           cost AS price * 2 COMMENT 'computed',
           ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
           `partition` INT METADATA,
           pt AS PROCTIME(),
           WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
           CONSTRAINT pk PRIMARY KEY (id, `user`) NOT ENFORCED
         ) COMMENT 'all orders'
         PARTITIONED BY (`user`, price)
         WITH ('connector' = 'kafka', 'a.b' = 'it''s')",
    );
    assert_eq!(table.name, TableReference::full("c", "d", "Orders"));
    assert!(table.temporary && table.if_not_exists);
    assert_eq!(table.primary_key, ["id", "user"]);
    assert_eq!(table.partitioned_by, ["user", "price"]);
    assert_eq!(table.comment.as_deref(), Some("all orders"));
    assert_eq!(table.options, [("connector".into(), "kafka".into()), ("a.b".into(), "it's".into())]);
    let watermark = table.watermark.unwrap();
    assert_eq!(watermark.column, "ts");
    assert_eq!(watermark.expr.to_string(), "ts - INTERVAL '5000 milliseconds'");

    let names: Vec<_> = table.columns.iter().map(Column::name).collect();
    assert_eq!(names, ["id", "user", "price", "cost", "ts", "partition", "pt"]);
    match &table.columns[0] {
        Column::Physical { field, comment } => {
            assert_eq!(
                (field.data_type(), field.is_nullable()),
                (&DataType::Int64, false),
                "a key has no nulls"
            );
            assert_eq!(comment.as_deref(), Some("the id"));
        }
        other => panic!("{other:?}"),
    }
    match &table.columns[3] {
        Column::Computed { expr, comment, .. } => {
            assert_eq!(expr.to_string(), "price * CAST(2 AS INT)");
            assert_eq!(comment.as_deref(), Some("computed"));
        }
        other => panic!("{other:?}"),
    }
    match &table.columns[4] {
        Column::Metadata { field, key, is_virtual, .. } => {
            assert_eq!(field.data_type(), &DataType::Timestamp(TimeUnit::Millisecond, None));
            assert_eq!((key.as_str(), *is_virtual), ("timestamp", true));
        }
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(&table.columns[5], Column::Metadata { key, is_virtual: false, .. } if key == "partition")
    );
}

#[test]
fn a_key_may_stand_at_its_column() {
    for sql in [
        "CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED COMMENT 'key', v INT)",
        "CREATE TABLE t (k INT CONSTRAINT c PRIMARY KEY NOT ENFORCED, v INT)",
        "CREATE TABLE t (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)",
    ] {
        let table = table(sql);
        assert_eq!(table.primary_key, ["k"], "{sql}");
        assert!(matches!(&table.columns[0], Column::Physical { field, .. } if !field.is_nullable()), "{sql}");
        assert!(matches!(&table.columns[1], Column::Physical { field, .. } if field.is_nullable()), "{sql}");
    }
}

#[test]
fn as_select_and_like() {
    let made = table("CREATE TABLE t WITH ('connector' = 'x') AS SELECT a, a + 1 FROM s");
    assert_eq!(made.query.unwrap().to_string(), "SELECT a, a + CAST(1 AS INT) AS `EXPR$1` FROM s");
    let like = table(
        "CREATE TABLE t (x INT, WATERMARK FOR ts AS ts) LIKE a.s (EXCLUDING OPTIONS overwriting watermarks)",
    );
    let clause = like.like.unwrap();
    assert_eq!(clause.source, TableReference::partial("a", "s"));
    let options = [("EXCLUDING", "OPTIONS"), ("OVERWRITING", "WATERMARKS")]
        .map(|(a, b)| (a.to_string(), b.to_string()));
    assert_eq!(clause.options, options);
}

#[test]
fn what_is_wrong() {
    for (columns, expected) in [
        ("a INT, a STRING", "There are two columns a at Line: 1, Column: 24"),
        ("a", "The column a has no type"),
        ("a INT, PRIMARY KEY (a)", "A primary key is not enforced: write PRIMARY KEY … NOT ENFORCED"),
        ("a INT PRIMARY KEY NOT ENFORCED, b INT PRIMARY KEY NOT ENFORCED", "A table has one primary key"),
        ("ts TIMESTAMP(3), WATERMARK FOR ts AS ts, WATERMARK FOR ts AS ts", "A table has one watermark"),
        ("r ROW<ts TIMESTAMP(3)>, WATERMARK FOR r.ts AS r.ts", "a field of r"),
        (
            "ts TIMESTAMP(3), WATERMARK FOR nope AS ts",
            "nope, which is no column of the table at Line: 1, Column: 48",
        ),
        (
            "ts STRING, WATERMARK FOR ts AS ts",
            "ts, which has to be of TIMESTAMP(3) or TIMESTAMP_LTZ(3), or fewer digits, and is STRING",
        ),
        ("ts TIMESTAMP(6), WATERMARK FOR ts AS ts", "and is TIMESTAMP(6)"),
        ("a INT, UNIQUE (a)", "Expected: a type, found: ("),
        ("a INT b", "Expected: ), found: b"),
    ] {
        let message = refused(&format!("CREATE TABLE t ({columns})"));
        assert!(message.contains(expected), "{columns}: {message}");
    }
    assert!(
        refused("CREATE TABLE t (a INT) WITH ('k' = 'v', 'k' = 'w')")
            .contains("The option 'k' is given twice")
    );
    assert!(
        refused("CREATE TABLE t (a INT) WITH (k = 'v')").contains("Expected: a string literal, found: k")
    );
    assert!(refused("CREATE OR REPLACE TABLE t (a INT)").contains("CREATE OR at"));
}

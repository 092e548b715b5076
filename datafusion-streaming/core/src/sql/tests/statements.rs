//! Scripts and statements.

use datafusion::common::TableReference;

use super::*;

#[test]
fn a_script_keeps_the_text_of_each_statement() {
    let script = "-- first\nSET 'a' = 'b';;\n  SELECT 'x;y', /* ; */ 1 -- ö\n FROM t\n;\nRESET 'a'; RESET";
    let texts: Vec<_> = parse(script).unwrap().into_iter().map(|statement| statement.text).collect();
    assert_eq!(texts, ["SET 'a' = 'b'", "SELECT 'x;y', /* ; */ 1 -- ö\n FROM t", "RESET 'a'", "RESET"]);
    assert_eq!(parse(" -- nothing\n ;; /* at all */").unwrap(), vec![]);
}

#[test]
fn options() {
    assert_eq!(
        one("SET 'k' = 'it''s \\n'").statement,
        Statement::Set { key: "k".into(), value: "it's \\n".into() }
    );
    assert_eq!(one("set").statement, Statement::ListOptions);
    assert_eq!(one("RESET").statement, Statement::Reset(None));
    assert_eq!(one("reset 'k';").statement, Statement::Reset(Some("k".into())));
    assert!(refused("SET k = 'v'").contains("Expected: a string literal, found: k at Line: 1, Column: 5"));
}

#[test]
fn views() {
    let view = one(
        "CREATE TEMPORARY VIEW IF NOT EXISTS d.`my view` (a COMMENT 'first', b) COMMENT 'mine' AS\n  SELECT x, 1 FROM T -- end",
    );
    let Statement::CreateView(view) = view.statement else { panic!("{view:?}") };
    assert_eq!(view.name, TableReference::partial("d", "my view"));
    assert!(view.temporary && view.if_not_exists);
    assert_eq!(view.columns, ["a", "b"]);
    assert_eq!(view.comment.as_deref(), Some("mine"));
    assert_eq!(view.definition, "SELECT x, 1 FROM T -- end");
    assert_eq!(
        view.to_datafusion().to_string(),
        "CREATE TEMPORARY VIEW `d`.`my view` (`a`, `b`) AS SELECT x, CAST(1 AS INT) AS `EXPR$1` FROM T"
    );
}

#[test]
fn tables_and_views_are_dropped_by_datafusion() {
    for sql in [
        "DROP TABLE t",
        "DROP TEMPORARY TABLE IF EXISTS a.b.t",
        "DROP VIEW IF EXISTS v",
        "DROP TEMPORARY VIEW v",
    ] {
        assert_eq!(rewritten(sql), sql);
    }
}

#[test]
fn metadata() {
    let t = || TableReference::bare("t");
    assert_eq!(one("DESCRIBE t").statement, Statement::Describe(t()));
    assert_eq!(one("DESC t").statement, Statement::Describe(t()));
    assert_eq!(one("SHOW TABLES").statement, Statement::Show(Show::Tables));
    assert_eq!(one("show views").statement, Statement::Show(Show::Views));
    assert_eq!(one("SHOW CREATE TABLE t").statement, Statement::Show(Show::CreateTable(t())));
    assert_eq!(one("SHOW CREATE VIEW t").statement, Statement::Show(Show::CreateView(t())));
}

#[test]
fn explain() {
    let explain = |sql: &str| match one(sql).statement {
        Statement::Explain { details, statement } => (details, *statement),
        other => panic!("{other:?}"),
    };
    let query = one("SELECT a FROM t").statement;
    assert_eq!(explain("EXPLAIN SELECT a FROM t"), (vec![], query.clone()));
    assert_eq!(explain("EXPLAIN PLAN FOR SELECT a FROM t"), (vec![], query.clone()));
    assert_eq!(
        explain("EXPLAIN CHANGELOG_MODE, ESTIMATED_COST SELECT a FROM t"),
        (vec![ExplainDetail::ChangelogMode, ExplainDetail::EstimatedCost], query)
    );
    assert_eq!(
        explain("EXPLAIN INSERT INTO s SELECT a FROM t").1,
        one("INSERT INTO s SELECT a FROM t").statement
    );
    let (_, set) = explain("EXPLAIN STATEMENT SET BEGIN INSERT INTO s SELECT a FROM t; END");
    assert!(matches!(set, Statement::StatementSet(inserts) if inserts.len() == 1));
    assert!(refused("EXPLAIN SET 'a' = 'b'").contains("a query, an INSERT or a statement set"));
}

#[test]
fn statement_sets() {
    let inserts = "INSERT INTO s SELECT a FROM t; INSERT OVERWRITE u (a) VALUES (1);";
    for sql in [
        format!("EXECUTE STATEMENT SET BEGIN {inserts} END"),
        format!("BEGIN STATEMENT SET; {inserts} END;"),
        format!("execute statement set begin ;{inserts}; end"),
    ] {
        let Statement::StatementSet(set) = one(&sql).statement else { panic!("{sql}") };
        let texts: Vec<_> = set.iter().map(|insert| insert.text.as_str()).collect();
        assert_eq!(texts, ["INSERT INTO s SELECT a FROM t", "INSERT OVERWRITE u (a) VALUES (1)"]);
    }
    assert!(
        refused("EXECUTE STATEMENT SET BEGIN SELECT 1; END")
            .contains("Expected: INSERT or END, found: SELECT")
    );
    assert_eq!(
        one("EXECUTE INSERT INTO s SELECT a FROM t").statement,
        one("INSERT INTO s SELECT a FROM t").statement
    );
    assert_eq!(rewritten("EXECUTE SELECT a FROM t"), "SELECT a FROM t");
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    assert_eq!(
        refused("SELECT a\nFROM t;\nSELECT a b c FROM t"),
        "SQL error: ParserError(\"Expected: the end of the statement or ;, found: c at Line: 3, Column: 12\")"
    );
    // also within subqueries in FROM
    assert!(
        refused("SELECT * FROM (SELECT CAST(a AS FOO) FROM t)")
            .contains("a type of Flink SQL, found: FOO at Line: 1, Column: 33")
    );
    assert!(
        refused("SELECT * FROM a JOIN (SELECT b FROM t WHERE x >) ON TRUE")
            .contains("an expression, found: ) at Line: 1, Column: 48")
    );
    let unknown = refused("CREATE CATALOG c WITH ('type' = 'x')");
    assert!(
        unknown.contains("CREATE CATALOG at Line: 1, Column: 1 is no statement that is supported"),
        "{unknown}"
    );
    assert!(unknown.contains("CREATE [TEMPORARY] TABLE"), "{unknown}");
    assert!(refused("ALTER TABLE t RENAME TO u").contains("ALTER TABLE at"));
    assert!(refused("CREATE TEMPORARY FUNCTION f AS 'x'").contains("CREATE TEMPORARY FUNCTION at"));
    assert!(refused("123").contains("123 at Line: 1, Column: 1 is no statement"));
}

#[test]
fn deep_nesting() {
    let nested = |n: usize, open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(n), close.repeat(n))
    };
    parse(&nested(50, "SELECT * FROM (", "SELECT a FROM t", ")")).unwrap();
    parse(&format!("SELECT {} FROM t", nested(150, "ABS(", "a", ")"))).unwrap();
    assert!(
        refused(&nested(1000, "SELECT * FROM (", "SELECT a FROM t", ")")).contains("RecursionLimitExceeded")
    );
}

#[test]
fn identifiers_are_quoted_by_backticks_and_keep_their_case() {
    assert_eq!(rewritten("SELECT `a b`, A, `it``s` FROM `T`"), "SELECT `a b`, A, `it``s` FROM `T`");
    assert!(
        refused("SELECT \"a\" FROM t")
            .contains("Flink SQL quotes identifiers with `…` and strings with '…' at Line: 1, Column: 8")
    );
    assert!(
        refused("SELECT a FROM t\nWHERE a != 1").contains("Flink SQL writes <> for != at Line: 2, Column: 9")
    );
}

#[test]
fn hints() {
    let hint = |name: &str, arguments: &[(&str, Option<&str>)], table: Option<&str>| Hint {
        name: name.into(),
        arguments: arguments.iter().map(|(k, v)| (k.to_string(), v.map(str::to_string))).collect(),
        table: table.map(str::to_string),
    };
    let statements = parse(
        "SELECT /*+ STATE_TTL('p' = '1d', 'c' = '2 h'), broadcast(c, d.e) */ * FROM o /*+ OPTIONS('x.y' = 'z') */ AS p \
         JOIN `d`.c /*+ OPTIONS('a' = 'b') */ ON TRUE; SELECT /* no hint */ 1; SELECT /*+ NONE() */ a FROM t",
    )
    .unwrap();
    assert_eq!(
        statements[0].hints,
        [
            hint("STATE_TTL", &[("p", Some("1d")), ("c", Some("2 h"))], None),
            hint("BROADCAST", &[("c", None), ("d.e", None)], None),
            hint("OPTIONS", &[("x.y", Some("z"))], Some("o")),
            hint("OPTIONS", &[("a", Some("b"))], Some("d.c")),
        ]
    );
    assert_eq!(statements[1].hints, []);
    assert_eq!(statements[2].hints, [hint("NONE", &[], None)]);
    assert!(refused("SELECT /*+ STATE_TTL( */ a FROM t").contains("In the hint /*+ STATE_TTL( */"));
}

#[test]
fn durations() {
    let millis = |text| parse_duration(text).unwrap();
    assert_eq!(
        ["10 s", "1 d", "0 ms", "5 min", "2h", "7"].map(millis),
        [10_000, 86_400_000, 0, 300_000, 7_200_000, 7]
    );
    assert_eq!(
        ["100ns", "1500 µs", "1500 micros", " 3 DAYS ", "1m"].map(millis),
        [0, 1, 1, 259_200_000, 60_000]
    );
    for text in ["", "s", "1.5 s", "-1 s", "1 fortnight", "1 s 2", "99999999999999999999 s"] {
        assert!(parse_duration(text).unwrap_err().to_string().contains(text), "{text}");
    }
    assert!(parse_duration("18446744073709551615 d").unwrap_err().to_string().contains("too long"));
}

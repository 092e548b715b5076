//! What queries become.

use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Query, SetExpr, Statement as SqlStatement, TableFactor,
};

use super::*;

fn check(cases: &[(&str, &str)]) {
    for (written, expected) in cases {
        assert_eq!(rewritten(written), *expected, "{written}");
    }
}

/// Checks expressions, each as the only item of a SELECT.
fn check_exprs(cases: &[(&str, &str)]) {
    for (written, expected) in cases {
        assert_eq!(
            rewritten(&format!("SELECT {written} AS x FROM t")),
            format!("SELECT {expected} AS x FROM t")
        );
    }
}

#[test]
fn numbers_that_are_no_expressions_stay() {
    check(&[
        (
            "SELECT a FROM t ORDER BY 1, a + 1 LIMIT 5 OFFSET 2",
            "SELECT a FROM t ORDER BY 1, a + CAST(1 AS INT) LIMIT 5 OFFSET 2",
        ),
        (
            "SELECT SUM(a) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS s FROM t",
            "SELECT SUM(a) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS s FROM t",
        ),
        (
            "SELECT SUM(a) OVER w AS s FROM t WINDOW w AS (ORDER BY ts ROWS 2 PRECEDING)",
            "SELECT SUM(a) OVER w AS s FROM t WINDOW w AS (ORDER BY ts ROWS 2 PRECEDING)",
        ),
        ("SELECT x FROM generate_series(1, 5) AS g (x)", "SELECT x FROM generate_series(1, 5) AS g (x)"),
        // but a number in GROUP BY is a constant
        ("SELECT COUNT(*) AS n FROM t GROUP BY 1", "SELECT COUNT(*) AS n FROM t GROUP BY CAST(1 AS INT)"),
    ]);
}

#[test]
fn names_of_columns() {
    check(&[
        (
            "SELECT DISTINCT a + 1, b AS c FROM t ORDER BY a + 1 DESC, b",
            "SELECT DISTINCT a + CAST(1 AS INT) AS `EXPR$0`, b AS c FROM t ORDER BY `EXPR$0` DESC, b",
        ),
        (
            "SELECT a + b, t.a, a, (b), a AS x FROM t",
            "SELECT a + b AS `EXPR$0`, t.a AS `a`, a AS `a0`, (b), a AS x FROM t",
        ),
        ("SELECT a, b AS a, c AS a FROM t", "SELECT a, b AS `a0`, c AS `a1` FROM t"),
        (
            "SELECT * FROM (VALUES (1, 'x'))",
            "SELECT * FROM (SELECT * FROM (VALUES (CAST(1 AS INT), 'x')) AS `values` (`EXPR$0`, `EXPR$1`)) AS `$derived1`",
        ),
        ("VALUES (true)", "SELECT * FROM (VALUES (true)) AS `values` (`EXPR$0`)"),
        ("INSERT INTO s VALUES (true)", "INSERT INTO s VALUES (true)"),
        (
            "INSERT INTO s SELECT x FROM (VALUES ('a'), ('b')) AS v (x)",
            "INSERT INTO s SELECT x FROM (SELECT 'a' AS `EXPR$0` UNION ALL SELECT 'b' AS `EXPR$0`) AS v (x)",
        ),
        (
            "WITH w AS (SELECT a + b FROM t) SELECT `EXPR$0` FROM w",
            "WITH w AS (SELECT a + b AS `EXPR$0` FROM t) SELECT `EXPR$0` FROM w",
        ),
    ]);
}

#[test]
fn aliases_are_hidden_from_group_by_and_having() {
    check(&[
        // not needed
        (
            "SELECT UPPER(k) AS u, COUNT(*) AS n FROM t GROUP BY UPPER(k)",
            "SELECT UPPER(k) AS u, COUNT(*) AS n FROM t GROUP BY UPPER(k)",
        ),
        (
            "SELECT t.k AS k, COUNT(*) AS n FROM t GROUP BY k HAVING k > 'a'",
            "SELECT t.k AS k, COUNT(*) AS n FROM t GROUP BY k HAVING k > 'a'",
        ),
        (
            "SELECT UPPER(k) AS k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > 1 ORDER BY k, n LIMIT 5",
            "SELECT `k#` AS `k`, `n` AS `n` FROM (SELECT UPPER(k) AS `k#`, COUNT(*) AS n FROM t GROUP BY k \
             HAVING COUNT(*) > CAST(1 AS INT) ORDER BY `k#`, n LIMIT 5) AS `$derived1`",
        ),
        (
            "SELECT k, SUM(v) AS s FROM t GROUP BY k HAVING s > 1 UNION ALL SELECT k, v FROM t",
            "SELECT `k` AS `k`, `s#` AS `s` FROM (SELECT k, SUM(v) AS `s#` FROM t GROUP BY k HAVING s > CAST(1 AS INT)) \
             AS `$derived1` UNION ALL SELECT k, v FROM t",
        ),
        // a subquery's columns are its own
        (
            "SELECT k, SUM(v) AS s FROM t GROUP BY k HAVING k IN (SELECT s FROM u)",
            "SELECT k, SUM(v) AS s FROM t GROUP BY k HAVING k IN (SELECT s FROM u)",
        ),
    ]);
}

#[test]
fn clauses_in_other_words() {
    check(&[
        ("SELECT a FROM t FETCH FIRST 2 ROWS ONLY", "SELECT a FROM t LIMIT 2"),
        ("SELECT a FROM t OFFSET 1 ROWS FETCH NEXT ROW ONLY", "SELECT a FROM t LIMIT 1 OFFSET 1 ROWS"),
        ("TABLE t UNION ALL TABLE u", "SELECT * FROM t UNION ALL SELECT * FROM u"),
        ("INSERT INTO s TABLE d.t", "INSERT INTO s SELECT * FROM d.t"),
        ("SELECT a FROM t GROUP BY (a, b), c", "SELECT a FROM t GROUP BY a, b, c"),
        ("SELECT a FROM t GROUP BY ROLLUP (a, b)", "SELECT a FROM t GROUP BY ROLLUP (a, b)"),
        (
            "SELECT a FROM t GROUP BY ROLLUP ((a, b), c)",
            "SELECT a FROM t GROUP BY GROUPING SETS ((a, b, c), (a, b), ())",
        ),
        (
            "SELECT a FROM t GROUP BY CUBE ((a, b), c)",
            "SELECT a FROM t GROUP BY GROUPING SETS ((a, b, c), (a, b), (c), ())",
        ),
        (
            "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS rn FROM t",
            "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS rn FROM t",
        ),
        (
            "SELECT a FROM t WHERE (a, b) IN (SELECT x, y FROM u) AND c = 1",
            "SELECT a FROM t WHERE EXISTS (SELECT CAST(1 AS INT) AS `EXPR$0` FROM (SELECT x, y FROM u) AS `$row` (`$row0`, `$row1`) \
             WHERE `$row0` = a AND `$row1` = b) AND c = CAST(1 AS INT)",
        ),
        (
            "SELECT a FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u)",
            "SELECT a FROM t WHERE NOT EXISTS (SELECT CAST(1 AS INT) AS `EXPR$0` FROM (SELECT x, y FROM u) AS `$row` (`$row0`, `$row1`) \
             WHERE (`$row0` = a AND `$row1` = b) IS NOT FALSE)",
        ),
    ]);
    assert!(refused("SELECT DISTINCT ON (a) a FROM t").contains("no DISTINCT ON"));
    assert!(refused("SELECT 1 AS x WHERE FALSE").contains("WHERE without a FROM at Line: 1, Column: 1"));
}

#[test]
fn joins_with_using() {
    check(&[
        ("SELECT k FROM l JOIN r USING (k)", "SELECT k FROM l JOIN r USING(k)"),
        ("SELECT k, x FROM l RIGHT JOIN r USING (k)", "SELECT r.k AS k, x FROM l RIGHT JOIN r ON l.k = r.k"),
        (
            "SELECT k + 1 AS x FROM l AS a FULL JOIN (SELECT * FROM r) USING (k, j) WHERE j > 1",
            "SELECT coalesce(a.k, `$derived1`.k) + CAST(1 AS INT) AS x FROM l AS a FULL JOIN (SELECT * FROM r) AS `$derived1` \
             ON a.k = `$derived1`.k AND a.j = `$derived1`.j WHERE coalesce(a.j, `$derived1`.j) > CAST(1 AS INT)",
        ),
        (
            "SELECT * FROM l FULL JOIN r USING (k)",
            "SELECT * REPLACE (coalesce(l.k, r.k) AS `k`) FROM l FULL JOIN r USING(k)",
        ),
        (
            "SELECT k FROM a FULL JOIN b USING (k) LEFT JOIN c USING (k)",
            "SELECT coalesce(a.k, b.k) AS k FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON coalesce(a.k, b.k) = c.k",
        ),
    ]);
}

#[test]
fn special_forms() {
    check_exprs(&[
        ("CAST(a AS map<string, array<int>>)", "CAST(a AS MAP<STRING, ARRAY<INT>>)"),
        ("TRY_CAST(a AS DECIMAL(5,2))", "TRY_CAST(a AS DECIMAL(5, 2))"),
        ("FLOOR(a TO hour)", "flink_floor(a, 'HOUR')"),
        ("CEILING(a TO DAY)", "flink_ceil(a, 'DAY')"),
        ("CEIL(a)", "ceil(a)"),
        ("TIMESTAMPDIFF(SQL_TSI_DAY, a, b)", "flink_timestampdiff('DAY', a, b)"),
        ("TIMESTAMPADD(MONTH, 1, a)", "flink_timestampadd('MONTH', CAST(1 AS INT), a)"),
        ("c + (a - b) DAY", "c + flink_minus(a, b, 'DAY')"),
        ("EXTRACT(DAY FROM a)", "EXTRACT(DAY FROM a)"),
        ("EXTRACT(DAY FROM (SELECT a FROM t))", "EXTRACT(DAY FROM (SELECT a FROM t))"),
        ("SUBSTRING(a FROM 2 FOR 1)", "substring(a, CAST(2 AS INT), CAST(1 AS INT))"),
        ("SUBSTR(a, 2)", "substr(a, CAST(2 AS INT))"),
        ("POSITION('x' IN a FROM 2)", "locate('x', a, CAST(2 AS INT))"),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", "overlay(a, b, CAST(1 AS INT), CAST(2 AS INT))"),
        ("TRIM(a)", "trim(a)"),
        ("TRIM('x' FROM a)", "btrim(a, 'x')"),
        ("TRIM(BOTH FROM a)", "btrim(a)"),
        ("TRIM(LEADING 'x' FROM a)", "ltrim(a, 'x')"),
        ("TRIM(TRAILING FROM a)", "rtrim(a)"),
        ("MAP['a', 1, 'b', 2]", "make_map('a', CAST(1 AS INT), 'b', CAST(2 AS INT))"),
        ("(a, 1)", "row(a, CAST(1 AS INT))"),
        ("a BETWEEN SYMMETRIC b AND c AND d", "(a BETWEEN b AND c OR a BETWEEN c AND b) AND d"),
        ("a NOT BETWEEN SYMMETRIC b AND c", "(a NOT BETWEEN b AND c AND a NOT BETWEEN c AND b)"),
        ("a NOT BETWEEN ASYMMETRIC b AND c", "a NOT BETWEEN b AND c"),
        ("a IS NOT DISTINCT FROM b AND c", "a IS NOT DISTINCT FROM b AND c"),
        ("a = ANY (b, c)", "(a = b OR a = c)"),
        ("a < ALL (b, c)", "(a < b AND a < c)"),
        ("(a, b) OVERLAPS (c, d)", "flink_overlaps(a, b, c, d)"),
        ("CASE a WHEN b, c THEN 'x' ELSE 'y' END", "CASE a WHEN b THEN 'x' WHEN c THEN 'x' ELSE 'y' END"),
        ("CASE WHEN a THEN b END", "CASE WHEN a THEN b END"),
        ("x.r[1].f.g", "x.r[CAST(1 AS INT)].'f'.'g'"),
        (
            "TUMBLE_START(ts, INTERVAL '1' DAY)",
            "flink_window_start(`tumble`(ts, INTERVAL '1 days 0 milliseconds'))",
        ),
        ("SESSION_ROWTIME(ts, i)", "flink_window_rowtime(`session`(ts, i))"),
        ("LISTAGG(DISTINCT a, ',') FILTER (WHERE b)", "LISTAGG(DISTINCT a, ',') FILTER (WHERE b)"),
    ]);
    assert!(refused("SELECT MAP['a'] FROM t").contains("pairs of a key and a value"));
    // the right side of IS DISTINCT FROM ends at the AND
    let query = query("SELECT a FROM t WHERE a IS NOT DISTINCT FROM b AND c");
    let SetExpr::Select(select) = *query.body else { panic!() };
    assert!(matches!(select.selection, Some(Expr::BinaryOp { .. })));
}

#[test]
fn json_functions() {
    check_exprs(&[
        ("a IS JSON", "is_json(a, 'VALUE')"),
        ("a IS NOT JSON ARRAY", "NOT is_json(a, 'ARRAY')"),
        ("JSON_EXISTS(a, '$')", "json_exists(a, '$', 'FALSE')"),
        ("JSON_EXISTS(a, '$' UNKNOWN ON ERROR)", "json_exists(a, '$', 'UNKNOWN')"),
        ("JSON_VALUE(a, '$')", "json_value(a, '$', 'STRING', 'NULL', NULL, 'NULL', NULL)"),
        (
            "JSON_VALUE(a, '$' RETURNING INTEGER DEFAULT 5 ON EMPTY ERROR ON ERROR)",
            "json_value(a, '$', 'INT', 'DEFAULT', CAST(5 AS INT), 'ERROR', NULL)",
        ),
        ("JSON_QUERY(a, '$')", "json_query(a, '$', 'STRING', 'WITHOUT ARRAY', 'NULL', 'NULL')"),
        (
            "JSON_QUERY(a, '$' RETURNING ARRAY<STRING> WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY ERROR ON ERROR)",
            "json_query(a, '$', 'ARRAY<STRING>', 'WITH CONDITIONAL ARRAY', 'EMPTY ARRAY', 'ERROR')",
        ),
        ("JSON_OBJECT()", "json_object('NULL')"),
        ("JSON_OBJECT(KEY 'a' VALUE b, c VALUE d ABSENT ON NULL)", "json_object('ABSENT', 'a', b, c, d)"),
        ("JSON_ARRAY(a, b)", "json_array('ABSENT', a, b)"),
        ("JSON_ARRAY(NULL ON NULL)", "json_array('NULL')"),
        ("JSON_OBJECTAGG(KEY a VALUE b)", "json_objectagg_null_on_null(a, b)"),
        ("JSON_ARRAYAGG(a NULL ON NULL) FILTER (WHERE b)", "json_arrayagg_null_on_null(a) FILTER (WHERE b)"),
    ]);
}

fn query(sql: &str) -> Query {
    match one(sql).statement {
        Statement::DataFusion(DFStatement::Statement(statement)) => match *statement {
            SqlStatement::Query(query) => *query,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

/// The first table of FROM.
fn factor(sql: &str) -> TableFactor {
    match *query(sql).body {
        SetExpr::Select(select) => select.from.into_iter().next().unwrap().relation,
        other => panic!("{other}"),
    }
}

#[test]
fn table_functions_have_one_form() {
    for (written, expected) in [
        (
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), 5)) AS w",
            "tumble((SELECT * FROM t), DESCRIPTOR(ts), 5) AS w",
        ),
        ("Tumble(DATA => TABLE d.t, `x` => 1)", "tumble(DATA => (SELECT * FROM d.t), `x` => 1)"),
        ("`F`((SELECT a FROM t))", "`F`((SELECT a FROM t))"),
        ("TABLE(f(TABLE (SELECT 1 AS a) PARTITION BY a))", "f((SELECT CAST(1 AS INT) AS a DISTRIBUTE BY a))"),
    ] {
        let factor = factor(&format!("SELECT * FROM {written}"));
        assert!(matches!(factor, TableFactor::Table { args: Some(_), .. }), "{written}");
        assert_eq!(factor.to_string(), expected);
    }
    check(&[
        (
            "SELECT * FROM t, LATERAL TABLE(Split(a, 1)) AS u (x)",
            "SELECT * FROM t, LATERAL split(a, 1) AS u (x)",
        ),
        (
            "SELECT * FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u (x, i)",
            "SELECT * FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u (x, i) `$flink`",
        ),
    ]);
    assert!(matches!(factor("SELECT * FROM UNNEST(ARRAY[1])"), TableFactor::UNNEST { .. }));
}

#[test]
fn table_arguments() {
    let argument = |text: &str| {
        let TableFactor::Table { args: Some(args), .. } = factor(&format!("SELECT * FROM f({text})")) else {
            panic!()
        };
        match &args.args[0] {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => expr.clone(),
            other => panic!("{other}"),
        }
    };
    let table = |text: &str| TableArgument::from_expr(&argument(text)).unwrap();
    let listed = |exprs: &[Expr]| exprs.iter().map(Expr::to_string).collect::<Vec<_>>();

    let plain = table("TABLE t");
    assert_eq!(plain.query.to_string(), "SELECT * FROM t");
    assert_eq!((plain.partition_by, plain.order_by), (vec![], vec![]));

    let one = table("TABLE t PARTITION BY k, DESCRIPTOR(ts)");
    assert_eq!(
        (one.query.to_string().as_str(), listed(&one.partition_by)),
        ("SELECT * FROM t", vec!["k".to_string()])
    );

    let several = table("(SELECT a FROM t) PARTITION BY (a, b) ORDER BY (c DESC, d)");
    assert_eq!(several.query.to_string(), "SELECT a FROM t");
    assert_eq!(listed(&several.partition_by), ["a", "b"]);
    assert_eq!(several.order_by.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c DESC", "d"]);

    let union = table("(SELECT a FROM t UNION ALL SELECT a FROM u) PARTITION BY a");
    assert_eq!(
        union.query.to_string(),
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS `$derived1`"
    );

    assert_eq!(TableArgument::from_expr(&argument("DESCRIPTOR(a)")), None);
    let descriptor = descriptor_columns(&argument("DESCRIPTOR(a, `B c`)")).unwrap();
    assert_eq!(descriptor.iter().map(|column| column.value.as_str()).collect::<Vec<_>>(), ["a", "B c"]);
    assert_eq!(descriptor_columns(&argument("DESCRIPTOR(a + b)")), None);
    assert_eq!(descriptor_columns(&argument("f(a)")), None);
}

#[test]
fn an_order_behind_a_scalar_subquery_is_the_querys() {
    let sql = "SELECT (SELECT MAX(a) AS m FROM t) AS x FROM u ORDER BY x";
    assert_eq!(rewritten(sql), sql);
}

#[test]
fn match_recognize() {
    let factor = factor(
        "SELECT * FROM (SELECT * FROM t) MATCH_RECOGNIZE (
           PARTITION BY k ORDER BY ts MEASURES FINAL LAST(A.id) AS id
           AFTER MATCH SKIP TO A PATTERN (A{2} B*) WITHIN INTERVAL '1' HOUR
           SUBSET S = (A, B)
           DEFINE A AS A.v > 1, B AS B.within < A.v) AS m",
    );
    let TableFactor::MatchRecognize { table, symbols, after_match_skip, measures, .. } = factor else {
        panic!()
    };
    assert_eq!(table.to_string(), "(SELECT * FROM t) AS `$derived1`");
    assert_eq!(after_match_skip.unwrap().to_string(), "AFTER MATCH SKIP TO LAST A");
    assert_eq!(measures[0].to_string(), "final(LAST(A.id)) AS id");
    let (within, symbols) = split_within(symbols);
    assert_eq!(within.unwrap().to_string(), "INTERVAL '3600000 milliseconds'");
    let symbols: Vec<_> = symbols.iter().map(ToString::to_string).collect();
    assert_eq!(symbols, ["A AS A.v > CAST(1 AS INT)", "B AS B.within < A.v"]);
    check(&[(
        "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)) MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS A.x)",
        "SELECT * FROM tumble((SELECT * FROM t), DESCRIPTOR(ts), INTERVAL '1 days 0 milliseconds') MATCH_RECOGNIZE(PATTERN (A) DEFINE A AS A.x)",
    )]);
}

#[test]
fn table_versions() {
    // a lateral function, whose planner sees the columns to the left
    assert_eq!(
        rewritten("SELECT * FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS v ON o.k = v.k"),
        "SELECT * FROM o JOIN LATERAL `$as_of`(o.ts, (SELECT * FROM r)) AS v ON o.k = v.k"
    );
}

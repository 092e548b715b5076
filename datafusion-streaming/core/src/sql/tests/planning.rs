//! What DataFusion plans of statements, in a session with the settings that the module's documentation states.

use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, IntervalUnit, Schema, TimeUnit};
use arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::MemTable;
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{LogicalPlan, Volatility, create_udf};
use datafusion::physical_plan::ColumnarValue;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::*;
use crate::session::Arithmetic;

fn session() -> SessionContext {
    let config = SessionConfig::new()
        .set_bool("datafusion.sql_parser.enable_ident_normalization", false)
        .set_bool("datafusion.sql_parser.parse_float_as_decimal", true)
        .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false)
        .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false)
        .set_str("datafusion.sql_parser.default_null_ordering", "nulls_min");
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_type_planner(Arc::new(FlinkTypePlanner));
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(Arithmetic));
    let ctx = SessionContext::new_with_state(builder.build());
    // Flink's functions, as far as these tests need them for planning.
    let millis = || DataType::Timestamp(TimeUnit::Millisecond, None);
    let interval = || DataType::Interval(IntervalUnit::MonthDayNano);
    let text = || DataType::Utf8;
    for (name, args, returns) in [
        ("flink_floor", vec![millis(), text()], millis()),
        ("flink_timestampdiff", vec![text(), millis(), millis()], DataType::Int32),
        ("flink_timestampadd", vec![text(), DataType::Int32, millis()], millis()),
        ("tumble", vec![millis(), interval()], millis()),
        ("flink_window_start", vec![millis()], millis()),
        ("is_json", vec![text(); 2], DataType::Boolean),
        ("json_object", vec![text(), text(), DataType::Int32], text()),
        ("json_value", vec![text(); 7], text()),
    ] {
        let never = Arc::new(|_: &[ColumnarValue]| unreachable!("only planned"));
        ctx.register_udf(create_udf(name, args, returns, Volatility::Immutable, never));
    }
    ctx
}

/// The optimized plan of a statement.
async fn plan(ctx: &SessionContext, sql: &str) -> Result<LogicalPlan> {
    let Statement::DataFusion(statement) = one(sql).statement else { panic!("{sql} is no query") };
    let state = ctx.state();
    state.optimize(&state.statement_to_plan(statement).await?)
}

fn create(ctx: &SessionContext, table: &CreateTable) {
    let fields = table.columns.iter().filter_map(|column| match column {
        Column::Physical { field, .. } => Some(Arc::clone(field)),
        _ => None,
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let empty = MemTable::try_new(schema, vec![vec![]]).unwrap();
    ctx.register_table(table.name.clone(), Arc::new(empty)).unwrap();
}

async fn fixture() -> SessionContext {
    let ctx = session();
    for statement in parse(include_str!("fixture.sql")).unwrap() {
        match statement.statement {
            Statement::CreateTable(table) => create(&ctx, &table),
            Statement::DataFusion(_) => {
                plan(&ctx, &statement.text).await.unwrap_or_else(|e| panic!("{}: {e}", statement.text));
            }
            other => panic!("{other:?}"),
        }
    }
    ctx
}

/// Names and types of a query's columns.
async fn columns(ctx: &SessionContext, sql: &str) -> Vec<(String, String)> {
    let plan = plan(ctx, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    let field = |field: &Arc<arrow::datatypes::Field>| {
        (field.name().clone(), FlinkType::from_field(field).unwrap().kind.to_string())
    };
    plan.schema().fields().iter().map(field).collect()
}

async fn types(ctx: &SessionContext, sql: &str) -> Vec<String> {
    columns(ctx, sql).await.into_iter().map(|(_, data_type)| data_type).collect()
}

#[tokio::test]
async fn the_fixture_is_planned() {
    fixture().await;
}

#[tokio::test]
async fn many_rows_of_values_are_inserted() {
    let ctx = fixture().await;
    let rows = vec!["(1)"; 300].join(", ");
    let sql = format!("INSERT INTO people (id, born) SELECT x, ts FROM bids, (VALUES {rows}) AS v (x)");
    assert!(plan(&ctx, &sql).await.unwrap().to_string().starts_with("Dml: op=[Insert Into] table=[people]"));
}

#[tokio::test]
async fn columns_have_flinks_names() {
    let ctx = fixture().await;
    let names =
        |columns: Vec<(String, String)>| columns.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        names(columns(&ctx, "SELECT id + 1, id, id, COUNT(*) OVER (), bids.k, 1, r.x FROM bids").await),
        ["EXPR$0", "id", "id0", "EXPR$3", "k", "EXPR$5", "x"]
    );
    assert_eq!(
        names(columns(&ctx, "SELECT * FROM (VALUES (1, 2)) AS t (a, b), (VALUES (3))").await),
        ["a", "b", "EXPR$0"]
    );
    assert_eq!(
        names(columns(&ctx, "SELECT UPPER(k) AS k, COUNT(*) AS n FROM bids GROUP BY k").await),
        ["k", "n"]
    );
}

#[tokio::test]
async fn literals_have_flinks_types() {
    let ctx = session();
    assert_eq!(
        types(&ctx, "SELECT 1, -1, 2147483648, -2147483648, 1.50, 0.5, .5, 1e3, 5., 'a', TRUE").await,
        [
            "INT",
            "INT",
            "BIGINT",
            "INT",
            "DECIMAL(3, 2)",
            "DECIMAL(2, 1)",
            "DECIMAL(1, 1)",
            "DOUBLE",
            "INT",
            "STRING",
            "BOOLEAN"
        ]
    );
    assert_eq!(
        types(&ctx, "SELECT DATE '2024-01-01', TIME '10:00:00', TIMESTAMP '2024-01-01 00:00:00', \
            TIMESTAMP '2024-01-01 00:00:00.123456', TIMESTAMP WITH LOCAL TIME ZONE '2024-01-01 00:00:00.1', X'0a'").await,
        ["DATE", "TIME(0)", "TIMESTAMP(0)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(1)", "BYTES"]
    );
    assert_eq!(
        types(&ctx, "SELECT 1 + 1, 1 + 2147483648, ARRAY[1, 2], MAP['a', 1]").await,
        ["INT", "BIGINT", "ARRAY<INT>", "MAP<STRING, INT>"]
    );
}

#[tokio::test]
async fn casts_have_flinks_types() {
    let ctx = session();
    for text in [
        "TINYINT",
        "BIGINT",
        "FLOAT",
        "DECIMAL(10, 0)",
        "STRING",
        "CHAR(3)",
        "VARCHAR(3)",
        "BYTES",
        "BINARY(2)",
        "DATE",
        "TIME(0)",
        "TIME(6)",
        "TIMESTAMP(0)",
        "TIMESTAMP(3)",
        "TIMESTAMP(7)",
        "TIMESTAMP_LTZ(3)",
        "ARRAY<CHAR(2)>",
        "MAP<STRING, INT>",
        "ROW<`a` INT, `b` STRING>",
        "INTERVAL MONTH",
    ] {
        assert_eq!(types(&ctx, &format!("SELECT CAST(NULL AS {text})")).await, [text]);
        assert_eq!(types(&ctx, &format!("SELECT TRY_CAST(NULL AS {text})")).await, [text]);
    }
}

#[tokio::test]
async fn intervals_are_planned_as_one_literal() {
    let ctx = session();
    let plan = async |sql: &str| plan(&ctx, sql).await.unwrap().to_string();
    let text = plan("SELECT INTERVAL '-1 02:03:04.5' DAY TO SECOND AS i").await;
    assert!(text.contains("months: 0, days: -1, nanoseconds: -7384500000000"), "{text}");
    let text = plan("SELECT INTERVAL '2-1' YEAR TO MONTH AS i").await;
    assert!(text.contains("months: 25, days: 0, nanoseconds: 0"), "{text}");
}

#[tokio::test]
async fn group_by_sees_no_aliases_and_no_positions() {
    let ctx = fixture().await;
    let error = async |sql: &str| plan(&ctx, sql).await.unwrap_err().strip_backtrace();
    let message = error("SELECT id AS x, COUNT(*) AS n FROM bids GROUP BY x").await;
    assert!(message.contains("No field named x"), "{message}");
    let message = error("SELECT k, COUNT(*) AS n FROM bids GROUP BY k HAVING n > 1").await;
    assert!(message.contains("No field named n"), "{message}");
    let message = error("SELECT id, COUNT(*) AS n FROM bids GROUP BY 1").await;
    assert!(message.contains("must appear in the GROUP BY clause"), "{message}");
    let message = error("SELECT bids.id FROM (SELECT * FROM bids)").await;
    assert!(message.contains("No field named bids.id"), "{message}");
}

/// What a query answers over `l (k, s)` = (1, a), (2, NULL) and `r (k, u)` = (2, y), (3, z).
async fn answer(sql: &str) -> String {
    let ctx = session();
    for (name, column, keys, texts) in
        [("l", "s", [1, 2], [Some("a"), None]), ("r", "u", [2, 3], [Some("y"), Some("z")])]
    {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("k", Arc::new(Int32Array::from_iter_values(keys)) as _, true),
            (column, Arc::new(StringArray::from_iter(texts)) as _, true),
        ])
        .unwrap();
        ctx.register_batch(name, batch).unwrap();
    }
    let Statement::DataFusion(statement) = one(sql).statement else { panic!() };
    let plan = ctx.state().statement_to_plan(statement).await.unwrap();
    let batches = ctx.execute_logical_plan(plan).await.unwrap().collect().await.unwrap();
    let table = pretty_format_batches(&batches).unwrap().to_string();
    let rows = table.lines().skip(3).filter(|line| line.starts_with('|'));
    let rows: Vec<_> = rows
        .map(|line| line.split_whitespace().filter(|cell| *cell != "|").collect::<Vec<_>>().join(" "))
        .collect();
    rows.join("; ")
}

#[tokio::test]
async fn answers_are_flinks() {
    for (sql, expected) in [
        ("SELECT k FROM l FULL JOIN r USING (k) ORDER BY k", "1; 2; 3"),
        ("SELECT * FROM l FULL JOIN r USING (k) ORDER BY k", "1 a; 2 y; 3 z"),
        ("SELECT k, u FROM l RIGHT JOIN r USING (k) ORDER BY k", "2 y; 3 z"),
        ("SELECT k * 10 AS k, COUNT(*) AS n FROM l GROUP BY k HAVING k = 2", "20 1"),
        ("SELECT k + 1 AS k, COUNT(*) AS n FROM l GROUP BY k ORDER BY k DESC LIMIT 1", "3 1"),
        ("SELECT k FROM l WHERE (k, COALESCE(s, 'y')) IN (SELECT k, u FROM r)", "2"),
        ("SELECT k FROM l WHERE (k, s) NOT IN (SELECT k, u FROM r)", "1"),
        ("SELECT k FROM l WHERE k BETWEEN SYMMETRIC 5 AND 2", "2"),
        ("SELECT k FROM l WHERE s IS NOT DISTINCT FROM NULL AND k > 1", "2"),
        (
            "SELECT CAST(k AS CHAR(1)) AS c, COUNT(*) AS n FROM l GROUP BY CAST(k AS CHAR(1)) ORDER BY c",
            "1 1; 2 1",
        ),
        ("SELECT k FROM l QUALIFY ROW_NUMBER() OVER (ORDER BY k DESC) = 1", "2"),
        ("SELECT SUM(EXPR$0) AS x FROM (VALUES (1), (2))", "3"),
        ("SELECT 7 / 2 AS a, 1e3 AS b, 0.5 + 1 AS c", "3 1000.0 1.5"),
        ("SELECT ARRAY[3, 4][2] AS a, MAP['x', 7]['x'] AS b", "4 7"),
        (
            "SELECT DATE '2024-02-28' + INTERVAL '2' DAY AS d, TIMESTAMP '2024-01-31 00:00:00' + INTERVAL '1' MONTH AS t",
            "2024-03-01 2024-02-29T00:00:00",
        ),
    ] {
        assert_eq!(answer(sql).await, expected, "{sql}");
    }
}

//! Installation beside what a session has, and the statements of Flink SQL.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionContext;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, StreamingSessionStateBuilder, install};
use futures::TryStreamExt;
use parking_lot::Mutex;

fn text(batches: &[RecordBatch]) -> Result<String> {
    Ok(pretty_format_batches(batches)?.to_string())
}

async fn run(ctx: &SessionContext, statements: &[&str]) -> Result<Vec<RecordBatch>> {
    let mut last = vec![];
    for statement in statements {
        last = ctx.flink_sql(statement).await?.collect().await?;
    }
    Ok(last)
}

/// Counts the queries that it plans.
#[derive(Debug, Default)]
struct CountingPlanner(Arc<Mutex<usize>>);

#[async_trait]
impl QueryPlanner for CountingPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        *self.0.lock() += 1;
        DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await
    }
}

#[tokio::test]
async fn the_sessions_own_query_planner_stays_in_charge() -> Result<()> {
    let planned = Arc::new(Mutex::new(0));
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_query_planner(Arc::new(CountingPlanner(Arc::clone(&planned))))
        .with_streaming()
        .build();
    let ctx = SessionContext::new_with_state(state);
    ctx.sql("SELECT 1").await?.collect().await?;
    assert_eq!(*planned.lock(), 1);
    ctx.sql("SELECT * FROM TO_CHANGELOG((SELECT 1 AS a))").await?.collect().await?;
    assert_eq!(*planned.lock(), 1, "a query with our nodes is ours to plan");
    Ok(())
}

#[tokio::test]
async fn installing_twice_is_installing_once() -> Result<()> {
    let ctx = SessionContext::new();
    ctx.sql("CREATE TABLE kept AS SELECT 1 AS a").await?.collect().await?;
    let id = ctx.session_id();
    install(&ctx)?;
    install(&ctx)?;
    assert_eq!((ctx.session_id(), ctx.table_exist("kept")?), (id, true));
    let state = ctx.state();
    let names = state
        .physical_optimizers()
        .iter()
        .map(|rule| rule.name())
        .filter(|name| name.starts_with("streaming"));
    assert_eq!(names.collect::<Vec<_>>(), ["streaming", "streaming_verifier"]);
    Ok(())
}

#[tokio::test]
async fn ordinary_queries_are_planned_as_before() -> Result<()> {
    let plain = SessionContext::new();
    let extended = SessionContext::new();
    install(&extended)?;
    for ctx in [&plain, &extended] {
        ctx.sql("CREATE TABLE t AS VALUES (1, 'a'), (2, 'b'), (2, 'c')").await?.collect().await?;
    }
    for query in [
        "EXPLAIN SELECT column1, COUNT(DISTINCT column2) FROM t GROUP BY column1 ORDER BY column1 LIMIT 3",
        "EXPLAIN SELECT a.column2 FROM t a LEFT JOIN t b ON a.column1 = b.column1 WHERE b.column2 IS NULL",
        "EXPLAIN SELECT ROW_NUMBER() OVER (PARTITION BY column1 ORDER BY column2) FROM t",
    ] {
        let before = text(&plain.sql(query).await?.collect().await?)?;
        assert_eq!(text(&extended.sql(query).await?.collect().await?)?, before);
    }
    Ok(())
}

#[tokio::test]
async fn tables_and_views_are_shown_described_and_dropped() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let create = "CREATE TABLE orders (id BIGINT NOT NULL, ts TIMESTAMP(3), price DECIMAL(10, 2), `day` AS CAST(ts AS DATE), \
                  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED) \
                  WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'json')";
    let shown = run(&ctx, &[create, "CREATE VIEW v AS SELECT id FROM orders", "SHOW TABLES"]).await?;
    let shown = text(&shown)?;
    assert!(shown.contains("| orders ") && shown.contains("| v "), "{shown}");
    let described = text(&run(&ctx, &["DESCRIBE orders"]).await?)?;
    for word in [
        "TIMESTAMP(3)",
        "DECIMAL(10, 2)",
        "PRI(id)",
        "AS CAST(`ts` AS DATE)",
        "`ts` - INTERVAL '5' SECOND",
        "*ROWTIME*",
    ] {
        assert!(described.contains(word), "{word} is not in\n{described}");
    }
    let created = text(&run(&ctx, &["SHOW CREATE TABLE orders"]).await?)?;
    for word in ["WATERMARK FOR `ts`", "PRIMARY KEY (`id`) NOT ENFORCED", "'connector' = 'filesystem'"] {
        assert!(created.contains(word), "{word} is not in\n{created}");
    }
    run(&ctx, &["CREATE TABLE IF NOT EXISTS orders (x INT) WITH ('connector' = 'blackhole')", "DROP VIEW v"])
        .await?;
    run(&ctx, &["DROP TABLE orders", "DROP TABLE IF EXISTS orders"]).await?;
    assert!(!ctx.table_exist("orders")?);
    Ok(())
}

#[tokio::test]
async fn options_are_set_listed_and_reset() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let listed = text(&run(&ctx, &["SET 'table.exec.state.ttl' = '2 h'", "SET"]).await?)?;
    assert!(listed.contains("streaming.state_ttl") && listed.contains("7200000"), "{listed}");
    let listed = text(&run(&ctx, &["RESET 'table.exec.state.ttl'", "SET"]).await?)?;
    assert!(!listed.contains("7200000"), "{listed}");
    Ok(())
}

#[tokio::test]
async fn a_statement_set_fills_several_tables_and_they_can_be_read_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ctx = SessionContext::new();
    install(&ctx)?;
    let base = folder.path().display().to_string();
    std::fs::write(
        folder.path().join("in.jsonl"),
        "{\"k\": \"a\", \"v\": 1}\n{\"k\": \"b\", \"v\": 2}\n{\"k\": \"a\", \"v\": 3}\n",
    )?;
    let files = |path: &str, format: &str| {
        format!("WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = '{format}')")
    };
    run(
        &ctx,
        &[
            &format!("SET 'streaming.base_dir' = '{base}'"),
            "SET 'parallelism.default' = '1'",
            &format!("CREATE TABLE input (k STRING, v INT) {}", files("in.jsonl", "json")),
            &format!("CREATE TABLE big (k STRING, v INT) {}", files("big", "json")),
            &format!("CREATE TABLE totals (k STRING, total INT) {}", files("totals", "debezium-json")),
            "CREATE TABLE nothing (k STRING) WITH ('connector' = 'blackhole')",
            "EXECUTE STATEMENT SET BEGIN \
             INSERT INTO big SELECT k, v FROM input WHERE v > 1; \
             INSERT INTO totals SELECT k, SUM(v) FROM input GROUP BY k; \
             INSERT INTO nothing SELECT k FROM input; \
             END",
        ],
    )
    .await?;
    let totals = ctx.flink_sql("SELECT k, total FROM totals").await?.execute_changelog().await?;
    let totals: Vec<_> = totals.try_collect().await?;
    let lines = datafusion_streaming::changelog::pretty::changelog_lines(&totals)?;
    assert_eq!(
        lines,
        ["+I a 1", "+I b 2", "-D a 1", "+I a 4"],
        "Flink's debezium-json writes an update as -D and +I"
    );
    let table = run(&ctx, &["SELECT k, total FROM totals"]).await?;
    assert_eq!(table.iter().map(RecordBatch::num_rows).sum::<usize>(), 2, "collect() gives the final table");
    let big = run(&ctx, &["SELECT k, v FROM big"]).await?;
    assert_eq!(big.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);

    let refused =
        ctx.flink_sql("INSERT INTO big SELECT k, SUM(v) FROM input GROUP BY k").await?.collect().await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("table big takes only inserts") && refused.contains("debezium-json"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn explain_shows_the_changelog_mode_of_every_node() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let explained = run(
        &ctx,
        &[
            "CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'json')",
            "CREATE TABLE sink (k STRING, s INT) WITH ('connector' = 'blackhole')",
            "SET 'parallelism.default' = '2'",
            "EXPLAIN INSERT INTO sink SELECT k, SUM(v) FROM t GROUP BY k",
        ],
    )
    .await?;
    let explained = text(&explained)?;
    for line in [
        "Sink: table=[sink], connector=[blackhole]",
        "GroupAggregate: key=[k], aggr=[sum(t.v)], mode=[I,UA], upsert_key=[k]",
        "Exchange: distribution=[hash[k]], partitions=[2], mode=[I]",
        "TableSource: table=[t], format=[json], columns=[k, v], mode=[I]",
    ] {
        assert!(explained.contains(line), "{line} is not in\n{explained}");
    }
    Ok(())
}

#[tokio::test]
async fn explain_shows_both_phases_of_a_window_aggregation() -> Result<()> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    run(
        &ctx,
        &["CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) \
           WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'json')"],
    )
    .await?;
    let query = "EXPLAIN SELECT k, window_start, SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) \
                 GROUP BY k, window_start, window_end";
    let plan = async |strategy: &str, parallelism: &str| -> Result<String> {
        let strategy = format!("SET 'table.optimizer.agg-phase-strategy' = '{strategy}'");
        let parallelism = format!("SET 'parallelism.default' = '{parallelism}'");
        text(&run(&ctx, &[&strategy, &parallelism, query]).await?)
    };
    let phases =
        ["GlobalWindowAggregate: key=[k]", "LocalWindowAggregate: key=[k], window=[TUMBLE(size=[5000 ms])]"];
    for (strategy, parallelism, is_split) in
        [("TWO_PHASE", "1", true), ("AUTO", "4", true), ("AUTO", "1", false), ("ONE_PHASE", "4", false)]
    {
        let plan = plan(strategy, parallelism).await?;
        for phase in phases {
            assert_eq!(plan.contains(phase), is_split, "{strategy}, {parallelism}:\n{plan}");
        }
        assert_eq!(plan.contains(" WindowAggregate: key=[k]"), !is_split, "{plan}");
    }
    run(&ctx, &["SET 'streaming.window.allowed_lateness' = '3 s'"]).await?;
    let plan = plan("TWO_PHASE", "4").await?;
    assert!(plan.contains("emit=[late with each row, allowed_lateness 3000 ms]"), "{plan}");
    assert!(plan.contains("mode=[I,UB,UA]"), "{plan}");
    Ok(())
}

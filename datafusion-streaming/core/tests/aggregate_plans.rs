//! The plans of aggregations, as EXPLAIN shows them.

use datafusion::arrow::array::AsArray;
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::{FlinkSql, install};

async fn session(options: &[(&str, &str)]) -> Result<SessionContext> {
    let context = SessionContext::new();
    install(&context)?;
    context.sql("CREATE TABLE t (k BIGINT, a INT, b VARCHAR, x DOUBLE, ok BOOLEAN) AS VALUES (1, 1, 'x', 1.0, true)")
        .await?
        .collect()
        .await?;
    context.flink_sql("SET 'parallelism.default' = '1'").await?;
    for (key, value) in options {
        context.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
    }
    Ok(context)
}

/// The nodes of the streaming plan, without their traits.
async fn plan_of(context: &SessionContext, query: &str) -> Result<Vec<String>> {
    let rows = context.flink_sql(&format!("EXPLAIN PLAN FOR {query}")).await?.collect().await?;
    let lines = rows.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
    let text = lines.collect::<Vec<_>>().join("\n");
    let plan = text.split("== Streaming Plan ==").nth(1).unwrap_or_default().trim();
    let node = |line: &str| line.split(", mode=").next().unwrap_or_default().trim_end().to_string();
    Ok(plan.lines().map(node).collect())
}

const SPLIT: (&str, &str) = ("table.optimizer.distinct-agg.split.enabled", "true");

#[tokio::test]
async fn one_distinct_column_is_split_by_its_buckets() -> Result<()> {
    let context = session(&[SPLIT, ("table.optimizer.distinct-agg.split.bucket-num", "16")]).await?;
    let query =
        "SELECT k, COUNT(DISTINCT a) FILTER (WHERE ok) AS n, COUNT(*) AS c, AVG(x) AS m FROM t GROUP BY k";
    let plan = plan_of(&context, query).await?;
    assert_eq!(
        plan,
        [
            "Calc: select=[k, $sum0(count(DISTINCT t.a) FILTER (WHERE t.ok)) AS n, $sum0(count(1)) AS c, \
             mean_of_parts($sum0($sum0[avg(t.x)])@3, $sum0(count[avg(t.x)])@4) AS m]",
            "  GroupAggregate: key=[k], aggr=[$sum0(count(DISTINCT t.a) FILTER (WHERE t.ok)), $sum0(count(1)), \
             $sum0($sum0[avg(t.x)]), $sum0(count[avg(t.x)])]",
            "    GroupAggregate: key=[k, $4], aggr=[count(DISTINCT t.a) FILTER (WHERE t.ok), count(1), $sum0[avg(t.x)], \
             count[avg(t.x)]]",
            "      Calc: select=[k, a, ok, x, distinct_bucket(a@1) AS $4]",
            "        Source: mode=[I]",
            "          DataSourceExec: partitions=1, partition_sizes=[1]",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn several_distinct_columns_are_expanded() -> Result<()> {
    let context = session(&[SPLIT]).await?;
    let query = "SELECT k, COUNT(DISTINCT a) AS n, SUM(DISTINCT x) FILTER (WHERE ok) AS s, SUM(a) AS c FROM t GROUP BY k";
    let plan = plan_of(&context, query).await?;
    assert_eq!(
        plan,
        [
            "Calc: select=[k, count(DISTINCT t.a) AS n, sum(DISTINCT t.x) FILTER (WHERE t.ok) AS s, sum(t.a) AS c]",
            "  GroupAggregate: key=[k], aggr=[$sum0(count(DISTINCT t.a)), sum(sum(DISTINCT t.x) FILTER (WHERE t.ok)), \
             sum(sum(t.a))]",
            "    GroupAggregate: key=[k, $4, $5], aggr=[count(DISTINCT t.a), sum(DISTINCT t.x) FILTER (WHERE t.ok), \
             sum(t.a)]",
            "      Calc: select=[k, $4, $5, $set, a, x, ok, $set@3 = 0 AS $7, $set@3 = 1 AND ok@6 AS $8, $set@3 = 2 AS $9]",
            "        Expand: sets=[(k, $4), (k, $5), (k)]",
            "          Calc: select=[k, a, x, ok, distinct_bucket(a@1) AS $4, distinct_bucket(x@2) AS $5]",
            "            Source: mode=[I]",
            "              DataSourceExec: partitions=1, partition_sizes=[1]",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_split_is_not() -> Result<()> {
    let context = session(&[SPLIT]).await?;
    for query in [
        "SELECT k, COUNT(a) AS n FROM t GROUP BY k",
        "SELECT k, COUNT(DISTINCT a) AS n, STDDEV_POP(x) AS s FROM t GROUP BY k",
        "SELECT k, COLLECT(DISTINCT a) AS n FROM t GROUP BY k",
    ] {
        let plan = plan_of(&context, query).await?;
        let aggregates = plan.iter().filter(|line| line.contains("GroupAggregate")).count();
        assert_eq!(aggregates, 1, "{query}\n{}", plan.join("\n"));
    }
    Ok(())
}

#[tokio::test]
async fn what_is_grouped_by_the_same_key_is_not_exchanged_again() -> Result<()> {
    let context =
        session(&[("table.exec.mini-batch.enabled", "true"), ("table.exec.mini-batch.size", "10")]).await?;
    context.flink_sql("SET 'parallelism.default' = '4'").await?;
    let query = "SELECT k, COUNT(n) AS m FROM (SELECT k, COUNT(a) + 1 AS n FROM t GROUP BY k) GROUP BY k";
    let plan = plan_of(&context, query).await?;
    let count = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
    let counts = [count("distribution=[hash"), count("Local"), count("GroupAggregate")];
    assert_eq!(counts, [1, 1, 3], "{}", plan.join("\n"));
    // by another key it is
    let query = "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(a) AS n FROM t GROUP BY k) GROUP BY n";
    let plan = plan_of(&context, query).await?;
    assert_eq!(plan.iter().filter(|line| line.contains("Local")).count(), 2, "{}", plan.join("\n"));
    Ok(())
}

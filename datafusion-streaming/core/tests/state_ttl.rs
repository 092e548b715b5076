//! The hint STATE_TTL: for whom it is, and what it does when the clock goes on.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::runtime::StreamEnvironment;
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use datafusion_streaming::time::ManualClock;
use datafusion_streaming::{ChangelogDataFrame, ChangelogStream, FlinkSql, install};
use futures::StreamExt;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, true),
    ]))
}

fn row(k: i64, v: i64) -> Result<ChangelogBatch> {
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(vec![k])), Arc::new(Int64Array::from(vec![v]))];
    Ok(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?))
}

/// A session with pushed tables of these names.
fn session<const N: usize>(names: [&str; N]) -> Result<(SessionContext, [ChangelogSender; N])> {
    let context = SessionContext::new();
    install(&context)?;
    let mut senders = vec![];
    for name in names {
        let (table, sender) = ChangelogTable::new(schema(), ChangelogMode::INSERT_ONLY, 8);
        context.register_table(name, Arc::new(table))?;
        senders.push(sender);
    }
    let senders = senders.try_into().map_err(|_| datafusion::common::exec_datafusion_err!("{N} tables"))?;
    Ok((context, senders))
}

async fn start(context: &SessionContext, clock: &ManualClock, query: &str) -> Result<ChangelogStream> {
    let environment = StreamEnvironment { clock: Arc::new(clock.clone()), ..StreamEnvironment::default() };
    context.flink_sql(query).await?.execute_changelog_with(environment).await
}

/// The next rows, which must come within a second.
async fn next(changelog: &mut ChangelogStream) -> Result<String> {
    match tokio::time::timeout(Duration::from_secs(1), changelog.next()).await {
        Ok(Some(changes)) => Ok(changelog_lines([&changes?])?.join(", ")),
        Ok(None) => Ok("the end".to_string()),
        Err(_) => Ok("no rows within a second".to_string()),
    }
}

/// The streaming plan of a query.
async fn plan_of(context: &SessionContext, query: &str) -> Result<String> {
    let rows = context.flink_sql(&format!("EXPLAIN PLAN FOR {query}")).await?.collect().await?;
    let lines = rows.iter().flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
    let text = lines.collect::<Vec<_>>().join("\n");
    Ok(text.split("== Streaming Plan ==").nth(1).unwrap_or_default().to_string())
}

/// Lets all keys leave the memory with every batch.
async fn keep_on_disk(context: &SessionContext) -> Result<()> {
    context.flink_sql("SET 'state.backend.type' = 'disk'").await?;
    context.flink_sql("SET 'streaming.state_resident_bytes' = '0'").await?;
    Ok(())
}

#[tokio::test]
async fn a_group_is_forgotten_when_its_hint_says_so() -> Result<()> {
    group_is_forgotten(false).await?;
    group_is_forgotten(true).await
}

async fn group_is_forgotten(on_disk: bool) -> Result<()> {
    let (context, [t]) = session(["t"])?;
    if on_disk {
        keep_on_disk(&context).await?;
    }
    let clock = ManualClock::new(0);
    // what the session says is for the others
    context.flink_sql("SET 'table.exec.state.ttl' = '1 h'").await?;
    let query = "SELECT /*+ STATE_TTL('a' = '10 s') */ k, COUNT(*) AS n FROM t AS a WHERE v > 0 GROUP BY k";
    let mut changelog = start(&context, &clock, query).await?;
    t.send(row(1, 5)?).await?;
    assert_eq!(next(&mut changelog).await?, "+I 1 1");
    clock.advance(9_999);
    t.send(row(1, 5)?).await?;
    assert_eq!(next(&mut changelog).await?, "-U 1 1, +U 1 2");
    clock.advance(10_000);
    t.send(row(1, 5)?).await?;
    assert_eq!(next(&mut changelog).await?, "+I 1 1");
    Ok(())
}

#[tokio::test]
async fn each_side_of_a_join_has_its_own_time() -> Result<()> {
    sides_have_their_own_time(false).await?;
    sides_have_their_own_time(true).await
}

async fn sides_have_their_own_time(on_disk: bool) -> Result<()> {
    let (context, [a, b]) = session(["a", "b"])?;
    if on_disk {
        keep_on_disk(&context).await?;
    }
    let clock = ManualClock::new(0);
    let query = "SELECT /*+ STATE_TTL('a' = '10 s', 'r' = '1 min') */ a.v AS x, r.v AS y FROM a JOIN b AS r \
                 ON a.k = r.k";
    let mut changelog = start(&context, &clock, query).await?;
    a.send(row(1, 10)?).await?;
    b.send(row(1, 1)?).await?;
    assert_eq!(next(&mut changelog).await?, "+I 10 1");
    clock.advance(10_001);
    // the row of a is gone, that of b is there
    b.send(row(1, 2)?).await?;
    a.send(row(1, 20)?).await?;
    drop((a, b));
    let mut lines = vec![];
    while let Some(changes) = changelog.next().await {
        lines.extend(changelog_lines([&changes?])?);
    }
    lines.sort();
    assert_eq!(lines, ["+I 20 1", "+I 20 2"]);
    Ok(())
}

#[tokio::test]
async fn a_hint_is_for_the_operator_of_its_select() -> Result<()> {
    let (context, _senders) = session(["a", "b", "c"])?;
    context.flink_sql("CREATE VIEW w AS SELECT k, v FROM a").await?;
    let ttl = "ttl=[10000 ms]";
    for query in [
        "SELECT /*+ STATE_TTL('a' = '10 s') */ k, SUM(v) AS s FROM a GROUP BY k",
        "SELECT /*+ STATE_TTL('a' = '10 s') */ COUNT(*) AS n FROM a",
        "SELECT /*+ STATE_TTL('a' = '10 s') */ DISTINCT k FROM a",
        "SELECT /*+ STATE_TTL('a' = '10 s') */ k, v, COUNT(*) AS n FROM a GROUP BY ROLLUP (k, v)",
        "SELECT /*+ STATE_TTL('w' = '10 s') */ k, SUM(v) AS s FROM w GROUP BY k",
        "SELECT /*+ STATE_TTL('q' = '10 s') */ k, SUM(v) AS s FROM (SELECT k, v + 1 AS v FROM a) AS q GROUP BY k",
        "WITH q AS (SELECT k, v FROM a) SELECT /*+ STATE_TTL('q' = '10 s') */ k, SUM(v) AS s FROM q GROUP BY k",
        "SELECT k, s + 1 AS s FROM (SELECT /*+ STATE_TTL('a' = '10 s') */ k, SUM(v) AS s FROM a GROUP BY k)",
    ] {
        let plan = plan_of(&context, query).await?;
        assert!(plan.contains(ttl) && !plan.contains("StateTtl"), "{query}\n{plan}");
    }
    for query in [
        "SELECT /*+ STATE_TTL('a' = '10 s') */ k FROM a WHERE v > 1",
        "SELECT k, COUNT(*) AS n FROM (SELECT /*+ STATE_TTL('a' = '10 s') */ k FROM a) GROUP BY k",
        "SELECT /*+ STATE_TTL('a' = '0 s') */ k, COUNT(*) AS n FROM a GROUP BY k",
    ] {
        let plan = plan_of(&context, query).await?;
        assert!(!plan.contains("ttl") && !plan.contains("StateTtl"), "{query}\n{plan}");
    }
    // of three tables the second join has only its right side by name
    let query = "SELECT /*+ STATE_TTL('a' = '10 s', 'b' = '20 s', 'c' = '30 s') */ a.v AS x, b.v AS y, c.v AS z \
                 FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.k";
    let plan = plan_of(&context, query).await?;
    assert!(plan.contains("ttl=[10000 ms, 20000 ms]") && plan.contains("ttl=[0 ms, 30000 ms]"), "{plan}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_hint_is_refused() -> Result<()> {
    let (context, _senders) = session(["a", "b"])?;
    let refused = async |hint: &str| {
        let query = format!("SELECT /*+ {hint} */ x.k, COUNT(*) AS n FROM a AS x GROUP BY x.k");
        context.flink_sql(&query).await.err().map(|error| error.to_string()).unwrap_or_default()
    };
    // where there is an alias, that is the name
    let error = refused("STATE_TTL('a' = '1 d', 'y' = '1 d')").await;
    assert!(error.contains("`a`, `y` in `STATE_TTL`") && error.contains("Line: 1"), "{error}");
    assert!(refused("STATE_TTL('x' = 'soon')").await.contains("STATE_TTL of 'x': 'soon' is not a duration"));
    assert!(refused("STATE_TTL('x')").await.contains("STATE_TTL needs a duration for 'x'"));
    assert_eq!(refused("STATE_TTL('x' = '1 d')").await, "");
    Ok(())
}

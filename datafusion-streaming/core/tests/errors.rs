//! What goes wrong is told with the name of the table, column or option, and what to do.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::MemTable;
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::ChangelogMode;
use datafusion_streaming::tables::ChangelogTable;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, install};
use futures::{StreamExt, TryStreamExt};

fn session() -> Result<SessionContext> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let schema = Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, true),
    ]));
    let (table, _) = ChangelogTable::new(schema, ChangelogMode::INSERT_ONLY, 1);
    ctx.register_table("events", Arc::new(table))?;
    Ok(ctx)
}

/// The error of a statement of Flink SQL, in planning or in running it.
async fn error(ctx: &SessionContext, statement: &str) -> String {
    let run = async {
        let changelog = ctx.flink_sql(statement).await?.execute_changelog().await?;
        changelog.try_collect::<Vec<_>>().await
    };
    match run.await {
        Ok(_) => panic!("{statement} was to fail"),
        Err(error) => error.strip_backtrace(),
    }
}

/// Checks that each statement fails with an error that contains the words.
async fn check(ctx: &SessionContext, cases: &[(&str, &[&str])]) {
    for (statement, words) in cases {
        let error = error(ctx, statement).await;
        for word in *words {
            assert!(error.contains(word), "{statement}\n  says: {error}\n  not: {word}");
        }
    }
}

#[tokio::test]
async fn names_that_do_not_exist() -> Result<()> {
    let ctx = session()?;
    check(
        &ctx,
        &[
            ("SELECT * FROM nowhere", &["nowhere"]),
            ("SELECT w FROM events", &["w", "events.k"]),
            ("SELECT * FROM TABLE(TUMBLE(TABLE nowhere, DESCRIPTOR(ts), INTERVAL '1' SECOND))", &["nowhere"]),
            ("SELECT * FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND))", &["ts"]),
            ("SET 'table.exec.state.tll' = '1 d'", &["table.exec.state.tll", "table.exec.state.ttl"]),
            ("SET 'table.exec.state.ttl' = 'soon'", &["table.exec.state.ttl", "soon", "'10 s'"]),
            ("SET 'parallelism.default' = '0'", &["parallelism.default", "1 to 128"]),
            ("SET 'table.local-time-zone' = 'Mars/Base'", &["Mars/Base", "America/New_York"]),
        ],
    )
    .await;
    Ok(())
}

#[tokio::test]
async fn tables_that_cannot_be_made() -> Result<()> {
    let ctx = session()?;
    let files = "'connector' = 'filesystem', 'path' = 'nowhere.jsonl'";
    check(
        &ctx,
        &[
            ("CREATE TABLE t (a INT) WITH ('connector' = 'filesistem')", &["t", "filesistem", "'filesystem'"]),
            ("CREATE TABLE t (a INT) WITH ('path' = 'x')", &["t", "connector"]),
            (&format!("CREATE TABLE t (a INT) WITH ({files}, 'format' = 'jsn')"), &["jsn", "'json'"]),
            (&format!("CREATE TABLE t (a INT) WITH ({files}, 'format' = 'json', 'jso.x' = '1')"), &["jso.x", "t"]),
            (
                &format!("CREATE TABLE t (a INT, WATERMARK FOR b AS b) WITH ({files}, 'format' = 'json')"),
                &["watermark is for b", "no column"],
            ),
            (
                &format!("CREATE TABLE t (a INT, WATERMARK FOR a AS a) WITH ({files}, 'format' = 'json')"),
                &["watermark is for a", "TIMESTAMP(3)"],
            ),
            (
                &format!("CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS 5) WITH ({files}, 'format' = 'json')"),
                &["WATERMARK FOR ts", "INTERVAL"],
            ),
            (
                &format!("CREATE TABLE t (ts TIMESTAMP(3), x AS nope + 1) WITH ({files}, 'format' = 'json')"),
                &["column x", "nope"],
            ),
            (&format!("CREATE TABLE t (a INT, a INT) WITH ({files}, 'format' = 'json')"), &["two columns a"]),
            ("CREATE TABLE events (a INT) WITH ('connector' = 'blackhole')", &["events", "IF NOT EXISTS"]),
            ("ALTER TABLE events RENAME TO e", &["ALTER"]),
            ("MERGE INTO events USING x ON 1 = 1", &["MERGE"]),
            ("SELEC 1", &["SELEC at Line: 1", "SELECT, WITH"]),
        ],
    )
    .await;
    Ok(())
}

#[tokio::test]
async fn files_that_are_missing_or_malformed() -> Result<()> {
    let ctx = session()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, "{\"a\": 1, \"ts\": \"2026-01-01 00:00:01\"}\n{\"a\": 2}\n{\"a\": nonsense\n")?;
    let table = |name: &str, path: &str, columns: &str| {
        format!(
            "CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"
        )
    };
    let rows = path.display().to_string();
    ctx.flink_sql(&table("missing", "nowhere.jsonl", "a INT")).await?;
    ctx.flink_sql(&table("rows_of", &rows, "a INT")).await?;
    ctx.flink_sql(&table("timed", &rows, "a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts")).await?;
    check(
        &ctx,
        &[
            ("SELECT * FROM missing", &["table 'missing'", "nowhere.jsonl"]),
            ("SELECT * FROM rows_of", &["table 'rows_of'", "rows.jsonl, line 3"]),
        ],
    )
    .await;
    std::fs::write(&path, "{\"a\": 1, \"ts\": \"2026-01-01 00:00:01\"}\n{\"a\": 2}\n")?;
    check(&ctx, &[("SELECT a FROM timed", &["rowtime column ts is NULL"])]).await;
    Ok(())
}

#[tokio::test]
async fn records_that_are_passed_over_are_counted() -> Result<()> {
    let ctx = session()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, "{\"a\": 1}\n{\"a\": nonsense\n{\"a\": \"many\"}\n")?;
    let options = "'format' = 'json', 'json.ignore-parse-errors' = 'true'";
    let path = path.display();
    ctx.flink_sql(&format!(
        "CREATE TABLE lenient (a INT) WITH ('connector' = 'filesystem', 'path' = '{path}', {options})"
    ))
    .await?;
    let mut changelog = ctx.flink_sql("SELECT a FROM lenient").await?.execute_changelog().await?;
    while changelog.next().await.transpose()?.is_some() {}
    let mut source = Arc::clone(changelog.plan());
    while let Some(input) = source.children().first().map(|input| Arc::clone(input)) {
        source = input;
    }
    let metrics = source.metrics().map(|metrics| metrics.aggregate_by_name());
    let counted = metrics.and_then(|metrics| metrics.sum_by_name("parse_errors"));
    assert_eq!(counted.map(|value| value.as_usize()), Some(2));
    Ok(())
}

#[tokio::test]
async fn an_insert_that_does_not_fit_names_the_table_and_its_columns() -> Result<()> {
    let ctx = session()?;
    ctx.flink_sql("CREATE TABLE sink (a BIGINT, b STRING) WITH ('connector' = 'blackhole')").await?;
    check(
        &ctx,
        &[
            ("INSERT INTO sink SELECT k FROM events", &["INSERT INTO sink (a BIGINT, b STRING)"]),
            ("INSERT INTO sink (c) SELECT k FROM events", &["INSERT INTO sink (a BIGINT, b STRING)", "c"]),
            ("INSERT INTO nowhere SELECT k FROM events", &["nowhere"]),
        ],
    )
    .await;
    Ok(())
}

#[tokio::test]
async fn results_that_change_are_not_read_as_plain_rows() -> Result<()> {
    let ctx = session()?;
    let error = ctx.sql("SELECT k, COUNT(*) FROM events GROUP BY k").await?.collect().await.unwrap_err();
    for word in ["execute_changelog", "TO_CHANGELOG", "mode=[I,UB,UA]"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    // but they can be shown
    let plan = ctx.sql("EXPLAIN SELECT k, COUNT(*) FROM events GROUP BY k").await?.collect().await?;
    let text = datafusion::arrow::util::pretty::pretty_format_batches(&plan)?.to_string();
    assert!(text.contains("GroupAggregate: key=[k], aggr=[count"), "{text}");

    let plain = MemTable::try_new(
        Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("n", DataType::Int64, true),
        ])),
        vec![vec![]],
    )?;
    ctx.register_table("plain", Arc::new(plain))?;
    let insert = ctx.sql("INSERT INTO plain SELECT k, COUNT(*) FROM events GROUP BY k").await?;
    let error = insert.collect().await.unwrap_err().to_string();
    assert!(error.contains("DataSinkExec takes only inserts"), "{error}");
    Ok(())
}

#[tokio::test]
async fn what_has_no_streaming_form_is_refused_by_name() -> Result<()> {
    let ctx = session()?;
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("x", values)])?;
    ctx.register_batch("small", batch)?;
    let error = ctx
        .sql("SELECT k, NTILE(2) OVER (ORDER BY v) FROM events")
        .await?
        .execute_changelog()
        .await
        .err()
        .map(|error| error.to_string());
    let error = error.expect("NTILE needs all rows");
    assert!(error.contains("NTILE() over a stream"), "{error}");
    Ok(())
}

#[tokio::test]
async fn windows_that_cannot_be_are_refused_with_what_to_write_instead() -> Result<()> {
    let ctx = session()?;
    for (name, watermark) in [("taps", ", WATERMARK FOR ts AS ts"), ("plain", "")] {
        let table = format!(
            "CREATE TABLE {name} (k STRING, v INT, ts TIMESTAMP(3), pt AS PROCTIME(){watermark}) \
             WITH ('connector' = 'filesystem', 'path' = 'nowhere.jsonl', 'format' = 'json')"
        );
        ctx.flink_sql(&table).await?;
    }
    let aggregate = |windows: &str| {
        format!("SELECT window_start, COUNT(*) FROM TABLE({windows}) GROUP BY window_start, window_end")
    };
    let slides = aggregate("HOP(TABLE taps, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)");
    let steps = aggregate("CUMULATE(TABLE taps, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)");
    let first = "SELECT window_start, FIRST_VALUE(v) FROM TABLE(HOP(TABLE taps, DESCRIPTOR(ts), INTERVAL '5' SECOND, \
                 INTERVAL '10' SECOND)) GROUP BY window_start, window_end";
    let no_watermark = aggregate("TUMBLE(TABLE plain, DESCRIPTOR(ts), INTERVAL '5' SECOND)");
    let no_time = aggregate("TUMBLE(TABLE taps, DESCRIPTOR(v), INTERVAL '5' SECOND)");
    let offset = aggregate("TUMBLE(TABLE taps, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '7' SECOND)");
    let partition = aggregate("TUMBLE(TABLE taps PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)");
    let rank = "SELECT * FROM (SELECT *, RANK() OVER (PARTITION BY window_start, window_end ORDER BY v) AS r FROM \
                TABLE(TUMBLE(TABLE taps, DESCRIPTOR(ts), INTERVAL '5' SECOND))) WHERE r <= 1";
    let cases: &[(&str, &[&str])] = &[
        (&slides, &["SIZE of HOP", "multiple of SLIDE", "make it 12000 ms", "GROUP BY HOP(ts, slide, size)"]),
        (&steps, &["SIZE (10000 ms)", "multiple of STEP (4000 ms)", "such as 12000 ms"]),
        (first, &["first_value", "cannot be merged", "ROW_NUMBER() OVER", "use TUMBLE"]),
        (&no_watermark, &["the column ts is not one", "declare WATERMARK FOR it", "WITH ORDER"]),
        ("SELECT COUNT(*) FROM plain GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)", &["declare WATERMARK FOR"]),
        (&no_time, &["time column v", "must be a timestamp"]),
        (&offset, &["OFFSET (7000 ms)", "less than 5000 ms", "write 2000 ms"]),
        (&partition, &["TUMBLE takes no PARTITION BY", "GROUP BY of the query"]),
        (rank, &["RANK over window_start and window_end", "use ROW_NUMBER()"]),
        (
            "SELECT TUMBLE_START(ts, INTERVAL '5' SECOND) FROM taps",
            &["TUMBLE(…) is a window of the GROUP BY clause", "group by it, with the same arguments"],
        ),
        (
            "SELECT COUNT(*) FROM taps GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '1' SECOND)",
            &["for an offset use the table function"],
        ),
        (
            "SELECT * FROM LATE_ROWS((SELECT * FROM TABLE(TUMBLE(TABLE taps, DESCRIPTOR(pt), INTERVAL '5' SECOND))))",
            &["no row is late", "processing time pt", "take a rowtime"],
        ),
        (
            "SELECT * FROM LATE_ROWS((SELECT * FROM TABLE(TUMBLE(TABLE plain, DESCRIPTOR(ts), INTERVAL '5' SECOND))))",
            &["the column ts is not one", "declare WATERMARK FOR it"],
        ),
    ];
    check(&ctx, cases).await;
    Ok(())
}

#[tokio::test]
async fn emit_options_that_do_not_fit_are_refused_by_name() -> Result<()> {
    let ctx = session()?;
    ctx.flink_sql(
        "CREATE TABLE taps (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) \
         WITH ('connector' = 'filesystem', 'path' = 'nowhere.jsonl', 'format' = 'json')",
    )
    .await?;
    let tumble = "SELECT COUNT(*) FROM taps GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)";
    let session = "SELECT COUNT(*) FROM taps GROUP BY SESSION(ts, INTERVAL '5' SECOND)";
    let function = "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE taps, DESCRIPTOR(ts), INTERVAL '5' SECOND)) \
                    GROUP BY window_start, window_end";
    let set = async |key: &str, value: &str| -> Result<()> {
        ctx.flink_sql(&format!("SET 'table.exec.emit.{key}' = '{value}'")).await?.collect().await?;
        Ok(())
    };
    set("early-fire.enabled", "true").await?;
    check(
        &ctx,
        &[
            (
                tumble,
                &["'table.exec.emit.early-fire.enabled' needs 'table.exec.emit.early-fire.delay'", "'0 s'"],
            ),
            (session, &["sessions take no 'table.exec.emit' options", "set", "to false"]),
            (function, &["windows in GROUP BY", "'streaming.window.allowed_lateness'"]),
        ],
    )
    .await;
    set("early-fire.enabled", "false").await?;
    set("late-fire.enabled", "true").await?;
    check(&ctx, &[(tumble, &["set 'table.exec.emit.allow-lateness', such as '1 min'"])]).await;
    set("allow-lateness", "5 s").await?;
    check(&ctx, &[(tumble, &["needs 'table.exec.emit.late-fire.delay'"])]).await;
    set("late-fire.delay", "6 s").await?;
    check(&ctx, &[(tumble, &["(6000 ms)", "(5000 ms)", "'table.exec.emit.allow-lateness'"])]).await;
    check(&ctx, &[("SET 'table.exec.emit.late-fire.delay' = 'soon'", &["late-fire.delay", "soon"])]).await;
    Ok(())
}

use std::fmt::Write;

use datafusion_streaming::changelog::pretty::changelog_lines;

use super::*;

/// A folder with a table of 60 rows in three groups, and the statement that makes it.
fn table() -> (tempfile::TempDir, &'static str) {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::new();
    for row in 0..60 {
        writeln!(rows, r#"{{"k": {}, "v": {row}}}"#, row % 3).unwrap();
    }
    std::fs::write(folder.path().join("t.jsonl"), rows).unwrap();
    let create = "CREATE TABLE t (k INT, v INT) \
                  WITH ('connector' = 'filesystem', 'path' = 't.jsonl', 'format' = 'json')";
    (folder, create)
}

const QUERY: &str = "SELECT k, COUNT(*) AS n, MAX(v) AS hi FROM t GROUP BY k";

#[tokio::test]
async fn all_modes_answer_alike() {
    let (folder, create) = table();
    let mut answers = vec![];
    for mode in Mode::ALL {
        let mut session = StreamingEngine::default().session(folder.path(), mode).await.unwrap();
        session.statement(create).await.unwrap();
        let mut lines = changelog_lines(&session.query(QUERY).await.unwrap().changes).unwrap();
        lines.sort();
        assert_eq!(lines.len(), 3 + 2 * 57, "{mode}");
        answers.push(lines);
    }
    assert!(answers.iter().all(|answer| answer == &answers[0]));
}

#[tokio::test]
async fn only_aggregates_of_aggregates_leave_the_way_open() {
    let (folder, create) = table();
    let mut session = StreamingEngine::default().session(folder.path(), Mode::Parallel).await.unwrap();
    session.statement(create).await.unwrap();
    let queries = [
        (QUERY.to_string(), Determined::Changes),
        ("SELECT SUM(v) AS s FROM t".to_string(), Determined::Changes),
        (format!("SELECT MAX(n) AS n FROM ({QUERY})"), Determined::Table),
        (format!("SELECT hi, COUNT(*) AS n FROM ({QUERY}) GROUP BY hi"), Determined::Table),
    ];
    for (query, determined) in queries {
        assert_eq!(session.query(&query).await.unwrap().determined, determined, "{query}");
    }
}

#[tokio::test]
async fn restore_mode_restores() {
    let (folder, create) = table();
    let context = SessionContext::new();
    datafusion_streaming::install(&context).unwrap();
    let base_dir = folder.path().display();
    context.flink_sql(&format!("SET 'streaming.base_dir' = '{base_dir}'")).await.unwrap();
    context.flink_sql("SET 'parallelism.default' = '1'").await.unwrap();
    context.flink_sql(create).await.unwrap();
    for first in 0..ROWS_TO_SNAPSHOT.len() {
        let (changes, restores) = restored_query(&context, QUERY, first).await.unwrap();
        assert_eq!(restores, RESTORES);
        let rows: usize = changes.iter().map(ChangelogBatch::num_rows).sum();
        assert_eq!(rows, 3 + 2 * 57);
    }
}

#[tokio::test]
async fn a_session_without_the_extension_is_refused() {
    let engine = StreamingEngine::new(|| Ok(SessionContext::new()));
    let error = engine.session(Path::new("/"), Mode::Plain).await.err().unwrap();
    assert!(error.to_string().contains("not installed"));
}

use super::*;
use crate::echo::Echo;

/// The failures of a file with this text: the line and the message.
async fn failures(text: &str, mode: Mode) -> Vec<(u32, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.slt");
    std::fs::write(&path, text).unwrap();
    let report = Runner::new(Echo).with_timeout(Duration::from_millis(50)).run(&path, mode).await;
    report.failures().map(|(record, failure)| (record.line, failure.to_string())).collect()
}

async fn passes(text: &str, mode: Mode) -> bool {
    failures(text, mode).await.is_empty()
}

#[tokio::test]
async fn rows_are_compared_in_order_unless_told_otherwise() {
    let other_order = "\n+I a\n-D b\n----\n-D b\n+I a\n";
    assert!(passes("query\n+I a\n-D b\n----\n+I a\n-D b\n", Mode::Plain).await);
    assert!(!passes(&format!("query{other_order}"), Mode::Plain).await);
    assert!(!passes(&format!("query{other_order}"), Mode::OneRow).await);
    assert!(!passes(&format!("query{other_order}"), Mode::Restore).await);
    assert!(passes(&format!("query rowsort{other_order}"), Mode::Plain).await);
    assert!(passes(&format!("query{other_order}"), Mode::Parallel).await);
}

#[tokio::test]
async fn kinds_and_multiplicity_count() {
    for mode in Mode::ALL {
        assert!(!passes("query rowsort\n+I a\n----\n+U a\n", mode).await);
        assert!(!passes("query rowsort\n+I a\n+I a\n----\n+I a\n", mode).await);
        assert!(!passes("query rowsort\n+I a\n----\n", mode).await);
    }
}

/// The maximum of two counts, whose order on the way is open.
#[tokio::test]
async fn where_the_way_is_open_only_the_table_at_the_end_counts() {
    let text = |changes: &str| format!("query\n{changes}\n----\n+I 1\n-U 1\n+U 3\n");
    let (other_way, other_end) = ("+I 2\n-U 2\n+U 3", "+I 1\n-U 1\n+U 2");
    assert!(passes(&text(&format!("merged\n{other_way}")), Mode::Parallel).await);
    assert!(!passes(&text(&format!("merged\n{other_end}")), Mode::Parallel).await);
    assert!(!passes(&text(&format!("merged\n{other_way}\n+I 3")), Mode::Parallel).await);
    assert!(!passes(&text(other_way), Mode::Parallel).await);
    assert!(!passes(&text(&format!("merged\n{other_way}")), Mode::Plain).await);
}

#[tokio::test]
async fn table_mode_answers_what_is_left() {
    let text = |set: &str| {
        format!(
            "statement ok\n{set}\n\n\
             query\n+I b\n+I a\n-U b\n+U c\n-D x\n+I x\n+I c\n----\na\nc\nc\n"
        )
    };
    for mode in Mode::ALL {
        assert!(passes(&text("SET 'sql-client.execution.result-mode' = 'table'"), mode).await);
        assert!(passes(&text("set 'sql-client.execution.result-mode'='TABLE';"), mode).await);
        assert!(!passes(&text("SET 'sql-client.execution.result-mode' = 'changelog'"), mode).await);
        assert!(!passes(&text("SET 'table.exec.state.ttl' = 'table'"), mode).await);
    }
}

#[tokio::test]
async fn a_line_break_in_a_value_is_one_in_the_answer() {
    assert!(passes("query\n+I a\\nb\n+I c\n----\n+I a\nb\n+I c\n", Mode::Plain).await);
}

#[tokio::test]
async fn errors_where_none_is_expected_and_the_other_way_round() {
    let text = "\
statement ok
fail

statement error
fail

statement error
pass

query error
+I a

query error
fail

query error failed [a-z]+ told
fail

query error other words
fail

query
fail
----

query
+I after all that
----
+I after all that
";
    let expected = [
        (1, "error: Execution error: failed as told"),
        (7, "was to be refused, but succeeded"),
        (10, "was to be refused, but succeeded"),
        (19, "was to be refused with (regex) other words, but was with: Execution error: failed as told"),
        (22, "error: Execution error: failed as told"),
    ];
    assert_eq!(failures(text, Mode::Plain).await, expected.map(|(line, text)| (line, text.to_string())));
}

#[tokio::test]
async fn panics_and_endless_queries_fail_but_do_not_end_the_file() {
    let text = "query\npanic\n----\n\nquery\nhang\n----\n\nstatement ok\nfail\n";
    let failures = failures(text, Mode::Plain).await;
    let messages: Vec<&str> = failures.iter().map(|(_, message)| message.as_str()).collect();
    assert!(messages[0].contains("panic: panicked as told"), "{messages:?}");
    assert!(messages[1].contains("no end after"), "{messages:?}");
    assert!(messages[2].contains("failed as told"), "{messages:?}");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_fails() {
    let report = Runner::new(Echo).run(Path::new("/nowhere.slt"), Mode::Plain).await;
    assert_eq!((report.passed(), report.records.len()), (0, 1));
}

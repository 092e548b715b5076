use super::*;

/// The records of a file with this text, for the label `ours`.
fn records(text: &str) -> Result<Vec<Record>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.slt");
    std::fs::write(&path, text).unwrap();
    read(&path, "ours")
}

fn rows(lines: &[&str], any_order: bool) -> Expected {
    Expected::Rows { lines: lines.iter().map(|line| line.to_string()).collect(), any_order }
}

#[test]
fn records_of_all_kinds() {
    let text = "\
# a comment

statement ok
CREATE TABLE t (
  k STRING)

statement error
DROP TABLE nothing

# Flink refuses: because
query error
SELECT nonsense

query
SELECT k
FROM t
----
+I a 
+I (empty)

query rowsort
SELECT k FROM t
----
+I b
";
    let records = records(text).unwrap();
    let lines: Vec<u32> = records.iter().map(|record| record.line).collect();
    assert_eq!(lines, [3, 7, 11, 14, 21]);
    assert_eq!(records[0].sql, "CREATE TABLE t (\n  k STRING)");
    let expected: Vec<Expected> = records.into_iter().map(|record| record.expected).collect();
    assert_eq!(
        expected,
        [
            Expected::Success,
            Expected::Refusal(ExpectedError::Empty),
            Expected::QueryRefusal(ExpectedError::Empty),
            rows(&["+I a ", "+I (empty)"], false),
            rows(&["+I b"], true),
        ]
    );
}

#[test]
fn sort_modes_of_sqllogictest_itself() {
    let text = "\
query TI rowsort
1
----

query TI
2

control sortmode rowsort

query
3
----
+I x
";
    let expected: Vec<_> = records(text).unwrap().into_iter().map(|record| record.expected).collect();
    assert_eq!(expected, [rows(&[], true), rows(&[], false), rows(&["+I x"], true)]);
}

#[test]
fn conditions_choose_by_label() {
    let text = "\
onlyif flink
query
theirs

onlyif ours
query
ours

skipif ours
query
not ours

skipif flink
query
not theirs

halt

query
never
";
    let sqls: Vec<_> = records(text).unwrap().into_iter().map(|record| record.sql).collect();
    assert_eq!(sqls, ["ours", "not theirs"]);
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    for (text, part) in [
        ("\nsystem ok\nls\n", ":2: this runner does not know 'system'"),
        ("connection other\nquery\nSELECT 1\n", ":2: this runner does not know connections"),
        ("statement count 1\nINSERT\n", ":1: this runner does not know 'statement count'"),
        ("query T valuesort\nSELECT 1\n", ":1: this runner does not know 'valuesort'"),
        ("\n\nselect 1\n", ":3: invalid line"),
    ] {
        let error = records(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(read(Path::new("/nowhere.slt"), "ours").unwrap_err().to_string().contains("/nowhere.slt"));
}

#[test]
fn a_folder_stands_for_the_files_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("b/c")).unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    for name in ["b/c/2.slt", "b/1.slt", "a.slt", "b/data.jsonl"] {
        std::fs::write(path(name), "").unwrap();
    }
    assert_eq!(slt_files([folder.path()]).unwrap(), ["a.slt", "b/1.slt", "b/c/2.slt"].map(path));
    assert_eq!(slt_files([path("b/data.jsonl")]).unwrap(), [path("b/data.jsonl")]);
    assert!(slt_files([path("empty")]).unwrap_err().to_string().contains("no .slt file"));
    assert!(slt_files([path("c.slt")]).unwrap_err().to_string().contains("c.slt"));
}

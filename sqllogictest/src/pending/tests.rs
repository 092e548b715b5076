use super::*;
use crate::{Failure, RecordReport};

const LIST: &str = "
b.slt 1
  1 [plain] CREATE TABLE

family/a.slt 2
  3 SELECT 1
  9 [restore, parallel] SELECT 2
";

/// A folder with the files of the list.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("family")).unwrap();
    for name in ["family/a.slt", "b.slt", "c.slt"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

/// A report of records on lines 3, 9 and 12, of which these failed.
fn report(folder: &tempfile::TempDir, name: &str, mode: Mode, failed: &[u32]) -> FileReport {
    let record = |line: u32| RecordReport {
        line,
        sql: format!("SELECT\n  {line}"),
        failure: failed.contains(&line).then_some(Failure::Accepted),
    };
    FileReport { path: folder.path().join(name), mode, records: [3, 9, 12].map(record).into() }
}

#[test]
fn text_and_back() {
    let list = Pending::parse(LIST).unwrap();
    assert_eq!(list.to_string(), format!("{HEAD}{LIST}"));
    assert_eq!(Pending::parse(&list.to_string()).unwrap(), list);
    assert_eq!(Mode::ALL.map(|mode| list.count(mode)), [2, 1, 2, 2, 1]);
}

#[test]
fn what_is_no_list_is_an_error() {
    for (list, line) in [
        ("  3 SELECT", "line 1"),
        ("a.slt 1\n  x SELECT", "line 2"),
        ("a.slt 1\n\n  3 [fast] SELECT", "line 3"),
        ("a.slt", "line 1"),
    ] {
        assert!(Pending::parse(list).unwrap_err().to_string().contains(line));
    }
}

#[test]
fn contradictions_are_failures_not_listed_and_entries_that_pass() {
    let (folder, list) = (folder(), Pending::parse(LIST).unwrap());
    let contradictions = |name, mode, failed| {
        list.contradictions(folder.path(), &report(&folder, name, mode, failed)).unwrap()
    };
    assert!(contradictions("family/a.slt", Mode::Plain, &[3]).is_empty());
    assert!(contradictions("family/a.slt", Mode::Restore, &[3, 9]).is_empty());
    assert!(contradictions("c.slt", Mode::Plain, &[]).is_empty());

    let unlisted = contradictions("family/a.slt", Mode::Plain, &[3, 9]);
    assert!(unlisted.len() == 1 && unlisted[0].contains("a.slt:9 [plain] SELECT 9"), "{unlisted:?}");
    let passing = contradictions("family/a.slt", Mode::Parallel, &[3]);
    assert!(passing.len() == 1 && passing[0].contains("a.slt:9 [parallel] is in the"), "{passing:?}");
    assert_eq!(contradictions("b.slt", Mode::Plain, &[]).len(), 1, "an entry that is no record");
}

#[test]
fn an_update_replaces_the_modes_that_ran() {
    let (folder, mut list) = (folder(), Pending::parse(LIST).unwrap());
    for (name, mode, failed) in [
        ("family/a.slt", Mode::Restore, &[3, 12][..]),
        ("family/a.slt", Mode::Parallel, &[3]),
        ("b.slt", Mode::Plain, &[]),
        ("c.slt", Mode::OneRow, &[12]),
    ] {
        list.update(folder.path(), &report(&folder, name, mode, failed)).unwrap();
    }
    let expected = "
c.slt 1
  12 [one-row] SELECT 12

family/a.slt 2
  3 SELECT 3
  12 [restore] SELECT 12
";
    assert_eq!(list.to_string(), format!("{HEAD}{expected}"));
}

#[test]
fn a_file_that_did_not_run_is_not_listed() {
    let (folder, mut list) = (folder(), Pending::default());
    let mut report = report(&folder, "b.slt", Mode::Plain, &[]);
    report.records[0] =
        RecordReport { line: 0, sql: String::new(), failure: Some(Failure::Error("no session".to_string())) };
    assert!(list.update(folder.path(), &report).unwrap_err().to_string().contains("no session"));
}

#[test]
fn long_texts_are_cut_between_characters() {
    assert_eq!(first_words("SELECT\n   1"), "SELECT 1");
    let long = "é".repeat(100);
    assert_eq!(first_words(&long), format!("{}…", "é".repeat(SHOWN_CHARS)));
}

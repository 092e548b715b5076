use super::*;
use crate::echo::Echo;

fn options(arguments: &str) -> Result<Options, String> {
    Options::parse(arguments.split_whitespace().map(str::to_string))
}

#[test]
fn arguments() {
    let expected = Options {
        modes: vec![Mode::Plain],
        verbose: false,
        jobs: 2,
        update_pending: None,
        paths: vec!["a.slt".into(), "b".into()],
    };
    assert_eq!(options("a.slt b").unwrap(), expected);
    let expected = Options {
        modes: vec![Mode::OneRow],
        verbose: true,
        jobs: 1,
        update_pending: Some("list".into()),
        paths: vec!["a.slt".into()],
    };
    assert_eq!(options("--mode one-row a.slt -v --jobs 1 --update-pending list").unwrap(), expected);
    assert_eq!(options("--mode all a.slt").unwrap().modes, Mode::ALL);
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, message) in [
        ("", "no files"),
        ("-v", "no files"),
        ("a.slt --mode", "a value is missing behind --mode"),
        ("a.slt --mode fast", "unknown mode 'fast': expected one of plain, one-row, restore, parallel, disk"),
        ("a.slt --jobs 0", "--jobs 0: expected a number from 1"),
        ("a.slt -x", "unknown option -x"),
    ] {
        assert_eq!(options(arguments).unwrap_err(), message);
    }
}

/// Two files, one with a failure in all modes but the parallel one.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.slt"), "query\n+I x\n----\n+I x\n").unwrap();
    std::fs::write(folder.path().join("b.slt"), "statement ok\n1\n\nquery\n+I x\n+I y\n----\n+I y\n+I x\n")
        .unwrap();
    folder
}

/// Whether all passed, and what was written, with the folder's name taken out.
async fn output(folder: &tempfile::TempDir, arguments: &str) -> (bool, String) {
    let name = folder.path().to_str().unwrap();
    let options = options(&arguments.replace('@', &format!("{name}/"))).unwrap();
    let mut out = vec![];
    let passed = run(Echo, &options, &mut out).await.unwrap();
    (passed, String::from_utf8(out).unwrap().replace(&format!("{name}/"), "@"))
}

#[tokio::test]
async fn a_line_a_file_and_the_sums() {
    let folder = folder();
    let all_passed = output(&folder, "@a.slt").await;
    assert_eq!(all_passed, (true, "1/1 @a.slt\n1 passed, 0 failed\n".to_string()));
    let expected = "\
1/1 @a.slt
1/2 @b.slt
  @b.slt:4 [plain]
    +I x
    +I y
      2 rows expected, 2 answered
      row 1: expected '+I y', answered '+I x'
      row 2: expected '+I x', answered '+I y'
2 passed, 1 failed
";
    assert_eq!(output(&folder, "-v @").await, (false, expected.to_string()));
}

#[tokio::test]
async fn the_mode_is_told_where_there_are_several() {
    let expected = "\
1/2 @b.slt plain
1/2 @b.slt one-row
1/2 @b.slt restore
2/2 @b.slt parallel
2/2 @b.slt disk
7 passed, 3 failed
";
    assert_eq!(output(&folder(), "--mode all @b.slt").await, (false, expected.to_string()));
}

#[tokio::test]
async fn the_pending_list_is_rewritten() {
    let folder = folder();
    output(&folder, "--mode all --update-pending @pending.txt @").await;
    let list = std::fs::read_to_string(folder.path().join("pending.txt")).unwrap();
    assert!(list.ends_with("\n\nb.slt 1\n  4 [plain, one-row, restore] +I x +I y\n"), "{list}");
}

#[tokio::test]
async fn no_such_file() {
    let error = run(Echo, &options("/nowhere.slt").unwrap(), &mut vec![]).await.unwrap_err();
    assert!(error.to_string().contains("/nowhere.slt"));
}

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_streaming_physical_plan::changelog::pretty::changelog_lines;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind, RowKinds};
use datafusion_streaming_physical_plan::time::{Clock, ManualClock};
use futures::FutureExt;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use tempfile::TempDir;

use super::*;
use crate::formats::{Format, TableOptions};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("s", DataType::Utf8, true),
    ]))
}

struct Fixture {
    folder: TempDir,
    clock: ManualClock,
    runtime: RuntimeEnv,
    options: BTreeMap<String, String>,
}

impl Fixture {
    fn new(options: &[(&str, &str)]) -> Self {
        let mut all = BTreeMap::from([("format".to_string(), "json".to_string())]);
        all.extend(options.iter().map(|(key, value)| (key.to_string(), value.to_string())));
        Fixture {
            folder: TempDir::new().unwrap(),
            clock: ManualClock::new(0),
            runtime: RuntimeEnv::default(),
            options: all,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn reader(&self, batch_size: usize) -> FilesystemReader {
        let table_options = TableOptions::new("t", &self.options);
        let options = FilesystemOptions::try_new(&table_options).unwrap();
        let format = Format::try_new(&table_options).unwrap();
        table_options.finish().unwrap();
        let location = FileLocation::resolve("t", &options.path, self.folder.path(), &self.runtime).unwrap();
        let decoder = format.decoder(&schema(), None).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        FilesystemReader::new(location, &options, decoder, batch_size, clock)
    }
}

/// The rows up to the end, each batch one string.
async fn drain(reader: &mut FilesystemReader) -> Vec<String> {
    let mut batches = vec![];
    while let Some(batch) = reader.next().await.unwrap() {
        batches.push(changelog_lines([&batch]).unwrap().join(", "));
    }
    batches
}

#[tokio::test]
async fn a_file_is_read_in_order_in_batches_of_the_size_given() {
    let fixture = Fixture::new(&[("path", "t.jsonl")]);
    fixture.write("t.jsonl", "{\"id\": 1}\n{\"id\": 2}\r\n\n{\"id\": 3}");
    assert_eq!(drain(&mut fixture.reader(2)).await, ["+I 1 NULL, +I 2 NULL", "+I 3 NULL"]);
    let mut one_by_one = fixture.reader(1);
    assert_eq!(drain(&mut one_by_one).await, ["+I 1 NULL", "+I 2 NULL", "+I 3 NULL"]);
    assert!(one_by_one.next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_folder_is_read_by_name_without_hidden_files() {
    let fixture = Fixture::new(&[("path", "in")]);
    for (name, id) in
        [("b", 2), ("a", 1), ("c/d", 3), (".hidden", 9), ("_tmp", 9), ("_x/y", 9), ("c/.z/y", 9)]
    {
        fixture.write(&format!("in/{name}"), &format!("{{\"id\": {id}}}\n"));
    }
    fixture.write("other", "{\"id\": 9}\n");
    fixture.write("in/empty", "");
    assert_eq!(drain(&mut fixture.reader(8)).await, ["+I 1 NULL", "+I 2 NULL", "+I 3 NULL"]);
}

#[tokio::test]
async fn only_paths_that_match_the_pattern_are_read() {
    let fixture = Fixture::new(&[("path", "in"), ("source.path.regex-pattern", r".*/in/\d+\.json")]);
    fixture.write("in/1.json", "{\"id\": 1}");
    fixture.write("in/a.json", "{\"id\": 2}");
    fixture.write("in/3.json.bak", "{\"id\": 3}");
    assert_eq!(drain(&mut fixture.reader(8)).await, ["+I 1 NULL"]);
}

#[tokio::test]
async fn records_longer_than_a_chunk_are_whole() {
    let fixture = Fixture::new(&[("path", "t.jsonl")]);
    let long = "x".repeat(3 << 20);
    fixture.write("t.jsonl", &format!("{{\"id\": 1}}\n{{\"id\": 2, \"s\": \"{long}\"}}\n{{\"id\": 3}}\n"));
    let rows = drain(&mut fixture.reader(1)).await;
    assert_eq!(rows, ["+I 1 NULL".to_string(), format!("+I 2 {long}"), "+I 3 NULL".to_string()]);
}

#[tokio::test]
async fn an_error_names_table_file_and_line() {
    let fixture = Fixture::new(&[("path", "t.jsonl")]);
    fixture.write("t.jsonl", "{\"id\": 1}\n\n{\"id\": 2,\n{\"id\": 3}\n");
    let mut reader = fixture.reader(1);
    assert!(reader.next().await.unwrap().is_some());
    let error = reader.next().await.unwrap_err().to_string();
    assert!(error.contains("table 't'") && error.contains("/t.jsonl, line 3: "), "{error}");
}

#[tokio::test]
async fn what_is_wrong_is_skipped_and_counted_on_request() {
    let fixture = Fixture::new(&[("path", "t.jsonl"), ("json.ignore-parse-errors", "true")]);
    fixture.write("t.jsonl", "{\"id\": 1}\n{\"id\": 2,\nnonsense\n{\"id\": \"x\"}\n{\"id\": 3}\n");
    let mut reader = fixture.reader(8);
    assert_eq!(drain(&mut reader).await, ["+I 1 NULL, +I NULL NULL, +I 3 NULL"]);
    assert_eq!((reader.ignored().records, reader.ignored().fields), (2, 1));
}

#[tokio::test]
async fn a_missing_path_is_an_error_that_names_it() {
    let fixture = Fixture::new(&[("path", "nowhere/t.jsonl")]);
    let error = fixture.reader(8).next().await.unwrap_err().to_string();
    assert!(
        error.contains("table 't'") && error.contains("nowhere/t.jsonl") && error.contains("'path'"),
        "{error}"
    );
}

#[tokio::test]
async fn an_empty_folder_has_no_rows() {
    let fixture = Fixture::new(&[("path", "in")]);
    std::fs::create_dir(fixture.folder.path().join("in")).unwrap();
    assert_eq!(drain(&mut fixture.reader(8)).await, Vec::<String>::new());
}

/// Restores a new reader at every place of the input, and reads the rest with it.
#[tokio::test]
async fn a_restored_reader_goes_on_where_the_position_was_taken() {
    let fixture = Fixture::new(&[("path", "in")]);
    fixture.write("in/a", "{\"id\": 1}\n\n{\"id\": 2}\n{\"id\": 3}");
    fixture.write("in/b", "{\"id\": 4}\n");
    fixture.write("in/c", "{\"id\": 5}\n{\"id\": 6}\n");
    let all = drain(&mut fixture.reader(1)).await;
    assert_eq!(all.len(), 6);
    let mut reader = fixture.reader(1);
    for read in 0..=all.len() {
        let mut restored = fixture.reader(1);
        restored.restore(&reader.position()).unwrap();
        assert_eq!(restored.position(), reader.position());
        assert_eq!(drain(&mut restored).await, all[read..], "after {read} rows");
        reader.next().await.unwrap();
    }
}

#[tokio::test]
async fn line_numbers_go_on_after_a_restore() {
    let fixture = Fixture::new(&[("path", "t.jsonl")]);
    fixture.write("t.jsonl", "{\"id\": 1}\n{\"id\": 2}\n{\"id\": nothing}\n");
    let mut reader = fixture.reader(1);
    reader.next().await.unwrap();
    let mut restored = fixture.reader(1);
    restored.restore(&reader.position()).unwrap();
    restored.next().await.unwrap();
    let error = restored.next().await.unwrap_err().to_string();
    assert!(error.contains("line 3: "), "{error}");
}

#[tokio::test]
async fn a_file_that_a_position_is_in_must_still_be_there() {
    let fixture = Fixture::new(&[("path", "in")]);
    fixture.write("in/a", "{\"id\": 1}\n{\"id\": 2}\n");
    fixture.write("in/b", "{\"id\": 3}\n");
    let mut reader = fixture.reader(1);
    reader.next().await.unwrap();
    std::fs::remove_file(fixture.folder.path().join("in/a")).unwrap();
    let mut restored = fixture.reader(1);
    restored.restore(&reader.position()).unwrap();
    let error = restored.next().await.unwrap_err().to_string();
    assert!(error.contains("/in/a") && error.contains("not there any more"), "{error}");

    // Once it has been read to its end, nobody needs it
    fixture.write("in/a", "{\"id\": 1}\n");
    let mut reader = fixture.reader(1);
    reader.next().await.unwrap();
    std::fs::remove_file(fixture.folder.path().join("in/a")).unwrap();
    let mut restored = fixture.reader(1);
    restored.restore(&reader.position()).unwrap();
    assert_eq!(drain(&mut restored).await, ["+I 3 NULL"]);
}

#[tokio::test]
async fn with_a_monitor_interval_new_files_are_read_as_they_come() {
    let fixture = Fixture::new(&[("path", "in"), ("source.monitor-interval", "10 s")]);
    fixture.write("in/b", "{\"id\": 1}\n");
    let mut reader = fixture.reader(8);
    assert_eq!(changelog_lines(&reader.next().await.unwrap()).unwrap(), ["+I 1 NULL"]);
    fixture.write("in/a", "{\"id\": 2}\n");
    fixture.write("in/b", "{\"id\": 1}\n{\"id\": 9}\n");
    {
        let mut waiting = Box::pin(reader.next());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(waiting.as_mut().now_or_never().is_none());
        // The future is dropped here: nothing may be lost by it
    }
    let position = reader.position();
    fixture.clock.advance(10_000);
    assert_eq!(changelog_lines(&reader.next().await.unwrap()).unwrap(), ["+I 2 NULL"]);

    let mut restored = fixture.reader(8);
    restored.restore(&position).unwrap();
    assert_eq!(changelog_lines(&restored.next().await.unwrap()).unwrap(), ["+I 2 NULL"]);
}

#[tokio::test]
async fn a_dropped_future_loses_nothing() {
    let fixture = Fixture::new(&[("path", "in")]);
    for file in 0..20 {
        fixture.write(&format!("in/{file:02}"), &format!("{{\"id\": {file}}}\n"));
    }
    let mut reader = fixture.reader(8);
    let mut rows = vec![];
    loop {
        // Polls once and drops the future, however far it came
        match reader.next().now_or_never() {
            None => tokio::task::yield_now().await,
            Some(batch) => match batch.unwrap() {
                None => break,
                Some(batch) => rows.extend(changelog_lines([&batch]).unwrap()),
            },
        }
    }
    assert_eq!(rows, (0..20).map(|file| format!("+I {file} NULL")).collect::<Vec<_>>());
}

#[tokio::test]
async fn files_in_an_object_store_are_read_by_url() {
    let fixture = Fixture::new(&[("path", "memory://bucket/in/")]);
    let store = Arc::new(InMemory::new());
    for (name, text) in
        [("in/a", "{\"id\": 1}\n{\"id\": 2}\n"), ("in/b", "{\"id\": 3}\n"), ("x", "{\"id\": 9}\n")]
    {
        store.put(&name.into(), text.as_bytes().to_vec().into()).await.unwrap();
    }
    let url = ObjectStoreUrl::parse("memory://bucket").unwrap();
    fixture.runtime.register_object_store(url.as_ref(), store);
    let mut reader = fixture.reader(1);
    assert_eq!(changelog_lines(&reader.next().await.unwrap()).unwrap(), ["+I 1 NULL"]);
    let position = reader.position();
    assert_eq!(drain(&mut reader).await, ["+I 2 NULL", "+I 3 NULL"]);
    let mut restored = fixture.reader(1);
    restored.restore(&position).unwrap();
    assert_eq!(drain(&mut restored).await, ["+I 2 NULL", "+I 3 NULL"]);
}

#[test]
fn locations_that_cannot_be_resolved_name_table_and_option() {
    let runtime = RuntimeEnv::default();
    for path in ["nostore://bucket/x", "s3://"] {
        let error = FileLocation::resolve("t", path, Path::new("/"), &runtime).unwrap_err().to_string();
        assert!(error.contains("'t'") && error.contains("'path'") && error.contains(path), "{error}");
    }
}

#[test]
fn local_paths_are_relative_to_the_base() {
    let runtime = RuntimeEnv::default();
    let resolve = |path: &str| {
        let location = FileLocation::resolve("t", path, Path::new("/base/dir"), &runtime).unwrap();
        location.display(&location.path)
    };
    assert_eq!(resolve("x/y"), "/base/dir/x/y");
    assert_eq!(resolve("../x"), "/base/x");
    assert_eq!(resolve("/x/y"), "/x/y");
    assert_eq!(resolve("file:///x/y"), "/x/y");
    assert_eq!(resolve("file:/x/y"), "/x/y");
}

#[test]
fn option_errors() {
    let error = |options: &[(&str, &str)]| {
        let options: BTreeMap<String, String> =
            options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let options = TableOptions::new("t", &options);
        let result = FilesystemOptions::try_new(&options).map(|_| ()).and_then(|()| options.finish());
        result.unwrap_err().to_string()
    };
    assert!(error(&[]).contains("no option 'path'"));
    assert!(error(&[("path", "x"), ("source.monitor-interval", "soon")]).contains("not 'soon'"));
    assert!(error(&[("path", "x"), ("source.monitor-interval", "0 s")]).contains("longer than zero"));
    assert!(error(&[("path", "x"), ("source.path.regex-pattern", "(")]).contains("regex"));
    let unknown = error(&[("path", "x"), ("source.monitor-intervall", "1 s")]);
    assert!(unknown.contains("did you mean 'source.monitor-interval'?"), "{unknown}");
}

impl Fixture {
    fn writer(&self, job: &str) -> FilesystemWriter {
        let table_options = TableOptions::new("sink", &self.options);
        let options = FilesystemOptions::try_new(&table_options).unwrap();
        let encoder = Format::try_new(&table_options).unwrap().encoder("sink", &schema()).unwrap();
        let location =
            FileLocation::resolve("sink", &options.path, self.folder.path(), &self.runtime).unwrap();
        FilesystemWriter::new(location, &options, encoder, job, 0, Arc::new(self.clock.clone()))
    }

    /// The names and contents of the files in a folder.
    fn files(&self, folder: &str) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(self.folder.path().join(folder)).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().to_string();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

fn batch(ids: std::ops::Range<i32>) -> ChangelogBatch {
    let ids: Int32Array = ids.collect();
    let strings = StringArray::new_null(ids.len());
    ChangelogBatch::insert_only(
        RecordBatch::try_new(schema(), vec![Arc::new(ids), Arc::new(strings)]).unwrap(),
    )
}

#[tokio::test]
async fn what_is_written_can_be_read() {
    let fixture = Fixture::new(&[("path", "out/deep")]);
    let mut writer = fixture.writer("job");
    for start in [0, 3, 3] {
        writer.write(&batch(start..3)).await.unwrap();
    }
    writer.write(&batch(3..4)).await.unwrap();
    writer.finish().await.unwrap();
    let records = (0..4).map(|id| format!("{{\"id\":{id},\"s\":null}}\n")).collect::<String>();
    assert_eq!(fixture.files("out/deep"), [("part-job-0-0".to_string(), records)]);
    let rows = drain(&mut fixture.reader(1)).await;
    assert_eq!(rows, ["+I 0 NULL", "+I 1 NULL", "+I 2 NULL", "+I 3 NULL"]);
}

#[tokio::test]
async fn without_rows_there_is_an_empty_folder() {
    let fixture = Fixture::new(&[("path", "out")]);
    let mut writer = fixture.writer("job");
    writer.write(&batch(0..0)).await.unwrap();
    writer.finish().await.unwrap();
    assert_eq!(fixture.files("out"), []);
}

#[tokio::test]
async fn parts_appear_when_they_are_complete() {
    let fixture = Fixture::new(&[("path", "out")]);
    let mut writer = fixture.writer("job");
    writer.write(&batch(0..1)).await.unwrap();
    let visible =
        || async { FileLocation::files(&fixture.writer("x").location).await.map_or(0, |files| files.len()) };
    assert_eq!(visible().await, 0);
    writer.complete().await.unwrap();
    assert_eq!(visible().await, 1);
    writer.write(&batch(1..2)).await.unwrap();
    drop(writer);
    assert_eq!(visible().await, 1);
}

#[tokio::test]
async fn pending_parts_appear_when_they_are_committed_and_stale_ones_go() {
    let fixture = Fixture::new(&[("path", "out")]);
    let mut writer = fixture.writer("job.1").pending();
    let location = writer.location.clone();
    writer.write(&batch(0..1)).await.unwrap();
    writer.complete().await.unwrap();
    let first = writer.take_pending();
    writer.write(&batch(1..2)).await.unwrap();
    writer.complete().await.unwrap();
    writer.write(&batch(2..3)).await.unwrap();
    // as after a kill: nobody tidies the unfinished upload up
    std::mem::forget(writer);
    let mut other = fixture.writer("job-2.1").pending();
    other.write(&batch(7..8)).await.unwrap();
    other.complete().await.unwrap();
    assert!(location.files().await.unwrap().is_empty());

    assert_eq!(first.len(), 1);
    location.commit(&first[0]).await.unwrap();
    location.commit(&first[0]).await.unwrap();
    location.remove_hidden("job.").await.unwrap();
    let names = |fixture: &Fixture| {
        let files = fixture.files("out").into_iter().map(|(name, _)| name);
        files.filter(|name| !name.contains('#')).collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture), [".part-job-2.1-0-0", "part-job.1-0-0"]);
    assert_eq!(fixture.files("out").len(), 2);
    assert_eq!(drain(&mut fixture.reader(8)).await, ["+I 0 NULL"]);
}

#[tokio::test]
async fn parts_roll_by_size_and_by_age() {
    let by_size = Fixture::new(&[("path", "out"), ("sink.rolling-policy.file-size", "30b")]);
    let mut writer = by_size.writer("job");
    for id in 0..3 {
        writer.write(&batch(id..id + 1)).await.unwrap();
    }
    writer.finish().await.unwrap();
    let names =
        |fixture: &Fixture| fixture.files("out").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&by_size), ["part-job-0-0", "part-job-0-1"]);

    let by_age = Fixture::new(&[("path", "out"), ("sink.rolling-policy.rollover-interval", "10 s")]);
    let mut writer = by_age.writer("job");
    for id in 0..4 {
        writer.write(&batch(id..id + 1)).await.unwrap();
        by_age.clock.advance(5_000);
    }
    writer.finish().await.unwrap();
    assert_eq!(names(&by_age), ["part-job-0-0", "part-job-0-1"]);
}

#[tokio::test]
async fn a_refused_change_names_the_table() {
    let fixture = Fixture::new(&[("path", "out")]);
    let kinds = RowKinds::from(vec![RowKind::Delete]);
    let deletion = ChangelogBatch::try_new(batch(0..1).batch().clone(), kinds).unwrap();
    let error = fixture.writer("job").write(&deletion).await.unwrap_err().to_string();
    assert!(error.contains("'sink'") && error.contains("-D"), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let fixture = Fixture::new(&[("path", "file/out")]);
    fixture.write("file", "");
    let mut writer = fixture.writer("job");
    let result = match writer.write(&batch(0..1)).await {
        Ok(()) => writer.finish().await,
        error => error,
    };
    let error = result.unwrap_err().to_string();
    assert!(error.contains("table 'sink'") && error.contains("file/out"), "{error}");
}

/// What differs where files are read by an index at their end.
#[cfg(feature = "parquet")]
mod bulk {
    use super::*;

    /// A folder with files of 3, 1 and 3 rows, in row groups of 2.
    async fn fixture(options: &[(&str, &str)]) -> Fixture {
        let mut all = vec![("path", "in"), ("format", "parquet"), ("parquet.block.size", "1")];
        all.extend(options);
        let fixture = Fixture::new(&all);
        for (job, parts) in [("a", &[(0, 2), (2, 3)][..]), ("b", &[(3, 4)]), ("c", &[(4, 6), (6, 7)])] {
            let mut writer = fixture.writer(job);
            for (first, end) in parts {
                writer.write(&batch(*first..*end)).await.unwrap();
            }
            writer.finish().await.unwrap();
        }
        fixture
    }

    fn all(ids: std::ops::Range<i32>) -> Vec<String> {
        ids.map(|id| format!("+I {id} NULL")).collect()
    }

    #[tokio::test]
    async fn a_restored_reader_goes_on_at_its_row() {
        let fixture = fixture(&[]).await;
        let by_group = ["0 NULL, +I 1 NULL", "2 NULL", "3 NULL", "4 NULL, +I 5 NULL", "6 NULL"];
        assert_eq!(drain(&mut fixture.reader(8)).await, by_group.map(|rows| format!("+I {rows}")));
        assert_eq!(drain(&mut fixture.reader(1)).await, all(0..7));
        let mut reader = fixture.reader(1);
        for read in 0..=7 {
            let mut restored = fixture.reader(1);
            restored.restore(&reader.position()).unwrap();
            assert_eq!(restored.position(), reader.position());
            assert_eq!(drain(&mut restored).await, all(read..7));
            reader.next().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_file_must_be_there_until_its_last_row() {
        let fixture = fixture(&[]).await;
        let mut reader = fixture.reader(1);
        let file = fixture.folder.path().join("in/part-a-0-0");
        let content = std::fs::read(&file).unwrap();
        for (row, is_needed) in [(1, true), (2, true), (3, false)] {
            std::fs::write(&file, &content).unwrap();
            reader.next().await.unwrap();
            std::fs::remove_file(&file).unwrap();
            let mut restored = fixture.reader(1);
            restored.restore(&reader.position()).unwrap();
            match is_needed {
                true => {
                    let error = restored.next().await.unwrap_err().to_string();
                    assert!(error.contains(&format!("in/part-a-0-0, of which {row} rows")), "{error}");
                }
                false => assert_eq!(drain(&mut restored).await, all(3..7)),
            }
        }
    }

    #[tokio::test]
    async fn a_dropped_future_loses_nothing() {
        let fixture = fixture(&[]).await;
        let mut reader = fixture.reader(1);
        let (mut rows, mut dropped) = (vec![], 0);
        loop {
            match reader.next().now_or_never() {
                None => {
                    dropped += 1;
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                Some(batch) => match batch.unwrap() {
                    None => break,
                    Some(batch) => rows.extend(changelog_lines([&batch]).unwrap()),
                },
            }
        }
        assert!(dropped > 0);
        assert_eq!(rows, all(0..7));
    }

    #[tokio::test]
    async fn files_in_an_object_store_are_read_and_written_by_url() {
        let options = [("path", "memory://bucket/in/"), ("format", "parquet")];
        let fixture = Fixture::new(&options);
        let url = ObjectStoreUrl::parse("memory://bucket").unwrap();
        fixture.runtime.register_object_store(url.as_ref(), Arc::new(InMemory::new()));
        let mut writer = fixture.writer("job").pending();
        writer.write(&batch(0..3)).await.unwrap();
        writer.complete().await.unwrap();
        let location = writer.location.clone();
        assert!(location.files().await.unwrap().is_empty());
        for file in writer.take_pending() {
            location.commit(&file).await.unwrap();
        }
        let mut reader = fixture.reader(2);
        reader.next().await.unwrap();
        let mut restored = fixture.reader(2);
        restored.restore(&reader.position()).unwrap();
        assert_eq!(drain(&mut restored).await, all(2..3));
    }

    #[tokio::test]
    async fn parts_roll_by_what_is_kept_back_too() {
        let fixture =
            Fixture::new(&[("path", "out"), ("format", "parquet"), ("sink.rolling-policy.file-size", "4kb")]);
        let mut writer = fixture.writer("job");
        for start in 0..10 {
            writer.write(&batch(start * 400..start * 400 + 400)).await.unwrap();
        }
        writer.finish().await.unwrap();
        let files = std::fs::read_dir(fixture.folder.path().join("out")).unwrap().count();
        assert!((2..=5).contains(&files), "{files}");
    }

    #[tokio::test]
    async fn a_position_of_another_format_is_refused() {
        let fixture = fixture(&[]).await;
        let mut reader = fixture.reader(1);
        reader.next().await.unwrap();
        let position = reader.position();
        let mut as_json = Fixture { options: BTreeMap::from([("format".into(), "json".into())]), ..fixture };
        as_json.options.insert("path".into(), "in".into());
        let mut restored = as_json.reader(1);
        restored.restore(&position).unwrap();
        let error = restored.next().await.unwrap_err().to_string();
        assert!(error.contains("part-a-0-0, of which 1 rows") && error.contains("another format"), "{error}");
    }

    #[tokio::test]
    async fn an_error_names_table_and_file() {
        let fixture = fixture(&[]).await;
        fixture.write("in/aa", "this is no such file");
        let mut reader = fixture.reader(8);
        let error = reader.next().await.unwrap_err().to_string();
        assert!(error.contains("table 't'") && error.contains("/in/aa: "), "{error}");
    }
}

//! Checkpoints on storage: what is written is read, and what is damaged is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt16Array};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_streaming::checkpoint::{CheckpointInfo, CheckpointKind, CheckpointStorage};
use datafusion_streaming::runtime::{Checkpoint, OperatorId, SubtaskSnapshot, TableSnapshot};
use datafusion_streaming_physical_plan::state::key_group::key_groups;
use object_store::memory::InMemory;
use tempfile::TempDir;

/// A keyed table of this many keys; the values of those below `changed` are others.
fn keyed(rows: i64, changed: i64) -> Result<TableSnapshot> {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let groups: ArrayRef = Arc::new(UInt16Array::from(key_groups(&[Arc::clone(&keys)], rows as usize)?));
    let text = (0..rows).map(|key| if key < changed { format!("new {key}") } else { format!("old {key}") });
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(text));
    let rows = RecordBatch::try_from_iter([("key_group", groups), ("k", keys), ("v", text)])?;
    Ok(TableSnapshot { name: "groups".to_string(), keyed: true, rows })
}

fn value(value: i64) -> Result<TableSnapshot> {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
    let rows = RecordBatch::try_from_iter([("value", column)])?;
    Ok(TableSnapshot { name: "watermark".to_string(), keyed: false, rows })
}

fn checkpoint(id: u64, rows: i64, changed: i64) -> Result<Checkpoint> {
    let subtask = |tables, watermark| {
        BTreeMap::from([(
            0,
            SubtaskSnapshot { watermark, inputs: vec![(watermark, false), (7, true)], tables, stored: None },
        )])
    };
    let operator = |name: &str| OperatorId { name: name.to_string(), number: 1 };
    Ok(Checkpoint {
        id,
        operators: BTreeMap::from([
            (operator("GroupAggregate"), subtask(vec![keyed(rows, changed)?], 5)),
            (operator("WatermarkAssigner"), subtask(vec![value(id as i64)?], i64::MIN)),
        ]),
    })
}

/// The rows in another order, so that checkpoints can be compared.
fn sorted(checkpoint: &Checkpoint) -> Result<Vec<String>> {
    let mut lines = vec![];
    for (operator, subtasks) in &checkpoint.operators {
        for (subtask, snapshot) in subtasks {
            lines.push(format!("{operator} {subtask} {} {:?}", snapshot.watermark, snapshot.inputs));
            for table in &snapshot.tables {
                let text = pretty_format_batches(std::slice::from_ref(&table.rows))?;
                let rows = text.to_string();
                lines.extend(rows.lines().map(|row| format!("{} {} {row}", table.name, table.keyed)));
            }
        }
    }
    lines.sort();
    Ok(lines)
}

struct Folder {
    folder: TempDir,
    storage: CheckpointStorage,
}

impl Folder {
    fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let path = folder.path().join("checkpoints").display().to_string();
        let storage = CheckpointStorage::open(&path, Some("job"), folder.path(), &RuntimeEnv::default())?;
        Ok(Folder { folder, storage })
    }

    async fn write(&self, checkpoint: &Checkpoint) -> Result<CheckpointInfo> {
        self.storage.write(checkpoint, "job", CheckpointKind::Checkpoint, 1_000).await
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("checkpoints/job").join(below)
    }

    fn shared(&self) -> Vec<PathBuf> {
        files(&self.path("shared"))
    }

    /// The error of reading a checkpoint.
    async fn refusal(&self, id: u64) -> String {
        self.storage.read(id).await.expect_err("a damaged checkpoint was read").to_string()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn what_is_written_is_read() -> Result<()> {
    let folder = Folder::new()?;
    assert_eq!(folder.storage.latest().await?, None);
    for (id, rows) in [(1, 0), (2, 10), (3, 50_000)] {
        let written = checkpoint(id, rows, 0)?;
        let info = folder.write(&written).await?;
        assert!(info.path.ends_with(&format!("checkpoints/job/chk-{id}")), "{}", info.path);
        assert_eq!(folder.storage.latest().await?, Some(id));
        assert_eq!(sorted(&folder.storage.read(id).await?)?, sorted(&written)?);
    }
    assert!(folder.shared().len() > 1, "a large table is cut by key group");
    Ok(())
}

#[tokio::test]
async fn any_registered_object_store_will_do() -> Result<()> {
    let runtime = RuntimeEnv::default();
    let url = ObjectStoreUrl::parse("memory://bucket")?;
    runtime.register_object_store(url.as_ref(), Arc::new(InMemory::new()));
    let open = || CheckpointStorage::open("memory://bucket/a/b", Some("job"), Path::new("/"), &runtime);
    let written = checkpoint(1, 20_000, 0)?;
    let info = open()?.write(&written, "job", CheckpointKind::Savepoint, 0).await?;
    assert_eq!(info.path, "memory://bucket/a/b/job/chk-1");
    assert_eq!(sorted(&open()?.read(1).await?)?, sorted(&written)?);
    let error = CheckpointStorage::open("nostore://x/y", None, Path::new("/"), &runtime).unwrap_err();
    assert!(error.to_string().contains("nostore://x/y"), "{error}");
    Ok(())
}

#[tokio::test]
async fn only_the_ranges_that_changed_are_written_anew() -> Result<()> {
    let folder = Folder::new()?;
    let first = folder.write(&checkpoint(1, 100_000, 0)?).await?;
    assert!(first.written_bytes >= first.state_bytes);
    let same = folder.write(&checkpoint(2, 100_000, 0)?).await?;
    assert!(same.written_bytes < 10_000, "{same:?}");
    assert_eq!(same.state_bytes, first.state_bytes);
    let one_key = folder.write(&checkpoint(3, 100_000, 1)?).await?;
    assert!(one_key.written_bytes < first.written_bytes / 4, "{one_key:?} of {first:?}");

    // what another process wrote is known, too
    let path = folder.folder.path().join("checkpoints").display().to_string();
    let other = CheckpointStorage::open(&path, Some("job"), folder.folder.path(), &RuntimeEnv::default())?;
    let again = other.write(&checkpoint(4, 100_000, 1)?, "job", CheckpointKind::Checkpoint, 0).await?;
    assert!(again.written_bytes < 10_000, "{again:?}");
    Ok(())
}

#[tokio::test]
async fn retention_keeps_what_is_needed() -> Result<()> {
    let folder = Folder::new()?;
    let storage = &folder.storage;
    storage.write(&checkpoint(1, 50_000, 0)?, "job", CheckpointKind::Savepoint, 0).await?;
    for id in 2..6 {
        folder.write(&checkpoint(id, 50_000, id as i64 * 1_000)?).await?;
        storage.retain(2).await?;
    }
    assert_eq!(storage.list().await?, [1, 4, 5]);
    for id in [1, 4, 5] {
        let changed = if id == 1 { 0 } else { id as i64 * 1_000 };
        assert_eq!(sorted(&storage.read(id).await?)?, sorted(&checkpoint(id, 50_000, changed)?)?);
    }
    let before = folder.shared().len();
    std::fs::remove_file(folder.path("chk-4/manifest.json"))?;
    storage.clean().await?;
    assert!(folder.shared().len() < before, "files of nobody are removed");
    storage.read(1).await?;
    storage.read(5).await?;
    Ok(())
}

#[tokio::test]
async fn a_damaged_checkpoint_takes_no_other_with_it() -> Result<()> {
    let folder = Folder::new()?;
    let storage = &folder.storage;
    folder.write(&checkpoint(1, 50_000, 0)?).await?;
    folder.write(&checkpoint(2, 50_000, 1)?).await?;
    let manifest = folder.path("chk-2/manifest.json");
    let whole = std::fs::read(&manifest)?;
    std::fs::write(&manifest, &whole[..whole.len() / 2])?;
    storage.clean().await?;
    folder.write(&checkpoint(3, 50_000, 2)?).await?;
    let files = folder.shared();
    storage.retain(1).await?;
    assert_eq!((storage.list().await?, folder.shared()), (vec![2, 3], files));
    storage.read(3).await?;
    // it may be mended
    std::fs::write(&manifest, whole)?;
    assert_eq!(sorted(&storage.read(2).await?)?, sorted(&checkpoint(2, 50_000, 1)?)?);
    storage.retain(1).await?;
    storage.clean().await?;
    assert_eq!(storage.list().await?, [3]);
    assert_eq!(sorted(&storage.read(3).await?)?, sorted(&checkpoint(3, 50_000, 2)?)?);
    Ok(())
}

#[tokio::test]
async fn half_a_checkpoint_is_none() -> Result<()> {
    let folder = Folder::new()?;
    folder.write(&checkpoint(1, 10, 0)?).await?;
    folder.write(&checkpoint(2, 50_000, 0)?).await?;
    std::fs::remove_file(folder.path("chk-2/manifest.json"))?;
    std::fs::create_dir_all(folder.path("chk-x"))?;
    assert_eq!(folder.storage.latest().await?, Some(1));
    let error = folder.refusal(2).await;
    assert!(error.contains("chk-2/manifest.json") && error.contains("missing"), "{error}");
    Ok(())
}

#[tokio::test]
async fn files_that_are_not_as_they_were_are_refused_by_name() -> Result<()> {
    let folder = Folder::new()?;
    folder.write(&checkpoint(1, 50_000, 0)?).await?;
    let state = folder.shared().remove(0);
    let name = state.file_name().unwrap().to_string_lossy().to_string();
    let whole = std::fs::read(&state)?;
    let mut newer = whole.clone();
    newer[8] = 2;
    for (bytes, words) in [
        (whole[..whole.len() - 1].to_vec(), "cut short"),
        (whole[..20].to_vec(), "cut short"),
        (newer, "version 2"),
        (b"something else that is long enough to have a header of 52 bytes".to_vec(), "no state file"),
        ([&whole[..whole.len() - 1], &[whole[whole.len() - 1] ^ 1]].concat(), "checksum"),
    ] {
        std::fs::write(&state, bytes)?;
        let error = folder.refusal(1).await;
        assert!(error.contains(&name) && error.contains(words), "{error}");
    }
    let other = folder.shared().remove(1);
    std::fs::copy(&other, &state)?;
    assert!(folder.refusal(1).await.contains("another file"));
    std::fs::remove_file(&state)?;
    let error = folder.refusal(1).await;
    assert!(error.contains(&name) && error.contains("missing"), "{error}");

    let manifest = folder.path("chk-1/manifest.json");
    let whole = std::fs::read_to_string(&manifest)?;
    for (text, words) in [
        (whole.replacen("\"version\":1", "\"version\":2", 1), "version 2"),
        (whole.replacen("datafusion-streaming", "other", 1), "other"),
        (whole.replacen("GroupAggregate", "GroupAggregat_", 1), "checksum"),
        (whole[..whole.len() / 2].to_string(), "no manifest"),
    ] {
        std::fs::write(&manifest, text)?;
        let error = folder.refusal(1).await;
        assert!(error.contains("chk-1/manifest.json") && error.contains(words), "{error}");
    }
    std::fs::create_dir_all(folder.path("chk-9"))?;
    std::fs::write(folder.path("chk-9/manifest.json"), &whole)?;
    assert!(folder.refusal(9).await.contains("manifest of checkpoint 1"));
    Ok(())
}

/// A small generator of numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

#[tokio::test]
async fn whatever_is_done_to_a_file_it_is_refused() -> Result<()> {
    let folder = Folder::new()?;
    folder.write(&checkpoint(1, 12_000, 0)?).await?;
    folder.storage.read(1).await?;
    let mut targets = folder.shared();
    targets.truncate(2);
    targets.push(folder.path("chk-1/manifest.json"));
    let mut numbers = Numbers(7);
    for target in targets {
        let whole = std::fs::read(&target)?;
        for round in 0..100 {
            let mut bytes = whole.clone();
            match round % 3 {
                0 => bytes.truncate(numbers.below(whole.len())),
                1 => {
                    // near the start, where the structure is, as often as anywhere
                    let limit = if round % 2 == 0 { whole.len().min(200) } else { whole.len() };
                    bytes[numbers.below(limit)] ^= 1 << numbers.below(8);
                }
                _ => {
                    let (from, len) = (numbers.below(whole.len()), numbers.below(64));
                    let to = (from + len).min(whole.len());
                    bytes[from..to].iter_mut().for_each(|byte| *byte = numbers.below(256) as u8);
                }
            }
            if bytes == whole {
                continue;
            }
            std::fs::write(&target, bytes)?;
            folder.refusal(1).await;
        }
        std::fs::write(&target, whole)?;
    }
    folder.storage.read(1).await?;
    Ok(())
}

//! Where the checkpoints of a job are.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::Path as LocalPath;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err, plan_datafusion_err};
use datafusion::execution::DiskManager;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_streaming_physical_plan::runtime::{
    Checkpoint, OperatorId, StoredRows, SubtaskSnapshot, TableSnapshot,
};
use datafusion_streaming_physical_plan::state::disk::StoreFolder;
use futures::{FutureExt, StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;

use super::manifest::{Manifest, OperatorEntry, PartData, PartEntry, SubtaskEntry, TableEntry};
use super::stored::StoredParts;
use super::{ranges, state_file};
use crate::filesystem::Place;

const MANIFEST: &str = "manifest.json";
const SHARED: &str = "shared";
const CHECKPOINT: &str = "chk-";

/// Tables up to this many bytes stand in the manifest.
const INLINE_BYTES: usize = 16 << 10;

/// Tables that have more bytes are read part by part when they are restored.
const WHOLE_BYTES: u64 = 16 << 20;

/// How many files are written or read at a time.
const AT_A_TIME: usize = 4;

/// The checkpoints of one job, in a folder of an object store. Only one job writes to a folder at a time.
#[derive(Debug)]
pub struct CheckpointStorage {
    store: Arc<dyn ObjectStore>,
    root: Path,
    /// The folder as users know it.
    shown: String,
    /// The shared files that the kept checkpoints have, once they are known.
    files: Mutex<Option<HashSet<String>>>,
    /// Where files are while they are restored.
    disk: Option<Arc<DiskManager>>,
    /// The keyed tables of a partition that have more bytes are not read at once.
    whole_bytes: u64,
}

/// A part of a table as bytes.
struct Encoded {
    key_groups: Range<u16>,
    bytes: Vec<u8>,
    name: String,
}

impl Encoded {
    fn try_new(part: ranges::Part) -> Result<Self> {
        let bytes = state_file::encode(&part.rows)?;
        let name = state_file::name_of(&bytes);
        Ok(Encoded { key_groups: part.key_groups, bytes, name })
    }
}

/// Runs what takes long on a thread of its own.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| DataFusionError::External(Box::new(error)))?
}

/// Why a checkpoint was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointKind {
    /// On an interval or on demand; retention may remove it.
    Checkpoint,
    /// By a user, who removes it.
    Savepoint,
    /// At the end of the input.
    Finished,
}

/// A checkpoint that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Its number.
    pub id: u64,
    /// When it was completed, in milliseconds since the epoch.
    pub time: i64,
    /// The bytes of the state in it.
    pub state_bytes: u64,
    /// The bytes that were written for it: less than the state where files of earlier checkpoints serve again.
    pub written_bytes: u64,
    /// The folder that it can be restored from.
    pub path: String,
}

impl CheckpointStorage {
    /// The folder at `url`: a URL of an object store that is registered in `runtime`, or a local path, relative to
    /// `base`. `job` is a folder below it; none for `url` itself.
    pub fn open(url: &str, job: Option<&str>, base: &LocalPath, runtime: &RuntimeEnv) -> Result<Self> {
        let place = Place::resolve(url, base, runtime)
            .map_err(|error| plan_datafusion_err!("the checkpoint folder '{url}': {error}"))?;
        let shown = match &place.local {
            Some(local) => local.display().to_string(),
            None => url.trim_end_matches('/').to_string(),
        };
        let (root, shown) = match job {
            Some(job) => (place.path.join(job), format!("{shown}/{job}")),
            None => (place.path, shown),
        };
        let store: Arc<dyn ObjectStore> = match place.local {
            // with its last file, a folder goes
            Some(_) => Arc::new(LocalFileSystem::new().with_automatic_cleanup(true)),
            None => place.store,
        };
        let disk = Some(Arc::clone(&runtime.disk_manager));
        Ok(CheckpointStorage { store, root, shown, files: Mutex::default(), disk, whole_bytes: WHOLE_BYTES })
    }

    /// The storage that reads the keyed tables of a partition only up to so many bytes at once. What is larger is
    /// copied to the disk, and restored from there a key group at a time.
    pub fn reading_whole(self, bytes: u64) -> Self {
        CheckpointStorage { whole_bytes: bytes, ..self }
    }

    /// A folder in memory, whose checkpoints serve as long as the process lives.
    pub fn in_memory() -> Self {
        CheckpointStorage {
            store: Arc::new(InMemory::new()),
            root: Path::from("checkpoints"),
            shown: "memory".to_string(),
            files: Mutex::default(),
            disk: None,
            whole_bytes: u64::MAX,
        }
    }

    /// The folder as users know it.
    pub fn location(&self) -> &str {
        &self.shown
    }

    /// Writes a checkpoint: first the files that are new, then the manifest. Of what fails on the way nothing is
    /// seen. Encoding runs on threads of its own.
    pub async fn write(
        &self,
        checkpoint: &Checkpoint,
        job: &str,
        kind: CheckpointKind,
        time: i64,
    ) -> Result<CheckpointInfo> {
        self.load_files().await?;
        let mut info =
            CheckpointInfo { id: checkpoint.id, time, state_bytes: 0, written_bytes: 0, path: String::new() };
        let mut operators = vec![];
        for (id, subtasks) in &checkpoint.operators {
            let mut entries = vec![];
            for (subtask, snapshot) in subtasks {
                let mut tables = vec![];
                for table in &snapshot.tables {
                    tables.push(self.write_table(table, &mut info).await?);
                }
                if let Some(stored) = &snapshot.stored {
                    self.write_stored(stored, &mut tables, &mut info).await?;
                }
                entries.push(SubtaskEntry {
                    subtask: *subtask,
                    watermark: snapshot.watermark,
                    inputs: snapshot.inputs.clone(),
                    tables,
                });
            }
            operators.push(OperatorEntry { name: id.name.clone(), number: id.number, subtasks: entries });
        }
        let manifest = Manifest {
            id: checkpoint.id,
            job: job.to_string(),
            savepoint: kind == CheckpointKind::Savepoint,
            finished: kind == CheckpointKind::Finished,
            time,
            operators,
        };
        let bytes = manifest.to_bytes()?;
        info.written_bytes += bytes.len() as u64;
        let path = self.manifest_path(checkpoint.id);
        let put = self.store.put(&path, bytes.into()).await;
        put.map_err(|error| self.failed("cannot be written", &path, error))?;
        info.path = format!("{}/{CHECKPOINT}{}", self.shown, checkpoint.id);
        Ok(info)
    }

    async fn write_table(&self, table: &TableSnapshot, info: &mut CheckpointInfo) -> Result<TableEntry> {
        let copy = table.clone();
        let encoded =
            blocking(move || ranges::cut(&copy)?.into_iter().map(Encoded::try_new).collect()).await?;
        let parts = self.write_parts(encoded, info).await?;
        let schema = table.rows.schema();
        let columns =
            schema.fields().iter().map(|field| (field.name().clone(), field.data_type().to_string()));
        Ok(TableEntry {
            name: table.name.clone(),
            keyed: table.keyed,
            columns: columns.collect(),
            rows: table.rows.num_rows() as u64,
            parts,
        })
    }

    /// Writes rows that are not in memory, a range of key groups at a time, as further parts of their tables.
    async fn write_stored(
        &self,
        stored: &Arc<dyn StoredRows>,
        tables: &mut [TableEntry],
        info: &mut CheckpointInfo,
    ) -> Result<()> {
        for key_groups in ranges::ranges_of(usize::try_from(stored.size()).unwrap_or(usize::MAX)) {
            let (stored, wanted) = (Arc::clone(stored), key_groups.clone());
            let encode = move || -> Result<Vec<_>> {
                let tables = stored.read(wanted.clone())?.into_iter();
                let filled = tables.filter(|table| table.rows.num_rows() > 0);
                let part = |table: TableSnapshot| {
                    let rows = table.rows.num_rows() as u64;
                    let part = ranges::Part { key_groups: wanted.clone(), rows: table.rows };
                    Ok((table.name, rows, Encoded::try_new(part)?))
                };
                filled.map(part).collect()
            };
            for (name, rows, encoded) in blocking(encode).await? {
                let Some(table) = tables.iter_mut().find(|table| table.name == name) else {
                    return exec_err!("the state store has rows of a table '{name}' that the operator lacks");
                };
                table.rows += rows;
                table.parts.extend(self.write_parts(vec![encoded], info).await?);
            }
        }
        Ok(())
    }

    /// Writes those parts of a table whose files are not there yet.
    async fn write_parts(&self, encoded: Vec<Encoded>, info: &mut CheckpointInfo) -> Result<Vec<PartEntry>> {
        let (mut parts, mut new) = (vec![], vec![]);
        for Encoded { key_groups, bytes, name } in encoded {
            let size = bytes.len() as u64;
            info.state_bytes += size;
            let data = match bytes.len() <= INLINE_BYTES {
                true => PartData::Inline(BASE64.encode(&bytes)),
                false => {
                    let known = self.files.lock().as_ref().is_some_and(|files| files.contains(&name));
                    if !known {
                        info.written_bytes += size;
                        new.push((name.clone(), Bytes::from(bytes)));
                    }
                    PartData::File(name)
                }
            };
            parts.push(PartEntry { key_groups: (key_groups.start, key_groups.end), bytes: size, data });
        }
        let puts: Vec<_> =
            new.into_iter().map(|(name, bytes)| self.write_file(name, bytes).boxed()).collect();
        let written = futures::stream::iter(puts).buffer_unordered(AT_A_TIME);
        let written: Vec<String> = written.try_collect().await?;
        self.files.lock().get_or_insert_default().extend(written);
        Ok(parts)
    }

    /// Writes a shared file, and returns its name.
    async fn write_file(&self, name: String, bytes: Bytes) -> Result<String> {
        let path = self.file_path(&name);
        let put = self.store.put(&path, bytes.into()).await;
        put.map_err(|error| self.failed("cannot be written", &path, error))?;
        Ok(name)
    }

    /// The numbers of the complete checkpoints, ascending.
    pub async fn list(&self) -> Result<Vec<u64>> {
        let listing = self.store.list_with_delimiter(Some(&self.root)).await;
        let folders = match listing {
            Err(Error::NotFound { .. }) => return Ok(vec![]),
            listing => {
                listing.map_err(|error| self.failed("cannot be listed", &self.root, error))?.common_prefixes
            }
        };
        let number = |folder: &Path| folder.filename()?.strip_prefix(CHECKPOINT)?.parse::<u64>().ok();
        let candidates: Vec<u64> = folders.iter().filter_map(number).collect();
        let mut numbers = vec![];
        for id in candidates {
            let path = self.manifest_path(id);
            match self.store.head(&path).await {
                Ok(_) => numbers.push(id),
                // a checkpoint that was never completed
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed("cannot be read", &path, error)),
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The latest complete checkpoint.
    pub async fn latest(&self) -> Result<Option<u64>> {
        Ok(self.list().await?.pop())
    }

    /// Reads a checkpoint. An error names the file that is missing, damaged or of a later version.
    pub async fn read(&self, id: u64) -> Result<Checkpoint> {
        let manifest = self.manifest(id).await?;
        let mut operators = BTreeMap::new();
        for operator in &manifest.operators {
            let mut subtasks = BTreeMap::new();
            for subtask in &operator.subtasks {
                let of_table = |table: &TableEntry| table.parts.iter().map(|part| part.bytes).sum::<u64>();
                let keyed = subtask.tables.iter().filter(|table| table.keyed);
                let mut stored = match (keyed.map(of_table).sum::<u64>() > self.whole_bytes, &self.disk) {
                    (true, Some(disk)) => Some(StoredParts::new(StoreFolder::temporary(disk)?)),
                    _ => None,
                };
                let mut tables = vec![];
                for table in &subtask.tables {
                    tables.push(match stored.as_mut().filter(|_| table.keyed) {
                        Some(stored) => self.copy_table(id, table, stored).await?,
                        None => self.read_table(id, table).await?,
                    });
                }
                let snapshot = SubtaskSnapshot {
                    watermark: subtask.watermark,
                    inputs: subtask.inputs.clone(),
                    tables,
                    stored: stored.map(|stored| Arc::new(stored) as Arc<dyn StoredRows>),
                };
                subtasks.insert(subtask.subtask, snapshot);
            }
            operators.insert(OperatorId { name: operator.name.clone(), number: operator.number }, subtasks);
        }
        Ok(Checkpoint { id, operators })
    }

    async fn read_table(&self, id: u64, table: &TableEntry) -> Result<TableSnapshot> {
        let rows = |part| async move { self.read_part(id, part).await.map(|(_, rows)| rows) };
        let parts: Vec<_> = table.parts.iter().map(|part| rows(&part.data).boxed()).collect();
        let parts: Vec<RecordBatch> = futures::stream::iter(parts).buffered(AT_A_TIME).try_collect().await?;
        let Some(first) = parts.first() else {
            return Err(self.refused(&self.manifest_path(id), "a table has no parts"));
        };
        let rows = match parts.as_slice() {
            [one] => one.clone(),
            parts => concat_batches(&first.schema(), parts)?,
        };
        self.check_rows(id, table, rows.num_rows() as u64)?;
        Ok(TableSnapshot { name: table.name.clone(), keyed: table.keyed, rows })
    }

    /// Copies the parts of a table to the disk; returns the table without rows.
    async fn copy_table(
        &self,
        id: u64,
        table: &TableEntry,
        stored: &mut StoredParts,
    ) -> Result<TableSnapshot> {
        let (mut empty, mut count) = (None, 0);
        for part in &table.parts {
            let (bytes, rows) = self.read_part(id, &part.data).await?;
            count += rows.num_rows() as u64;
            if empty.is_none() {
                let rows = RecordBatch::new_empty(rows.schema());
                let snapshot = TableSnapshot { name: table.name.clone(), keyed: table.keyed, rows };
                stored.add_table(snapshot.clone());
                empty = Some(snapshot);
            }
            stored.add_part(part.key_groups.0..part.key_groups.1, &bytes)?;
        }
        self.check_rows(id, table, count)?;
        empty.ok_or_else(|| self.refused(&self.manifest_path(id), "a table has no parts"))
    }

    fn check_rows(&self, id: u64, table: &TableEntry, rows: u64) -> Result<()> {
        if rows == table.rows {
            return Ok(());
        }
        let reason = format!("table '{}' has {rows} rows instead of {}", table.name, table.rows);
        Err(self.refused(&self.manifest_path(id), &reason))
    }

    /// Reads the rows of a range of key groups, and their bytes.
    async fn read_part(&self, id: u64, data: &PartData) -> Result<(Bytes, RecordBatch)> {
        match data {
            PartData::Inline(text) => {
                let path = self.manifest_path(id);
                let bytes = BASE64.decode(text).map_err(|error| self.refused(&path, &error.to_string()))?;
                let rows = state_file::decode(&bytes).map_err(|reason| self.refused(&path, &reason))?;
                Ok((bytes.into(), rows))
            }
            PartData::File(name) => {
                let path = self.file_path(name);
                let bytes = self.get(&path).await?;
                let named = state_file::name_of(&bytes);
                let rows = state_file::decode(&bytes).map_err(|reason| self.refused(&path, &reason))?;
                match named == *name {
                    true => Ok((bytes, rows)),
                    false => Err(self.refused(&path, "its content is that of another file")),
                }
            }
        }
    }

    /// Whether a checkpoint is that of a job that had come to the end of its input.
    pub async fn is_finished(&self, id: u64) -> Result<bool> {
        Ok(self.manifest(id).await?.finished)
    }

    /// Keeps the last `count` checkpoints, at least one, and the savepoints; of the others, manifests go first, and
    /// then the files that no other has. Checkpoints with a damaged manifest are left as they are, and while there
    /// are any no files are removed: they may be theirs.
    pub async fn retain(&self, count: usize) -> Result<()> {
        let (manifests, has_damaged) = self.manifests().await?;
        let (mut kept, mut removed) = (vec![], vec![]);
        let mut checkpoints = 0;
        for manifest in manifests.into_iter().rev() {
            checkpoints += usize::from(!manifest.savepoint);
            match manifest.savepoint || checkpoints <= count.max(1) {
                true => kept.push(manifest),
                false => removed.push(manifest),
            }
        }
        let unneeded: Vec<String> = {
            let needed: BTreeSet<&str> = kept.iter().flat_map(Manifest::files).collect();
            let unneeded: BTreeSet<&str> = removed.iter().flat_map(Manifest::files).collect();
            unneeded.difference(&needed).map(|name| (*name).to_string()).collect()
        };
        for manifest in removed {
            self.delete(&self.manifest_path(manifest.id)).await?;
        }
        for name in unneeded {
            if let Some(files) = self.files.lock().as_mut() {
                files.remove(&name);
            }
            if !has_damaged {
                self.delete(&self.file_path(&name)).await?;
            }
        }
        Ok(())
    }

    /// Removes what checkpoints left that were never completed; nothing while there is a damaged manifest. Not while
    /// a checkpoint is being written.
    pub async fn clean(&self) -> Result<()> {
        *self.files.lock() = None;
        let (manifests, has_damaged) = self.manifests().await?;
        if has_damaged {
            return Ok(());
        }
        let needed: BTreeSet<Path> =
            manifests.iter().flat_map(Manifest::files).map(|name| self.file_path(name)).collect();
        let shared = self.root.clone().join(SHARED);
        let files = self.store.list(Some(&shared)).try_collect::<Vec<_>>().await;
        let files = match files {
            Err(Error::NotFound { .. }) => vec![],
            files => files.map_err(|error| self.failed("cannot be listed", &shared, error))?,
        };
        for orphan in files.into_iter().map(|file| file.location).filter(|path| !needed.contains(path)) {
            self.delete(&orphan).await?;
        }
        Ok(())
    }

    /// Finds out, once, which shared files there are.
    async fn load_files(&self) -> Result<()> {
        if self.files.lock().is_some() {
            return Ok(());
        }
        let (manifests, _) = self.manifests().await?;
        let files = manifests.iter().flat_map(Manifest::files).map(str::to_string).collect();
        self.files.lock().get_or_insert(files);
        Ok(())
    }

    /// The manifests of the complete checkpoints, ascending, and whether there are others, which are damaged.
    async fn manifests(&self) -> Result<(Vec<Manifest>, bool)> {
        let ids = self.list().await?;
        let (mut manifests, mut has_damaged) = (vec![], false);
        for id in ids {
            match Manifest::from_bytes(&self.get(&self.manifest_path(id)).await?) {
                Ok(manifest) if manifest.id == id => manifests.push(manifest),
                _ => has_damaged = true,
            }
        }
        Ok((manifests, has_damaged))
    }

    async fn manifest(&self, id: u64) -> Result<Manifest> {
        let path = self.manifest_path(id);
        let bytes = self.get(&path).await?;
        let manifest = Manifest::from_bytes(&bytes).map_err(|reason| self.refused(&path, &reason))?;
        match manifest.id == id {
            true => Ok(manifest),
            false => Err(self.refused(&path, &format!("it is the manifest of checkpoint {}", manifest.id))),
        }
    }

    async fn get(&self, path: &Path) -> Result<Bytes> {
        let bytes = match self.store.get(path).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match bytes {
            Err(Error::NotFound { .. }) => exec_err!("{} of the checkpoint is missing", self.display(path)),
            bytes => bytes.map_err(|error| self.failed("cannot be read", path, error)),
        }
    }

    async fn delete(&self, path: &Path) -> Result<()> {
        match self.store.delete(path).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("cannot be removed", path, error)),
        }
    }

    fn manifest_path(&self, id: u64) -> Path {
        self.root.clone().join(format!("{CHECKPOINT}{id}")).join(MANIFEST)
    }

    fn file_path(&self, name: &str) -> Path {
        self.root.clone().join(SHARED).join(format!("{name}.state"))
    }

    /// A path as users know it.
    fn display(&self, path: &Path) -> String {
        let below: Vec<_> = path
            .prefix_match(&self.root)
            .map(|parts| parts.map(|part| part.as_ref().to_string()).collect())
            .unwrap_or_default();
        std::iter::once(self.shown.clone()).chain(below).collect::<Vec<_>>().join("/")
    }

    fn failed(&self, what: &str, path: &Path, error: Error) -> DataFusionError {
        DataFusionError::from(error).context(format!("{} {what}", self.display(path)))
    }

    fn refused(&self, path: &Path, reason: &str) -> DataFusionError {
        exec_datafusion_err!("{} cannot be restored: {reason}", self.display(path))
    }
}

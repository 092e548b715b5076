//! The store of one partition of an operator.

use std::ops::{Bound, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use datafusion_common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion_execution::disk_manager::DiskManager;
use lsm_tree::compaction::Leveled;
use lsm_tree::compaction::filter::{CompactionFilter, Context, Factory, ItemAccessor, Verdict};
use lsm_tree::config::{BlockSizePolicy, PartitioningPolicy};
use lsm_tree::{AbstractTree, AnyIngestion, AnyTree, Cache, Config, Guard, SeqNo, SequenceNumberCounter};
use parking_lot::Mutex;
use tempfile::TempDir;

use super::codec::for_each_row;
use crate::state::key_group::ids_of;

/// By which clock a key is to be seen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timeline {
    /// Event time: when the watermark has come to it.
    Watermark = 0,
    /// Processing time.
    ProcessingTime = 1,
}

/// The folder of a store, which goes with the last that uses it.
#[derive(Debug)]
pub struct StoreFolder {
    folder: TempDir,
    /// The folder may be in one that goes with the disk manager.
    _disk: Option<Arc<DiskManager>>,
}

impl StoreFolder {
    /// A folder, which may be in one of a disk manager.
    pub fn new(folder: TempDir, disk: Option<Arc<DiskManager>>) -> Self {
        StoreFolder { folder, _disk: disk }
    }

    /// A new folder below another, which is made if it is not there.
    pub fn below(parent: &Path) -> Result<Self> {
        let made = std::fs::create_dir_all(parent)
            .and_then(|()| tempfile::Builder::new().prefix("state-").tempdir_in(parent));
        let folder = made.map_err(|error| {
            exec_datafusion_err!(
                "no folder for state can be made in {}: {error}; SET 'state.backend.local-dir'",
                parent.display()
            )
        })?;
        Ok(StoreFolder { folder, _disk: None })
    }

    /// A new folder among the temporary files of a session.
    pub fn temporary(disk: &Arc<DiskManager>) -> Result<Self> {
        // with its first file the disk manager makes its folders, or says that it is disabled
        drop(disk.create_tmp_file("keeping state on disk")?);
        let parent = disk.temp_dir_paths().into_iter().next().ok_or_else(|| {
            exec_datafusion_err!(
                "the session's disk manager has no folder for state; SET 'state.backend.local-dir'"
            )
        })?;
        Ok(StoreFolder { _disk: Some(Arc::clone(disk)), ..StoreFolder::below(&parent)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Keys that are not in memory, with the rows of their tables, and the times at which they are needed.
pub struct KeyStore {
    tree: AnyTree,
    /// The number of the next bulk load.
    seqno: SequenceNumberCounter,
    filter: Arc<Outdated>,
    views: Mutex<Vec<(SeqNo, Weak<()>)>>,
    compaction: Option<JoinHandle<lsm_tree::Result<()>>>,
    cache_bytes: usize,
    /// Last, so that it goes when nothing is open in it any more.
    folder: Arc<StoreFolder>,
}

/// The first byte of the key of an entry that holds rows. Those of timers are greater.
const ROWS: u8 = 0;
/// The bytes of an entry before its rows: when the last of them expires, in processing time.
const EXPIRY_BYTES: usize = 8;
/// So many unmerged loads stop the operator until they are merged.
const MOST_LOADS: usize = 12;
/// So many loads are merged at a time.
const MERGED_LOADS: u8 = 4;
/// The largest file.
const FILE_BYTES: u64 = 32 << 20;

fn failed(error: lsm_tree::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error)).context("the state store on disk failed")
}

fn rows_key(id: u64) -> [u8; 9] {
    let mut key = [ROWS; 9];
    key[1..].copy_from_slice(&id.to_be_bytes());
    key
}

fn timeline_byte(timeline: Timeline) -> u8 {
    ROWS + 1 + timeline as u8
}

fn timer_key(timeline: Timeline, time: i64, id: u64) -> [u8; 17] {
    let mut key = [timeline_byte(timeline); 17];
    // with the sign turned, negative times come first
    key[1..9].copy_from_slice(&(time as u64 ^ 1 << 63).to_be_bytes());
    key[9..].copy_from_slice(&id.to_be_bytes());
    key
}

fn timer_of(key: &[u8]) -> Option<(i64, u64)> {
    let time = u64::from_be_bytes(key.get(1..9)?.try_into().ok()?);
    let id = u64::from_be_bytes(key.get(9..17)?.try_into().ok()?);
    Some(((time ^ 1 << 63) as i64, id))
}

impl KeyStore {
    /// An empty store in a folder of its own, that keeps up to `cache_bytes` of what it reads.
    pub fn open(folder: StoreFolder, cache_bytes: usize) -> Result<Self> {
        let seqno = SequenceNumberCounter::default();
        let filter = Arc::new(Outdated {
            now: AtomicI64::new(i64::MIN),
            fired: [AtomicI64::new(i64::MIN), AtomicI64::new(i64::MIN)],
        });
        let tree = Config::new(folder.path(), SequenceNumberCounter::default(), seqno.clone())
            .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes as u64)))
            .data_block_size_policy(BlockSizePolicy::all(4 << 10))
            // whole filters of large files would push each other out of a small cache
            .filter_block_partitioning_policy(PartitioningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(true))
            .with_compaction_filter_factory(Some(Arc::new(DropsOutdated(Arc::clone(&filter)))))
            .open()
            .map_err(failed)?;
        Ok(KeyStore {
            tree,
            seqno,
            filter,
            views: Mutex::default(),
            compaction: None,
            cache_bytes,
            folder: Arc::new(folder),
        })
    }

    /// Where the store is.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// The bytes of memory that the store uses at most, about.
    pub fn memory_size(&self) -> usize {
        self.cache_bytes + self.tree.pinned_filter_size() + self.tree.pinned_block_index_size()
    }

    /// The bytes on disk.
    pub fn disk_size(&self) -> u64 {
        self.tree.disk_space()
    }

    /// Starts a bulk load.
    pub fn load(&self) -> Result<StoreWriter<'_>> {
        Ok(StoreWriter { ingestion: self.tree.ingestion().map_err(failed)?, value: vec![] })
    }

    /// Calls `visit` with the bytes of the rows of each key that is there, in the order of `ids`.
    pub fn read(&self, ids: &[u64], mut visit: impl FnMut(u64, lsm_tree::Slice)) -> Result<()> {
        let seqno = self.seqno.get();
        for id in ids {
            if let Some(value) = self.tree.get(rows_key(*id), seqno).map_err(failed)? {
                visit(*id, value);
            }
        }
        Ok(())
    }

    /// The keys whose timers are behind `after` and not after `until`, the earliest first, up to `count` of
    /// them.
    pub fn due(
        &self,
        timeline: Timeline,
        after: (i64, u64),
        until: i64,
        count: usize,
    ) -> Result<Vec<(i64, u64)>> {
        let (after, last) = (timer_key(timeline, after.0, after.1), timer_key(timeline, until, u64::MAX));
        if after >= last {
            return Ok(vec![]);
        }
        let timers = self.tree.range((Bound::Excluded(after), Bound::Included(last)), self.seqno.get(), None);
        let timers = timers.map(|entry| entry.key().map_err(failed).map(|key| timer_of(&key)));
        timers.filter_map(Result::transpose).take(count).collect()
    }

    /// All timers up to a time have been dealt with.
    pub fn fired(&self, timeline: Timeline, until: i64) {
        self.filter.fired[timeline as usize].fetch_max(until, Ordering::Relaxed);
    }

    /// Merges loads in the background where there are many, and drops what has expired by `now`, in
    /// processing time. Where the disk does not keep up, it waits.
    pub fn compact(&mut self, now: i64) -> Result<()> {
        self.filter.now.fetch_max(now, Ordering::Relaxed);
        if self.tree.l0_run_count() >= MOST_LOADS
            || self.compaction.as_ref().is_some_and(JoinHandle::is_finished)
        {
            self.finish_compaction()?;
        }
        if self.compaction.is_some() || self.tree.l0_run_count() < usize::from(MERGED_LOADS) {
            return Ok(());
        }
        let oldest = {
            let mut views = self.views.lock();
            views.retain(|(_, view)| view.strong_count() > 0);
            views.iter().map(|(seqno, _)| *seqno).min()
        };
        let kept_from = oldest.unwrap_or_else(|| self.seqno.get());
        let (tree, folder) = (self.tree.clone(), Arc::clone(&self.folder));
        let merge = move || {
            let strategy =
                Leveled::default().with_l0_threshold(MERGED_LOADS).with_table_target_size(FILE_BYTES);
            let merged = tree.compact(Arc::new(strategy), kept_from);
            drop(folder);
            merged
        };
        self.compaction = Some(std::thread::spawn(merge));
        Ok(())
    }

    /// Waits for the merge that is under way.
    pub fn finish_compaction(&mut self) -> Result<()> {
        let Some(compaction) = self.compaction.take() else { return Ok(()) };
        match compaction.join() {
            Ok(merged) => merged.map_err(failed),
            Err(_) => exec_err!("merging the files of the state store at {} failed", self.folder().display()),
        }
    }

    /// The store as it is now, whatever is loaded later.
    pub fn view(&self) -> StoreView {
        let (seqno, alive) = (self.seqno.get(), Arc::new(()));
        self.views.lock().push((seqno, Arc::downgrade(&alive)));
        StoreView { tree: self.tree.clone(), seqno, _alive: alive, _folder: Arc::clone(&self.folder) }
    }
}

/// A bulk load: first the keys, ascending, then the timers, ascending by timeline, time and key.
pub struct StoreWriter<'a> {
    ingestion: AnyIngestion<'a>,
    value: Vec<u8>,
}

impl StoreWriter<'_> {
    /// Writes the rows of a key, the last of which expires at `expires`.
    pub fn put(&mut self, id: u64, expires: i64, rows: &[u8]) -> Result<()> {
        self.value.clear();
        self.value.extend_from_slice(&expires.to_le_bytes());
        self.value.extend_from_slice(rows);
        self.ingestion.write(rows_key(id), self.value.as_slice()).map_err(failed)
    }

    /// Takes a key out.
    pub fn remove(&mut self, id: u64) -> Result<()> {
        self.ingestion.write_tombstone(rows_key(id)).map_err(failed)
    }

    /// Writes down when a key is needed again.
    pub fn timer(&mut self, timeline: Timeline, time: i64, id: u64) -> Result<()> {
        self.ingestion.write(timer_key(timeline, time, id), []).map_err(failed)
    }

    /// Makes what was written part of the store.
    pub fn finish(self) -> Result<()> {
        self.ingestion.finish().map_err(failed)
    }
}

/// A store at a point of its history.
pub struct StoreView {
    tree: AnyTree,
    seqno: SeqNo,
    _alive: Arc<()>,
    _folder: Arc<StoreFolder>,
}

impl StoreView {
    /// Calls `visit` with the entry of each key of some key groups.
    pub fn for_each(&self, groups: Range<u16>, mut visit: impl FnMut(lsm_tree::Slice)) -> Result<()> {
        let ids = ids_of(groups);
        let (Ok(first), Some(last)) = (u64::try_from(ids.start), ids.end.checked_sub(1)) else {
            return Ok(());
        };
        let last = u64::try_from(last).unwrap_or(u64::MAX);
        if first > last {
            return Ok(());
        }
        for entry in self.tree.range(rows_key(first)..=rows_key(last), self.seqno, None) {
            visit(entry.value().map_err(failed)?);
        }
        Ok(())
    }

    /// The bytes on disk, those of later versions included.
    pub fn disk_size(&self) -> u64 {
        self.tree.disk_space()
    }
}

/// Calls `visit` with the table and the bytes of each row of an entry.
pub fn rows_of_entry<'a>(entry: &'a [u8], visit: impl FnMut(usize, &'a [u8])) -> Result<()> {
    for_each_row(entry.get(EXPIRY_BYTES..).unwrap_or_default(), visit)
}

/// When the last row of an entry expires.
pub fn expiry_of(entry: &[u8]) -> i64 {
    let bytes = entry.get(..EXPIRY_BYTES).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(i64::MAX, i64::from_le_bytes)
}

/// What need not be kept when files are merged.
struct Outdated {
    now: AtomicI64,
    fired: [AtomicI64; 2],
}

struct DropsOutdated(Arc<Outdated>);

impl Factory for DropsOutdated {
    fn name(&self) -> &str {
        "outdated"
    }

    fn make_filter(&self, _ctx: &Context) -> Box<dyn CompactionFilter> {
        let Outdated { now, fired } = self.0.as_ref();
        let fired = [&fired[0], &fired[1]].map(|fired| fired.load(Ordering::Relaxed));
        Box::new(Filter { now: now.load(Ordering::Relaxed), fired })
    }
}

struct Filter {
    now: i64,
    fired: [i64; 2],
}

impl CompactionFilter for Filter {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _ctx: &Context) -> lsm_tree::Result<Verdict> {
        let key = item.key();
        let Some(timeline) = key.first().and_then(|byte| byte.checked_sub(1)) else {
            return Ok(match expiry_of(&item.value()?) <= self.now {
                true => Verdict::Remove,
                false => Verdict::Keep,
            });
        };
        let fired = self.fired.get(usize::from(timeline)).copied().unwrap_or(i64::MIN);
        // an older timer of the same time is outdated, too
        Ok(match timer_of(key) {
            Some((time, _)) if time <= fired => Verdict::Destroy,
            _ => Verdict::Keep,
        })
    }
}

impl Drop for KeyStore {
    fn drop(&mut self) {
        // files are open in the folder as long as the thread runs
        if let Some(compaction) = self.compaction.take() {
            let _ = compaction.join();
        }
    }
}

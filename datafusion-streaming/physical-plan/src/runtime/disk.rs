//! What an operator has in memory of its keyed state, and what is on disk.
//!
//! ```text
//!           rows ──► load the keys that they have ──► operator ──► changes
//!                          ▲                             │
//!                          │ restore                     │ snapshot, when the tables are too large
//!                          └────────── KeyStore ◄────────┘
//! ```
//!
//! Operators have no part in it. What goes to disk are the rows that a checkpoint would have of the tables,
//! and what comes back is restored into them; an operator that lets go of its keys is made anew. The unit is a
//! key with all that the operator's tables have of it.
//!
//! - **Before a batch** the keys that are neither in memory nor known to be nowhere are looked up, all at
//!   once and in the order of the store.
//! - **After a batch**, if the tables have become larger than the partition's share of the memory pool, all
//!   keys are written in one bulk load. Those that several batches have met stay in memory, too, up to half.
//! - **Before a watermark** the keys come back that have something to do by then: the store has an index
//!   of these times. They come in portions, and the operator is told the watermark with each.
//! - **A time to live** is looked at when a key is read. What has expired goes when files are merged.
//!
//! What is bundled for efficiency (mini-batch) goes out before keys are let go of, as at a barrier.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use datafusion_common::{Result, internal_err};
use datafusion_execution::memory_pool::MemoryPool;

use super::disk_options::{DiskOptions, PoolShare};
use super::{Distribution, Operator, OperatorMetrics, StoredRows, TableSnapshot};
use crate::state::disk::{KeyStore, RowCodec, StoreView, Timeline, expiry_of, push_row, rows_of_entry};
use crate::state::key_group::key_ids;
use crate::state::keyed_snapshot;

/// Makes an operator anew, without state.
pub(super) type Rebuild = Box<dyn Fn() -> Result<Box<dyn Operator>> + Send>;

/// The keyed state of one partition of an operator, in memory or not.
pub(super) struct DiskState {
    rebuild: Rebuild,
    /// The key columns of each input.
    ports: Vec<Vec<usize>>,
    /// By table; `None` for those that are not keyed, which stay in memory.
    tables: Arc<Vec<Option<KeyedTable>>>,
    options: DiskOptions,
    share: PoolShare,
    /// There is none before something is written to it.
    store: Option<KeyStore>,
    /// The keys that are looked for in memory only: by id.
    resident: HashMap<u64, Resident, BuildHasherDefault<IdHasher>>,
    /// The number of the batch that is worked on.
    batch: u32,
    /// No timer of the store is due before this processing time.
    next_timer: Option<i64>,
    /// Up to where the timers of each timeline have been dealt with.
    fired: [(i64, u64); 2],
}

/// How a table is written.
#[derive(Debug)]
struct KeyedTable {
    name: String,
    codec: RowCodec,
    /// The time to live of its rows in milliseconds; 0: for ever.
    ttl: i64,
}

/// What is known of a key that is in memory, or nowhere.
#[derive(Debug, Clone, Copy)]
struct Resident {
    /// The batch with which it came.
    batch: u32,
    /// Whether the store has an entry for it.
    stored: bool,
    /// Whether a later batch has met it.
    hot: bool,
}

/// So many rows are encoded at a time.
const CHUNK_ROWS: usize = 8192;

/// So many keys come back at a time when the clock or the watermark asks for them.
const PORTION_KEYS: usize = 4096;

/// Ids are hashes already.
#[derive(Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, id: u64) {
        self.0 = id;
    }
}

impl DiskState {
    /// The state of an operator whose inputs are distributed so; `None` where it is not kept by key, or has
    /// a table that cannot be.
    pub(super) fn try_new(
        rebuild: Rebuild,
        inputs: Vec<Distribution>,
        options: DiskOptions,
        pool: &Arc<dyn MemoryPool>,
    ) -> Result<Option<Self>> {
        let mut ports = vec![];
        for input in inputs {
            match input {
                Distribution::Hash(keys) if !keys.is_empty() => ports.push(keys),
                _ => return Ok(None),
            }
        }
        let mut tables = vec![];
        for table in rebuild()?.tables() {
            let snapshot = table.snapshot()?;
            if !snapshot.keyed {
                tables.push(None);
                continue;
            }
            let Some(evictable) = table.evictable() else { return Ok(None) };
            let codec = RowCodec::try_new(&snapshot.rows, evictable.keys)?;
            tables.push(Some(KeyedTable { name: snapshot.name, codec, ttl: evictable.ttl }));
        }
        if !tables.iter().any(Option::is_some) || tables.len() > usize::from(u8::MAX) {
            return Ok(None);
        }
        Ok(Some(DiskState {
            rebuild,
            ports,
            tables: Arc::new(tables),
            options,
            share: PoolShare::of(pool),
            store: None,
            resident: HashMap::default(),
            batch: 0,
            next_timer: None,
            fired: [(i64::MIN, 0); 2],
        }))
    }

    /// Whether tables of this size are too large.
    pub(super) fn is_over(&self, table_bytes: usize) -> bool {
        table_bytes + self.index_bytes() > self.options.budget(&self.share)
    }

    /// Bytes of memory besides those of the operator's tables.
    pub(super) fn memory_size(&self) -> usize {
        self.index_bytes() + self.store.as_ref().map_or(0, KeyStore::memory_size)
    }

    fn index_bytes(&self) -> usize {
        self.resident.capacity() * (size_of::<(u64, Resident)>() + 1)
    }

    /// Whether anything is on disk.
    pub(super) fn is_used(&self) -> bool {
        self.store.is_some()
    }

    /// Brings the keys of a batch into memory.
    pub(super) fn load(
        &mut self,
        port: usize,
        batch: &RecordBatch,
        now: i64,
        operator: &mut dyn Operator,
        metrics: &OperatorMetrics,
    ) -> Result<()> {
        if self.store.is_none() {
            return Ok(());
        }
        let Some(keys) = self.ports.get(port) else { return internal_err!("there is no input {port}") };
        let keys: Vec<ArrayRef> = keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let mut ids = key_ids(&keys, batch.num_rows())?;
        ids.dedup();
        self.batch = self.batch.wrapping_add(1);
        self.fetch(ids, now, operator, metrics)
    }

    /// Brings keys into memory; what has expired reads as absent.
    fn fetch(
        &mut self,
        mut ids: Vec<u64>,
        now: i64,
        operator: &mut dyn Operator,
        metrics: &OperatorMetrics,
    ) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        ids.retain(|id| match self.resident.entry(*id) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.hot |= known.batch != self.batch;
                false
            }
            Entry::Vacant(new) => {
                new.insert(Resident { batch: self.batch, stored: false, hot: false });
                true
            }
        });
        ids.sort_unstable();
        let mut entries = vec![];
        store.read(&ids, |id, entry| {
            if let Some(known) = self.resident.get_mut(&id) {
                known.stored = true;
            }
            if expiry_of(&entry) > now {
                entries.push(entry);
            }
        })?;
        metrics.keys_loaded.add(entries.len());
        for (table, rows) in decoded(&self.tables, entries.iter().map(|entry| entry.as_ref()))? {
            if let Some(table) = operator.tables().get_mut(table) {
                table.restore(&rows)?;
            }
        }
        Ok(())
    }

    /// Brings the next keys into memory that have something to do by `until`; whether there are any.
    pub(super) fn load_due(
        &mut self,
        timeline: Timeline,
        until: i64,
        now: i64,
        operator: &mut dyn Operator,
        metrics: &OperatorMetrics,
    ) -> Result<bool> {
        let Some(store) = &self.store else { return Ok(false) };
        let fired = &mut self.fired[timeline as usize];
        let due = store.due(timeline, *fired, until, PORTION_KEYS)?;
        let Some(last) = due.last() else {
            *fired = (*fired).max((until, u64::MAX));
            store.fired(timeline, until);
            if timeline == Timeline::ProcessingTime {
                let next = store.due(timeline, *fired, i64::MAX, 1)?;
                self.next_timer = next.first().map(|(time, _)| *time);
            }
            return Ok(false);
        };
        *fired = *last;
        self.batch = self.batch.wrapping_add(1);
        self.fetch(due.into_iter().map(|(_, id)| id).collect(), now, operator, metrics)?;
        Ok(true)
    }

    /// The processing time at which keys on disk have something to do.
    pub(super) fn next_timer(&self) -> Option<i64> {
        self.next_timer
    }

    /// Writes all keys to disk and makes the operator anew, with those keys that several batches have met where
    /// it `keeps_hot` ones. The time is `now`, if it is known, and the operator has been told of the watermark.
    pub(super) fn evict(
        &mut self,
        operator: &mut Box<dyn Operator>,
        now: Option<i64>,
        watermark: i64,
        keeps_hot: bool,
        metrics: &OperatorMetrics,
    ) -> Result<()> {
        let mut snapshots = vec![];
        let mut timers = vec![];
        for (table, keyed) in operator.tables().into_iter().zip(self.tables.iter()) {
            let snapshot = table.snapshot()?;
            let Some(keyed) = keyed else {
                snapshots.push((snapshot.rows, vec![]));
                continue;
            };
            let rows = without_group(&snapshot.rows)?;
            let ids = keyed.codec.key_ids(&rows)?;
            let due = table.due(&rows, watermark)?;
            // the operator has been told of all times until then, and waits for a later one
            let fired = self.fired[Timeline::ProcessingTime as usize].0;
            for (timeline, times, told) in [
                (Timeline::Watermark, due.watermarks, watermark),
                (Timeline::ProcessingTime, due.times, fired),
            ] {
                let later = told.saturating_add(1);
                let asked = times.into_iter().zip(&ids).filter(|(time, _)| *time < i64::MAX);
                timers.extend(asked.map(|(time, id)| (timeline, *id, time.max(later))));
            }
            snapshots.push((rows, ids));
        }
        *operator = (self.rebuild)()?;
        for ((table, keyed), (rows, _)) in
            operator.tables().into_iter().zip(self.tables.iter()).zip(&snapshots)
        {
            if keyed.is_none() {
                table.restore(rows)?;
            }
        }
        self.write(&snapshots, timers, now)?;
        metrics.evictions.add(1);
        if let Some(store) = &self.store {
            metrics.disk_bytes.set(usize::try_from(store.disk_size()).unwrap_or(usize::MAX));
        }
        if !keeps_hot {
            self.resident.clear();
            return Ok(());
        }
        self.keep_hot(&snapshots, operator.as_mut())
    }

    fn write(
        &mut self,
        snapshots: &[(RecordBatch, Vec<u64>)],
        mut timers: Vec<(Timeline, u64, i64)>,
        now: Option<i64>,
    ) -> Result<()> {
        // the earliest time of each key
        timers.sort_unstable();
        timers.dedup_by_key(|(timeline, id, _)| (*timeline, *id));
        let mut waiting: Vec<u64> = timers.iter().map(|(_, id, _)| *id).collect();
        waiting.sort_unstable();
        timers.sort_unstable_by_key(|(timeline, id, time)| (*timeline, *time, *id));
        let first = timers.iter().find(|(timeline, ..)| *timeline == Timeline::ProcessingTime);
        self.next_timer = self.next_timer.into_iter().chain(first.map(|(_, _, time)| *time)).min();

        let mut order: Vec<(u64, u32, u32)> = vec![];
        for (table, (_, ids)) in (0..).zip(snapshots) {
            order.extend((0..).zip(ids).map(|(row, id)| (*id, table, row)));
        }
        order.sort_unstable();
        let is_stored = |(id, known): (&u64, &Resident)| known.stored.then_some(*id);
        let mut gone: Vec<u64> = self.resident.iter().filter_map(is_stored).collect();
        gone.sort_unstable();
        gone.retain(|id| order.binary_search_by_key(id, |(id, ..)| *id).is_err());

        let store = match &mut self.store {
            Some(store) => store,
            None => self.store.insert(self.options.open(&self.share)?),
        };
        let mut writer = store.load()?;
        let mut gone = gone.into_iter().peekable();
        let mut entry = vec![];
        let mut current: Option<(u64, i64)> = None;
        for chunk in order.chunks(CHUNK_ROWS) {
            let mut encoded = vec![];
            for ((table, keyed), (rows, _)) in (0..).zip(self.tables.iter()).zip(snapshots) {
                let places = chunk.iter().filter(|(_, of, _)| *of == table).map(|(_, _, row)| *row);
                let places = UInt32Array::from_iter_values(places);
                encoded.push(match keyed {
                    Some(keyed) if !places.is_empty() => {
                        Some((keyed.codec.encode(&take_record_batch(rows, &places)?)?, 0))
                    }
                    _ => None,
                });
            }
            for (id, table, _) in chunk {
                if current.is_none_or(|(current, _)| current != *id) {
                    if let Some((current, expires)) = current {
                        writer.put(current, expires, &entry)?;
                    }
                    while let Some(gone) = gone.next_if(|gone| gone < id) {
                        writer.remove(gone)?;
                    }
                    entry.clear();
                    let waits = waiting.binary_search(id).is_ok();
                    current = Some((*id, if waits { i64::MAX } else { i64::MIN }));
                }
                let place = *table as usize;
                let (Some(Some((rows, next))), Some(Some(keyed))) =
                    (encoded.get_mut(place), self.tables.get(place))
                else {
                    return internal_err!("a row of no table is to be written");
                };
                push_row(&mut entry, *table as u8, rows.row(*next).data());
                *next += 1;
                if let Some((_, expires)) = &mut current {
                    let now = now.filter(|_| keyed.ttl > 0);
                    let lives_until = now.map_or(i64::MAX, |now| now.saturating_add(keyed.ttl));
                    *expires = lives_until.max(*expires);
                }
            }
        }
        if let Some((current, expires)) = current {
            writer.put(current, expires, &entry)?;
        }
        for gone in gone {
            writer.remove(gone)?;
        }
        for (timeline, id, time) in timers {
            writer.timer(timeline, time, id)?;
        }
        writer.finish()?;
        store.compact(now.unwrap_or(i64::MIN))
    }

    /// Restores the keys that several batches have met, at most every other.
    fn keep_hot(&mut self, snapshots: &[(RecordBatch, Vec<u64>)], operator: &mut dyn Operator) -> Result<()> {
        let known = std::mem::take(&mut self.resident);
        if self.options.keeps_nothing() {
            return Ok(());
        }
        let all = known.len();
        let mut hot: Vec<u64> = known.into_iter().filter(|(_, known)| known.hot).map(|(id, _)| id).collect();
        if hot.len() > all / 2 {
            hot.retain(|id| id & 1 == 0);
        }
        for id in &hot {
            self.resident.insert(*id, Resident { batch: self.batch, stored: true, hot: false });
        }
        if hot.is_empty() {
            return Ok(());
        }
        for ((table, keyed), (rows, ids)) in
            operator.tables().into_iter().zip(self.tables.iter()).zip(snapshots)
        {
            if keyed.is_none() {
                continue;
            }
            let stays: BooleanArray = ids.iter().map(|id| Some(self.resident.contains_key(id))).collect();
            if stays.true_count() > 0 {
                table.restore(&filter_record_batch(rows, &stays)?)?;
            }
        }
        Ok(())
    }

    /// All rows on disk, as a part of a snapshot: after [`DiskState::evict`] all that the keyed tables
    /// have.
    pub(super) fn stored_rows(&self) -> Option<Arc<dyn StoredRows>> {
        let store = self.store.as_ref()?;
        Some(Arc::new(RowsOnDisk { tables: Arc::clone(&self.tables), view: store.view() }))
    }

    /// Whether a table's rows are part of [`DiskState::stored_rows`].
    pub(super) fn is_keyed(&self, table: usize) -> bool {
        self.tables.get(table).is_some_and(Option::is_some)
    }
}

/// The rows without the key group, which is the first column.
fn without_group(rows: &RecordBatch) -> Result<RecordBatch> {
    Ok(rows.project(&(1..rows.num_columns()).collect::<Vec<_>>())?)
}

/// The rows of entries by table.
fn decoded<'a>(
    tables: &[Option<KeyedTable>],
    entries: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<(usize, RecordBatch)>> {
    let mut rows: Vec<Vec<&[u8]>> = vec![vec![]; tables.len()];
    for entry in entries {
        rows_of_entry(entry, |table, row| {
            if let Some(rows) = rows.get_mut(table) {
                rows.push(row);
            }
        })?;
    }
    let decode = |(number, (table, rows)): (usize, (&Option<KeyedTable>, Vec<&[u8]>))| match table {
        Some(table) if !rows.is_empty() => Some(table.codec.decode(&rows).map(|rows| (number, rows))),
        _ => None,
    };
    tables.iter().zip(rows).enumerate().filter_map(decode).collect()
}

/// The rows of a store at a checkpoint.
struct RowsOnDisk {
    tables: Arc<Vec<Option<KeyedTable>>>,
    view: StoreView,
}

impl std::fmt::Debug for RowsOnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowsOnDisk").field("bytes", &self.view.disk_size()).finish_non_exhaustive()
    }
}

impl StoredRows for RowsOnDisk {
    fn size(&self) -> u64 {
        self.view.disk_size()
    }

    fn read(&self, groups: Range<u16>) -> Result<Vec<TableSnapshot>> {
        let mut entries = vec![];
        self.view.for_each(groups, |entry| entries.push(entry))?;
        let mut decoded =
            decoded(&self.tables, entries.iter().map(|entry| entry.as_ref()))?.into_iter().peekable();
        let mut tables = vec![];
        for (number, table) in self.tables.iter().enumerate() {
            let Some(table) = table else { continue };
            let rows = match decoded.next_if(|(of, _)| *of == number) {
                Some((_, rows)) => rows,
                None => RecordBatch::new_empty(Arc::clone(table.codec.schema())),
            };
            tables.push(keyed_snapshot(&table.name, table.codec.keys(), &rows, vec![])?);
        }
        Ok(tables)
    }
}

//! The rows of one input of a join.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions, UInt16Array, UInt32Array,
};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt32Type};
use datafusion_common::{Result, internal_err};

use super::side_rows::SideRows;
use crate::operators::null_keys::null_keys;
use crate::operators::padded::NO_ROW;
use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{Due, Evictable, KeyInterner, StateTable};
use crate::time::millis_of;

/// No row, or no key.
pub(super) const NONE: u32 = NO_ROW;

/// The join keys of both inputs.
pub(super) struct JoinKeys {
    interner: KeyInterner,
    /// Whether NULL equals NULL.
    null_safe: bool,
}

impl JoinKeys {
    pub(super) fn try_new(types: &[DataType], null_safe: bool) -> Result<Self> {
        Ok(JoinKeys { interner: KeyInterner::try_new(types)?, null_safe })
    }

    /// The slot of each row's key; [`NONE`] for keys that are equal to none because of a NULL.
    pub(super) fn slots_of(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = Vec::with_capacity(rows);
        let Some(nulls) = null_keys(keys).filter(|_| !self.null_safe) else {
            self.interner.intern(keys, rows, &mut slots)?;
            return Ok(slots);
        };
        let mask = nulls.inner().clone().into();
        let valid = keys.iter().map(|key| Ok(filter(key, &mask)?)).collect::<Result<Vec<_>>>()?;
        self.interner.intern(&valid, rows - nulls.null_count(), &mut slots)?;
        let mut valid = slots.into_iter();
        let slot = |is_valid: bool| if is_valid { valid.next().unwrap_or(NONE) } else { NONE };
        Ok(nulls.iter().map(slot).collect())
    }

    pub(super) fn slots(&self) -> usize {
        self.interner.slots()
    }

    /// The keys of slots, as columns.
    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.interner.columns(slots)
    }

    /// Forgets keys of which no input has a row.
    pub(super) fn release(&mut self, slots: &[u32]) {
        self.interner.release(slots);
    }
}

/// The keys are those of the rows, so there is nothing to save.
impl StateTable for JoinKeys {
    fn name(&self) -> &str {
        "keys"
    }

    fn memory_size(&self) -> usize {
        self.interner.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let rows = RecordBatch::new_empty(Arc::new(Schema::empty()));
        Ok(TableSnapshot { name: self.name().to_string(), keyed: false, rows })
    }

    fn restore(&mut self, _rows: &RecordBatch) -> Result<()> {
        Ok(())
    }
}

/// How the rows of an input are found that are taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Retraction {
    /// None is.
    #[default]
    Never,
    /// A join key has one row at most: that is it, as in Flink's JoinKeyContainsUniqueKey. A row that comes
    /// replaces it.
    ByKey,
    /// By their content, equal ones counted.
    ByContent,
}

/// What a side keeps of its rows besides their content.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SideOptions {
    pub retraction: Retraction,
    /// For each row it is counted how many rows of the other side match it.
    pub matches: bool,
    /// Rows are forgotten this many milliseconds after they were last written; 0: never.
    pub ttl: i64,
}

/// The rows that an input has, in lists by join key, in the order in which they came.
pub(super) struct JoinSide {
    name: &'static str,
    schema: SchemaRef,
    keys: Vec<usize>,
    options: SideOptions,
    pub rows: SideRows,
    /// By key slot: the first row of its list.
    heads: Vec<u32>,
    /// By row: its neighbours. Lists are rings, so that the end is found from the head.
    links: Vec<Link>,
    /// By row, where rows are found by their content: how often it is there.
    counts: Vec<u32>,
    /// By row: how many rows of the other side match it.
    matches: Vec<u32>,
    /// By row, with a time to live: when it was last written.
    written: Vec<i64>,
    /// Rows that were restored and are in no list yet.
    unlinked: Vec<u32>,
    /// The column of the rows' times, and how long after its time a row can have partners.
    reach: Option<(usize, i64)>,
}

/// The first column of the rows in a snapshot, behind the numbers.
const FIRST_COLUMN: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
    slot: u32,
}

impl Default for Link {
    fn default() -> Self {
        Link { next: NONE, previous: NONE, slot: NONE }
    }
}

impl JoinSide {
    pub(super) fn try_new(
        name: &'static str,
        schema: SchemaRef,
        keys: Vec<usize>,
        options: SideOptions,
    ) -> Result<Self> {
        Ok(JoinSide {
            name,
            rows: SideRows::try_new(&schema, options.retraction == Retraction::ByContent)?,
            schema,
            keys,
            options,
            heads: vec![],
            links: vec![],
            counts: vec![],
            matches: vec![],
            written: vec![],
            unlinked: vec![],
            reach: None,
        })
    }

    /// The side of a join that lets rows go when the watermark is `reach` milliseconds behind the time in the
    /// column `time`.
    pub(super) fn with_reach(self, time: usize, reach: i64) -> Self {
        JoinSide { reach: Some((time, reach)), ..self }
    }

    /// The key columns of a batch of this side.
    pub(super) fn key_columns(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect()
    }

    /// Puts restored rows into the lists of their keys; returns their ids.
    pub(super) fn link_restored(&mut self, keys: &mut JoinKeys) -> Result<Vec<u32>> {
        let ids = std::mem::take(&mut self.unlinked);
        if ids.is_empty() {
            return Ok(ids);
        }
        let columns = self.rows.columns(&ids)?;
        let slots = keys.slots_of(&self.key_columns(&columns), ids.len())?;
        self.grow(keys.slots());
        for (id, slot) in ids.iter().zip(slots) {
            self.link(*id, slot);
        }
        Ok(ids)
    }

    /// Makes room for key slots.
    pub(super) fn grow(&mut self, slots: usize) {
        if self.heads.len() < slots {
            self.heads.resize(slots, NONE);
        }
    }

    pub(super) fn has_rows(&self, slot: u32) -> bool {
        self.heads[slot as usize] != NONE
    }

    /// Calls `visit` with each row of a key.
    #[inline]
    pub(super) fn for_each(&self, slot: u32, now: i64, mut visit: impl FnMut(u32)) {
        let head = self.heads[slot as usize];
        let mut id = head;
        while id != NONE {
            if !self.is_expired(id, now) {
                visit(id);
            }
            id = self.links[id as usize].next;
            if id == head {
                break;
            }
        }
    }

    fn is_expired(&self, id: u32, now: i64) -> bool {
        self.options.ttl > 0 && self.written[id as usize].saturating_add(self.options.ttl) <= now
    }

    /// About the size of a row in bytes; 0 for [`NONE`].
    #[inline]
    pub(super) fn bytes_of(&self, id: u32) -> usize {
        if id == NONE { 0 } else { self.rows.bytes_of(id) }
    }

    /// How often a row is there.
    #[inline]
    pub(super) fn copies(&self, id: u32) -> u32 {
        match self.options.retraction {
            Retraction::ByContent => self.counts[id as usize],
            Retraction::Never | Retraction::ByKey => 1,
        }
    }

    /// The number of rows of the other side that match a row.
    #[inline]
    pub(super) fn matches(&self, id: u32) -> u32 {
        self.matches[id as usize]
    }

    #[inline]
    pub(super) fn set_matches(&mut self, id: u32, matches: u32, now: i64) {
        self.matches[id as usize] = matches;
        if self.options.ttl > 0 {
            self.written[id as usize] = now;
        }
    }

    /// Adds a row of the open batch that `matches` rows of the other side match.
    pub(super) fn add(&mut self, row: usize, slot: u32, matches: u32, now: i64) -> Result<()> {
        match self.find(row, slot) {
            Some(id) if self.options.retraction == Retraction::ByContent => {
                let copies = if self.is_expired(id, now) { 1 } else { self.counts[id as usize] + 1 };
                self.note(id, copies, matches, now);
                return Ok(());
            }
            Some(replaced) => {
                self.remove(replaced);
            }
            None => {}
        }
        let id = self.insert(row, 1, matches, now)?;
        self.link(id, slot);
        Ok(())
    }

    /// Adds rows of the open batch, none of which is there yet, with the numbers of rows of the other side that
    /// match them; `slots` are those of the batch's rows. Returns their ids.
    pub(super) fn append(
        &mut self,
        rows: &[u32],
        slots: &[u32],
        matches: &[u32],
        now: i64,
    ) -> Result<Vec<u32>> {
        let ids = self.rows.add_all(rows)?;
        self.make_room();
        for ((id, row), matches) in ids.iter().zip(rows).zip(matches) {
            self.note(*id, 1, *matches, now);
            self.link(*id, slots[*row as usize]);
        }
        Ok(ids)
    }

    fn insert(&mut self, row: usize, count: u32, matches: u32, now: i64) -> Result<u32> {
        let id = self.rows.add(row)?;
        self.make_room();
        self.note(id, count, matches, now);
        Ok(id)
    }

    /// Makes room for what is kept of each row besides its content.
    fn make_room(&mut self) {
        let ids = self.rows.ids();
        if self.links.len() >= ids {
            return;
        }
        self.links.resize(ids, Link::default());
        if self.options.retraction == Retraction::ByContent {
            self.counts.resize(ids, 0);
        }
        if self.options.matches {
            self.matches.resize(ids, 0);
        }
        if self.options.ttl > 0 {
            self.written.resize(ids, 0);
        }
    }

    /// Sets what is kept of a row besides its content.
    #[inline]
    fn note(&mut self, id: u32, count: u32, matches: u32, now: i64) {
        if self.options.retraction == Retraction::ByContent {
            self.counts[id as usize] = count;
        }
        if self.options.matches {
            self.matches[id as usize] = matches;
        }
        if self.options.ttl > 0 {
            self.written[id as usize] = now;
        }
    }

    fn link(&mut self, id: u32, slot: u32) {
        let head = self.heads[slot as usize];
        let (next, previous) = match head {
            NONE => {
                self.heads[slot as usize] = id;
                (id, id)
            }
            head => (head, self.links[head as usize].previous),
        };
        self.links[id as usize] = Link { next, previous, slot };
        self.links[previous as usize].next = id;
        self.links[next as usize].previous = id;
    }

    /// The row of a key that one of the open batch stands for, if rows are taken back.
    #[inline]
    fn find(&mut self, row: usize, slot: u32) -> Option<u32> {
        let head = self.heads[slot as usize];
        match self.options.retraction {
            Retraction::Never => None,
            Retraction::ByKey => Some(head).filter(|head| *head != NONE),
            Retraction::ByContent => {
                let links = &self.links;
                let next = |id: &u32| Some(links[*id as usize].next).filter(|next| *next != head);
                let of_key = std::iter::successors(Some(head).filter(|head| *head != NONE), next);
                self.rows.find(row, of_key)
            }
        }
    }

    /// Takes back the row of a key that one of the open batch stands for; returns whether it was there.
    pub(super) fn retract(&mut self, row: usize, slot: u32, now: i64) -> bool {
        let Some(id) = self.find(row, slot) else { return false };
        let expired = self.is_expired(id, now);
        if self.copies(id) > 1 && !expired {
            self.counts[id as usize] -= 1;
            if self.options.ttl > 0 {
                self.written[id as usize] = now;
            }
        } else {
            self.remove(id);
        }
        !expired
    }

    /// Drops a row; returns the slot of its key.
    pub(super) fn remove(&mut self, id: u32) -> u32 {
        let Link { next, previous, slot } = self.links[id as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        if self.heads[slot as usize] == id {
            self.heads[slot as usize] = if next == id { NONE } else { next };
        }
        self.rows.remove(id);
        slot
    }

    /// Drops the rows whose time to live is over; adds the slots of their keys to `slots`.
    pub(super) fn sweep(&mut self, now: i64, slots: &mut Vec<u32>) -> Result<()> {
        for id in self.rows.live() {
            if self.is_expired(id, now) {
                slots.push(self.remove(id));
            }
        }
        self.rows.close()
    }
}

impl StateTable for JoinSide {
    fn name(&self) -> &str {
        self.name
    }

    fn memory_size(&self) -> usize {
        let words = self.heads.capacity() + self.counts.capacity() + self.matches.capacity();
        self.rows.memory_size()
            + words * size_of::<u32>()
            + self.links.capacity() * size_of::<Link>()
            + self.written.capacity() * size_of::<i64>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.rows.live();
        let columns = self.rows.columns(&live)?;
        let groups = key_groups(&self.key_columns(&columns), live.len())?;
        let mut fields = vec![Arc::new(Field::new("key_group", DataType::UInt16, false))];
        let mut saved: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        let word = |column: &[u32], default: u32| -> ArrayRef {
            let value = |id: &u32| column.get(*id as usize).copied().unwrap_or(default);
            Arc::new(UInt32Array::from_iter_values(live.iter().map(value)))
        };
        for (name, column) in [("$count", word(&self.counts, 1)), ("$matches", word(&self.matches, 0))] {
            fields.push(Arc::new(Field::new(name, DataType::UInt32, false)));
            saved.push(column);
        }
        let written = |id: &u32| self.written.get(*id as usize).copied().unwrap_or(0);
        fields.push(Arc::new(Field::new("$written", DataType::Int64, false)));
        saved.push(Arc::new(Int64Array::from_iter_values(live.iter().map(written))));
        fields.extend(self.schema.fields().iter().cloned());
        saved.extend(columns);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), saved)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let [counts, matches, written, columns @ ..] = rows.columns() else {
            return internal_err!("the snapshot of a join side lacks its counts");
        };
        let counts = counts.as_primitive::<UInt32Type>().values();
        let matches = matches.as_primitive::<UInt32Type>().values();
        let written = written.as_primitive::<Int64Type>().values();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Arc::clone(&self.schema);
        self.rows.open(&RecordBatch::try_new_with_options(schema, columns.to_vec(), &options)?)?;
        for row in 0..rows.num_rows() {
            let id = self.insert(row, counts[row], matches[row], written[row])?;
            self.unlinked.push(id);
        }
        self.rows.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        let keys = self.keys.iter().map(|key| FIRST_COLUMN + key).collect();
        Some(Evictable { keys, ttl: self.options.ttl })
    }

    fn due(&self, rows: &RecordBatch, _watermark: i64) -> Result<Due> {
        let Some((time, reach)) = self.reach else { return Ok(Due::default()) };
        let times = millis_of(rows.column(FIRST_COLUMN + time))?;
        Ok(Due::at_watermarks(times.iter().map(|time| time.saturating_add(reach)).collect()))
    }
}

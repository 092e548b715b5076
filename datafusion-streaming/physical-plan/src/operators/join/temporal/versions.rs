//! The versions of the rows of a table.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::join::side::{JoinKeys, NONE};
use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{Evictable, RowArena, StateTable};
use crate::time::millis_of;

/// By key, the versions of a row in the order of their times.
pub(super) struct Versions {
    schema: SchemaRef,
    keys: Vec<usize>,
    time: usize,
    pub rows: RowArena,
    /// By row: whether it is gone from then on.
    deleted: Vec<bool>,
    /// By key slot.
    versions: Vec<Vec<Version>>,
    /// The times at which versions begin, and so earlier ones of their key can go.
    begins: BinaryHeap<Reverse<(i64, u32)>>,
    unlinked: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Version {
    from: i64,
    id: u32,
}

impl Versions {
    pub(super) fn try_new(schema: SchemaRef, keys: Vec<usize>, time: usize) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(Versions {
            schema,
            keys,
            time,
            rows: RowArena::try_new(&types)?,
            deleted: vec![],
            versions: vec![],
            begins: BinaryHeap::new(),
            unlinked: vec![],
        })
    }

    fn key_columns(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect()
    }

    fn grow(&mut self, slots: usize) {
        if self.versions.len() < slots {
            self.versions.resize_with(slots, Vec::new);
        }
    }

    pub(super) fn link_restored(&mut self, keys: &mut JoinKeys) -> Result<()> {
        if self.unlinked.is_empty() {
            return Ok(());
        }
        let ids = std::mem::take(&mut self.unlinked);
        let columns = self.rows.columns(&ids)?;
        let slots = keys.slots_of(&self.key_columns(&columns), ids.len())?;
        self.grow(keys.slots());
        let times = millis_of(&columns[self.time])?;
        for (row, id) in ids.iter().enumerate() {
            self.put(slots[row], times[row], *id);
        }
        Ok(())
    }

    pub(super) fn has_rows(&self, slot: u32) -> bool {
        self.versions.get(slot as usize).is_some_and(|versions| !versions.is_empty())
    }

    /// Adds versions. Old contents of updates are none, and passed over, unless they are deletions at
    /// their own time (`retracting`). A key that is NULL is equal to none.
    pub(super) fn add(
        &mut self,
        changes: &ChangelogBatch,
        retracting: bool,
        keys: &mut JoinKeys,
    ) -> Result<()> {
        let columns = changes.batch().columns();
        let key_columns = self.key_columns(columns);
        let slots = keys.slots_of(&key_columns, changes.num_rows())?;
        self.grow(keys.slots());
        let times = millis_of(&columns[self.time])?;
        let encoded = self.rows.encode(columns)?;
        for (row, slot) in slots.into_iter().enumerate() {
            let kind = changes.kind(row);
            let is_version = kind != RowKind::UpdateBefore || retracting;
            if !is_version || key_columns.iter().any(|key| key.is_null(row)) {
                continue;
            }
            let id = self.insert(encoded.get(row), kind.is_retraction())?;
            self.put(slot, times[row], id);
        }
        Ok(())
    }

    fn insert(&mut self, row: &[u8], deleted: bool) -> Result<u32> {
        let id = self.rows.insert(row)?;
        self.deleted.resize(self.rows.ids(), false);
        self.deleted[id as usize] = deleted;
        Ok(id)
    }

    /// Of two versions of one time the later counts.
    fn put(&mut self, slot: u32, from: i64, id: u32) {
        let versions = &mut self.versions[slot as usize];
        let place = versions.partition_point(|version| version.from < from);
        match versions.get_mut(place) {
            Some(version) if version.from == from => {
                self.rows.remove(version.id);
                version.id = id;
            }
            _ => versions.insert(place, Version { from, id }),
        }
        self.begins.push(Reverse((from, slot)));
    }

    /// The version of a key at a time; [`NONE`]: there was none.
    pub(super) fn at(&self, slot: u32, time: i64) -> u32 {
        let Some(versions) = self.versions.get(slot as usize) else { return NONE };
        let after = versions.partition_point(|version| version.from <= time);
        match after.checked_sub(1).map(|place| versions[place].id) {
            Some(id) if !self.deleted[id as usize] => id,
            _ => NONE,
        }
    }

    /// Drops what no row after `time` can ask for; returns the keys looked at.
    pub(super) fn prune(&mut self, time: i64) -> Vec<u32> {
        let mut slots = vec![];
        while let Some(Reverse((begin, slot))) = self.begins.peek().copied() {
            if begin > time {
                break;
            }
            self.begins.pop();
            slots.push(slot);
        }
        slots.sort_unstable();
        slots.dedup();
        for slot in &slots {
            let versions = &mut self.versions[*slot as usize];
            let after = versions.partition_point(|version| version.from <= time);
            let Some(mut keep_from) = after.checked_sub(1) else { continue };
            if self.deleted[versions[keep_from].id as usize] {
                keep_from += 1;
            }
            for version in versions.drain(..keep_from) {
                self.rows.remove(version.id);
            }
        }
        slots
    }
}

impl StateTable for Versions {
    fn name(&self) -> &str {
        "right"
    }

    fn memory_size(&self) -> usize {
        let versions: usize =
            self.versions.len() * size_of::<Vec<Version>>() + self.rows.len() * size_of::<Version>();
        self.rows.memory_size()
            + self.deleted.capacity()
            + versions
            + self.begins.capacity() * size_of::<(i64, u32)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.rows.live();
        let columns = self.rows.columns(&live)?;
        let groups = key_groups(&self.key_columns(&columns), live.len())?;
        let deleted: Vec<bool> = live.iter().map(|id| self.deleted[*id as usize]).collect();
        let mut fields = vec![
            Arc::new(Field::new("key_group", DataType::UInt16, false)),
            Arc::new(Field::new("$deleted", DataType::Boolean, false)),
        ];
        let mut saved: Vec<ArrayRef> =
            vec![Arc::new(UInt16Array::from(groups)), Arc::new(BooleanArray::from(deleted))];
        fields.extend(self.schema.fields().iter().cloned());
        saved.extend(columns);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), saved)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let [deleted, columns @ ..] = rows.columns() else {
            return internal_err!("the snapshot of versions lacks their kinds");
        };
        let deleted = deleted.as_boolean();
        let encoded = self.rows.encode(columns)?;
        for row in 0..rows.num_rows() {
            let id = self.insert(encoded.get(row), deleted.value(row))?;
            self.unlinked.push(id);
        }
        Ok(())
    }

    /// Versions that nobody can ask for any more go when the key is seen again: no watermark needs them.
    fn evictable(&self) -> Option<Evictable> {
        // behind the flag
        Some(Evictable { keys: self.keys.iter().map(|key| 1 + key).collect(), ttl: 0 })
    }
}

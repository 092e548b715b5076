//! What MATCH_RECOGNIZE keeps, and its snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion_common::{Result, internal_datafusion_err};

use super::MatchRecognizeNode;
use super::buffer::{MatchBuffer, NONE, NodeId};
use super::heap::MatchHeap;
use super::matcher::{KeyMatches, Matcher, Partial};
use crate::runtime::{TableSnapshot, TimeAttributeKind};
use crate::state::{
    self, Evictable, KeyInterner, RowId, RowStore, StateTable, TimeQueue, distinct_where, keyed_snapshot,
    split_extra,
};

/// A row that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub slot: u32,
    pub row: RowId,
}

/// Rows, keys and matches; what belongs to a key is indexed by its slot.
#[derive(Debug)]
pub(super) struct MatchState {
    matcher: Arc<Matcher>,
    key_columns: Vec<usize>,
    is_rowtime: bool,
    keys: KeyInterner,
    pub store: RowStore,
    waiting: TimeQueue<Due>,
    /// The number of waiting rows of each key.
    waits: Vec<u32>,
    /// The least time of a waiting row, where that is asked for.
    first_waiting: Option<i64>,
    pub matches: Vec<KeyMatches>,
    /// The matches under way and the complete ones, of all keys.
    pub held: usize,
    pub buffer: MatchBuffer,
    /// When a match of a key has taken too long.
    pub deadlines: TimeQueue<u32>,
    /// The number of the next row that is matched.
    pub sequence: u64,
    /// Keys that may have nothing left.
    pub touched: Vec<u32>,
}

/// What a row of the snapshot is.
const WAITING: i64 = 0;
const NODE: i64 = 1;
const PARTIAL: i64 = 2;
const COMPLETE: i64 = 3;

/// The numbers of a row of the snapshot. Of a match, `$node` is its last row, `$state` its state, and
/// `$sequence` and `$time` are those of its first row; of a node, `$state` is its variable.
const NUMBERS: [&str; 8] = ["$role", "$time", "$sequence", "$node", "$parent", "$event", "$state", "$place"];

/// In the snapshot, in place of a node.
const NO_NODE: i64 = -1;

impl MatchState {
    pub fn try_new(node: &MatchRecognizeNode, matcher: Arc<Matcher>) -> Result<Self> {
        let key_type = |key: &usize| node.input.field(*key).data_type().clone();
        let types: Vec<DataType> = node.keys.iter().map(key_type).collect();
        Ok(MatchState {
            matcher,
            key_columns: node.keys.clone(),
            is_rowtime: node.kind == TimeAttributeKind::Rowtime,
            keys: KeyInterner::try_new(&types)?,
            store: RowStore::new(Arc::clone(&node.input)),
            waiting: TimeQueue::new(),
            waits: vec![],
            first_waiting: None,
            matches: vec![],
            held: 0,
            buffer: MatchBuffer::default(),
            deadlines: TimeQueue::new(),
            sequence: 0,
            touched: vec![],
        })
    }

    /// The slot of the key of each row.
    pub fn intern(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.key_columns.iter().map(|key| Arc::clone(&columns[*key])).collect();
        let mut slots = vec![];
        self.keys.intern(&keys, rows, &mut slots)?;
        let room = self.keys.slots();
        self.waits.resize(room, 0);
        self.matches.resize_with(room, KeyMatches::default);
        Ok(slots)
    }

    /// Lets a row of the open batch wait for its time.
    pub fn wait(&mut self, time: i64, slot: u32, row: usize) {
        let row = self.store.add(row);
        self.waiting.push(time, Due { slot, row });
        self.waits[slot as usize] += 1;
        self.first_waiting = Some(self.first_waiting.map_or(time, |first| first.min(time)));
    }

    /// Takes out the waiting rows up to a time, in the order of their times.
    pub fn due_until(&mut self, time: i64) -> Vec<(i64, Due)> {
        let due: Vec<(i64, Due)> = self.waiting.pop_until(time).collect();
        for (_, due) in &due {
            self.waits[due.slot as usize] -= 1;
        }
        due
    }

    /// The least time of a waiting row.
    pub fn first_waiting(&self) -> Option<i64> {
        self.first_waiting
    }

    /// Looks for the least time of a waiting row again, after rows have been taken out.
    pub fn find_first_waiting(&mut self) {
        self.first_waiting = self.waiting.iter().map(|(time, _)| *time).min();
    }

    /// The keys with matches that may have taken too long at a time.
    pub fn overdue(&mut self, time: i64) -> Vec<u32> {
        let slots = self.deadlines.pop_until(time).map(|(_, slot)| slot);
        distinct_where(slots, |slot| !self.matches[slot as usize].is_empty())
    }

    /// The places of due rows: the first of each key, then the second, and so on.
    pub fn rounds(&self, due: &[(i64, Due)]) -> Vec<Vec<usize>> {
        let mut rows = vec![0; self.matches.len()];
        let mut rounds: Vec<Vec<usize>> = vec![];
        for (place, (_, due)) in due.iter().enumerate() {
            let round = &mut rows[due.slot as usize];
            if *round == rounds.len() {
                rounds.push(vec![]);
            }
            rounds[*round].push(place);
            *round += 1;
        }
        rounds
    }

    /// Forgets the rows that no match has any more, and the keys that have nothing left.
    pub fn clean_up(&mut self) -> Result<()> {
        for row in self.buffer.take_released() {
            self.store.remove(row);
        }
        self.store.close()?;
        let empty = distinct_where(std::mem::take(&mut self.touched), |slot| {
            self.waits[slot as usize] == 0 && self.matches[slot as usize].is_empty()
        });
        self.keys.release(&empty);
        Ok(())
    }

    fn snapshot_rows(&self) -> SnapshotRows {
        let mut rows = SnapshotRows::default();
        for (time, due) in self.waiting.iter() {
            rows.push(due.row, [WAITING, *time, 0, NO_NODE, NO_NODE, NO_NODE, 0, 0]);
        }
        let started = |partial: &&Partial| partial.node != NONE;
        let all = || {
            self.matches
                .iter()
                .flat_map(|key| key.partial.items().iter().filter(started).chain(key.complete.items()))
        };
        for id in self.buffer.live_nodes(all().map(|partial| partial.node)) {
            let node = self.buffer.node(id);
            let event = self.buffer.event(node.event);
            let parent = if node.parent == NONE { NO_NODE } else { i64::from(node.parent) };
            let variable = i64::from(node.variable);
            let numbers = [
                NODE,
                event.time,
                event.sequence as i64,
                i64::from(id),
                parent,
                i64::from(node.event),
                variable,
                0,
            ];
            rows.push(event.row, numbers);
        }
        for key in &self.matches {
            for (role, heap) in [(PARTIAL, &key.partial), (COMPLETE, &key.complete)] {
                for (place, partial) in heap.items().iter().enumerate().filter(|(_, it)| started(it)) {
                    let (start, time) = (partial.start as i64, partial.start_time);
                    let (node, state) = (i64::from(partial.node), i64::from(partial.state));
                    let numbers = [role, time, start, node, NO_NODE, NO_NODE, state, place as i64];
                    rows.push(self.buffer.event_of(partial.node).row, numbers);
                }
            }
        }
        rows
    }

    /// Takes back the matches of a key, given with their places in its heaps.
    fn restore_matches(
        &mut self,
        slot: u32,
        mut partial: Vec<(i64, Partial)>,
        complete: Vec<(i64, Partial)>,
    ) {
        if !partial.is_empty() {
            // the match that has not started is at the place that is left
            partial.sort_by_key(|(place, _)| *place);
            let gap = partial.iter().enumerate().position(|(index, (place, _))| index as i64 != *place);
            let gap = gap.unwrap_or(partial.len());
            partial.insert(gap, (gap as i64, self.matcher.start()));
        }
        let heap = |mut items: Vec<(i64, Partial)>| {
            items.sort_by_key(|(place, _)| *place);
            MatchHeap::of(items.into_iter().map(|(_, item)| item).collect())
        };
        let key = KeyMatches { partial: heap(partial), complete: heap(complete) };
        for found in key.partial.items().iter().chain(key.complete.items()).filter(|it| it.node != NONE) {
            self.buffer.lock(found.node);
            if let Some(deadline) = self.matcher.deadline(found.start_time) {
                self.deadlines.push(deadline, slot);
            }
        }
        self.held += key.len();
        self.matches[slot as usize] = key;
    }
}

/// Rows of a snapshot, with their numbers.
#[derive(Default)]
struct SnapshotRows {
    ids: Vec<RowId>,
    numbers: [Vec<i64>; NUMBERS.len()],
}

impl SnapshotRows {
    fn push(&mut self, row: RowId, numbers: [i64; NUMBERS.len()]) {
        self.ids.push(row);
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
    }
}

impl StateTable for MatchState {
    fn name(&self) -> &str {
        "matches"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + self.store.memory_size()
            + self.waiting.memory_size()
            + self.waits.capacity() * size_of::<u32>()
            + self.matches.capacity() * size_of::<KeyMatches>()
            + self.held * size_of::<Partial>() * 2
            + self.buffer.memory_size()
            + self.deadlines.memory_size()
    }

    /// A row for each row that waits, for each node of the buffer and for each match.
    fn snapshot(&self) -> Result<TableSnapshot> {
        let rows = self.snapshot_rows();
        let extra = NUMBERS.into_iter().zip(rows.numbers).collect();
        keyed_snapshot(self.name(), &self.key_columns, &self.store.rows(&rows.ids)?, extra)
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, numbers) = split_extra(saved, &Arc::clone(self.store.schema()), NUMBERS.len())?;
        let [roles, times, sequences, ids, parents, event_ids, states, places] = numbers.as_slice() else {
            return Err(internal_datafusion_err!("the snapshot of MATCH_RECOGNIZE lacks columns"));
        };
        let slots = self.intern(batch.columns(), batch.num_rows())?;
        // keys that come from different snapshots may have the same numbers
        let mut nodes: HashMap<(u32, i64), NodeId> = HashMap::new();
        let mut events: HashMap<(u32, i64), u32> = HashMap::new();
        let mut matches: HashMap<u32, [Vec<(i64, Partial)>; 2]> = HashMap::new();
        let known = |nodes: &HashMap<(u32, i64), NodeId>, slot: u32, id: i64| {
            let known = if id == NO_NODE { Some(NONE) } else { nodes.get(&(slot, id)).copied() };
            known.ok_or_else(|| internal_datafusion_err!("the snapshot lacks the row {id} of a match"))
        };
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            match roles[row] {
                WAITING => self.wait(times[row], slot, row),
                NODE => {
                    let (store, buffer) = (&mut self.store, &mut self.buffer);
                    let event = *events.entry((slot, event_ids[row])).or_insert_with(|| {
                        buffer.add_event(store.add(row), sequences[row] as u64, times[row])
                    });
                    self.sequence = self.sequence.max(sequences[row] as u64 + 1);
                    let parent = known(&nodes, slot, parents[row])?;
                    nodes.insert((slot, ids[row]), self.buffer.add_node(parent, states[row] as u16, event));
                }
                role => {
                    let partial = Partial {
                        state: states[row] as u16,
                        node: known(&nodes, slot, ids[row])?,
                        start: sequences[row] as u64,
                        start_time: times[row],
                    };
                    let heaps = matches.entry(slot).or_default();
                    heaps[usize::from(role == COMPLETE)].push((places[row], partial));
                }
            }
        }
        for (slot, [partial, complete]) in matches {
            self.restore_matches(slot, partial, complete);
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.key_columns.clone(), ttl: 0 })
    }

    fn due(&self, rows: &RecordBatch, _watermark: i64) -> Result<state::Due> {
        let (_, numbers) = split_extra(rows, self.store.schema(), NUMBERS.len())?;
        let times = numbers[0].iter().zip(&numbers[1]);
        if !self.is_rowtime {
            // rows of one processing time wait for the next
            let due = times.map(|(role, time)| if *role == WAITING { *time + 1 } else { i64::MAX });
            return Ok(state::Due::at_times(due.collect()));
        }
        let due = |(role, time): (&i64, &i64)| match *role {
            WAITING => *time,
            PARTIAL | COMPLETE => self.matcher.deadline(*time).unwrap_or(i64::MAX),
            _ => i64::MAX,
        };
        Ok(state::Due::at_watermarks(times.map(due).collect()))
    }
}

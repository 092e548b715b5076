//! The rows of all matches that are under way, each kept once.
//!
//! A match is a chain of nodes from its last row back to its first; matches that begin alike share the
//! nodes of their beginning. Nodes and rows are counted, and go with the last match that has them.
//!
//! ```text
//!            ┌── B (row 2) ── C (row 3)        one match
//! A (row 1) ─┤
//!            └── C (row 2)                     another
//! ```

use crate::state::RowId;

/// A node of the buffer.
pub(super) type NodeId = u32;

/// In place of a node: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// A row as part of a match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The node of the row before, or [`NONE`].
    pub parent: NodeId,
    /// The first row of the variable in this match; the rows of a variable are one run.
    pub run: NodeId,
    /// The number of rows of the variable before this one.
    pub ordinal: u32,
    pub variable: u16,
    pub event: u32,
    references: u32,
}

/// A row that is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub row: RowId,
    /// The row's place in the order in which rows are matched.
    pub sequence: u64,
    /// The row's time in milliseconds.
    pub time: i64,
    references: u32,
}

/// The row that is being matched; it is kept with the first match that takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CurrentRow {
    pub row: RowId,
    pub sequence: u64,
    pub time: i64,
    event: u32,
}

impl CurrentRow {
    pub fn new(row: RowId, sequence: u64, time: i64) -> Self {
        CurrentRow { row, sequence, time, event: NONE }
    }

    /// Whether a match has taken the row.
    pub fn is_taken(&self) -> bool {
        self.event != NONE
    }
}

/// Nodes and rows in arenas, whose places are used again.
#[derive(Debug, Default)]
pub(super) struct MatchBuffer {
    nodes: Vec<Node>,
    free_nodes: Vec<NodeId>,
    events: Vec<Event>,
    free_events: Vec<u32>,
    /// Rows that no match has any more.
    released: Vec<RowId>,
}

impl MatchBuffer {
    /// Adds the current row behind `parent`. The node must be locked before anything is released.
    pub fn put(&mut self, parent: NodeId, variable: u16, current: &mut CurrentRow) -> NodeId {
        if current.event == NONE {
            current.event = self.add_event(current.row, current.sequence, current.time);
        }
        self.add_node(parent, variable, current.event)
    }

    /// Keeps a row.
    pub fn add_event(&mut self, row: RowId, sequence: u64, time: i64) -> u32 {
        let event = Event { row, sequence, time, references: 0 };
        match self.free_events.pop() {
            Some(id) => {
                self.events[id as usize] = event;
                id
            }
            None => {
                self.events.push(event);
                (self.events.len() - 1) as u32
            }
        }
    }

    /// Adds a row that is kept behind `parent`.
    pub fn add_node(&mut self, parent: NodeId, variable: u16, event: u32) -> NodeId {
        self.events[event as usize].references += 1;
        let id = self.free_nodes.pop().unwrap_or(self.nodes.len() as NodeId);
        let (mut run, mut ordinal) = (id, 0);
        if parent != NONE {
            let parent = &mut self.nodes[parent as usize];
            parent.references += 1;
            if parent.variable == variable {
                (run, ordinal) = (parent.run, parent.ordinal + 1);
            }
        }
        let node = Node { parent, run, ordinal, variable, event, references: 0 };
        match self.nodes.get_mut(id as usize) {
            Some(free) => *free = node,
            None => self.nodes.push(node),
        }
        id
    }

    /// Keeps a node for one more match.
    pub fn lock(&mut self, node: NodeId) {
        self.nodes[node as usize].references += 1;
    }

    /// Lets a node go for a match, and with the last of them the nodes before it that nobody else has.
    pub fn release(&mut self, node: NodeId) {
        let mut id = node;
        while id != NONE {
            let node = &mut self.nodes[id as usize];
            node.references -= 1;
            if node.references > 0 {
                return;
            }
            let (parent, event) = (node.parent, node.event);
            self.free_nodes.push(id);
            let kept = &mut self.events[event as usize];
            kept.references -= 1;
            if kept.references == 0 {
                self.released.push(kept.row);
                self.free_events.push(event);
            }
            id = parent;
        }
    }

    /// Releases a row that no match has taken.
    pub fn drop_row(&mut self, row: RowId) {
        self.released.push(row);
    }

    /// The rows that no match has any more, since the last call.
    pub fn take_released(&mut self) -> Vec<RowId> {
        std::mem::take(&mut self.released)
    }

    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    pub fn event(&self, event: u32) -> &Event {
        &self.events[event as usize]
    }

    /// The event of a node.
    pub fn event_of(&self, node: NodeId) -> &Event {
        self.event(self.node(node).event)
    }

    /// The nodes of a match, from the last to the first.
    pub fn back_from(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let present = |node: NodeId| (node != NONE).then_some(node);
        std::iter::successors(present(node), move |node| present(self.node(*node).parent))
    }

    /// The last row of a variable, or of all, in the match that ends with `node`.
    fn last_of(&self, node: NodeId, variable: Option<u16>) -> NodeId {
        let Some(variable) = variable else { return node };
        let mut id = node;
        while id != NONE && self.node(id).variable != variable {
            id = self.node(self.node(id).run).parent;
        }
        id
    }

    /// How many rows of a variable, or of all, the match that ends with `node` has.
    pub fn count(&self, node: NodeId, variable: Option<u16>) -> usize {
        let mut id = self.last_of(node, variable);
        let mut count = 0;
        while id != NONE {
            count += self.node(id).ordinal as usize + 1;
            id = match variable {
                Some(_) => NONE,
                None => self.node(self.node(id).run).parent,
            };
        }
        count
    }

    /// The row `offset` rows before the last one of a variable, or of all.
    pub fn nth_last(&self, node: NodeId, variable: Option<u16>, offset: usize) -> Option<NodeId> {
        let mut id = self.last_of(node, variable);
        if id == NONE || (variable.is_some() && offset > self.node(id).ordinal as usize) {
            return None;
        }
        for _ in 0..offset {
            id = self.node(id).parent;
            if id == NONE {
                return None;
            }
        }
        Some(id)
    }

    /// The row `offset` rows behind the first one of a variable, or of all.
    pub fn nth_first(&self, node: NodeId, variable: Option<u16>, offset: usize) -> Option<NodeId> {
        if variable.is_some() && offset == 0 {
            let last = self.last_of(node, variable);
            return (last != NONE).then(|| self.node(last).run);
        }
        let back = self.count(node, variable).checked_sub(offset + 1)?;
        self.nth_last(node, variable, back)
    }

    /// All nodes in use, each behind its parent.
    pub fn live_nodes(&self, ends: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let mut seen = vec![false; self.nodes.len()];
        let mut nodes = vec![];
        let mut chain = vec![];
        for end in ends {
            for node in self.back_from(end) {
                if std::mem::replace(&mut seen[node as usize], true) {
                    break;
                }
                chain.push(node);
            }
            nodes.extend(chain.drain(..).rev());
        }
        nodes
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.events.capacity() * size_of::<Event>()
            + (self.free_nodes.capacity() + self.free_events.capacity()) * size_of::<u32>()
            + self.released.capacity() * size_of::<RowId>()
    }
}

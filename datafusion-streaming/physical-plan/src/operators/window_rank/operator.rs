//! Ranking a window's rows.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::{cast, take_record_batch};
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;

use super::{WindowRankNode, rank_type};
use crate::changelog::ChangelogBatch;
use crate::operators::window_rows::{WindowRows, replaced};
use crate::runtime::{Context, Operator, Output};
use crate::state::{KeyInterner, StateTable};
use crate::time::{TimeWindow, Watermark};

pub(super) struct WindowRank {
    node: WindowRankNode,
    rows: WindowRows,
    order: RowConverter,
    /// The number of rows at which a window is next rid of rows that are not among the first.
    prune_at: BTreeMap<TimeWindow, usize>,
}

/// The fewest rows of a window for which it is worth the while to look for superfluous ones.
const PRUNE_FROM: usize = 1024;

/// Places of rows and their ranks.
#[derive(Debug, Default)]
struct Ranking {
    places: Vec<u32>,
    ranks: Vec<u64>,
}

impl WindowRank {
    pub(super) fn try_new(node: WindowRankNode, rows: WindowRows) -> Result<Self> {
        let field = |(column, options): &(usize, _)| {
            SortField::new_with_options(node.input.field(*column).data_type().clone(), *options)
        };
        let order = RowConverter::new(node.order.iter().map(field).collect())?;
        Ok(WindowRank { node, rows, order, prune_at: BTreeMap::new() })
    }

    /// The rows of the ranks from `first` to the last wanted, by key and rank.
    fn rank(&self, rows: &RecordBatch, first: u64) -> Result<Ranking> {
        let columns = |columns: &mut dyn Iterator<Item = usize>| -> Vec<ArrayRef> {
            columns.map(|column| Arc::clone(rows.column(column))).collect()
        };
        let keys = columns(&mut self.node.partition.iter().copied());
        let types: Vec<_> = keys.iter().map(|key| key.data_type().clone()).collect();
        let mut slots = vec![];
        KeyInterner::try_new(&types)?.intern(&keys, rows.num_rows(), &mut slots)?;
        let order =
            self.order.convert_columns(&columns(&mut self.node.order.iter().map(|(column, _)| *column)))?;

        let mut places: Vec<u32> = (0..rows.num_rows() as u32).collect();
        places.sort_unstable_by(|a, b| {
            let (left, right) = (*a as usize, *b as usize);
            let by_order = || match self.node.order.is_empty() {
                true => Ordering::Equal,
                false => order.row(left).cmp(&order.row(right)),
            };
            let by_arrival = if self.node.keep_last { b.cmp(a) } else { a.cmp(b) };
            slots[left].cmp(&slots[right]).then_with(by_order).then(by_arrival)
        });

        let mut ranking = Ranking::default();
        let (mut key, mut rank) = (None, 0);
        for place in places {
            let slot = slots[place as usize];
            rank = if key == Some(slot) { rank + 1 } else { 1 };
            key = Some(slot);
            if (first..=self.node.ranks.1).contains(&rank) {
                ranking.places.push(place);
                ranking.ranks.push(rank);
            }
        }
        Ok(ranking)
    }

    /// Drops the rows of a window that cannot be among the first, whatever comes.
    fn prune(&mut self, window: TimeWindow) -> Result<()> {
        let held = self.rows.rows(window);
        if held < self.prune_at.get(&window).copied().unwrap_or(PRUNE_FROM) {
            return Ok(());
        }
        let mut places = self.rank(&self.rows.get(window)?, 1)?.places;
        places.sort_unstable();
        self.rows.retain(window, &places);
        self.prune_at.insert(window, (2 * places.len()).max(PRUNE_FROM));
        Ok(())
    }

    /// What a window comes to.
    fn ranked(&self, window: TimeWindow) -> Result<RecordBatch> {
        let rows = self.rows.get(window)?;
        let ranking = self.rank(&rows, self.node.ranks.0)?;
        let taken = take_record_batch(&rows, &UInt32Array::from(ranking.places))?;
        let mut columns = taken.columns().to_vec();
        let ranks: ArrayRef = Arc::new(UInt64Array::from(ranking.ranks));
        columns.push(cast(&ranks, &rank_type(&self.node.schema))?);
        Ok(RecordBatch::try_new(Arc::clone(&self.node.schema), columns)?)
    }
}

impl Operator for WindowRank {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let added = self.rows.add(changes, cx)?;
        for window in added.windows {
            self.prune(window)?;
        }
        for (window, rows) in added.late {
            let before = self.ranked(window)?;
            self.rows.keep(rows)?;
            if let Some(changes) = replaced(&before, &self.ranked(window)?)? {
                out.data(changes);
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        for window in self.rows.due(cx.watermark, watermark) {
            self.prune_at.remove(&window);
            out.data(ChangelogBatch::insert_only(self.ranked(window)?));
        }
        self.rows.forget_gone(watermark);
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

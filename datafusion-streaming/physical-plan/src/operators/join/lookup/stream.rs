//! The stream of a lookup join: lookups run while batches before them wait to be put out.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_common_runtime::SpawnedTask;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use futures::{FutureExt, Stream, StreamExt};

use super::batch::{FoundRows, LookupBatch, evaluated, join};
use super::cache::{Cached, KeyCache};
use super::full::FullTable;
use super::retry::Lookups;
use super::{LookupCache, LookupJoinNode};
use crate::changelog::ChangelogBatch;
use crate::operators::join::side::NONE;
use crate::runtime::{ElementStream, OperatorMetrics, Output, StreamElement, StreamTask};
use crate::time::Clock;

/// The rows of a table, which another task asks for.
type Lookup = SpawnedTask<Result<Vec<RecordBatch>>>;

pub(super) struct LookupStream {
    node: LookupJoinNode,
    key_types: Vec<DataType>,
    /// `None` when it has ended.
    input: Option<ElementStream>,
    /// What has come and has not gone out, in order.
    waiting: VecDeque<Waiting>,
    cache: Option<KeyCache>,
    full: Option<FullTable>,
    /// The whole table, on its way.
    loading: Option<Lookup>,
    output: Output,
    context: Arc<TaskContext>,
    clock: Arc<dyn Clock>,
    metrics: OperatorMetrics,
    reservation: MemoryReservation,
    failed: bool,
}

enum Waiting {
    /// What is passed on.
    Element(Result<StreamElement>),
    /// A batch whose keys are looked up.
    Batch(Box<Pending>),
    /// A batch that is joined with the whole table.
    WithAll(ChangelogBatch),
}

struct Pending {
    batch: LookupBatch,
    cached: Option<Cached>,
    /// The keys that are looked up: their numbers in the batch.
    missing: Vec<u32>,
    lookup: Option<Lookup>,
}

impl LookupStream {
    pub(super) fn start(node: LookupJoinNode, task: &StreamTask<'_>) -> Result<Self> {
        let key_types = node.keys.iter().map(|key| key.data_type(&node.input)).collect::<Result<Vec<_>>>()?;
        let cache = match &node.options.cache {
            LookupCache::Partial(options) => {
                Some(KeyCache::try_new(options.clone(), &key_types, &node.table.schema())?)
            }
            _ => None,
        };
        let consumer = MemoryConsumer::new(format!("{}[{}]", task.id.name, task.partition));
        Ok(LookupStream {
            key_types,
            input: Some(task.input(0)?),
            waiting: VecDeque::new(),
            cache,
            full: None,
            loading: None,
            output: Output::new(task.context.session_config().batch_size()),
            context: Arc::clone(&task.context),
            clock: Arc::clone(&task.environment().clock),
            metrics: OperatorMetrics::new(task.metrics, task.partition),
            reservation: consumer.register(task.context.memory_pool()),
            failed: false,
            node,
        })
    }

    fn is_full_cache(&self) -> bool {
        matches!(self.node.options.cache, LookupCache::Full { .. })
    }

    /// Asks for the rows of keys, or for all.
    fn look_up(&self, keys: Option<Vec<ArrayRef>>) -> Lookup {
        let lookups = Lookups {
            table: Arc::clone(&self.node.table),
            key_types: self.key_types.clone(),
            options: self.node.options.clone(),
            clock: Arc::clone(&self.clock),
            context: Arc::clone(&self.context),
        };
        SpawnedTask::spawn(lookups.rows(keys))
    }

    /// A batch that has come: what is not in the cache is looked up.
    fn begin(&mut self, changes: ChangelogBatch) -> Result<Waiting> {
        self.metrics.input_rows.add(changes.num_rows());
        if self.is_full_cache() {
            return Ok(Waiting::WithAll(changes));
        }
        let batch = LookupBatch::try_new(changes, &self.node.keys, &self.key_types)?;
        let all: Vec<u32> = (0..batch.count as u32).collect();
        let mut keys = batch.key_columns(&all)?;
        let mut missing = all;
        let cached = match &mut self.cache {
            Some(cache) => Some(cache.get(&keys, batch.count, self.clock.now())?),
            None => None,
        };
        if let Some(cached) = &cached {
            missing.retain(|key| !cached.known[*key as usize]);
            keys = batch.key_columns(&missing)?;
        }
        let lookup = (!missing.is_empty()).then(|| self.look_up(Some(keys)));
        Ok(Waiting::Batch(Box::new(Pending { batch, cached, missing, lookup })))
    }

    /// Takes in what has come, as far as lookups may run at the same time.
    fn take_input(&mut self, cx: &mut Context<'_>) -> Result<()> {
        while self.waiting.len() < self.node.options.concurrency.max(1) {
            let Some(input) = &mut self.input else { return Ok(()) };
            match input.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(StreamElement::Data(changes)))) => {
                    let waiting = self.begin(changes)?;
                    self.waiting.push_back(waiting);
                }
                Poll::Ready(Some(element)) => self.waiting.push_back(Waiting::Element(element)),
                Poll::Ready(None) => self.input = None,
                Poll::Pending => return Ok(()),
            }
        }
        Ok(())
    }

    /// The first of what waits goes out, when it is ready.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self.waiting.front_mut() {
            Some(Waiting::Batch(pending)) => {
                let found = match &mut pending.lookup {
                    Some(lookup) => ready!(lookup.poll_unpin(cx)).map_err(failed)??,
                    None => vec![],
                };
                if let Some(Waiting::Batch(pending)) = self.waiting.pop_front() {
                    self.finish(*pending, &found)?;
                }
            }
            Some(Waiting::WithAll(_)) => {
                ready!(self.poll_full(cx))?;
                if let (Some(Waiting::WithAll(changes)), Some(full)) =
                    (self.waiting.pop_front(), &mut self.full)
                {
                    let keys = evaluated(&self.node.keys, changes.batch())?;
                    let slots = full.slots_of(&keys, changes.num_rows())?;
                    join(&self.node, &changes, &slots, &full.rows, &mut self.output)?;
                }
            }
            Some(Waiting::Element(_)) | None => {}
        }
        Poll::Ready(Ok(()))
    }

    /// Joins a batch with what was found.
    fn finish(&mut self, pending: Pending, found: &[RecordBatch]) -> Result<()> {
        let Pending { mut batch, cached, missing, .. } = pending;
        let count = batch.count;
        let found = concat_batches(&self.node.table.schema(), found)?;
        let keys = evaluated(self.node.table.keys(), &found)?;
        // by key: its place among those that were looked up; rows of others may have come along
        let mut place = vec![NONE; count];
        for (number, key) in missing.iter().enumerate() {
            place[*key as usize] = number as u32;
        }
        let of_key = batch.numbers_of(&keys, found.num_rows())?;
        let of_missing: Vec<u32> =
            of_key.iter().map(|key| place.get(*key as usize).copied().unwrap_or(NONE)).collect();
        let asked = |(key, place): (&u32, &u32)| if *place == NONE { NONE } else { *key };
        let mut of_key: Vec<u32> = of_key.iter().zip(&of_missing).map(asked).collect();
        if let (Some(cache), false) = (&mut self.cache, missing.is_empty()) {
            let keys = batch.key_columns(&missing)?;
            cache.put(&keys, missing.len(), found.columns(), &of_missing, self.clock.now())?;
            let bytes = cache.memory_size();
            self.metrics.state_bytes.set(bytes);
            self.reservation.try_resize(bytes)?;
        }
        let mut columns = found.columns().to_vec();
        if let Some(cached) = cached.filter(|cached| !cached.of_key.is_empty()) {
            columns = match found.num_rows() {
                0 => cached.columns,
                _ => columns
                    .iter()
                    .zip(&cached.columns)
                    .map(|(found, cached)| arrow::compute::concat(&[found.as_ref(), cached.as_ref()]))
                    .collect::<Result<_, _>>()?,
            };
            of_key.extend(cached.of_key);
        }
        let found = FoundRows::new(columns, &of_key, count);
        join(&self.node, &batch.changes, &batch.slots, &found, &mut self.output)
    }

    /// Ready when the whole table is there. One that is to be read again serves until the new one has
    /// come.
    fn poll_full(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let now = self.clock.now();
        let reload = match self.node.options.cache {
            LookupCache::Full { reload } => reload,
            _ => None,
        };
        let is_due = self
            .full
            .as_ref()
            .is_none_or(|full| reload.is_some_and(|interval| full.read_at.saturating_add(interval) <= now));
        if is_due && self.loading.is_none() {
            self.loading = Some(self.look_up(None));
        }
        if let Some(loading) = &mut self.loading {
            match loading.poll_unpin(cx) {
                Poll::Ready(batches) => {
                    self.loading = None;
                    let batches = batches.map_err(failed)??;
                    let table = self.node.table.as_ref();
                    let full = FullTable::try_new(table, &self.key_types, &batches, now)?;
                    self.metrics.state_bytes.set(full.memory_size());
                    self.reservation.try_resize(full.memory_size())?;
                    self.full = Some(full);
                }
                Poll::Pending if self.full.is_none() => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_element(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<StreamElement>>> {
        loop {
            if let Some(element) = self.output.pop() {
                return Poll::Ready(Some(Ok(element)));
            }
            self.take_input(cx)?;
            match self.waiting.pop_front() {
                Some(Waiting::Element(element)) => return Poll::Ready(Some(element)),
                Some(batch) => {
                    self.waiting.push_front(batch);
                    ready!(self.poll_first(cx))?;
                }
                None if self.input.is_none() => return Poll::Ready(None),
                None => return Poll::Pending,
            }
        }
    }
}

impl Stream for LookupStream {
    type Item = Result<StreamElement>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let element = ready!(self.poll_element(cx));
        match &element {
            Some(Ok(StreamElement::Data(changes))) => {
                self.metrics.baseline.record_output(changes.num_rows());
            }
            Some(Err(_)) => self.failed = true,
            _ => {}
        }
        Poll::Ready(element)
    }
}

/// The error for a lookup that did not come to its end.
fn failed(error: tokio::task::JoinError) -> datafusion_common::DataFusionError {
    exec_datafusion_err!("a lookup was aborted: {error}")
}

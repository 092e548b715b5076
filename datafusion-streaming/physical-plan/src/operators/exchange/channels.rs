//! The channels of an exchange and the tasks that fill them.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common_runtime::SpawnedTask;
use datafusion_execution::TaskContext;
use futures::StreamExt;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::changelog::ChangelogBatch;
use crate::runtime::{Distribution, ElementStream, StreamElement, StreamTask, elements_of};
use crate::state::key_group::{key_groups, subtask_of};

/// How many elements a channel holds before its sender waits.
const CHANNEL_CAPACITY: usize = 8;

type Element = Result<StreamElement>;

/// The receiving ends of an exchange: for each output partition, one of each input partition.
pub(super) struct Receivers {
    outputs: Vec<Option<Vec<Receiver<Element>>>>,
    pumps: Arc<Pumps>,
}

/// The tasks that read the inputs; they stop when the last receiver is dropped.
struct Pumps {
    _tasks: Vec<SpawnedTask<()>>,
    _context: Arc<TaskContext>,
}

impl Receivers {
    pub(super) fn is_untaken(&self, partition: usize) -> bool {
        self.outputs[partition].is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outputs.iter().all(Option::is_none)
    }

    /// The streams of an output partition, one of each input partition.
    pub(super) fn take(&mut self, partition: usize) -> Vec<ElementStream> {
        let receivers = self.outputs[partition].take().unwrap_or_default();
        let stream = |mut receiver: Receiver<Element>| -> ElementStream {
            let pumps = Arc::clone(&self.pumps);
            Box::pin(futures::stream::poll_fn(move |cx| {
                let _keeps_running = &pumps;
                receiver.poll_recv(cx)
            }))
        };
        receivers.into_iter().map(stream).collect()
    }
}

/// Starts a task for each input partition.
pub(super) fn start_pumps(
    distribution: &Distribution,
    partitions: usize,
    task: &StreamTask<'_>,
) -> Result<Receivers> {
    let mut outputs: Vec<Vec<Receiver<Element>>> = (0..partitions).map(|_| vec![]).collect();
    let mut tasks = vec![];
    for input_partition in 0..task.input_partitions(0) {
        let input = elements_of(&task.inputs[0], input_partition, &task.context)?;
        let mut senders = vec![];
        for output in &mut outputs {
            let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
            senders.push(sender);
            output.push(receiver);
        }
        let key = match distribution {
            Distribution::Hash(key) => key.clone(),
            Distribution::Single | Distribution::Any => vec![],
        };
        tasks.push(SpawnedTask::spawn(pump(input, key, senders)));
    }
    let pumps = Arc::new(Pumps { _tasks: tasks, _context: Arc::clone(&task.context) });
    Ok(Receivers { outputs: outputs.into_iter().map(Some).collect(), pumps })
}

/// Reads an input to its end, or until no partition wants its rows any more. A partition that has
/// stopped does not stop the others.
async fn pump(mut input: ElementStream, key: Vec<usize>, senders: Vec<Sender<Element>>) {
    let mut senders: Vec<Option<Sender<Element>>> = senders.into_iter().map(Some).collect();
    while senders.iter().any(Option::is_some) {
        let Some(element) = input.next().await else { return };
        let parts = match element {
            Ok(StreamElement::Data(changes)) if senders.len() > 1 => split(&changes, &key, senders.len())
                .map(|parts| parts.into_iter().map(StreamElement::Data).collect()),
            Ok(element) => Ok(vec![element; senders.len()]),
            Err(error) => Err(error),
        };
        match parts {
            Ok(parts) => send(&mut senders, parts).await,
            Err(error) => {
                // the query fails with it, whichever partition it reaches
                if let Some(sender) = senders.iter().flatten().next() {
                    let _ = sender.send(Err(error)).await;
                }
                return;
            }
        }
    }
}

/// Sends each partition its element, and forgets those that have stopped.
async fn send(senders: &mut [Option<Sender<Element>>], parts: Vec<StreamElement>) {
    for (sender, part) in senders.iter_mut().zip(parts) {
        let is_empty = matches!(&part, StreamElement::Data(changes) if changes.num_rows() == 0);
        if let Some(open) = sender
            && !is_empty
            && open.send(Ok(part)).await.is_err()
        {
            *sender = None;
        }
    }
}

/// The rows of each output partition, in their order.
fn split(changes: &ChangelogBatch, key: &[usize], partitions: usize) -> Result<Vec<ChangelogBatch>> {
    let columns: Vec<_> = key.iter().map(|column| Arc::clone(changes.batch().column(*column))).collect();
    let mut rows: Vec<Vec<u32>> = vec![vec![]; partitions];
    for (row, group) in key_groups(&columns, changes.num_rows())?.into_iter().enumerate() {
        rows[subtask_of(group, partitions)].push(row as u32);
    }
    let part = |rows: Vec<u32>| match rows.len() == changes.num_rows() {
        true => Ok(changes.clone()),
        false => changes.take(&rows),
    };
    rows.into_iter().map(part).collect()
}

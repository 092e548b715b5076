//! A checkpoint of a million keys: how long the operator stands still for it, and how long the writing takes
//! that goes on beside it.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use std::collections::BTreeMap;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming::checkpoint::{CheckpointKind, CheckpointStorage};
use datafusion_streaming_benches::operators::{group_aggregate, inserts};
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::runtime::{Checkpoint, OperatorId, SubtaskSnapshot};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const KEYS: u64 = 1_000_000;

/// Events after which nearly every key has come.
const EVENTS: u64 = 5_000_000;

fn checkpoint(id: u64, snapshot: &SubtaskSnapshot) -> Checkpoint {
    let operator = OperatorId { name: "GroupAggregate".to_string(), number: 0 };
    let subtasks = BTreeMap::from([(0, snapshot.clone())]);
    Checkpoint { id, operators: BTreeMap::from([(operator, subtasks)]) }
}

fn benches(criterion: &mut Criterion) {
    let mut job = group_aggregate(ChangelogMode::INSERT_ONLY).unwrap();
    job.run(inserts(KEYS, EVENTS).unwrap()).unwrap();
    let before = job.snapshots().unwrap().remove(0);
    job.run(inserts(KEYS / 1_000, EVENTS / 1_000).unwrap()).unwrap();
    let after = job.snapshots().unwrap().remove(0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let write = |storage: &CheckpointStorage, id: u64, snapshot: &SubtaskSnapshot| {
        let checkpoint = checkpoint(id, snapshot);
        let written = storage.write(&checkpoint, "bench", CheckpointKind::Checkpoint, 0);
        runtime.block_on(written).unwrap()
    };

    let mut group = criterion.benchmark_group("checkpoint");
    let keys = before.tables.iter().map(|table| table.rows.num_rows() as u64).sum();
    group.sample_size(10).throughput(Throughput::Elements(keys));
    group.bench_function("stall", |bencher| bencher.iter(|| job.snapshots().unwrap()));
    group.bench_function("write/all", |bencher| {
        bencher.iter_batched(
            CheckpointStorage::in_memory,
            |storage| (write(&storage, 1, &before), storage),
            BatchSize::PerIteration,
        )
    });
    group.bench_function("write/changes", |bencher| {
        let setup = || {
            let storage = CheckpointStorage::in_memory();
            write(&storage, 1, &before);
            storage
        };
        let measured = |storage: CheckpointStorage| (write(&storage, 2, &after), storage);
        bencher.iter_batched(setup, measured, BatchSize::PerIteration)
    });
    group.finish();
}

criterion_group!(checkpoints, benches);
criterion_main!(checkpoints);

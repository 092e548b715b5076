//! Keys to slots, from empty: a million rows in batches of 8,192.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use arrow::array::ArrayRef;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming_benches::{blocks, kv::Kv};
use datafusion_streaming_physical_plan::state::KeyInterner;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EVENTS: u64 = 1_000_000;

/// The key columns of the batches.
fn keys(keys: u64, columns: &[usize]) -> Vec<Vec<ArrayRef>> {
    blocks(Kv { keys }, EVENTS)
        .map(|block| block.unwrap().batch.project(columns).unwrap().columns().to_vec())
        .collect()
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("interner");
    group.sample_size(10).throughput(Throughput::Elements(EVENTS));
    let inputs = [
        ("bigint/64", keys(64, &[0])),
        ("bigint/4096", keys(4_096, &[0])),
        ("bigint/1000000", keys(1_000_000, &[0])),
        ("bigint, bigint/640000", keys(64, &[0, 1])),
        ("string/1000", keys(1, &[3])),
        ("bigint, string/64000", keys(64, &[0, 3])),
    ];
    for (name, input) in inputs {
        let types: Vec<_> = input[0].iter().map(|column| column.data_type().clone()).collect();
        let interner = || (KeyInterner::try_new(&types).unwrap(), Vec::new());
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                interner,
                |(mut interner, mut slots)| {
                    for columns in &input {
                        slots.clear();
                        interner.intern(columns, columns[0].len(), &mut slots).unwrap();
                    }
                    interner
                },
                BatchSize::PerIteration,
            )
        });
    }
    group.finish();
}

criterion_group!(interner, benches);
criterion_main!(interner);

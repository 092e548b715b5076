//! The workloads of StreamFusion's operator benches, under their names; a new query for each measurement,
//! as a new operator there. Run theirs beside this one: `cargo bench --bench operators` in its folder `native`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming_benches::hand_fed::HandFed;
use datafusion_streaming_benches::stream_fusion::{Workload, workloads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn measure(criterion: &mut Criterion, workload: &Workload) {
    let (group_name, bench) = workload.name.split_once('/').unwrap();
    let query = HandFed::try_new(&workload.definition).unwrap();
    let rows = match workload.rows() {
        0 => 4096, // what is measured is the end of what was fed before
        rows => rows,
    };
    let mut group = criterion.benchmark_group(group_name);
    group.throughput(Throughput::Elements(rows as u64));
    let setup = || {
        let mut running = query.start().unwrap();
        for (table, element) in workload.preload.clone() {
            running.feed(table, element).unwrap();
        }
        (running, workload.input.clone())
    };
    group.bench_function(bench, |bencher| {
        bencher.iter_batched(
            setup,
            |(mut running, input)| {
                input.into_iter().map(|(table, element)| running.feed(table, element).unwrap()).sum::<usize>()
            },
            // the queries of one batch would share the queues of their tables
            BatchSize::PerIteration,
        )
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    for workload in workloads().unwrap() {
        measure(criterion, &workload);
    }
}

criterion_group!(stream_fusion, benches);
criterion_main!(stream_fusion);

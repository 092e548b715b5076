//! The baseline's jobs from SQL to the sink, on one thread. The binary `jobs` measures them at their
//! full length and beside Flink.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming_benches::jobs::{Job, Source};
use datafusion_streaming_benches::queries::Query;
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EVENTS: u64 = 1_000_000;

fn benches(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("jobs");
    group.sample_size(10);
    for query in Query::all() {
        let events = EVENTS.min(query.events);
        group.throughput(Throughput::Elements(events));
        group.bench_function(query.name, |bencher| {
            let job = runtime.block_on(Job::try_new(*query, events, Source::Memory, 1)).unwrap();
            bencher.iter(|| runtime.block_on(job.run()).unwrap())
        });
    }
    group.finish();
}

criterion_group!(jobs, benches);
criterion_main!(jobs);

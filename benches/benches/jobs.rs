//! The baseline's jobs from SQL to the discarded changelog, on one thread. Compare with the same
//! query in `../shared/perf/BASELINES.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming_benches::jobs::JOBS;
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EVENTS: u64 = 1_000_000;

fn benches(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut group = criterion.benchmark_group("jobs");
    group.sample_size(10).throughput(Throughput::Elements(EVENTS));
    for job in JOBS {
        let context = job.session(EVENTS).unwrap();
        group.bench_function(job.name, |bencher| {
            bencher.iter(|| runtime.block_on(job.run(&context)).unwrap())
        });
    }
    group.finish();
}

criterion_group!(jobs, benches);
criterion_main!(jobs);

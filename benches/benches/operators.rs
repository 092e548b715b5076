//! The operators of the baseline's jobs, from an empty state to the end of the input; the changelog
//! is thrown away. Compare with the same query in `../shared/perf/BASELINES.md`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]
#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion_streaming_benches::operators::{
    Chain, group_aggregate, inserts, rows_of, timed_inserts, tumble, updates,
};
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::runtime::StreamElement;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EVENTS: u64 = 1_000_000;

/// Runs a job over the input, once for each measurement.
fn measure(
    criterion: &mut Criterion,
    id: &str,
    input: &[StreamElement],
    job: impl Fn() -> datafusion::common::Result<Chain>,
) {
    let mut group = criterion.benchmark_group("operators");
    group.sample_size(10).throughput(Throughput::Elements(rows_of(input) as u64));
    let setup = || (job().unwrap(), input.to_vec());
    group.bench_function(id, |bencher| {
        bencher.iter_batched(
            setup,
            |(mut job, input)| (job.run(input).unwrap(), job),
            BatchSize::PerIteration,
        )
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    for keys in [64, 4_096, 1_000_000] {
        let input = inserts(keys, EVENTS).unwrap();
        let id = format!("group_aggregate/inserts/{keys}");
        measure(criterion, &id, &input, || group_aggregate(ChangelogMode::INSERT_ONLY));
        let input = updates(keys, EVENTS / 2).unwrap();
        let id = format!("group_aggregate/updates/{keys}");
        measure(criterion, &id, &input, || group_aggregate(ChangelogMode::ALL));
    }
    let input = timed_inserts(4_096, EVENTS).unwrap();
    measure(criterion, "tumble/4096", &input, tumble);
}

criterion_group!(operators, benches);
criterion_main!(operators);

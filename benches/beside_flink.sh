#!/usr/bin/env bash
# Runs jobs here and on Flink in turn and prints the table of their medians and ratios.
#
#   FLINK_HARNESS=folder benches/beside_flink.sh [NAME…]
#
# The folder is that of the Flink harness, built: `run.sh QUERY RUNS` runs a query in a fresh JVM and appends
# a line to results.csv. RUNS (5) is the number of measured runs of either side; OUT (target/beside_flink) takes
# the results. Let nothing else run.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${FLINK_HARNESS:?the folder of the Flink harness}"
out=${OUT:-target/beside_flink} runs=${RUNS:-5}
mkdir -p "$out"

cargo build --release -p datafusion-streaming-benches --bin jobs
jobs=${CARGO_TARGET_DIR:-target}/release/jobs
for name in ${*:-$("$jobs" --list)}; do
    "$jobs" --runs "$runs" ${JOBS_OPTIONS:-} "$name" | tee -a "$out/ours.jsonl" >&2
    "$FLINK_HARNESS/run.sh" "$name" "$runs" >> "$out/flink.log" 2>&1
    tail -n 1 "$FLINK_HARNESS/results.csv" | tee -a "$out/flink.csv" >&2
done
"$jobs" --table "$out/ours.jsonl" "$out/flink.csv"

//! Benchmarks of datafusion-streaming.

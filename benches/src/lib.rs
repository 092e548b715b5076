//! Benchmarks of datafusion-streaming, and the rows that they run on.
//!
//! The rows are those of the Flink jobs that serve as the baseline: the same generator, so that the
//! same query answers the same on both sides. Every row follows from its event number alone.
//!
//! | module | rows |
//! |---|---|
//! | [`kv`] | key, two numbers, a string, a time |
//! | [`nexmark`] | persons, auctions and bids |
//!
//! [`operators`] drives the operators of the baseline's jobs by hand, [`hand_fed`] any planned query, such as those of
//! [`stream_fusion`]; [`jobs`] runs the SQL of its
//! [`queries`], and [`report`] and [`plot`] compare what they take with Flink. `benches/` and the binary `jobs` measure.

mod blocks;
pub mod hand_fed;
pub mod jobs;
pub mod kv;
pub mod nexmark;
pub mod operators;
pub mod plot;
pub mod queries;
mod random;
pub mod report;
pub mod stream_fusion;

pub use blocks::{Block, Events, blocks};

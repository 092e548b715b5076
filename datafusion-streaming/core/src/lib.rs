//! Flink's streaming SQL as a plugin for Apache DataFusion.

pub mod filesystem;
pub mod formats;
pub mod sql;

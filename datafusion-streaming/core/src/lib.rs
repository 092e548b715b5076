//! Flink's streaming SQL as a plugin for Apache DataFusion.

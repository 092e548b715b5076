//! Flink's scalar functions, one a file.

//! Runs sqllogictest files whose queries answer with changelogs.
//!
//! A file is a session: statements, and queries with the rows that they must answer, each with its
//! change kind (`+I`, `-U`, `+U`, `-D`) in front. The files of this project hold the answers of a
//! real Flink.
//!
//! ```text
//! statement ok
//! CREATE TABLE t (k STRING, v INT)
//! WITH ('connector' = 'filesystem', 'path' = 'data/t.jsonl', 'format' = 'json')
//!
//! query
//! SELECT k, SUM(v) FROM t GROUP BY k
//! ----
//! +I a 1
//! -U a 1
//! +U a 3
//! ```
//!
//! - `query rowsort` compares without regard to order; `query error` and `statement error` expect a
//!   refusal.
//! - After `SET 'sql-client.execution.result-mode' = 'table'` the rows are those of the table that
//!   the changelog leaves at its end, without kinds, sorted as text.
//! - `onlyif LABEL` and `skipif LABEL` in front of a record look at [`Engine::label`].
//! - Relative paths in a file start from its folder. [`format`](mod@format) tells how values are written.
//!
//! [`Runner`] runs a file in a [`Mode`]; whoever has sessions of their own to test implements
//! [`Engine`] and [`Session`].

pub mod cli;
#[cfg(test)]
mod echo;
pub mod format;
mod mode;
mod pending;
mod report;
mod runner;
mod script;
mod session;
mod streaming;

pub use mode::Mode;
pub use pending::Pending;
pub use report::{Failure, FileReport, RecordReport};
pub use runner::Runner;
pub use script::slt_files;
pub use session::{Answer, Determined, Engine, Session};
pub use streaming::{MEMORY_FOLDER, StreamingEngine};

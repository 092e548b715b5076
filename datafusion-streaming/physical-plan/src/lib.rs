//! Streaming execution plan nodes and operators for DataFusion.
//!
//! | module | subject |
//! |---|---|
//! | [`changelog`] | row kinds, batches of changes |
//! | [`config`] | the options of the extension |
//! | [`time`] | watermarks, the clock |
//! | [`state`] | keyed state in columns indexed by slot |
//! | [`runtime`] | the plan node, the operator trait, the driver, checkpoints |
//! | [`operators`] | the operators, a folder each |

pub mod changelog;
pub mod config;
pub mod expressions;
pub mod operators;
pub mod runtime;
pub mod state;
pub mod time;

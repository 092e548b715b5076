//! Streaming execution plan nodes and operators for DataFusion.
//!
//! | module | subject |
//! |---|---|
//! | [`changelog`] | row kinds, batches of changes |

pub mod changelog;

//! The physical optimizer rules that make DataFusion's plans streaming plans.
//!
//! [`StreamingRule`] stands first among the physical optimizers, where plans have the shapes that
//! DataFusion's planner gives them; it replaces every native node above a table that is unbounded or
//! changes. [`StreamingVerifier`] stands before DataFusion's own sanity check and refuses what has
//! no streaming meaning.
//!
//! ```text
//!   AggregateExec: mode=Final, gby=[k]            GroupAggregate: key=[k], mode=[I,UB,UA]
//!     AggregateExec: mode=Partial, gby=[k]   =>     Exchange: distribution=[hash[k]]
//!       FilterExec: v > 2                             Calc: select=[k, v]
//!         (unbounded table)                             Calc: select=[*], where=[v > 2]
//!                                                         Source
//! ```

mod passes;
mod rule;
mod verifier;

pub use rule::StreamingRule;
pub use verifier::StreamingVerifier;

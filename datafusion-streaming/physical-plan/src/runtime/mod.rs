//! How streaming operators run.
//!
//! ```text
//!   StreamExec            the one plan node type; holds a StreamNode and the inputs
//!     StreamNode          what a node is: schema, traits, requirements, its operator
//!     OperatorStream      a Stream of StreamElements: polls the inputs, feeds the driver
//!       Driver            sans IO: watermark merge, barrier alignment, memory, metrics, snapshots,
//!                         state that is on disk
//!         Operator        pure: rows in, rows out
//! ```
//!
//! An operator knows nothing of clocks, budgets, snapshots or async: what all operators need is
//! done once, in the [`Driver`].

mod checkpoint;
mod disk;
mod disk_options;
mod driver;
mod element;
mod environment;
mod exec;
mod metrics;
mod node;
mod operator;
mod source;
mod stream;

pub use checkpoint::{
    Checkpoint, CheckpointCoordinator, OperatorId, StoredRows, SubtaskCheckpoints, SubtaskSnapshot,
    TableSnapshot, in_operator,
};
pub use driver::Driver;
pub use element::{BarrierId, ElementStream, StreamElement};
pub use environment::{JobScope, StreamEnvironment};
pub use exec::{StreamExec, elements_of};
pub use metrics::OperatorMetrics;
pub use node::{
    Distribution, Monotonicity, StreamNode, StreamTask, StreamTraits, TimeAttribute, TimeAttributeKind,
    WindowProperties,
};
pub use operator::{Context, Flush, Operator, Output};
pub use source::{NativeReader, SourceReader, SourceStream};
pub use stream::OperatorStream;

#[cfg(test)]
mod tests;

//! Logical planning: table functions in FROM, and the nodes that they become.

mod extension;
mod from_changelog;
mod lateral;
mod query;
mod relation;
mod set_operation;
mod temporal_join;
mod to_changelog;
mod unnest;
mod window_tvf;

pub use extension::StreamingExtensionPlanner;
pub use from_changelog::FromChangelog;
pub use lateral::LateralRule;
pub use query::StreamingQueryPlanner;
pub use relation::StreamingRelationPlanner;
pub use set_operation::CountingSetOperation;
pub use temporal_join::{TemporalJoin, VersionedTable};
pub use to_changelog::ToChangelog;
pub use unnest::{Unnest, UnnestSource};
pub use window_tvf::WindowTvf;

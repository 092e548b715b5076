//! Logical planning: table functions in FROM, and the nodes that they become.

mod extension;
mod lateral;
mod query;
mod relation;
mod temporal_join;
mod to_changelog;
mod unnest;
mod window_tvf;

pub use extension::StreamingExtensionPlanner;
pub use lateral::LateralRule;
pub use query::StreamingQueryPlanner;
pub use relation::StreamingRelationPlanner;
pub use temporal_join::{TemporalJoin, VersionedTable};
pub use to_changelog::ToChangelog;
pub use unnest::{Unnest, UnnestSource};
pub use window_tvf::WindowTvf;

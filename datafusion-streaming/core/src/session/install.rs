//! Installation.

use std::sync::Arc;

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList};
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_planner::ExtensionPlanner;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming_physical_optimizer::{StreamingRule, StreamingVerifier};
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_udfs::scalar::arrow_timestamp;

use crate::jobs::JobRegistry;
use crate::planner::{LateralRule, StreamingQueryPlanner, StreamingRelationPlanner};

/// Installs the extension into a context that is in use: its tables, functions, options, query
/// planner and rules stay. Queries over ordinary bounded tables are planned as before.
///
/// One function is added: `arrow_timestamp(t)` makes Arrow's own timestamp of a TIMESTAMP(7), (8) or (9) of Flink's, which
/// DataFusion takes for a decimal (see [`timestamps`](crate::timestamps)).
///
/// ```
/// # use datafusion::prelude::SessionContext;
/// # fn main() -> datafusion::common::Result<()> {
/// let ctx = SessionContext::new();
/// datafusion_streaming::install(&ctx)?;
/// # Ok(())
/// # }
/// ```
pub fn install(ctx: &SessionContext) -> Result<()> {
    install_with(ctx, vec![])
}

/// [`install`], for a session whose queries have extension nodes of the user's besides those of this
/// crate: `planners` plan them. They are only needed where one query has both; a query without
/// streaming nodes goes to the session's own query planner.
pub fn install_with(
    ctx: &SessionContext,
    planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
) -> Result<()> {
    let state = ctx.state_ref();
    let current = state.read().clone();
    let session_id = current.session_id().to_string();
    let builder = SessionStateBuilder::new_from_existing(current).with_session_id(session_id);
    *state.write() = with_streaming(builder, planners).build();
    Ok(())
}

/// Installation at the time a session is built.
pub trait StreamingSessionStateBuilder {
    /// Adds the extension to what has been set so far. Call it last, after
    /// `with_default_features()`.
    ///
    /// ```
    /// # use datafusion::execution::SessionStateBuilder;
    /// # use datafusion::prelude::SessionContext;
    /// use datafusion_streaming::StreamingSessionStateBuilder;
    /// let state = SessionStateBuilder::new().with_default_features().with_streaming().build();
    /// let ctx = SessionContext::new_with_state(state);
    /// ```
    fn with_streaming(self) -> Self;

    /// [`StreamingSessionStateBuilder::with_streaming`] with planners for extension nodes of the
    /// user's, as [`install_with`].
    fn with_streaming_and(self, planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>) -> Self;
}

impl StreamingSessionStateBuilder for SessionStateBuilder {
    fn with_streaming(self) -> Self {
        self.with_streaming_and(vec![])
    }

    fn with_streaming_and(self, planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>) -> Self {
        with_streaming(self, planners)
    }
}

fn with_streaming(
    mut builder: SessionStateBuilder,
    planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
) -> SessionStateBuilder {
    let catalogs = builder
        .catalog_list()
        .get_or_insert_with(|| Arc::new(MemoryCatalogProviderList::new()) as Arc<dyn CatalogProviderList>);
    let relations = StreamingRelationPlanner::new(Arc::clone(catalogs));
    builder.relation_planners().get_or_insert_default().insert(0, Arc::new(relations));

    let analyzer = &mut builder.analyzer().get_or_insert_with(Analyzer::new).rules;
    if !analyzer.iter().any(|rule| rule.name() == LateralRule.name()) {
        analyzer.insert(0, Arc::new(LateralRule));
    }

    let query_planner = StreamingQueryPlanner::new(builder.query_planner().take(), planners);
    *builder.query_planner() = Some(Arc::new(query_planner));

    let rules = &mut builder.physical_optimizers().get_or_insert_with(PhysicalOptimizer::new).rules;
    if !rules.iter().any(|rule| rule.name() == "streaming") {
        rules.insert(0, Arc::new(StreamingRule::new()));
        let check = rules.iter().position(|rule| rule.name() == "SanityCheckPlan").unwrap_or(rules.len());
        rules.insert(check, Arc::new(StreamingVerifier::new()));
    }

    let functions = builder.scalar_functions().get_or_insert_default();
    let nanoseconds = arrow_timestamp();
    if !functions.iter().any(|function| function.name() == nanoseconds.name()) {
        functions.push(Arc::new(nanoseconds));
    }

    let config = builder.config().get_or_insert_with(SessionConfig::new);
    if config.options().extensions.get::<StreamingOptions>().is_none() {
        config.options_mut().extensions.insert(StreamingOptions::default());
    }
    if config.get_extension::<JobRegistry>().is_none() {
        config.set_extension(Arc::new(JobRegistry::default()));
    }
    builder
}

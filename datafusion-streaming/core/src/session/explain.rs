//! EXPLAIN in Flink SQL.

use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use datafusion_streaming_physical_plan::config::RootMode;

use super::changelog::plan_changelog;
use super::flink::run_statement;
use crate::sql::Statement;

/// The optimized logical plan and the streaming plan of a query or an INSERT.
pub(super) async fn explain(ctx: &SessionContext, statement: Statement) -> Result<String> {
    if !matches!(statement, Statement::DataFusion(_) | Statement::StatementSet(_)) {
        return plan_err!("EXPLAIN takes a query, an INSERT or a statement set");
    }
    let (state, plan) = Box::pin(run_statement(ctx, statement)).await?.into_parts();
    let logical = state.optimize(&plan)?;
    let (physical, _) = plan_changelog(state, &plan, RootMode::Explain).await?;
    Ok(format!(
        "== Optimized Logical Plan ==\n{}\n\n== Streaming Plan ==\n{}",
        logical.display_indent(),
        displayable(physical.as_ref()).indent(false)
    ))
}

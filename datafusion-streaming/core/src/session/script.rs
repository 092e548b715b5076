//! Scripts of several statements.

use std::collections::VecDeque;

use datafusion::common::Result;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;

use super::flink::run_statement;
use crate::sql::{ParsedStatement, parse};

/// A script of Flink SQL, whose statements are planned one by one, each after the ones before it
/// have run.
pub struct FlinkScript {
    ctx: SessionContext,
    statements: VecDeque<ParsedStatement>,
}

impl FlinkScript {
    /// Parses a script; an error names the line and the column.
    pub(super) fn parse(ctx: SessionContext, script: &str) -> Result<Self> {
        Ok(FlinkScript { ctx, statements: parse(script)?.into() })
    }

    /// The next statement's text and its result: of a query or INSERT, which the caller runs, its
    /// DataFrame; anything else has been carried out. `None` at the end.
    pub async fn next(&mut self) -> Result<Option<(String, DataFrame)>> {
        let Some(statement) = self.statements.pop_front() else { return Ok(None) };
        let frame = run_statement(&self.ctx, statement.statement).await?;
        Ok(Some((statement.text, frame)))
    }

    /// The number of statements that are left.
    pub fn remaining(&self) -> usize {
        self.statements.len()
    }
}

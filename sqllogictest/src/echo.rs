//! An engine for the runner's own tests.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use async_trait::async_trait;
use datafusion::common::{Result, exec_err};
use datafusion_streaming::changelog::{ChangelogBatch, RowKind};

use crate::{Answer, Determined, Engine, Mode, Session};

/// A query is its own answer: a change a line, `\n` for a line break in it. After a line
/// `merged` only its final table is determined. Statements and queries that begin with `fail`, `panic`
/// or `hang` do so.
pub(crate) struct Echo;

#[async_trait]
impl Engine for Echo {
    fn label(&self) -> &str {
        "echo"
    }

    async fn session(&self, directory: &Path, _: Mode) -> Result<Box<dyn Session>> {
        assert!(directory.is_absolute());
        Ok(Box::new(Echo))
    }
}

#[async_trait]
impl Session for Echo {
    async fn statement(&mut self, sql: &str) -> Result<()> {
        match sql.split_whitespace().next() {
            Some("fail") => exec_err!("failed as told"),
            Some("panic") => panic!("panicked as told"),
            Some("hang") => std::future::pending().await,
            _ => Ok(()),
        }
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        self.statement(sql).await?;
        let (determined, changes) = match sql.strip_prefix("merged\n") {
            Some(changes) => (Determined::Table, changes),
            None => (Determined::Changes, sql),
        };
        Ok(Answer { changes: changes.lines().map(change).collect::<Result<_>>()?, determined })
    }
}

/// A batch of one change in one column of text.
fn change(line: &str) -> Result<ChangelogBatch> {
    let (kind, text) = line.split_at(2);
    let kind = RowKind::ALL.into_iter().find(|known| known.short() == kind).unwrap();
    let column: ArrayRef = Arc::new(StringArray::from(vec![text.trim_start().replace("\\n", "\n")]));
    ChangelogBatch::try_new(RecordBatch::try_from_iter([("line", column)])?, vec![kind].into())
}

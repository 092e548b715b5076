//! TO_CHANGELOG: the row kind as a column, so that a changelog can be read as plain rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::runtime::{Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits};

/// Makes an append-only stream of a changelog: a leading column `op` holds each row's kind
/// (`INSERT`, `UPDATE_BEFORE`, `UPDATE_AFTER`, `DELETE`), as in Flink 2.3.
#[derive(Debug, Clone)]
pub struct ToChangelogNode {
    schema: SchemaRef,
}

/// The name of the column that TO_CHANGELOG adds.
pub const OP_COLUMN: &str = "op";

/// The columns of `input` behind the column `op`.
pub fn to_changelog_schema(input: &Schema) -> Schema {
    let op = Arc::new(Field::new(OP_COLUMN, DataType::Utf8, false));
    let fields: Vec<_> = std::iter::once(op).chain(input.fields().iter().cloned()).collect();
    Schema::new_with_metadata(fields, input.metadata().clone())
}

impl ToChangelogNode {
    /// For changelogs of the schema `input`.
    pub fn new(input: &Schema) -> Self {
        ToChangelogNode { schema: Arc::new(to_changelog_schema(input)) }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + 'static {
        ToChangelog { schema: Arc::clone(&self.schema) }
    }
}

impl StreamNode for ToChangelogNode {
    fn name(&self) -> &'static str {
        "ToChangelog"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mut traits = inputs[0].project(self.schema.fields().len(), |column| vec![column + 1]);
        traits.mode = ChangelogMode::INSERT_ONLY;
        traits.upsert_keys.clear();
        Ok(traits)
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct ToChangelog {
    schema: SchemaRef,
}

impl Operator for ToChangelog {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let kinds: StringArray = match changes.kinds() {
            Some(kinds) => StringArray::from_iter_values(kinds.iter().map(RowKind::long)),
            None => StringArray::from_iter_values((0..changes.num_rows()).map(|_| RowKind::Insert.long())),
        };
        let op: ArrayRef = Arc::new(kinds);
        let columns = std::iter::once(op).chain(changes.batch().columns().iter().cloned()).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        out.data(ChangelogBatch::insert_only(batch));
        Ok(())
    }
}

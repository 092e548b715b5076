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
    codes: OpCodes,
}

/// What TO_CHANGELOG writes for each kind, by its number; `None`: rows of the kind are left out.
pub type OpCodes = [Option<String>; 4];

/// The codes without a mapping: the long names of the kinds.
pub fn default_codes() -> OpCodes {
    RowKind::ALL.map(|kind| Some(kind.long().to_string()))
}

/// The name of the column that TO_CHANGELOG adds.
pub const OP_COLUMN: &str = "op";

/// The columns of `input` behind the column of this name.
pub fn to_changelog_schema(op: &str, input: &Schema) -> Schema {
    let op = Arc::new(Field::new(op, DataType::Utf8, false));
    let fields: Vec<_> = std::iter::once(op).chain(input.fields().iter().cloned()).collect();
    Schema::new_with_metadata(fields, input.metadata().clone())
}

impl ToChangelogNode {
    /// For changelogs of the schema `input`; the column `op` gets what `codes` has for a row's kind.
    pub fn new(op: &str, codes: OpCodes, input: &Schema) -> Self {
        ToChangelogNode { schema: Arc::new(to_changelog_schema(op, input)), codes }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        ToChangelog { node: self.clone() }
    }
}

impl StreamNode for ToChangelogNode {
    fn name(&self) -> &'static str {
        "ToChangelog"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.codes == default_codes() {
            return Ok(());
        }
        let code =
            |kind: RowKind| self.codes[kind as usize].as_ref().map(|code| format!("{}: {code}", kind.long()));
        let codes: Vec<_> = RowKind::ALL.into_iter().filter_map(code).collect();
        write!(f, "op_mapping=[{}]", codes.join(", "))
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
    node: ToChangelogNode,
}

impl Operator for ToChangelog {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let codes = &self.node.codes;
        let rows = changes.num_rows();
        let changes = match codes.iter().all(Option::is_some) {
            true => changes.clone(),
            false => {
                let is_named = |row: usize| Some(codes[changes.kind(row) as usize].is_some());
                changes.filter(&(0..rows).map(is_named).collect())?
            }
        };
        let code = |row: usize| codes[changes.kind(row) as usize].as_deref().unwrap_or_default();
        let op: ArrayRef = Arc::new(StringArray::from_iter_values((0..changes.num_rows()).map(code)));
        let columns = std::iter::once(op).chain(changes.batch().columns().iter().cloned()).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.node.schema), columns)?;
        out.data(ChangelogBatch::insert_only(batch));
        Ok(())
    }
}

//! FROM_CHANGELOG: a column with row kinds as the changelog that it describes.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::{Result, exec_err};

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::runtime::{Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits};

/// The inverse of TO_CHANGELOG, as in Flink 2.3: rows whose column `op` says how they change the table
/// that the other columns make up.
#[derive(Debug, Clone)]
pub struct FromChangelogNode {
    op: usize,
    codes: Vec<(String, RowKind)>,
    schema: SchemaRef,
}

impl FromChangelogNode {
    /// For rows of `input`, whose column `op` has one of `codes`. Another is an error when it comes.
    pub fn try_new(op: usize, codes: Vec<(String, RowKind)>, input: &SchemaRef) -> Result<Self> {
        let columns: Vec<usize> = (0..input.fields().len()).filter(|column| *column != op).collect();
        Ok(FromChangelogNode { op, codes, schema: Arc::new(input.project(&columns)?) })
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        FromChangelog { node: self.clone() }
    }

    fn kind_of(&self, code: &str) -> Result<RowKind> {
        match self.codes.iter().find(|(known, _)| known == code) {
            Some((_, kind)) => Ok(*kind),
            None => {
                let known: Vec<_> = self.codes.iter().map(|(known, _)| known.as_str()).collect();
                exec_err!(
                    "FROM_CHANGELOG: the op code '{code}' came, but the codes are {}; add it to op_mapping",
                    known.join(", ")
                )
            }
        }
    }
}

impl StreamNode for FromChangelogNode {
    fn name(&self) -> &'static str {
        "FromChangelog"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<_> =
            self.codes.iter().map(|(code, kind)| format!("{code}: {}", kind.long())).collect();
        write!(f, "op_mapping=[{}]", codes.join(", "))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let width = self.schema.fields().len();
        let mut traits = inputs[0].project(width, |column| match column.cmp(&self.op) {
            std::cmp::Ordering::Less => vec![column],
            std::cmp::Ordering::Equal => vec![],
            std::cmp::Ordering::Greater => vec![column - 1],
        });
        traits.mode = ChangelogMode::of(self.codes.iter().map(|(_, kind)| *kind));
        traits.upsert_keys.clear();
        traits.monotonicity.clear();
        Ok(traits)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct FromChangelog {
    node: FromChangelogNode,
}

impl Operator for FromChangelog {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let ops = cast(changes.batch().column(self.node.op), &DataType::Utf8)?;
        let ops: &StringArray = ops.as_string();
        let kind = |row: usize| match ops.is_valid(row) {
            true => self.node.kind_of(ops.value(row)),
            false => exec_err!("FROM_CHANGELOG: a row has NULL as its op code"),
        };
        let kinds = (0..ops.len()).map(kind).collect::<Result<Vec<_>>>()?;
        let columns = changes.batch().columns().iter().enumerate();
        let columns =
            columns.filter(|(place, _)| *place != self.node.op).map(|(_, column)| Arc::clone(column));
        let options = RecordBatchOptions::new().with_row_count(Some(kinds.len()));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns.collect(), &options)?;
        out.data(ChangelogBatch::try_new(batch, kinds.into())?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

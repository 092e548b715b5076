//! UNNEST: each row with the elements of a collection of its own.

mod elements;

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use self::elements::{Elements, elements_of};
pub use self::elements::{ORDINALITY_COLUMN, element_fields};
use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits};

/// Flink's Correlate with UNNEST: a row for each element of an array, map or multiset, of the same
/// kind as the row that the collection is in. All that is made of a row comes together, so that a
/// retraction takes all of it back.
#[derive(Debug, Clone)]
pub struct UnnestNode {
    collection: Arc<dyn PhysicalExpr>,
    ordinality: bool,
    outer: bool,
    /// Over the output's columns.
    condition: Option<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
}

impl UnnestNode {
    /// Elements of `collection`, an expression over the columns of the input. The output, of `schema`,
    /// is the input's columns, those of [`element_fields`] and, `with_ordinality`, the position of the
    /// element from 1 on.
    pub fn new(collection: Arc<dyn PhysicalExpr>, with_ordinality: bool, schema: SchemaRef) -> Self {
        UnnestNode { collection, ordinality: with_ordinality, outer: false, condition: None, schema }
    }

    /// The LEFT JOIN: a row of which there is no element (that fulfils the condition over the
    /// output's columns) is put out with NULLs.
    pub fn outer(self, condition: Option<Arc<dyn PhysicalExpr>>) -> Self {
        UnnestNode { outer: true, condition, ..self }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        Unnest { node: self.clone() }
    }
}

impl StreamNode for UnnestNode {
    fn name(&self) -> &'static str {
        "Unnest"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "collection=[{}]", self.collection)?;
        if self.outer {
            f.write_str(", outer=[true]")?;
        }
        if self.ordinality {
            f.write_str(", ordinality=[true]")?;
        }
        match &self.condition {
            Some(condition) => write!(f, ", on=[{condition}]"),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// A row becomes several, so keys are lost; time attributes and windows stay.
    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mut traits = inputs[0].project(self.schema.fields().len(), |column| vec![column]);
        traits.upsert_keys.clear();
        Ok(traits)
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        std::iter::once(&self.collection).chain(&self.condition).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct Unnest {
    node: UnnestNode,
}

impl Operator for Unnest {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let rows = changes.num_rows();
        let collection = self.node.collection.evaluate(changes.batch())?.into_array(rows)?;
        let mut elements = elements_of(&collection)?;
        if let Some(condition) = &self.node.condition {
            let batch = self.batch(changes, &elements)?;
            let mask = condition.evaluate(&batch)?.into_array(batch.num_rows())?;
            let mask = mask.as_boolean();
            elements.pairs.retain_by(|pair| mask.is_valid(pair) && mask.value(pair));
        }
        if self.node.outer {
            elements.pairs.pad(rows);
        }
        let batch = self.batch(changes, &elements)?;
        match changes.kinds() {
            None => out.data(ChangelogBatch::insert_only(batch)),
            Some(kinds) => out.data(ChangelogBatch::try_new(batch, kinds.take(&elements.pairs.rows))?),
        }
        Ok(())
    }
}

impl Unnest {
    /// The rows of the input with their elements.
    fn batch(&self, changes: &ChangelogBatch, elements: &Elements) -> Result<RecordBatch> {
        let pairs = &elements.pairs;
        let rows = UInt32Array::from(pairs.rows.clone());
        let places: UInt32Array = pairs.places.iter().copied().collect();
        let taken = |columns: &[ArrayRef], indices: &UInt32Array| -> Result<Vec<ArrayRef>> {
            columns.iter().map(|column| Ok(take(column, indices, None)?)).collect()
        };
        let mut columns = taken(changes.batch().columns(), &rows)?;
        columns.extend(taken(&elements.columns, &places)?);
        if self.node.ordinality {
            columns.push(Arc::new(pairs.ordinals.iter().copied().collect::<Int32Array>()));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?)
    }
}

/// The columns that an UNNEST of a collection adds to its input, all nullable in a LEFT JOIN.
pub fn unnest_schema(input: &Schema, elements: &[Field]) -> Schema {
    let fields = input.fields().iter().cloned().chain(elements.iter().cloned().map(Arc::new));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), input.metadata().clone())
}

#[cfg(test)]
mod tests;

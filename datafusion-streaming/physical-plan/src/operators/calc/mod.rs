//! Projection and filter, on appends and changelogs alike.

mod merge;

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator as Comparison;
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion_physical_expr::utils::{collect_columns, split_conjunction};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::changelog::{ChangelogBatch, RowKind};
use crate::expressions::specialized;
use crate::runtime::{
    Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind,
};
use crate::time::{PROCTIME_FUNCTION, Watermark, reads_watermark, with_watermark};

/// Flink's Calc: keeps the rows for which `filter` is true, and computes `projection` of them. Row
/// kinds pass through: of an update, either half may be filtered out alone.
#[derive(Debug, Clone)]
pub struct CalcNode {
    filter: Option<Arc<dyn PhysicalExpr>>,
    projection: Option<Vec<Arc<dyn PhysicalExpr>>>,
    schema: SchemaRef,
}

/// The column of which a condition says that it is not less than 0.
fn never_negative(condition: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let condition = condition.downcast_ref::<BinaryExpr>()?;
    let (column, operator, bound) = match condition.left().downcast_ref::<Column>() {
        Some(column) => (column, *condition.op(), condition.right()),
        None => (condition.right().downcast_ref()?, condition.op().swap()?, condition.left()),
    };
    let bound = bound.downcast_ref::<Literal>()?.value();
    let is_from_below = matches!(operator, Comparison::Gt | Comparison::GtEq | Comparison::Eq);
    let zero = ScalarValue::new_zero(&bound.data_type()).ok()?;
    (is_from_below && bound.data_type().is_numeric() && *bound >= zero).then_some(column.index())
}

/// The filter and the projection of a [`CalcNode`].
pub type CalcParts<'a> = (Option<&'a Arc<dyn PhysicalExpr>>, Option<&'a [Arc<dyn PhysicalExpr>]>);

impl CalcNode {
    /// A filter; `schema` is that of the input.
    pub fn filter(filter: Arc<dyn PhysicalExpr>, schema: SchemaRef) -> Self {
        CalcNode { filter: Some(filter), projection: None, schema }
    }

    /// A projection, which gives columns of the types in `schema`.
    pub fn project(projection: Vec<Arc<dyn PhysicalExpr>>, schema: SchemaRef) -> Self {
        CalcNode { filter: None, projection: Some(projection), schema }
    }

    /// A projection of the rows that a filter keeps.
    pub fn filter_project(
        filter: Arc<dyn PhysicalExpr>,
        projection: Vec<Arc<dyn PhysicalExpr>>,
        schema: SchemaRef,
    ) -> Self {
        CalcNode { filter: Some(filter), projection: Some(projection), schema }
    }

    /// A projection to input columns.
    pub fn columns(columns: &[usize], input: &SchemaRef) -> Result<Self> {
        let schema = Arc::new(input.project(columns)?);
        let column = |column: &usize| {
            Arc::new(Column::new(input.field(*column).name(), *column)) as Arc<dyn PhysicalExpr>
        };
        Ok(CalcNode::project(columns.iter().map(column).collect(), schema))
    }

    /// The input columns that the node's columns are, if it does no more than choose them.
    pub fn input_columns(&self) -> Option<Vec<usize>> {
        let projection = self.projection.as_ref().filter(|_| self.filter.is_none())?;
        projection.iter().map(|expression| Some(expression.downcast_ref::<Column>()?.index())).collect()
    }

    /// The filter, if that is all the node does.
    pub fn filter_only(&self) -> Option<&Arc<dyn PhysicalExpr>> {
        self.filter.as_ref().filter(|_| self.projection.is_none())
    }

    /// Whether the node asks for the watermark before each row.
    pub fn reads_watermark(&self) -> bool {
        self.expressions().into_iter().any(reads_watermark)
    }

    /// The node with the watermark put into its expressions.
    fn with_watermark(&self, watermark: Watermark) -> Result<Self> {
        let put = |expression: &Arc<dyn PhysicalExpr>| with_watermark(expression, watermark);
        let filter = self.filter.as_ref().map(put).transpose()?;
        let projection = self.projection.iter().flatten().map(put).collect::<Result<Vec<_>>>()?;
        let projection = self.projection.is_some().then_some(projection);
        Ok(CalcNode { filter, projection, schema: Arc::clone(&self.schema) })
    }

    /// The filter and the projection, where there are such.
    pub fn parts(&self) -> CalcParts<'_> {
        (self.filter.as_ref(), self.projection.as_deref())
    }

    /// A node that does both, as far as given. Without a projection `schema` is that of the input.
    pub fn from_parts(
        filter: Option<Arc<dyn PhysicalExpr>>,
        projection: Option<Vec<Arc<dyn PhysicalExpr>>>,
        schema: SchemaRef,
    ) -> Self {
        CalcNode { filter, projection, schema }
    }

    /// The projection, if the node has one.
    pub fn projection(&self) -> Option<&[Arc<dyn PhysicalExpr>]> {
        self.projection.as_deref()
    }

    /// The node with these columns of the input behind its own; itself where it passes all columns on.
    pub fn with_columns(&self, columns: &[usize], input: &SchemaRef) -> Self {
        let Some(projection) = &self.projection else {
            return CalcNode { schema: Arc::clone(input), ..self.clone() };
        };
        let mut projection = projection.clone();
        let mut fields: Vec<_> = self.schema.fields().iter().cloned().collect();
        for column in columns {
            projection.push(Arc::new(Column::new(input.field(*column).name(), *column)));
            fields.push(Arc::clone(&input.fields()[*column]));
        }
        CalcNode { projection: Some(projection), schema: Arc::new(Schema::new(fields)), ..self.clone() }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        Calc { reads_watermark: self.reads_watermark(), node: self.clone(), is_specialized: false }
    }

    /// The node with its expressions in the form that is fast over columns of `input`.
    fn specialized(&self, input: &Schema) -> Self {
        let fast = |expression: &Arc<dyn PhysicalExpr>| specialized(expression, input);
        CalcNode {
            filter: self.filter.as_ref().map(fast),
            projection: self.projection.as_ref().map(|projection| projection.iter().map(fast).collect()),
            schema: Arc::clone(&self.schema),
        }
    }
}

impl StreamNode for CalcNode {
    fn name(&self) -> &'static str {
        "Calc"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.projection {
            None => f.write_str("select=[*]")?,
            Some(projection) => {
                let expressions = projection.iter().zip(self.schema.fields()).map(|(expression, field)| {
                    match expression.downcast_ref::<Column>() {
                        Some(column) if column.name() == field.name() => field.name().clone(),
                        Some(column) => format!("{} AS {}", column.name(), field.name()),
                        None => format!("{expression} AS {}", field.name()),
                    }
                });
                write!(f, "select=[{}]", expressions.collect::<Vec<_>>().join(", "))?;
            }
        }
        match &self.filter {
            Some(filter) => write!(f, ", where=[{filter}]"),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mut input = inputs[0].clone();
        if self.filter.is_some() && input.mode.contains(RowKind::UpdateAfter) {
            // an update may leave what the filter keeps
            input.mode = input.mode.with(RowKind::Insert).with(RowKind::Delete);
        }
        let conjuncts = self.filter.iter().flat_map(split_conjunction);
        input.never_negative.extend(conjuncts.filter_map(never_negative));
        let Some(projection) = &self.projection else { return Ok(input) };
        let mut traits = input.project(projection.len(), |input| {
            let is_input = |expression: &Arc<dyn PhysicalExpr>| {
                expression.downcast_ref::<Column>().is_some_and(|column| column.index() == input)
            };
            let places = projection.iter().enumerate().filter(|(_, expression)| is_input(expression));
            places.map(|(place, _)| place).collect()
        });
        for (column, expression) in projection.iter().enumerate() {
            let function = expression.downcast_ref::<ScalarFunctionExpr>();
            if function.is_some_and(|function| function.name() == PROCTIME_FUNCTION) {
                traits.time_attributes.push(TimeAttribute { column, kind: TimeAttributeKind::Proctime });
            }
        }
        Ok(traits)
    }

    /// A filter may keep the new half of an update and drop the old one, or the other way round:
    /// without `-U` rows, what is filtered out would stay in the consumer's table.
    fn needs_update_before(&self, _input: usize, output_needed: bool) -> bool {
        output_needed || self.filter.is_some()
    }

    fn depends_on(&self, _input: usize, output: &[usize]) -> Option<Vec<usize>> {
        let mut columns: Vec<usize> = self.filter.iter().flat_map(columns_of).collect();
        match &self.projection {
            None => columns.extend(output),
            Some(projection) => {
                columns.extend(output.iter().filter_map(|place| projection.get(*place)).flat_map(columns_of));
            }
        }
        Some(columns)
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.filter.iter().chain(self.projection.iter().flatten()).collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

/// The columns that an expression refers to.
fn columns_of(expression: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    collect_columns(expression).iter().map(Column::index).collect()
}

struct Calc {
    node: CalcNode,
    reads_watermark: bool,
    /// Whether the node's expressions have their fast form: they get it with the first batch, which tells
    /// the input's types.
    is_specialized: bool,
}

impl Operator for Calc {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        if !self.is_specialized {
            self.node = self.node.specialized(changes.batch().schema_ref());
            self.is_specialized = true;
        }
        let node = match self.reads_watermark {
            true => &self.node.with_watermark(cx.watermark)?,
            false => &self.node,
        };
        let kept = match &node.filter {
            Some(filter) => {
                let mask = filter.evaluate(changes.batch())?.into_array(changes.num_rows())?;
                changes.filter(mask.as_boolean())?
            }
            None => changes.clone(),
        };
        if kept.num_rows() == 0 {
            return Ok(());
        }
        let Some(projection) = &node.projection else {
            out.data(kept);
            return Ok(());
        };
        let rows = kept.num_rows();
        let evaluate =
            |expression: &Arc<dyn PhysicalExpr>| expression.evaluate(kept.batch())?.into_array(rows);
        let columns = projection.iter().map(evaluate).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&node.schema), columns, &options)?;
        out.data(kept.with_batch(batch)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

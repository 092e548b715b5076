//! The TableProvider of tables made by CREATE TABLE.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::{Column, DFSchema, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::changelog_normalize::ChangelogNormalizeNode;
use datafusion_streaming_physical_plan::operators::watermark_assigner::WatermarkAssignerNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

use super::connector::connector_of;
use super::{Connector, SinkNode, TableDefinition};

/// A table made by CREATE TABLE.
#[derive(Debug)]
pub struct StreamTable {
    definition: Arc<TableDefinition>,
    connector: Arc<dyn Connector>,
}

impl StreamTable {
    /// The table of a definition; an error where its options do not fit.
    pub fn try_new(definition: TableDefinition, state: &SessionState) -> Result<Self> {
        let connector = connector_of(&definition, state)?;
        Ok(StreamTable { definition: Arc::new(definition), connector })
    }

    /// What the CREATE TABLE statement said.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// Whether the table has a present content, and is no stream.
    pub fn has_contents(&self) -> bool {
        self.connector.has_contents()
    }

    /// The columns that must be read and computed for `wanted`, by their index: with those that the
    /// watermark and computed columns refer to.
    fn needed_columns(&self, wanted: &[usize]) -> Result<BTreeSet<usize>> {
        let table = &self.definition;
        let mut needed: BTreeSet<usize> = wanted.iter().copied().collect();
        if let Some(watermark) = &table.watermark {
            needed.insert(table.index_of(&watermark.column)?);
            self.add_references(&watermark.expression.expr, &mut needed)?;
        }
        for index in needed.clone() {
            if let Some(computed) = &table.columns[index].computed {
                self.add_references(&computed.expr, &mut needed)?;
            }
        }
        Ok(needed)
    }

    /// Whether the table's changelog is brought into order by its primary key: where updates come
    /// without their old content, or changes may be repeated.
    fn is_normalized(&self, session: &dyn Session) -> bool {
        let mode = self.connector.source_mode().unwrap_or(ChangelogMode::INSERT_ONLY);
        let may_repeat = StreamingOptions::of(session.config_options()).cdc_events_duplicate;
        !self.definition.primary_key.is_empty() && (mode.is_upsert() || may_repeat && !mode.is_insert_only())
    }

    /// Repeated changes can only be told by a primary key.
    fn check_duplicates(&self, session: &dyn Session) -> Result<()> {
        let mode = self.connector.source_mode().unwrap_or(ChangelogMode::INSERT_ONLY);
        let may_repeat = StreamingOptions::of(session.config_options()).cdc_events_duplicate;
        if may_repeat && !mode.is_insert_only() && self.definition.primary_key.is_empty() {
            return plan_err!(
                "'table.exec.source.cdc-events-duplicate' is set, but table {} has no primary key; declare PRIMARY KEY (…) \
                 NOT ENFORCED",
                self.definition.name
            );
        }
        Ok(())
    }

    fn add_references(&self, expr: &Expr, needed: &mut BTreeSet<usize>) -> Result<()> {
        for Column { name, .. } in expr.column_refs() {
            needed.insert(self.definition.index_of(name)?);
        }
        Ok(())
    }
}

#[async_trait]
impl TableProvider for StreamTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.definition.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = &self.definition;
        if self.connector.source_mode().is_none() {
            return plan_err!(
                "table {} cannot be read: its connector is '{}'",
                table.name,
                self.connector.name()
            );
        }
        if let Some(contents) = self.connector.contents()? {
            let now = MemTable::try_new(contents.schema(), vec![vec![contents]])?;
            return now.scan(session, projection, &[], None).await;
        }
        self.check_duplicates(session)?;
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let wanted = projection.unwrap_or(&all);
        let normalized = self.is_normalized(session);
        let mut needed = self.needed_columns(wanted)?;
        if normalized {
            for column in &table.primary_key {
                needed.insert(table.index_of(column)?);
            }
        }
        let needed: Vec<usize> = needed.into_iter().collect();

        let physical = needed.iter().filter(|index| table.columns[**index].computed.is_none());
        let physical: Vec<FieldRef> =
            physical.map(|index| Arc::clone(&table.columns[*index].field)).collect();
        let physical = Arc::new(Schema::new(physical));
        let source = self.connector.source(table, &physical)?;
        let mut plan: Arc<dyn ExecutionPlan> = Arc::new(StreamExec::try_new(source, vec![])?);

        if needed.iter().any(|index| table.columns[*index].computed.is_some()) {
            plan = with_computed(table, &needed, plan, session)?;
        }
        if let Some(watermark) = &table.watermark {
            let schema = plan.schema();
            let over = DFSchema::try_from(Arc::clone(&schema))?;
            let expression = session.create_physical_expr(watermark.expression.expr.clone(), &over)?;
            let rowtime = schema.index_of(&watermark.column)?;
            let idle_timeout = idle_timeout(table, session)?;
            let node = WatermarkAssignerNode::new(rowtime, expression, idle_timeout, schema);
            plan = StreamExec::plan(node, vec![plan])?;
        }
        if normalized {
            let schema = plan.schema();
            let keys = table.primary_key.iter().map(|column| schema.index_of(column));
            let keys = keys.collect::<Result<_, _>>()?;
            plan = StreamExec::plan(ChangelogNormalizeNode::new(keys, schema), vec![plan])?;
        }
        if needed != *wanted {
            let schema = plan.schema();
            let place = |index: &usize| needed.iter().position(|known| known == index);
            let places: Vec<usize> = wanted.iter().filter_map(place).collect();
            plan = StreamExec::plan(CalcNode::columns(&places, &schema)?, vec![plan])?;
        }
        Ok(plan)
    }

    async fn insert_into(
        &self,
        _session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = &self.definition;
        let Some(mode) = self.connector.sink_mode() else {
            return plan_err!(
                "table {} cannot be written: its connector is '{}'",
                table.name,
                self.connector.name()
            );
        };
        if op != InsertOp::Append {
            return plan_err!(
                "INSERT OVERWRITE into {}: a continuous query appends; use INSERT INTO",
                table.name
            );
        }
        let node = SinkNode::new(Arc::clone(table), Arc::clone(&self.connector), mode);
        StreamExec::plan(node, vec![input])
    }
}

/// The columns `needed`, physical and computed, in their order.
fn with_computed(
    table: &TableDefinition,
    needed: &[usize],
    input: Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let physical = input.schema();
    let over = DFSchema::try_from(Arc::clone(&physical))?;
    let expression = |index: &usize| -> Result<Arc<dyn PhysicalExpr>> {
        let column = &table.columns[*index];
        match &column.computed {
            Some(computed) => session.create_physical_expr(computed.expr.clone(), &over),
            None => Ok(Arc::new(PhysicalColumn::new_with_schema(column.field.name(), &physical)?)),
        }
    };
    let expressions = needed.iter().map(expression).collect::<Result<_>>()?;
    let fields: Vec<FieldRef> = needed.iter().map(|index| Arc::clone(&table.columns[*index].field)).collect();
    StreamExec::plan(CalcNode::project(expressions, Arc::new(Schema::new(fields))), vec![input])
}

/// After how many milliseconds of silence the table's watermark is not waited for any more.
fn idle_timeout(table: &TableDefinition, session: &dyn Session) -> Result<Option<i64>> {
    let millis = match table.options.get("scan.watermark.idle-timeout") {
        Some(text) => crate::sql::parse_duration(text).map_err(|error| {
            error.context(format!("'scan.watermark.idle-timeout' of table {}", table.name))
        })?,
        None => StreamingOptions::of(session.config_options()).source_idle_timeout,
    };
    Ok(i64::try_from(millis).ok().filter(|millis| *millis > 0))
}

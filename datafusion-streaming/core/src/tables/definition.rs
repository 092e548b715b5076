//! What a CREATE TABLE statement defines.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{DFSchema, Result, TableReference, not_impl_err, plan_datafusion_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use super::StreamTable;
use crate::sql::{Column, CreateTable, FlinkType, WatermarkDefinition};

/// A table as CREATE TABLE defines it, its expressions planned.
#[derive(Debug, Clone)]
pub struct TableDefinition {
    /// The table's name, for messages.
    pub name: String,
    /// The columns in their order.
    pub columns: Vec<TableColumn>,
    /// The columns that the connector holds.
    pub physical: SchemaRef,
    /// All columns.
    pub schema: SchemaRef,
    /// The watermark.
    pub watermark: Option<TableWatermark>,
    /// The columns of the primary key; empty if there is none.
    pub primary_key: Vec<String>,
    /// The columns of `PARTITIONED BY`; empty if the table is not partitioned.
    pub partitioned_by: Vec<String>,
    /// The options of `WITH`.
    pub options: BTreeMap<String, String>,
    /// The comment.
    pub comment: Option<String>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct TableColumn {
    /// Name and type.
    pub field: FieldRef,
    /// How it is computed, over the physical columns; `None` for a physical column.
    pub computed: Option<ComputedColumn>,
    /// The comment.
    pub comment: Option<String>,
}

/// A planned expression, and its text for display.
#[derive(Debug, Clone)]
pub struct ComputedColumn {
    /// The expression.
    pub expr: Expr,
    /// Its text.
    pub text: String,
}

/// The watermark of a table.
#[derive(Debug, Clone)]
pub struct TableWatermark {
    /// The rowtime column.
    pub column: String,
    /// The watermark that a row gives rise to, over all columns of the table.
    pub expression: ComputedColumn,
}

impl TableDefinition {
    /// Plans a statement; `state` is the session's for Flink SQL.
    pub async fn plan(ctx: &SessionContext, state: &SessionState, mut table: CreateTable) -> Result<Self> {
        let name = table.name.to_string();
        if table.query.is_some() {
            return not_impl_err!("CREATE TABLE {name} AS SELECT: create the table, then INSERT INTO it");
        }
        if let Some(like) = table.like.take() {
            let source = ctx.table_provider(like.source.clone()).await?;
            let Some(source) = source.downcast_ref::<StreamTable>() else {
                return plan_err!(
                    "CREATE TABLE {name} LIKE {}: that is not a table made by CREATE TABLE",
                    like.source
                );
            };
            return source.definition().like(table, state);
        }
        let options = options_of(&name, &table.options)?;
        let physical: Vec<FieldRef> = table.columns.iter().filter_map(physical_field).collect();
        check_names(&name, &table.columns)?;
        let physical = Arc::new(Schema::new(physical));
        let columns = plan_columns(&name, &table.columns, &physical, state)?;
        let schema =
            Arc::new(Schema::new(columns.iter().map(|column| Arc::clone(&column.field)).collect::<Vec<_>>()));
        let watermark = match &table.watermark {
            Some(watermark) => {
                let planned = plan_watermark(&name, watermark, &schema, state)?;
                Some(TableWatermark { column: watermark.column.clone(), expression: planned })
            }
            None => None,
        };
        for column in &table.primary_key {
            if physical.field_with_name(column).is_err() {
                return plan_err!(
                    "the primary key of table {name} names {column}, which is not a physical column of it"
                );
            }
        }
        for column in &table.partitioned_by {
            if physical.field_with_name(column).is_err() {
                return plan_err!(
                    "table {name} is PARTITIONED BY {column}, which is not a physical column of it"
                );
            }
        }
        Ok(TableDefinition {
            name,
            columns,
            physical,
            schema,
            watermark,
            primary_key: table.primary_key,
            partitioned_by: table.partitioned_by,
            options,
            comment: table.comment,
        })
    }

    /// This definition under another name, with the options of `table` over its own.
    fn like(&self, table: CreateTable, state: &SessionState) -> Result<Self> {
        let mut definition = TableDefinition { name: table.name.to_string(), ..self.clone() };
        definition.options.extend(options_of(&definition.name, &table.options)?);
        if let Some(watermark) = table.watermark {
            let planned = plan_watermark(&definition.name, &watermark, &self.schema, state)?;
            definition.watermark = Some(TableWatermark { column: watermark.column, expression: planned });
        }
        if !table.columns.is_empty() {
            return plan_err!(
                "CREATE TABLE {} LIKE …: columns beside those of the other table are not taken; define them in full",
                definition.name
            );
        }
        Ok(definition)
    }

    /// The index of a column in [`TableDefinition::schema`].
    pub fn index_of(&self, column: &str) -> Result<usize> {
        self.schema
            .index_of(column)
            .map_err(|_| plan_datafusion_err!("there is no column {column} in table {}", self.name))
    }

    /// The statement that makes this table.
    pub fn create_text(&self, name: &TableReference) -> String {
        let mut lines = vec![];
        for column in &self.columns {
            let name = column.field.name();
            lines.push(match &column.computed {
                Some(computed) => format!("  `{name}` AS {}", computed.text),
                None => match FlinkType::from_field(&column.field) {
                    Ok(flink_type) => format!("  `{name}` {flink_type}"),
                    Err(_) => format!("  `{name}` {}", column.field.data_type()),
                },
            });
        }
        if let Some(watermark) = &self.watermark {
            lines.push(format!("  WATERMARK FOR `{}` AS {}", watermark.column, watermark.expression.text));
        }
        if !self.primary_key.is_empty() {
            lines.push(format!("  PRIMARY KEY (`{}`) NOT ENFORCED", self.primary_key.join("`, `")));
        }
        let mut text = format!("CREATE TABLE {name} (\n{}\n)", lines.join(",\n"));
        if let Some(comment) = &self.comment {
            // writing to a String cannot fail
            let _ = write!(text, "\nCOMMENT '{}'", comment.replace('\'', "''"));
        }
        if !self.partitioned_by.is_empty() {
            let _ = write!(text, "\nPARTITIONED BY (`{}`)", self.partitioned_by.join("`, `"));
        }
        let options: Vec<_> =
            self.options.iter().map(|(key, value)| format!("  '{key}' = '{value}'")).collect();
        let _ = write!(text, "\nWITH (\n{}\n)", options.join(",\n"));
        text
    }
}

fn options_of(table: &str, pairs: &[(String, String)]) -> Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    for (key, value) in pairs {
        if options.insert(key.clone(), value.clone()).is_some() {
            return plan_err!("the option '{key}' of table {table} is given twice");
        }
    }
    Ok(options)
}

fn physical_field(column: &Column) -> Option<FieldRef> {
    match column {
        Column::Physical { field, .. } => Some(Arc::clone(field)),
        Column::Computed { .. } | Column::Metadata { .. } => None,
    }
}

fn check_names(table: &str, columns: &[Column]) -> Result<()> {
    let mut names: Vec<&str> = columns.iter().map(Column::name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => plan_err!("the column {} of table {table} is defined twice", pair[0]),
        None => Ok(()),
    }
}

fn plan_columns(
    table: &str,
    columns: &[Column],
    physical: &SchemaRef,
    state: &SessionState,
) -> Result<Vec<TableColumn>> {
    let over = DFSchema::try_from(Arc::clone(physical))?;
    let plan = |column: &Column| match column {
        Column::Physical { field, comment } => {
            Ok(TableColumn { field: Arc::clone(field), computed: None, comment: comment.clone() })
        }
        Column::Computed { name, expr, text, comment } => {
            let expr = plan_expression(state, expr.as_ref().clone(), &over)
                .map_err(|error| error.context(format!("in the column {name} of table {table}")))?;
            let field = Field::new(name, expr.get_type(&over)?, expr.nullable(&over)?);
            let computed = Some(ComputedColumn { expr, text: text.clone() });
            Ok(TableColumn { field: Arc::new(field), computed, comment: comment.clone() })
        }
        Column::Metadata { field, key, .. } => {
            plan_err!(
                "the column {} of table {table} asks for metadata '{key}', but its connector has none",
                field.name()
            )
        }
    };
    columns.iter().map(plan).collect()
}

fn plan_watermark(
    table: &str,
    watermark: &WatermarkDefinition,
    schema: &SchemaRef,
    state: &SessionState,
) -> Result<ComputedColumn> {
    let WatermarkDefinition { column, expr, text } = watermark;
    let Ok(field) = schema.field_with_name(column) else {
        return plan_err!("WATERMARK FOR {column}: there is no such column in table {table}");
    };
    check_time(table, column, field.data_type())?;
    let over = DFSchema::try_from(Arc::clone(schema))?;
    let expr = plan_expression(state, expr.clone(), &over)
        .map_err(|error| error.context(format!("in WATERMARK FOR {column} of table {table}")))?;
    let data_type = expr.get_type(&over)?;
    match data_type {
        DataType::Timestamp(_, _) => Ok(ComputedColumn { expr, text: text.clone() }),
        other => plan_err!(
            "WATERMARK FOR {column} AS {text} of table {table} must be a timestamp such as {column} - INTERVAL '5' \
             SECOND, but it is {other}"
        ),
    }
}

/// A rowtime is a TIMESTAMP or TIMESTAMP_LTZ of at most milliseconds, as in Flink.
fn check_time(table: &str, column: &str, data_type: &DataType) -> Result<()> {
    use arrow::datatypes::TimeUnit::{Millisecond, Second};
    match data_type {
        DataType::Timestamp(Second | Millisecond, _) => Ok(()),
        DataType::Timestamp(_, _) => plan_err!(
            "WATERMARK FOR {column} of table {table}: the column has more than three fractional digits; declare it as \
             TIMESTAMP(3) or TIMESTAMP_LTZ(3)"
        ),
        other => plan_err!(
            "WATERMARK FOR {column} of table {table}: the column must be TIMESTAMP(3) or TIMESTAMP_LTZ(3), but it is \
             {other}; compute such a column, as in ts AS TO_TIMESTAMP(text)"
        ),
    }
}

/// Plans an expression over columns.
fn plan_expression(state: &SessionState, expr: SqlExpr, schema: &DFSchema) -> Result<Expr> {
    let expr = state.create_logical_expr_from_sql_expr(
        datafusion::sql::sqlparser::ast::ExprWithAlias { expr, alias: None },
        schema,
    )?;
    Ok(expr)
}

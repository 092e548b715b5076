//! DESCRIBE in Flink SQL.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::datatypes::Field;
use datafusion::common::{Result, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use datafusion_streaming_physical_plan::time::PROCTIME_FUNCTION;

use super::flink::rows;
use crate::sql::FlinkType;
use crate::tables::{StreamTable, TableColumn, TableDefinition};

/// The columns of a table or view as Flink shows them: name, type (with `*ROWTIME*` or `*PROCTIME*`),
/// whether NULL may occur, primary key, how a column is computed, watermark, and comment if any
/// column has one. What does not apply is NULL.
pub(super) async fn describe(ctx: &SessionContext, name: TableReference) -> Result<DataFrame> {
    let provider = ctx.table_provider(name).await?;
    let table = provider.downcast_ref::<StreamTable>().map(StreamTable::definition);
    let schema = provider.schema();
    let fields = schema.fields();
    let texts = |text: &dyn Fn(&TableDefinition, &TableColumn) -> Option<String>| {
        let of_field = |field: &Arc<Field>| {
            let table = table?;
            let column = table.columns.iter().find(|column| column.field.name() == field.name())?;
            text(table, column)
        };
        Arc::new(fields.iter().map(of_field).collect::<StringArray>()) as ArrayRef
    };
    let shown_type = |field: &Arc<Field>| {
        let column = table.and_then(|table| {
            Some((table, table.columns.iter().find(|column| column.field.name() == field.name())?))
        });
        let attribute = column.and_then(|(table, column)| time_attribute(table, column));
        Some(type_name(field) + attribute.unwrap_or_default())
    };
    let names = fields.iter().map(|field| Some(field.name().as_str())).collect::<StringArray>();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(names)),
        ("type", Arc::new(fields.iter().map(shown_type).collect::<StringArray>())),
        ("null", Arc::new(fields.iter().map(|field| Some(field.is_nullable())).collect::<BooleanArray>())),
        ("key", texts(&key_text)),
        ("extras", texts(&|_, column| Some(format!("AS {}", column.computed.as_ref()?.text)))),
        ("watermark", texts(&watermark_text)),
    ];
    let comments = texts(&|_, column| column.comment.clone());
    if comments.null_count() < comments.len() {
        columns.push(("comment", comments));
    }
    rows(ctx, RecordBatch::try_from_iter(columns)?)
}

/// Flink's name of a column's type, without `NOT NULL`; Arrow's where Flink has none.
pub(super) fn type_name(field: &Field) -> String {
    FlinkType::from_field(field).map_or_else(
        |_| field.data_type().to_string(),
        |flink_type| FlinkType { nullable: true, ..flink_type }.to_string(),
    )
}

fn time_attribute(table: &TableDefinition, column: &TableColumn) -> Option<&'static str> {
    let name = column.field.name();
    if table.watermark.as_ref().is_some_and(|watermark| watermark.column == *name) {
        return Some(" *ROWTIME*");
    }
    match &column.computed.as_ref()?.expr {
        Expr::ScalarFunction(call) if call.name() == PROCTIME_FUNCTION => Some(" *PROCTIME*"),
        _ => None,
    }
}

fn key_text(table: &TableDefinition, column: &TableColumn) -> Option<String> {
    let is_key = table.primary_key.contains(column.field.name());
    is_key.then(|| format!("PRI({})", table.primary_key.join(", ")))
}

fn watermark_text(table: &TableDefinition, column: &TableColumn) -> Option<String> {
    let watermark = table.watermark.as_ref().filter(|watermark| watermark.column == *column.field.name());
    watermark.map(|watermark| watermark.expression.text.clone())
}

//! Flink SQL in a DataFusion session.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::MemTable;
use datafusion::common::{DFSchema, Result, TableReference, plan_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::ViewTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, TableType};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{Statement as SqlStatement, TableObject};
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::runtime::StreamEnvironment;
use datafusion_streaming_physical_plan::time::{current_watermark_udf, proctime_udf};
use datafusion_streaming_udfs::aggregate::flink_aggregates;
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;

use super::describe::{describe, type_name};
use super::explain::explain;
use super::filters::plan_checked;
use super::flink_types::{Arithmetic, FlinkTypes};
use super::join_conditions::JoinConditions;
use super::never_null::refuse_null_constants;
use super::options;
use super::over::FlinkOver;
use super::rank_functions::bigint_rank;
use super::script::FlinkScript;
use crate::planner::{
    CorrelatedNotIn, FlinkSubqueries, Items, KeepGlobalAggregates, ResolveGroupId, SingleRowSubqueries,
    group_id_udaf, group_window_functions, plan_group_windows,
};
use crate::sql::rewrite::{CastColumn, cast_inserted};
use crate::sql::{CreateView, FlinkType, FlinkTypePlanner, Show, Statement, parse};
use crate::tables::{StreamTable, TableDefinition};

/// Flink's SQL on a `SessionContext` into which the extension is installed.
///
/// Tables and views are those of the context: both doors see them all. Names are case-sensitive,
/// and functions, types and NULL order are Flink's.
#[async_trait]
pub trait FlinkSql {
    /// Plans one statement of Flink SQL. A query or an INSERT runs when the DataFrame is collected
    /// or its changelog executed; other statements are carried out at once, as DataFusion's
    /// `sql()` does, and give their answer, if any.
    async fn flink_sql(&self, statement: &str) -> Result<DataFrame>;

    /// Parses a script of statements separated by `;`.
    fn flink_script(&self, script: &str) -> Result<FlinkScript>;
}

#[async_trait]
impl FlinkSql for SessionContext {
    async fn flink_sql(&self, statement: &str) -> Result<DataFrame> {
        let mut statements = parse(statement)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => run_statement(self, statement.statement).await,
            (None, _) => plan_err!("there is no statement to run"),
            (Some(_), false) => plan_err!(
                "flink_sql() takes one statement, but there are {}; use flink_script() for several",
                statements.len() + 1
            ),
        }
    }

    fn flink_script(&self, script: &str) -> Result<FlinkScript> {
        FlinkScript::parse(self.clone(), script)
    }
}

/// Carries out a statement, or plans it if it is a query or INSERT.
pub(crate) async fn run_statement(ctx: &SessionContext, statement: Statement) -> Result<DataFrame> {
    match statement {
        Statement::DataFusion(DFStatement::Statement(statement)) if is_drop(&statement) => {
            // not planned by us: dropping needs no Flink semantics, but case-sensitive names
            let state = flink_state(ctx)?;
            let plan = state.statement_to_plan(DFStatement::Statement(statement)).await?;
            ctx.execute_logical_plan(plan).await
        }
        Statement::DataFusion(statement) => {
            let state = flink_state(ctx)?;
            let is_query = matches!(&statement, DFStatement::Statement(statement) if matches!(statement.as_ref(), SqlStatement::Query(_)));
            let target = target_of(ctx, &statement).await;
            let statement = match &target {
                Some((_, schema)) => cast_to_table(statement, schema),
                None => statement,
            };
            let plan = plan_checked(&state, statement).await.map_err(|error| match target {
                Some((target, _)) => error.context(format!("in INSERT INTO {target}")),
                None => error,
            })?;
            let plan = if is_query { refuse_null_constants(plan)? } else { plan };
            Ok(DataFrame::new(state, plan_group_windows(plan)?))
        }
        Statement::CreateTable(table) => create_table(ctx, *table).await,
        Statement::CreateView(view) => create_view(ctx, *view).await,
        Statement::Describe(name) => describe(ctx, name).await,
        Statement::Show(show) => self::show(ctx, show).await,
        Statement::Explain { statement, .. } => {
            let text = explain(ctx, *statement).await?;
            strings(ctx, &[("plan", text.lines().map(str::to_string).collect())])
        }
        Statement::Set { key, value } => {
            options::set(ctx, &key, &value)?;
            nothing(ctx)
        }
        Statement::ListOptions => {
            let (keys, values) = options::list(ctx).into_iter().unzip();
            strings(ctx, &[("key", keys), ("value", values)])
        }
        Statement::Reset(key) => {
            options::reset(ctx, key.as_deref())?;
            nothing(ctx)
        }
        Statement::StatementSet(inserts) => {
            let mut frames = vec![];
            for insert in inserts {
                frames.push(Box::pin(run_statement(ctx, insert.statement)).await?);
            }
            statement_set(ctx, frames)
        }
    }
}

fn is_drop(statement: &SqlStatement) -> bool {
    matches!(statement, SqlStatement::Drop { .. })
}

/// The table of an INSERT with its columns, for messages, and its schema.
async fn target_of(ctx: &SessionContext, statement: &DFStatement) -> Option<(String, SchemaRef)> {
    let DFStatement::Statement(statement) = statement else { return None };
    let SqlStatement::Insert(insert) = statement.as_ref() else { return None };
    let TableObject::TableName(name) = &insert.table else { return None };
    let parts: Vec<_> =
        name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.clone()).collect();
    let table = match parts.as_slice() {
        [table] => TableReference::bare(table.as_str()),
        [schema, table] => TableReference::partial(schema.as_str(), table.as_str()),
        [catalog, schema, table] => TableReference::full(catalog.as_str(), schema.as_str(), table.as_str()),
        _ => return None,
    };
    let schema = ctx.table_provider(table).await.ok()?.schema();
    let columns: Vec<_> =
        schema.fields().iter().map(|field| format!("{} {}", field.name(), type_name(field))).collect();
    Some((format!("{name} ({})", columns.join(", ")), schema))
}

/// An INSERT whose rows are cast to the timestamps that the table has, where DataFusion would not do it.
fn cast_to_table(mut statement: DFStatement, table: &SchemaRef) -> DFStatement {
    if let DFStatement::Statement(statement) = &mut statement
        && let SqlStatement::Insert(insert) = statement.as_mut()
    {
        let fields: Vec<_> = match insert.columns.is_empty() {
            true => table.fields().iter().map(|field| Some(field.as_ref())).collect(),
            false => {
                let named = insert.columns.iter().map(|name| name.0.last().and_then(|part| part.as_ident()));
                named.map(|name| table.field_with_name(&name?.value).ok()).collect()
            }
        };
        let columns: Vec<_> = fields.into_iter().map(|field| field.and_then(cast_column)).collect();
        cast_inserted(insert, &columns);
    }
    statement
}

/// What the values for a column are cast to, if it has timestamps of nanoseconds.
fn cast_column(field: &Field) -> Option<CastColumn> {
    let is_arrow = matches!(field.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
    if !is_arrow && !has_wide_timestamps(field.data_type()) {
        return None;
    }
    let data_type = FlinkType::nullable(FlinkType::from_field(field).ok()?.kind);
    Some(CastColumn { data_type, is_arrow })
}

/// The session's state as Flink SQL is planned in it: the same catalogs, runtime and options, with
/// Flink's functions and types.
pub(super) fn flink_state(ctx: &SessionContext) -> Result<SessionState> {
    let current = ctx.state();
    let session_id = current.session_id().to_string();
    let mut builder = SessionStateBuilder::new_from_existing(current)
        .with_session_id(session_id)
        .with_type_planner(Arc::new(FlinkTypePlanner))
        .with_analyzer_rule(Arc::new(KeepGlobalAggregates));
    let planners = builder.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(Items));
    planners.insert(0, Arc::new(Arithmetic));
    let aggregates = flink_aggregates();
    let aggregate = |name: &str| aggregates.iter().find(|aggregate| aggregate.name() == name).cloned();
    if let Some(analyzer) = builder.analyzer() {
        let rules = &mut analyzer.rules;
        let coercion = rules.iter().position(|rule| rule.name() == "type_coercion").unwrap_or(rules.len());
        rules.insert(coercion, Arc::new(FlinkTypes));
        rules.insert(coercion, Arc::new(JoinConditions));
        rules.insert(0, Arc::new(ResolveGroupId));
        rules.insert(0, Arc::new(SingleRowSubqueries));
        rules.insert(0, Arc::new(FlinkSubqueries));
        if let (Some(sum), Some(count)) = (aggregate("sum"), aggregate("count")) {
            rules.insert(0, Arc::new(FlinkOver::new(sum, count)));
        }
    }
    if let Some(optimizer) = builder.optimizer() {
        // it makes two aggregations of one, whose changelog is another
        optimizer.rules.retain(|rule| rule.name() != "single_distinct_aggregation_to_group_by");
    }
    let mut state = builder.with_optimizer_rule(Arc::new(CorrelatedNotIn)).build();
    let parser = &mut state.config_mut().options_mut().sql_parser;
    parser.enable_ident_normalization = false;
    parser.parse_float_as_decimal = true;
    parser.default_null_ordering = "nulls_min".to_string();
    parser.map_string_types_to_utf8view = false;
    // where functions look for the session's zone
    let zone = StreamingOptions::of(state.config_options()).local_time_zone;
    state.config_mut().options_mut().execution.time_zone = Some(zone);
    if let Some(options) = state.config_mut().options_mut().extensions.get_mut::<StreamingOptions>() {
        // what Flink refuses is refused, unless it is asked for
        options.beyond_flink.get_or_insert(false);
    }
    let optimizer = &mut state.config_mut().options_mut().optimizer;
    optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    optimizer.enable_round_robin_repartition = false;
    // functions get the options as they are now
    state.mark_start_execution();
    for aggregate in all_default_aggregate_functions() {
        // what Flink does not have; one of the user's by that name stays
        let name = aggregate.name();
        if name != "grouping" && state.aggregate_functions().get(name) == Some(&aggregate) {
            state.deregister_udaf(name)?;
        }
    }
    for aggregate in aggregates {
        state.register_udaf(aggregate)?;
    }
    state.register_udaf(Arc::new(group_id_udaf()))?;
    for function in datafusion_streaming_udfs::scalar::flink_scalars() {
        state.register_udf(function)?;
    }
    for function in group_window_functions() {
        state.register_udf(Arc::new(function))?;
    }
    state.register_udf(Arc::new(current_watermark_udf()))?;
    for name in ["row_number", "rank", "dense_rank"] {
        if let Ok(function) = state.udwf(name) {
            state.register_udwf(bigint_rank(function))?;
        }
    }
    let environment = state.config().get_extension::<StreamEnvironment>().unwrap_or_default();
    state.register_udf(Arc::new(proctime_udf(Arc::clone(&environment.clock))))?;
    Ok(state)
}

async fn create_table(ctx: &SessionContext, table: crate::sql::CreateTable) -> Result<DataFrame> {
    let name = table.name.clone();
    if table.if_not_exists && ctx.table_exist(name.clone())? {
        return nothing(ctx);
    }
    if ctx.table_exist(name.clone())? {
        return plan_err!("there is a table or view {name} already; DROP it first, or say IF NOT EXISTS");
    }
    let state = flink_state(ctx)?;
    let definition = TableDefinition::plan(ctx, &state, table).await?;
    ctx.register_table(name, Arc::new(StreamTable::try_new(definition, &state)?))?;
    nothing(ctx)
}

async fn create_view(ctx: &SessionContext, view: CreateView) -> Result<DataFrame> {
    if ctx.table_exist(view.name.clone())? {
        if view.if_not_exists {
            return nothing(ctx);
        }
        return plan_err!(
            "there is a table or view {} already; DROP it first, or say IF NOT EXISTS",
            view.name
        );
    }
    let state = flink_state(ctx)?;
    let query = DFStatement::Statement(Box::new(SqlStatement::Query(view.query)));
    let mut plan = plan_group_windows(plan_checked(&state, query).await?)?;
    if !view.columns.is_empty() {
        plan = renamed(plan, &view.name, &view.columns)?;
    }
    ctx.register_table(view.name, Arc::new(ViewTable::new(plan, Some(view.definition))))?;
    nothing(ctx)
}

/// The plan with these names for its columns.
fn renamed(plan: LogicalPlan, view: &TableReference, names: &[String]) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    if columns.len() != names.len() {
        return plan_err!(
            "the view {view} names {} columns, but its query has {}",
            names.len(),
            columns.len()
        );
    }
    let named = columns
        .into_iter()
        .zip(names)
        .map(|(column, name)| datafusion::logical_expr::Expr::Column(column).alias(name));
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

async fn show(ctx: &SessionContext, show: Show) -> Result<DataFrame> {
    let state = ctx.state();
    match show {
        Show::Tables | Show::Views => {
            let schema = state.schema_for_ref(TableReference::bare(""))?;
            let mut names = schema.table_names();
            names.sort();
            if show == Show::Tables {
                return strings(ctx, &[("table name", names)]);
            }
            let mut views = vec![];
            for name in names {
                if schema.table(&name).await?.is_some_and(|table| table.table_type() == TableType::View) {
                    views.push(name);
                }
            }
            strings(ctx, &[("view name", views)])
        }
        Show::CreateTable(name) | Show::CreateView(name) => {
            let provider = ctx.table_provider(name.clone()).await?;
            let definition = match provider.downcast_ref::<StreamTable>() {
                Some(table) => table.definition().create_text(&name),
                None => provider
                    .get_table_definition()
                    .map(|query| format!("CREATE VIEW {name} AS\n{query}"))
                    .ok_or_else(|| plan_datafusion_err!("{name} was not made by a CREATE statement"))?,
            };
            strings(ctx, &[("result", vec![definition])])
        }
    }
}

/// The INSERTs of a statement set as one plan: a row count for each.
fn statement_set(ctx: &SessionContext, frames: Vec<DataFrame>) -> Result<DataFrame> {
    let mut plans = frames.into_iter().map(DataFrame::into_parts);
    let Some((state, first)) = plans.next() else { return nothing(ctx) };
    let union = plans.try_fold(LogicalPlanBuilder::from(first), |builder, (_, plan)| builder.union(plan))?;
    Ok(DataFrame::new(state, union.build()?))
}

/// A DataFrame without rows and columns.
fn nothing(ctx: &SessionContext) -> Result<DataFrame> {
    let plan = LogicalPlan::EmptyRelation(datafusion::logical_expr::EmptyRelation {
        produce_one_row: false,
        schema: Arc::new(DFSchema::empty()),
    });
    Ok(DataFrame::new(ctx.state(), plan))
}

/// A DataFrame of columns of strings.
fn strings(ctx: &SessionContext, columns: &[(&str, Vec<String>)]) -> Result<DataFrame> {
    let column = |(name, values): &(&str, Vec<String>)| {
        (name.to_string(), Arc::new(StringArray::from_iter_values(values)) as ArrayRef, false)
    };
    rows(ctx, RecordBatch::try_from_iter_with_nullable(columns.iter().map(column))?)
}

/// A DataFrame of rows.
pub(super) fn rows(ctx: &SessionContext, batch: RecordBatch) -> Result<DataFrame> {
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    let plan = LogicalPlanBuilder::scan("result", provider_as_source(Arc::new(table)), None)?.build()?;
    Ok(DataFrame::new(ctx.state(), plan))
}

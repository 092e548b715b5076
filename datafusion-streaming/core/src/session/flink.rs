//! Flink SQL in a DataFusion session.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
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
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::runtime::StreamEnvironment;
use datafusion_streaming_physical_plan::time::{current_watermark_udf, proctime_udf};
use datafusion_streaming_udfs::aggregate::flink_aggregates;

use super::explain::explain;
use super::filters::plan_checked;
use super::flink_types::FlinkTypes;
use super::options;
use super::rank_functions::bigint_rank;
use super::script::FlinkScript;
use crate::planner::{
    CorrelatedNotIn, ElementsOfAggregates, KeepGlobalAggregates, group_window_functions, plan_group_windows,
};
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
            let plan = plan_group_windows(plan_checked(&state, statement).await?)?;
            Ok(DataFrame::new(state, plan))
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

/// The session's state as Flink SQL is planned in it: the same catalogs, runtime and options, with
/// Flink's functions and types.
pub(super) fn flink_state(ctx: &SessionContext) -> Result<SessionState> {
    let current = ctx.state();
    let session_id = current.session_id().to_string();
    let mut builder = SessionStateBuilder::new_from_existing(current)
        .with_session_id(session_id)
        .with_type_planner(Arc::new(FlinkTypePlanner))
        .with_analyzer_rule(Arc::new(KeepGlobalAggregates));
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(ElementsOfAggregates));
    if let Some(analyzer) = builder.analyzer() {
        let rules = &mut analyzer.rules;
        let coercion = rules.iter().position(|rule| rule.name() == "type_coercion").unwrap_or(rules.len());
        rules.insert(coercion, Arc::new(FlinkTypes));
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
    let optimizer = &mut state.config_mut().options_mut().optimizer;
    optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    optimizer.enable_round_robin_repartition = false;
    for aggregate in all_default_aggregate_functions() {
        // what Flink does not have; one of the user's by that name stays
        let name = aggregate.name();
        if name != "grouping" && state.aggregate_functions().get(name) == Some(&aggregate) {
            state.deregister_udaf(name)?;
        }
    }
    for aggregate in flink_aggregates() {
        state.register_udaf(aggregate)?;
    }
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

async fn describe(ctx: &SessionContext, name: TableReference) -> Result<DataFrame> {
    let provider = ctx.table_provider(name.clone()).await?;
    let definition = provider.downcast_ref::<StreamTable>().map(StreamTable::definition);
    let schema = provider.schema();
    let columns: Vec<_> = schema.fields().iter().collect();
    let text = |value: &dyn Fn(&arrow::datatypes::Field) -> String| -> Vec<String> {
        columns.iter().map(|field| value(field)).collect()
    };
    let type_of = |field: &arrow::datatypes::Field| {
        FlinkType::from_field(field)
            .map_or_else(|_| field.data_type().to_string(), |t| TypeName(&t).to_string())
    };
    strings(
        ctx,
        &[
            ("name", text(&|field| field.name().clone())),
            ("type", text(&type_of)),
            ("null", text(&|field| field.is_nullable().to_string())),
            ("key", text(&|field| definition.map_or(String::new(), |table| table.key_text(field.name())))),
            (
                "extras",
                text(&|field| definition.map_or(String::new(), |table| table.extras_text(field.name()))),
            ),
            (
                "watermark",
                text(&|field| definition.map_or(String::new(), |table| table.watermark_text(field.name()))),
            ),
        ],
    )
}

/// A type without its `NOT NULL`, which DESCRIBE shows in a column of its own.
struct TypeName<'a>(&'a FlinkType);

impl std::fmt::Display for TypeName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", FlinkType { nullable: true, ..self.0.clone() })
    }
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
    let batch = RecordBatch::try_from_iter_with_nullable(columns.iter().map(column))?;
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    let plan = LogicalPlanBuilder::scan("result", provider_as_source(Arc::new(table)), None)?.build()?;
    Ok(DataFrame::new(ctx.state(), plan))
}

//! Tables that are looked up: the right sides of `FOR SYSTEM_TIME AS OF` a processing time.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{
    Column, Constraint, DFSchema, Result, ScalarValue, internal_datafusion_err, plan_err,
};
use datafusion::datasource::source_as_provider;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, Operator, TableProviderFilterPushDown, TableScan,
    UserDefinedLogicalNodeCore, lit,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{ExecutionPlanProperties, collect};
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::operators::join::lookup::{
    LookupJoinNode, LookupOptions, LookupTable,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::TemporalJoin;
use super::extension::residual_of;
use crate::tables::{ChangelogTable, StreamTable, lookup_options};

/// The lookup join that a join `FOR SYSTEM_TIME AS OF` is, if its right side is a table that can be
/// looked up: any but one whose changes are a stream. Between it and the join there may be a view of
/// columns and filters.
pub(super) fn lookup_join(
    join: &TemporalJoin,
    [left, right]: [&LogicalPlan; 2],
    session: &dyn Session,
    create: impl Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Option<LookupJoinNode>> {
    let Some(scanned) = Scanned::of(right)? else { return Ok(None) };
    let provider = source_as_provider(&scanned.scan.source)?;
    if !can_be_looked_up(provider.as_ref()) {
        return Ok(None);
    }
    let Expr::Column(time) = join.time() else {
        return plan_err!("FOR SYSTEM_TIME AS OF takes a column, not {}", join.time());
    };
    let conditions = Conditions::of(join, left.schema(), right.schema());
    let keys = conditions.keys.iter().map(|(key, _)| create(key, left.schema()));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let residual = conditions.residual.map(|condition| residual_of(&condition, [left, right], &create));
    let table = TableLookup::try_new(scanned, provider, &conditions.keys, conditions.right, right, session)?;
    let session_options = StreamingOptions::of(session.config_options());
    let defaults = LookupOptions {
        concurrency: usize::try_from(session_options.lookup_concurrency).unwrap_or(usize::MAX).max(1),
        timeout: i64::try_from(session_options.lookup_timeout).ok().filter(|timeout| *timeout > 0),
        ..LookupOptions::default()
    };
    let options = lookup_options(&table.0.name, &table.0.options, join.options(), defaults)?;
    let node = LookupJoinNode::try_new(
        join.join_type(),
        left.schema().index_of_column(time)?,
        keys,
        Arc::new(table),
        residual.transpose()?,
        Arc::clone(left.schema().inner()),
        Arc::clone(UserDefinedLogicalNodeCore::schema(join).inner()),
    )?;
    Ok(Some(node.with_options(options)))
}

/// Tables whose changes are a stream have versions, but not a content that could be looked up.
fn can_be_looked_up(provider: &dyn TableProvider) -> bool {
    match provider.downcast_ref::<StreamTable>() {
        Some(table) => table.has_contents(),
        None => !provider.is::<ChangelogTable>(),
    }
}

/// What a join is on.
struct Conditions {
    /// Expressions over the left and over the right side that are equal.
    keys: Vec<(Expr, Expr)>,
    /// What must hold of the right side alone.
    right: Vec<Expr>,
    /// What else must hold.
    residual: Option<Expr>,
}

impl Conditions {
    fn of(join: &TemporalJoin, left: &DFSchema, right: &DFSchema) -> Self {
        let is_of = |expr: &Expr, side: &DFSchema| {
            expr.column_refs().into_iter().all(|column| side.has_column(column)) && !expr.is_volatile()
        };
        let is_of_right = |expr: &Expr| is_of(expr, right) && !expr.column_refs().is_empty();
        let mut conditions = Conditions { keys: join.on().to_vec(), right: vec![], residual: None };
        for condition in join.filter().into_iter().flat_map(split_conjunction) {
            if let Expr::BinaryExpr(BinaryExpr { left: a, op: Operator::Eq, right: b }) = condition {
                if is_of(a, left) && is_of_right(b) {
                    conditions.keys.push((a.as_ref().clone(), b.as_ref().clone()));
                    continue;
                }
                if is_of(b, left) && is_of_right(a) {
                    conditions.keys.push((b.as_ref().clone(), a.as_ref().clone()));
                    continue;
                }
            }
            if is_of_right(condition) {
                conditions.right.push(condition.clone());
                continue;
            }
            conditions.residual = Some(match conditions.residual.take() {
                Some(others) => others.and(condition.clone()),
                None => condition.clone(),
            });
        }
        conditions
    }
}

/// A plan that does no more than choose and compute columns of a table, and filter.
struct Scanned<'a> {
    scan: &'a TableScan,
    /// The columns of the plan, over those of the table.
    columns: Vec<Expr>,
    /// The filters above the scan, over the columns of the table.
    filters: Vec<Expr>,
}

impl<'a> Scanned<'a> {
    fn of(plan: &'a LogicalPlan) -> Result<Option<Self>> {
        Ok(match plan {
            LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
                let fields = scan.projected_schema.fields().iter();
                let columns = fields.map(|field| Expr::Column(Column::new_unqualified(field.name())));
                Some(Scanned { scan, columns: columns.collect(), filters: vec![] })
            }
            LogicalPlan::SubqueryAlias(alias) => Scanned::of(&alias.input)?,
            LogicalPlan::Projection(projection) => match Scanned::of(&projection.input)? {
                Some(input) => {
                    let schema = projection.input.schema();
                    let columns = projection.expr.iter().map(|expr| input.over_table(expr, schema));
                    Some(Scanned { columns: columns.collect::<Result<_>>()?, ..input })
                }
                None => None,
            },
            LogicalPlan::Filter(filter) => match Scanned::of(&filter.input)? {
                Some(mut input) => {
                    input.filters.push(input.over_table(&filter.predicate, filter.input.schema())?);
                    Some(input)
                }
                None => None,
            },
            _ => None,
        })
    }

    /// An expression over the plan's columns, which `schema` names, as one over those of the table.
    fn over_table(&self, expr: &Expr, schema: &DFSchema) -> Result<Expr> {
        let expr = expr.clone().unalias_nested().data;
        let over_table = expr.transform_up(|expr| match &expr {
            Expr::Column(column) => {
                Ok(Transformed::yes(self.columns[schema.index_of_column(column)?].clone()))
            }
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(over_table.data)
    }
}

/// A DataFusion table that is looked up.
#[derive(Debug)]
struct TableLookup(Arc<Lookup>);

struct Lookup {
    name: String,
    options: std::collections::BTreeMap<String, String>,
    provider: Arc<dyn TableProvider>,
    session: SessionState,
    projection: Option<Vec<usize>>,
    /// What the table filters by, whatever the keys.
    filters: Vec<Expr>,
    /// Which of the scanned rows count.
    predicates: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns, over the scanned ones.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    /// The keys, over `schema`.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The keys over the table's columns; `None` where the table cannot filter by it.
    key_filters: Vec<Option<Expr>>,
    unique: bool,
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl TableLookup {
    fn try_new(
        scanned: Scanned<'_>,
        provider: Arc<dyn TableProvider>,
        keys: &[(Expr, Expr)],
        conditions: Vec<Expr>,
        right: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Self> {
        let scan = scanned.scan;
        let name = scan.table_name.to_string();
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return plan_err!("table {name} can only be looked up in a session of DataFusion's own");
        };
        let schema = Arc::clone(right.schema().inner());
        let keys_of_table =
            keys.iter().map(|(_, key)| session.create_physical_expr(key.clone(), right.schema()));
        let keys_of_table = keys_of_table.collect::<Result<Vec<_>>>()?;

        let takes = |filter: &Expr| -> Result<bool> {
            let support = provider.supports_filters_pushdown(&[filter])?;
            Ok(support.first().is_some_and(|support| *support != TableProviderFilterPushDown::Unsupported))
        };
        let mut key_filters = vec![];
        let mut key_columns = HashSet::new();
        for ((_, key), physical) in keys.iter().zip(&keys_of_table) {
            let key = scanned.over_table(key, right.schema())?;
            if let Expr::Column(column) = &key {
                key_columns.insert(column.name.clone());
            }
            let example = ScalarValue::try_new_null(&physical.data_type(&schema)?)?;
            key_filters.push(takes(&key.clone().eq(lit(example)))?.then_some(key));
        }

        let mut filters: Vec<Expr> =
            scan.filters.iter().map(|filter| unqualified(filter.clone())).collect::<Result<_>>()?;
        let mut kept = scanned.filters.clone();
        for condition in &conditions {
            let condition = scanned.over_table(condition, right.schema())?;
            if takes(&condition)? {
                filters.push(condition.clone());
            }
            kept.push(condition);
        }
        let of_table = provider.schema();
        let scanned_schema = match &scan.projection {
            Some(projection) => Arc::new(of_table.project(projection)?),
            None => Arc::clone(&of_table),
        };
        let over = DFSchema::try_from(scanned_schema)?;
        let physical = |expr: &Expr| session.create_physical_expr(expr.clone(), &over);
        let lookup = Lookup {
            unique: is_unique(provider.as_ref(), &key_columns),
            options: match provider.downcast_ref::<StreamTable>() {
                Some(table) => table.definition().options.clone(),
                None => Default::default(),
            },
            name,
            session: state.clone(),
            projection: scan.projection.clone(),
            filters,
            predicates: kept.iter().map(physical).collect::<Result<_>>()?,
            columns: scanned.columns.iter().map(physical).collect::<Result<_>>()?,
            schema,
            keys: keys_of_table,
            key_filters,
            provider,
        };
        Ok(TableLookup(Arc::new(lookup)))
    }
}

/// Whether a table declares that there is one row at most for values of these columns.
fn is_unique(provider: &dyn TableProvider, columns: &HashSet<String>) -> bool {
    if let Some(table) = provider.downcast_ref::<StreamTable>() {
        let key = &table.definition().primary_key;
        return !key.is_empty() && key.iter().all(|column| columns.contains(column));
    }
    let schema = provider.schema();
    provider.constraints().into_iter().flat_map(|constraints| constraints.iter()).any(|constraint| {
        let (Constraint::PrimaryKey(key) | Constraint::Unique(key)) = constraint;
        key.iter().all(|column| columns.contains(schema.field(*column).name()))
    })
}

/// An expression over a table's columns by their plain names.
fn unqualified(expr: Expr) -> Result<Expr> {
    let expr = expr.transform(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
            expr => Transformed::no(expr),
        })
    })?;
    Ok(expr.data)
}

impl LookupTable for TableLookup {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn keys(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.0.keys
    }

    fn is_unique(&self) -> bool {
        self.0.unique
    }

    fn lookup(
        &self,
        keys: Option<Vec<ArrayRef>>,
        context: Arc<TaskContext>,
    ) -> BoxFuture<'static, Result<Vec<RecordBatch>>> {
        let lookup = Arc::clone(&self.0);
        async move { lookup.rows(keys, context).await }.boxed()
    }
}

impl Lookup {
    async fn rows(&self, keys: Option<Vec<ArrayRef>>, context: Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        let mut filters = self.filters.clone();
        for (key, values) in self.key_filters.iter().zip(keys.iter().flatten()) {
            if let Some(key) = key {
                filters.push(among(key, values)?);
            }
        }
        let plan = self.provider.scan(&self.session, self.projection.as_ref(), &filters, None).await?;
        if plan.boundedness().is_unbounded() {
            return plan_err!(
                "table {} is unbounded and cannot be looked up; FOR SYSTEM_TIME AS OF it takes a rowtime of the left \
                 table, and a PRIMARY KEY and a WATERMARK of its own",
                self.name
            );
        }
        let scanned = collect(plan, context).await?;
        scanned.into_iter().map(|batch| self.computed(batch)).collect()
    }

    /// The rows of a scanned batch that count, with the columns of the table as it is joined.
    fn computed(&self, mut batch: RecordBatch) -> Result<RecordBatch> {
        for predicate in &self.predicates {
            let mask = predicate.evaluate(&batch)?.into_array(batch.num_rows())?;
            let mask = mask
                .as_boolean_opt()
                .ok_or_else(|| internal_datafusion_err!("the filter {predicate} is no condition"))?;
            batch = filter_record_batch(&batch, mask)?;
        }
        let rows = batch.num_rows();
        let columns = self.columns.iter().map(|column| column.evaluate(&batch)?.into_array(rows));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// That an expression has one of these values.
fn among(expr: &Expr, values: &ArrayRef) -> Result<Expr> {
    let mut seen = HashSet::new();
    let mut literals = vec![];
    for row in 0..values.len() {
        let value = ScalarValue::try_from_array(values, row)?;
        if seen.insert(value.clone()) {
            literals.push(lit(value));
        }
    }
    Ok(match (literals.pop(), literals.is_empty()) {
        (Some(only), true) => expr.clone().eq(only),
        (Some(last), false) => {
            literals.push(last);
            expr.clone().in_list(literals, false)
        }
        (None, _) => lit(false),
    })
}

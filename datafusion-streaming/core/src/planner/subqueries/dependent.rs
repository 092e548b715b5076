//! Subqueries that are another for each row of the outer query: they are computed for all distinct
//! values of the outer columns that they refer to, and joined with the outer query.
//!
//! ```text
//!   t, LATERAL (SELECT SUM(w) FROM u WHERE u.k < t.k)
//!
//!   Join: t.k IS NOT DISTINCT FROM d.k
//!     t
//!     Aggregate: by d.k, SUM(w)
//!       Join: u.k < d.k
//!         d: SELECT DISTINCT t.k FROM t
//!         u
//! ```

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, Result, TableReference, not_impl_err};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprFunctionExt, FetchType, Join, LogicalPlan, LogicalPlanBuilder, Operator,
    Projection, SkipType, SubqueryAlias, lit, when,
};
use datafusion_streaming_udfs::aggregate::{AggregateKind, streaming_aggregate_of};

/// The distinct values of the outer columns that a subquery refers to.
struct Domain {
    plan: LogicalPlan,
    /// Columns of the outer query, and what they are called here.
    columns: Vec<(Column, Column)>,
}

impl Domain {
    /// The domain of a subquery with these outer references; `None` where they are of a query further
    /// out.
    fn of(outer: &LogicalPlan, references: &[Expr], name: &str) -> Result<Option<Self>> {
        let mut columns: Vec<(Column, Column)> = vec![];
        for reference in references {
            let Expr::OuterReferenceColumn(_, column) = reference else { continue };
            if !outer.schema().has_column(column) {
                return Ok(None);
            }
            if columns.iter().all(|(known, _)| known != column) {
                let own = Column::new(Some(TableReference::bare(name)), format!("$outer{}", columns.len()));
                columns.push((column.clone(), own));
            }
        }
        let named = columns.iter().map(|(outer, own)| Expr::Column(outer.clone()).alias(&own.name));
        let named: Vec<_> = named.collect();
        let plan =
            LogicalPlanBuilder::from(outer.clone()).project(named)?.distinct()?.alias(name)?.build()?;
        Ok(Some(Domain { plan, columns }))
    }

    fn exprs(&self) -> impl Iterator<Item = Expr> {
        self.columns.iter().map(|(_, own)| Expr::Column(own.clone()))
    }

    /// What joins the outer query with what was computed for its values.
    fn equal(&self) -> Vec<Expr> {
        let equal = |(outer, own): &(Column, Column)| {
            let [outer, own] = [outer, own].map(|column| Box::new(Expr::Column(column.clone())));
            Expr::BinaryExpr(BinaryExpr { left: outer, op: Operator::IsNotDistinctFrom, right: own })
        };
        self.columns.iter().map(equal).collect()
    }

    /// An expression over the domain's columns in the place of the outer query's.
    fn resolved(&self, expr: Expr) -> Result<Expr> {
        let resolved = expr.transform_up(|expr| {
            Ok(match &expr {
                Expr::OuterReferenceColumn(_, column) => {
                    match self.columns.iter().find(|(outer, _)| outer == column) {
                        Some((_, own)) => Transformed::yes(Expr::Column(own.clone())),
                        None => Transformed::no(expr),
                    }
                }
                _ => Transformed::no(expr),
            })
        })?;
        Ok(resolved.data)
    }

    /// A plan for all values of the domain: their columns, and then its own.
    fn computed(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        if plan.all_out_ref_exprs().is_empty() {
            return LogicalPlanBuilder::from(self.plan.clone()).cross_join(plan.clone())?.build();
        }
        match plan {
            LogicalPlan::Subquery(subquery) => self.computed(&subquery.subquery),
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.computed(&alias.input)?;
                let own = alias.input.schema().columns().into_iter().map(|column| {
                    let name = column.name.clone();
                    Expr::Column(column).alias_qualified(Some(alias.alias.clone()), name)
                });
                LogicalPlanBuilder::from(input).project(self.exprs().chain(own))?.build()
            }
            LogicalPlan::Filter(filter) => {
                let predicate = self.resolved(filter.predicate.clone())?;
                if filter.input.all_out_ref_exprs().is_empty() {
                    let domain = LogicalPlanBuilder::from(self.plan.clone());
                    let input = filter.input.as_ref().clone();
                    return domain.join_on(input, JoinType::Inner, [predicate])?.build();
                }
                LogicalPlanBuilder::from(self.computed(&filter.input)?).filter(predicate)?.build()
            }
            LogicalPlan::Projection(projection) => {
                let input = self.computed(&projection.input)?;
                let own = projection.expr.iter().map(|expr| self.resolved(expr.clone()));
                let own = own.collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(input).project(self.exprs().chain(own))?.build()
            }
            LogicalPlan::Aggregate(aggregate) => {
                let input = self.computed(&aggregate.input)?;
                let resolved = |exprs: &[Expr]| {
                    exprs.iter().map(|expr| self.resolved(expr.clone())).collect::<Result<Vec<_>>>()
                };
                let (groups, calls) = (resolved(&aggregate.group_expr)?, resolved(&aggregate.aggr_expr)?);
                LogicalPlanBuilder::from(input).aggregate(self.exprs().chain(groups), calls)?.build()
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                LogicalPlanBuilder::from(self.computed(input)?).distinct()?.build()
            }
            // an order by itself has no meaning in FROM
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.computed(&sort.input),
            LogicalPlan::Limit(limit) => {
                let (SkipType::Literal(skip), FetchType::Literal(Some(fetch))) =
                    (limit.get_skip_type()?, limit.get_fetch_type()?)
                else {
                    return not_impl_err!("a LATERAL subquery takes a constant LIMIT");
                };
                let (input, order) = match limit.input.as_ref() {
                    LogicalPlan::Sort(sort) => (&sort.input, sort.expr.clone()),
                    _ => (&limit.input, vec![]),
                };
                let plan = self.computed(input)?;
                let columns: Vec<_> = plan.schema().columns().into_iter().map(Expr::Column).collect();
                let number = row_number().partition_by(self.exprs().collect()).order_by(order).build()?;
                let name = Expr::Column(Column::from_name(number.schema_name().to_string()));
                let (first, last) = (lit(skip as u64), lit(skip.saturating_add(fetch) as u64));
                let numbered = LogicalPlanBuilder::from(plan).window([number])?;
                let kept = match skip {
                    0 => numbered.filter(name.lt_eq(last))?,
                    _ => numbered.filter(name.clone().gt(first).and(name.lt_eq(last)))?,
                };
                kept.project(columns)?.build()
            }
            other => not_impl_err!(
                "a subquery that refers to the outer query in {}: write it as a join",
                other.display()
            ),
        }
    }
}

/// A join with a LATERAL subquery that aggregates or is limited; `None` for any other.
pub(super) fn lateral_join(join: &Join) -> Result<Option<LogicalPlan>> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(None);
    }
    let Some((alias, subquery)) = lateral_of(&join.right) else { return Ok(None) };
    let references = subquery.all_out_ref_exprs();
    let decides = |plan: &LogicalPlan| Ok(matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_)));
    if references.is_empty() || !subquery.exists(decides)? {
        return Ok(None);
    }
    let Some(domain) = Domain::of(&join.left, &references, "$domain")? else { return Ok(None) };
    let mut right = domain.computed(subquery)?;
    if let Some(alias) = alias {
        let own = subquery.schema().columns().into_iter().map(|column| {
            let name = column.name.clone();
            Expr::Column(column).alias_qualified(Some(alias.clone()), name)
        });
        right = LogicalPlanBuilder::from(right).project(domain.exprs().chain(own))?.build()?;
    }
    let on = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let conditions = domain.equal().into_iter().chain(on).chain(join.filter.clone());
    let conditions: Vec<_> = conditions.filter(|condition| *condition != lit(true)).collect();
    let columns: Vec<_> = join.schema.columns().into_iter().map(Expr::Column).collect();
    let left = LogicalPlanBuilder::from(join.left.as_ref().clone());
    left.join_on(right, join.join_type, conditions)?.project(columns)?.build().map(Some)
}

/// A LATERAL subquery and its name.
fn lateral_of(plan: &LogicalPlan) -> Option<(Option<TableReference>, &LogicalPlan)> {
    match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            let (_, subquery) = lateral_of(input)?;
            Some((Some(alias.clone()), subquery))
        }
        LogicalPlan::Subquery(subquery) => Some((None, subquery.subquery.as_ref())),
        _ => None,
    }
}

/// A projection of scalar subqueries whose conditions on the outer query are not all equalities: these
/// DataFusion plans itself. `None` where there are no such subqueries.
pub(super) fn scalar_columns(projection: &Projection) -> Result<Option<LogicalPlan>> {
    let mut input = projection.input.as_ref().clone();
    let mut joined = 0;
    let mut columns = vec![];
    for (expr, (qualifier, field)) in projection.expr.iter().zip(projection.schema.iter()) {
        let rewritten = expr.clone().transform_up(|expr| {
            let Expr::ScalarSubquery(subquery) = &expr else { return Ok(Transformed::no(expr)) };
            let Some((call, aggregate)) = aggregate_of(&subquery.subquery) else {
                return Ok(Transformed::no(expr));
            };
            if !compares_otherwise(&subquery.subquery)? {
                return Ok(Transformed::no(expr));
            }
            let references = subquery.subquery.all_out_ref_exprs();
            let name = format!("$domain{joined}");
            let Some(domain) = Domain::of(&projection.input, &references, &name)? else {
                return Ok(Transformed::no(expr));
            };
            joined += 1;
            // the names of aggregates may be the same in several subqueries
            let right = domain.computed(aggregate)?;
            let calls = aggregate.schema().columns().into_iter();
            let calls: Vec<_> = calls
                .map(|call| (Column::new(Some(TableReference::bare(name.clone())), &call.name), call))
                .collect();
            let named = calls.iter().map(|(own, call)| {
                Expr::Column(call.clone()).alias_qualified(own.relation.clone(), &own.name)
            });
            let right = LogicalPlanBuilder::from(right).project(domain.exprs().chain(named))?.build()?;
            let left = LogicalPlanBuilder::from(input.clone());
            input = left.join_on(right, JoinType::Left, domain.equal())?.build()?;
            value_of(call, aggregate, &calls).map(Transformed::yes)
        })?;
        columns.push(match rewritten.transformed {
            true => rewritten.data.unalias().alias_qualified(qualifier.cloned(), field.name()),
            false => rewritten.data,
        });
    }
    match joined {
        0 => Ok(None),
        _ => LogicalPlanBuilder::from(input).project(columns)?.build().map(Some),
    }
}

/// The aggregation without groups that a scalar subquery is, and the expression over it.
fn aggregate_of(plan: &LogicalPlan) -> Option<(Expr, &LogicalPlan)> {
    match plan {
        LogicalPlan::Projection(projection) => {
            match (projection.expr.as_slice(), projection.input.as_ref()) {
                ([expr], LogicalPlan::Aggregate(aggregate)) if aggregate.group_expr.is_empty() => {
                    Some((expr.clone(), projection.input.as_ref()))
                }
                _ => None,
            }
        }
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
            Some((column, plan))
        }
        _ => None,
    }
}

/// Whether a subquery compares with the outer query other than for equality.
fn compares_otherwise(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|plan| {
        let LogicalPlan::Filter(filter) = plan else { return Ok(false) };
        let is_other = |condition: &&Expr| {
            condition.contains_outer()
                && !matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }))
        };
        Ok(split_conjunction(&filter.predicate).iter().any(is_other))
    })
}

/// The value of a scalar subquery over the columns of its aggregation, which are NULL where it has seen
/// no row: the count of no rows is 0.
fn value_of(expr: Expr, aggregate: &LogicalPlan, calls: &[(Column, Column)]) -> Result<Expr> {
    let LogicalPlan::Aggregate(aggregate) = aggregate else { return Ok(expr) };
    let is_count = |call: &Column| {
        let place = calls.iter().position(|(_, known)| known == call);
        let call = place.and_then(|place| aggregate.aggr_expr.get(place)).map(|call| call.clone().unalias());
        let Some(Expr::AggregateFunction(call)) = call else { return false };
        streaming_aggregate_of(&call.func).is_some_and(|function| function.kind() == AggregateKind::Count)
    };
    let value = expr.transform_up(|expr| {
        let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
        let Some((own, _)) = calls.iter().find(|(_, call)| call == column) else {
            return Ok(Transformed::no(expr));
        };
        let own = Expr::Column(own.clone());
        Ok(Transformed::yes(match is_count(column) {
            true => when(own.clone().is_null(), lit(0_i64)).otherwise(own)?,
            false => own,
        }))
    })?;
    Ok(value.data)
}

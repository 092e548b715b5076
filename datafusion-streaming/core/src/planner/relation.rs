//! Table functions in FROM.

use std::sync::Arc;

use datafusion::catalog::CatalogProviderList;
use datafusion::common::{DFSchema, Result, plan_datafusion_err, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Extension, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, ObjectName,
    TableFactor,
};
use datafusion_streaming_physical_plan::time::WindowAssigner;
use futures::FutureExt;

use super::intervals::{interval_millis, positive};
use super::{ToChangelog, WindowTvf};
use crate::sql::{TableArgument, descriptor_columns};

/// Plans `TUMBLE(…)`, `HOP(…)`, `CUMULATE(…)`, `SESSION(…)` and `TO_CHANGELOG(…)` in FROM, for both doors. Refuses
/// `FOR SYSTEM_TIME AS OF`, which DataFusion would ignore silently.
#[derive(Debug)]
pub struct StreamingRelationPlanner {
    catalogs: Arc<dyn CatalogProviderList>,
}

impl StreamingRelationPlanner {
    /// A planner that finds tables named by identifiers in `catalogs`.
    pub fn new(catalogs: Arc<dyn CatalogProviderList>) -> Self {
        StreamingRelationPlanner { catalogs }
    }

    /// The plan of a table argument: a subquery, or the name of a table.
    fn table(&self, argument: &SqlExpr, cx: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
        if let Some(TableArgument { query, .. }) = TableArgument::from_expr(argument) {
            return cx.plan(TableFactor::Derived {
                lateral: false,
                subquery: query,
                alias: None,
                sample: None,
            });
        }
        let name = match argument {
            SqlExpr::Identifier(name) => ObjectName::from(vec![name.clone()]),
            SqlExpr::CompoundIdentifier(names) => ObjectName::from(names.clone()),
            other => return plan_err!("{other} is not a table: write TABLE t, a table's name or (SELECT …)"),
        };
        // a name that stands elsewhere in the statement, or a CTE, is known to the planner; another
        // must be looked up, since an identifier in an expression has not been resolved
        if let Ok(plan) = cx.plan(table_factor(name.clone())) {
            return Ok(plan);
        }
        let reference = cx.object_name_to_table_reference(name)?;
        let catalog = &cx.context_provider().options().catalog;
        let resolved = reference.clone().resolve(&catalog.default_catalog, &catalog.default_schema);
        let schema =
            self.catalogs.catalog(&resolved.catalog).and_then(|catalog| catalog.schema(&resolved.schema));
        let table = match schema {
            Some(schema) => schema.table(&resolved.table).now_or_never().transpose()?.flatten(),
            None => None,
        };
        let Some(table) = table else { return plan_err!("table {reference} not found") };
        LogicalPlanBuilder::scan(reference, provider_as_source(table), None)?.build()
    }

    fn window_tvf(
        &self,
        function: WindowFunction,
        arguments: Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let name = function.name();
        let data = arguments.get("DATA", 0)?;
        let input = self.table(data, cx)?;
        let partition_by = TableArgument::from_expr(data).map(|table| table.partition_by).unwrap_or_default();
        if !partition_by.is_empty() && !matches!(function, WindowFunction::Session) {
            return plan_err!(
                "{name} takes no PARTITION BY: name the columns in the GROUP BY of the query instead"
            );
        }
        let column = |column| cx.sql_to_expr(column, input.schema());
        let partition_by = partition_by.into_iter().map(column).collect::<Result<Vec<_>>>()?;
        let time = arguments.get("TIMECOL", 1)?;
        let time = match descriptor_columns(time).as_deref() {
            // Flink goes by the first column, too, where there are more
            Some([column, ..]) => SqlExpr::Identifier(column.clone()),
            _ => return plan_err!("{name}: the second argument must be DESCRIPTOR(column), not {time}"),
        };
        let time = cx.sql_to_expr(time, input.schema())?;
        let mut interval = |parameter: &str, place: usize| -> Result<i64> {
            let argument = arguments.get(parameter, place)?;
            positive(name, parameter, constant_interval(name, parameter, argument, cx)?)
        };
        let assigner = match function {
            WindowFunction::Tumble => WindowAssigner::Tumble { size: interval("SIZE", 2)?, offset: 0 },
            WindowFunction::Hop => {
                WindowAssigner::Hop { slide: interval("SLIDE", 2)?, size: interval("SIZE", 3)?, offset: 0 }
            }
            WindowFunction::Cumulate => WindowAssigner::Cumulate {
                step: interval("STEP", 2)?,
                max_size: interval("SIZE", 3)?,
                offset: 0,
            },
            WindowFunction::Session => WindowAssigner::Session { gap: interval("GAP", 2)? },
        };
        let offset = match arguments.find("OFFSET", function.intervals() + 2) {
            Some(argument) if !assigner.is_session() => constant_interval(name, "OFFSET", argument, cx)?,
            _ => 0,
        };
        arguments.refuse_others(function.parameters())?;
        let assigner = with_offset(assigner, offset);
        check(name, assigner)?;
        let node = WindowTvf::try_new(input, time, partition_by, assigner)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn to_changelog(
        &self,
        arguments: Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let input = self.table(arguments.get("input", 0)?, cx)?;
        arguments.refuse_others(&["input"])?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(ToChangelog::try_new(input)?) }))
    }
}

impl RelationPlanner for StreamingRelationPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (name, args, alias) = match &relation {
            TableFactor::Table { version: Some(version), name, .. } => {
                return plan_err!("{name} {version}: temporal tables can only be read in a temporal join");
            }
            TableFactor::Table { name, args: Some(args), alias, .. } => (name, &args.args, alias),
            TableFactor::TableFunction { expr: SqlExpr::Function(function), alias } => match &function.args {
                FunctionArguments::List(list) => (&function.name, &list.args, alias),
                _ => return Ok(RelationPlanning::Original(Box::new(relation))),
            },
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let function = match name.0.as_slice() {
            [part] => part.as_ident().map(|name| name.value.to_ascii_uppercase()),
            _ => None,
        };
        let mut window =
            |function: WindowFunction| self.window_tvf(function, Arguments::of(function.name(), args)?, cx);
        let plan = match function.as_deref() {
            Some("TUMBLE") => window(WindowFunction::Tumble)?,
            Some("HOP") => window(WindowFunction::Hop)?,
            Some("CUMULATE") => window(WindowFunction::Cumulate)?,
            Some("SESSION") => window(WindowFunction::Session)?,
            Some("TO_CHANGELOG") => self.to_changelog(Arguments::of("TO_CHANGELOG", args)?, cx)?,
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

/// The window table functions.
#[derive(Debug, Clone, Copy)]
enum WindowFunction {
    Tumble,
    Hop,
    Cumulate,
    Session,
}

impl WindowFunction {
    fn name(self) -> &'static str {
        match self {
            WindowFunction::Tumble => "TUMBLE",
            WindowFunction::Hop => "HOP",
            WindowFunction::Cumulate => "CUMULATE",
            WindowFunction::Session => "SESSION",
        }
    }

    /// The number of intervals that it must have.
    fn intervals(self) -> usize {
        match self {
            WindowFunction::Tumble | WindowFunction::Session => 1,
            WindowFunction::Hop | WindowFunction::Cumulate => 2,
        }
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            WindowFunction::Tumble => &["DATA", "TIMECOL", "SIZE", "OFFSET"],
            WindowFunction::Hop => &["DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"],
            WindowFunction::Cumulate => &["DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"],
            WindowFunction::Session => &["DATA", "TIMECOL", "GAP"],
        }
    }
}

/// The arguments of a table function, by place or by name. Names are case-sensitive, as in Flink.
struct Arguments<'a> {
    function: &'static str,
    arguments: Vec<(Option<&'a str>, &'a SqlExpr)>,
}

impl<'a> Arguments<'a> {
    fn of(function: &'static str, arguments: &'a [FunctionArg]) -> Result<Self> {
        let argument = |argument: &'a FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok((None, expr)),
            FunctionArg::Named {
                name: Ident { value, .. },
                arg: FunctionArgExpr::Expr(expr),
                operator: FunctionArgOperator::RightArrow,
            } => Ok((Some(value.as_str()), expr)),
            other => plan_err!("{function} does not take the argument {other}"),
        };
        Ok(Arguments { function, arguments: arguments.iter().map(argument).collect::<Result<_>>()? })
    }

    fn is_named(&self) -> bool {
        self.arguments.iter().any(|(name, _)| name.is_some())
    }

    fn find(&self, parameter: &str, place: usize) -> Option<&'a SqlExpr> {
        let found = match self.is_named() {
            true => self.arguments.iter().find(|(name, _)| *name == Some(parameter)),
            false => self.arguments.get(place),
        };
        found.map(|(_, expr)| *expr)
    }

    fn get(&self, parameter: &str, place: usize) -> Result<&'a SqlExpr> {
        if place == 0
            && self.is_named()
            && self.arguments.first().is_some_and(|(name, _)| *name != Some(parameter))
        {
            // the other arguments are looked up in the table
            return plan_err!("{}: the first argument must be {parameter} => TABLE …", self.function);
        }
        self.find(parameter, place)
            .ok_or_else(|| plan_datafusion_err!("{} needs the argument {parameter}", self.function))
    }

    fn refuse_others(&self, parameters: &[&str]) -> Result<()> {
        if self.arguments.len() > parameters.len() {
            return plan_err!("{} takes {}", self.function, parameters.join(", "));
        }
        let unknown = |name: &&str| !parameters.contains(name);
        match self.arguments.iter().filter_map(|(name, _)| *name).find(unknown) {
            Some(name) => {
                plan_err!("{} has no argument {name}; it takes {}", self.function, parameters.join(", "))
            }
            None => Ok(()),
        }
    }
}

fn table_factor(name: ObjectName) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

fn constant_interval(
    function: &str,
    parameter: &str,
    argument: &SqlExpr,
    cx: &mut dyn RelationPlannerContext,
) -> Result<i64> {
    interval_millis(function, parameter, cx.sql_to_expr(argument.clone(), &DFSchema::empty())?)
}

fn with_offset(assigner: WindowAssigner, new: i64) -> WindowAssigner {
    match assigner {
        WindowAssigner::Tumble { size, .. } => WindowAssigner::Tumble { size, offset: new },
        WindowAssigner::Hop { slide, size, .. } => WindowAssigner::Hop { slide, size, offset: new },
        WindowAssigner::Cumulate { step, max_size, .. } => {
            WindowAssigner::Cumulate { step, max_size, offset: new }
        }
        WindowAssigner::Session { gap } => WindowAssigner::Session { gap },
    }
}

/// Flink's rules: of CUMULATE the size is a multiple of the step, and the offset lies within a window. The slide of
/// HOP is checked where its windows are aggregated: the plain function takes any.
fn check(function: &str, assigner: WindowAssigner) -> Result<()> {
    let (size, offset) = match assigner {
        WindowAssigner::Tumble { size, offset } | WindowAssigner::Hop { size, offset, .. } => (size, offset),
        WindowAssigner::Cumulate { step, max_size, .. } if max_size % step != 0 => {
            return plan_err!(
                "{function}: SIZE ({max_size} ms) must be a multiple of STEP ({step} ms), such as {} ms",
                (max_size / step + 1) * step
            );
        }
        WindowAssigner::Cumulate { max_size, offset, .. } => (max_size, offset),
        WindowAssigner::Session { .. } => return Ok(()),
    };
    match offset.abs() < size {
        true => Ok(()),
        false => plan_err!(
            "{function}: OFFSET ({offset} ms) must be less than {size} ms either way; write {} ms for the same windows",
            offset % size
        ),
    }
}

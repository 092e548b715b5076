//! Table functions in FROM.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::catalog::CatalogProviderList;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::functions::core::expr_ext::FieldAccessor;
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, ObjectName,
    TableAlias, TableFactor,
};
use datafusion_streaming_physical_plan::changelog::RowKind;
use datafusion_streaming_physical_plan::operators::set_operation::SetOperation;
use datafusion_streaming_physical_plan::operators::to_changelog::{OP_COLUMN, OpCodes, default_codes};
use datafusion_streaming_physical_plan::time::WindowAssigner;
use futures::FutureExt;

use super::intervals::{interval_millis, positive};
use super::match_recognize::match_recognize;
use super::{
    CountingSetOperation, FromChangelog, LateRows, StateTtl, ToChangelog, UnnestSource, VersionedTable,
    WindowTvf,
};
use crate::sql::rewrite::{AS_OF, EXCEPT_ALL, INTERSECT_ALL, STATE_TTL};
use crate::sql::{TableArgument, descriptor_columns};

/// Plans `TUMBLE(…)`, `HOP(…)`, `CUMULATE(…)`, `SESSION(…)`, `LATE_ROWS(…)`, `TO_CHANGELOG(…)` and MATCH_RECOGNIZE
/// in FROM, for both doors. Refuses `FOR SYSTEM_TIME AS OF`, which DataFusion would ignore silently.
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

    /// A table at a time that the row to the left has: see `sql::rewrite::table_functions`.
    fn versioned_table(
        &self,
        arguments: &Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let time = arguments.get("time", 0)?;
        let expr = cx.sql_to_expr(time.clone(), &DFSchema::empty())?;
        if !matches!(expr, Expr::OuterReferenceColumn(..)) {
            return plan_err!("FOR SYSTEM_TIME AS OF takes the time attribute of the left table, not {time}");
        }
        let table = self.table(arguments.get("table", 1)?, cx)?;
        let node = VersionedTable::new(table, expr).with_options(arguments.pairs_behind(2)?);
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    /// UNNEST of a collection; `None` for what DataFusion plans itself: constant arrays of values, unless
    /// they are in Flink SQL.
    fn unnest(
        &self,
        collections: &[SqlExpr],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
        is_flink: bool,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<Option<PlannedRelation>> {
        let [collection] = collections else { return Ok(None) };
        let collection = collection_expr(collection, cx)?;
        if !is_flink && !collection.contains_outer() && !with_ordinality {
            match collection.get_type(&DFSchema::empty())? {
                DataType::List(element) if !element.data_type().is_nested() => return Ok(None),
                _ => {}
            }
        }
        let names: Vec<_> = alias
            .iter()
            .flat_map(|alias| &alias.columns)
            .map(|column| cx.normalize_ident(column.name.clone()))
            .collect();
        let source = UnnestSource::try_new(collection, with_ordinality, &names)?;
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(source) });
        let alias = alias.map(|alias| TableAlias { columns: vec![], ..alias.clone() });
        Ok(Some(PlannedRelation::new(plan, alias)))
    }

    fn to_changelog(
        &self,
        arguments: Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let input = self.table(arguments.get("input", 0)?, cx)?;
        arguments.refuse_others(&["input", "op", "op_mapping"])?;
        let op = op_column(&arguments, cx)?;
        let codes = match arguments.find("op_mapping", 2) {
            None => default_codes(),
            Some(mapping) => {
                let mut codes = OpCodes::default();
                for (kinds, code) in string_map("TO_CHANGELOG", mapping, cx)? {
                    for kind in kinds.split(',') {
                        let place = &mut codes[row_kind("TO_CHANGELOG", kind)? as usize];
                        if place.replace(code.clone()).is_some() {
                            return plan_err!("TO_CHANGELOG: op_mapping names {} twice", kind.trim());
                        }
                    }
                }
                codes
            }
        };
        let node = ToChangelog::try_new(input, op, codes)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn late_rows(
        &self,
        arguments: &Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let query = self.table(arguments.get("input", 0)?, cx)?;
        arguments.refuse_others(&["input"])?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(LateRows::of(query)?) }))
    }

    fn set_operation(
        &self,
        operation: SetOperation,
        args: &[FunctionArg],
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let arguments = Arguments::of("a set operation", args)?;
        let left = self.table(arguments.get("left", 0)?, cx)?;
        let right = self.table(arguments.get("right", 1)?, cx)?;
        let node = CountingSetOperation::try_new(operation, left, right)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    /// A table with a time to live: see `sql::rewrite::state_ttl`.
    fn state_ttl(
        &self,
        arguments: Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let input = self.table(arguments.get("table", 0)?, cx)?;
        let millis = arguments.get("ttl", 1)?.to_string().parse().unwrap_or(i64::MAX);
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(StateTtl::new(input, millis)) }))
    }

    fn plan_from_changelog(
        &self,
        arguments: Arguments<'_>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let input = self.table(arguments.get("input", 0)?, cx)?;
        arguments.refuse_others(&["input", "op", "op_mapping"])?;
        let op = op_column(&arguments, cx)?;
        let mut codes: Vec<(String, RowKind)> = vec![];
        match arguments.find("op_mapping", 2) {
            None => codes.extend(RowKind::ALL.map(|kind| (kind.long().to_string(), kind))),
            Some(mapping) => {
                for (names, kind) in string_map("FROM_CHANGELOG", mapping, cx)? {
                    let kind = row_kind("FROM_CHANGELOG", &kind)?;
                    for name in names.split(',').map(str::trim) {
                        if codes.iter().any(|(known, _)| known == name) {
                            return plan_err!("FROM_CHANGELOG: op_mapping names {name} twice");
                        }
                        codes.push((name.to_string(), kind));
                    }
                }
            }
        }
        let node = FromChangelog::try_new(input, op, codes)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }
}

impl RelationPlanner for StreamingRelationPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if matches!(relation, TableFactor::MatchRecognize { .. }) {
            return match match_recognize(relation.clone(), cx)? {
                Some(planned) => Ok(RelationPlanning::Planned(Box::new(planned))),
                None => Ok(RelationPlanning::Original(Box::new(relation))),
            };
        }
        let (name, args, alias) = match &relation {
            TableFactor::UNNEST {
                array_exprs,
                alias,
                with_offset: false,
                with_offset_alias,
                with_ordinality,
            } => {
                let is_flink = with_offset_alias.is_some();
                return Ok(
                    match self.unnest(array_exprs, alias.as_ref(), *with_ordinality, is_flink, cx)? {
                        Some(planned) => RelationPlanning::Planned(Box::new(planned)),
                        None => RelationPlanning::Original(Box::new(relation)),
                    },
                );
            }
            TableFactor::Function { lateral: true, name, args, alias, .. } if is_as_of(name) => {
                let plan = self.versioned_table(&Arguments::of("FOR SYSTEM_TIME AS OF", args)?, cx)?;
                return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))));
            }
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
            Some(INTERSECT_ALL) => self.set_operation(SetOperation::IntersectAll, args, cx)?,
            Some(EXCEPT_ALL) => self.set_operation(SetOperation::ExceptAll, args, cx)?,
            Some(STATE_TTL) => self.state_ttl(Arguments::of("STATE_TTL", args)?, cx)?,
            Some("FROM_CHANGELOG") => self.plan_from_changelog(Arguments::of("FROM_CHANGELOG", args)?, cx)?,
            Some("LATE_ROWS") => self.late_rows(&Arguments::of("LATE_ROWS", args)?, cx)?,
            Some("TO_CHANGELOG") => self.to_changelog(Arguments::of("TO_CHANGELOG", args)?, cx)?,
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

/// The collection of an UNNEST. What DataFusion does not plan across queries is put together here:
/// arrays of columns of the left table, and fields of its rows.
fn collection_expr(collection: &SqlExpr, cx: &mut dyn RelationPlannerContext) -> Result<Expr> {
    if let SqlExpr::Array(array) = collection {
        let elements = array.elem.iter().map(|element| collection_expr(element, cx));
        let array = make_array(elements.collect::<Result<_>>()?);
        return ExprSimplifier::new(SimplifyContext::default()).coerce(array, &DFSchema::empty());
    }
    let error = match cx.sql_expr_to_logical_expr(collection.clone(), &DFSchema::empty()) {
        Ok(expr) => return Ok(expr),
        Err(error) => error,
    };
    let SqlExpr::CompoundIdentifier(names) = collection else { return Err(error) };
    for row in (1..names.len()).rev() {
        let root = SqlExpr::CompoundIdentifier(names[..row].to_vec());
        if let Ok(root) = cx.sql_expr_to_logical_expr(root, &DFSchema::empty()) {
            let field = |row: Expr, name: &Ident| row.field(cx.normalize_ident(name.clone()));
            return Ok(names[row..].iter().fold(root, field));
        }
    }
    Err(error)
}

fn is_as_of(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| name.value == AS_OF))
}

/// The column of row kinds that `op => DESCRIPTOR(column)` names.
fn op_column(arguments: &Arguments<'_>, cx: &mut dyn RelationPlannerContext) -> Result<String> {
    match arguments.find("op", 1) {
        None => Ok(OP_COLUMN.to_string()),
        Some(op) => match descriptor_columns(op).as_deref() {
            Some([column]) => Ok(cx.normalize_ident(column.clone())),
            _ => plan_err!("{}: op must be DESCRIPTOR(column), not {op}", arguments.function),
        },
    }
}

fn row_kind(function: &str, name: &str) -> Result<RowKind> {
    match RowKind::ALL.into_iter().find(|kind| kind.long() == name.trim()) {
        Some(kind) => Ok(kind),
        None => plan_err!(
            "{function}: op_mapping has the unknown kind '{}'; the kinds are {}",
            name.trim(),
            RowKind::ALL.map(RowKind::long).join(", ")
        ),
    }
}

/// A constant map of strings.
fn string_map(
    function: &str,
    argument: &SqlExpr,
    cx: &mut dyn RelationPlannerContext,
) -> Result<Vec<(String, String)>> {
    let expr = cx.sql_to_expr(argument.clone(), &DFSchema::empty())?;
    let expr = ExprSimplifier::new(SimplifyContext::default()).simplify(expr)?;
    let Expr::Literal(ScalarValue::Map(map), _) = &expr else {
        return plan_err!("{function}: op_mapping must be a constant MAP of strings, not {argument}");
    };
    let strings = |column: &ArrayRef| -> Result<Vec<String>> {
        let column = cast(column, &DataType::Utf8)?;
        Ok(column.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_string()).collect())
    };
    Ok(strings(map.keys())?.into_iter().zip(strings(map.values())?).collect())
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

    /// Constant texts, keys and values in turn, from the argument at `place` on.
    fn pairs_behind(&self, place: usize) -> Result<Vec<(String, String)>> {
        let texts = self.arguments.iter().skip(place).map(|(_, argument)| match argument {
            SqlExpr::Value(value) => value.value.clone().into_string(),
            _ => None,
        });
        let Some(texts) = texts.collect::<Option<Vec<_>>>() else {
            return plan_err!("{} takes constant texts as options", self.function);
        };
        Ok(texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
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

/// An interval that is written as such: as in Flink none that is computed, be it of constants.
fn constant_interval(
    function: &str,
    parameter: &str,
    argument: &SqlExpr,
    cx: &mut dyn RelationPlannerContext,
) -> Result<i64> {
    if let SqlExpr::Nested(argument) = argument {
        return constant_interval(function, parameter, argument, cx);
    }
    if let SqlExpr::BinaryOp { .. } = argument {
        return plan_err!(
            "{function}: {parameter} must be written as one interval, such as INTERVAL '10' SECOND, \
             not computed as in {argument}"
        );
    }
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

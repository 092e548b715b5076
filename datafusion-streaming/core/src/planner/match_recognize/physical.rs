//! From the logical node of MATCH_RECOGNIZE to its streaming node.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::{DFSchema, Result, internal_err, plan_err};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::{Expr, ExprSchemable, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion_streaming_physical_plan::operators::aggregate::{
    AdaptedAggregate, AggregateCall, arguments_read,
};
use datafusion_streaming_physical_plan::operators::match_recognize::{
    MatchRecognizeNode, PatternExpressions, PatternReference,
};
use datafusion_streaming_physical_plan::runtime::TimeAttributeKind;
use datafusion_streaming_udfs::aggregate::streaming_aggregate_of;

use super::node::{MatchClauses, MatchRecognize, MatchReference, MatchValues};

type Create<'a> = dyn Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>> + 'a;

/// The input that only stands for references has no rows.
pub(in crate::planner) fn plan_match_values(values: &MatchValues) -> Arc<dyn ExecutionPlan> {
    Arc::new(EmptyExec::new(Arc::clone(UserDefinedLogicalNodeCore::schema(values).inner())))
}

/// The streaming node; `create` makes physical expressions.
pub(in crate::planner) fn plan_match_recognize(
    recognize: &MatchRecognize,
    create: &Create<'_>,
) -> Result<MatchRecognizeNode> {
    let clauses = recognize.clauses();
    let input: &DFSchema = clauses.input.schema();
    let place = |expr: &Expr| match expr.clone().unalias() {
        Expr::Column(column) => input.index_of_column(&column),
        other => plan_err!("MATCH_RECOGNIZE refers to columns, not to {other}"),
    };
    let mut arguments = vec![];
    let mut references = vec![];
    for reference in &clauses.references {
        references.push(match reference {
            MatchReference::Row { variable, first, offset, column } => PatternReference::Row {
                variable: *variable,
                first: *first,
                offset: *offset,
                column: place(column)?,
            },
            MatchReference::Aggregate { variable, call } => PatternReference::Aggregate {
                variable: *variable,
                call: aggregate_call(call, input, &mut arguments, create)?,
            },
            MatchReference::Rowtime(_) => PatternReference::Rowtime,
            MatchReference::Proctime => PatternReference::Proctime,
        });
    }
    let values: &DFSchema = recognize.values();
    let expressions = |expressions: Vec<&Expr>| {
        let physical = expressions.into_iter().map(|expr| create(expr, values)).collect::<Result<_>>()?;
        let (values, input): (&Schema, &Schema) = (values.as_arrow(), input.as_arrow());
        PatternExpressions::try_new(physical, references.clone(), values, &arguments, input)
    };
    let definition = |definition: &Option<Expr>| -> Result<Option<PatternExpressions>> {
        definition.as_ref().map(|definition| expressions(vec![definition])).transpose()
    };
    let measures = expressions(clauses.measures.iter().map(|(_, measure)| measure).collect())?;
    let MatchClauses { partition_by, order_by, pattern, after, within, definitions, .. } = clauses;
    let Some((time, then_by)) = order_by.split_first() else {
        return internal_err!("MATCH_RECOGNIZE without ORDER BY");
    };
    let then_by = then_by.iter().map(|sort| {
        let options =
            datafusion::arrow::compute::SortOptions { descending: !sort.asc, nulls_first: sort.nulls_first };
        Ok((place(&sort.expr)?, options))
    });
    Ok(MatchRecognizeNode {
        keys: partition_by.iter().map(|column| input.index_of_column(column)).collect::<Result<_>>()?,
        time: place(&time.expr)?,
        kind: TimeAttributeKind::Rowtime,
        then_by: then_by.collect::<Result<_>>()?,
        pattern: pattern.clone(),
        after: *after,
        within: *within,
        definitions: definitions.iter().map(definition).collect::<Result<_>>()?,
        measures,
        input: Arc::clone(input.inner()),
        schema: Arc::clone(UserDefinedLogicalNodeCore::schema(recognize).inner()),
    })
}

/// An aggregate over rows of the input, its arguments being added to `arguments`.
fn aggregate_call(
    call: &Expr,
    input: &DFSchema,
    arguments: &mut Vec<Arc<dyn PhysicalExpr>>,
    create: &Create<'_>,
) -> Result<AggregateCall> {
    let return_type = call.get_type(input)?;
    let Expr::AggregateFunction(AggregateFunction { func, params }) = call.clone().unalias_nested().data
    else {
        return internal_err!("{call} is not an aggregate");
    };
    let args = params.args.iter().map(|arg| create(arg, input)).collect::<Result<Vec<_>>>()?;
    let function = streaming_aggregate_of(&func).unwrap_or_else(|| {
        let constant = |arg: &Arc<dyn PhysicalExpr>| {
            arg.downcast_ref::<Literal>().map(|literal| literal.value().clone())
        };
        Arc::new(AdaptedAggregate::new(Arc::clone(&func), args.iter().map(constant).collect()))
    });
    let places = arguments_read(function.as_ref(), args).into_iter().map(|arg| {
        arguments.push(arg);
        arguments.len() - 1
    });
    Ok(AggregateCall {
        args: places.collect(),
        function,
        filter: None,
        distinct: false,
        ignore_nulls: params.null_treatment == Some(NullTreatment::IgnoreNulls),
        appends_only: false,
        return_type,
        display: call.schema_name().to_string(),
    })
}

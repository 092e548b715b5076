//! One form for calls of table functions.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart, TableAlias,
    TableFactor, TableVersion,
};

use super::numbers::keep;
use crate::sql::ast::{derived, query_of, quoted, select_all, table};
use crate::sql::queries::INPUT;

/// What `t FOR SYSTEM_TIME AS OF time` is called as: a lateral function of the time and the table, so
/// that its planner sees the columns to the left.
pub(crate) const AS_OF: &str = "$as_of";

/// The mark of an UNNEST of Flink SQL, in a place that Flink's syntax has no use for.
const FLINK: &str = "$flink";

/// A call of a table function becomes `TableFactor::Table` with arguments, after LATERAL `TableFactor::Function`,
/// and UNNEST `TableFactor::UNNEST`. The name of an unquoted function is in lower case, as DataFusion registers
/// functions; names of arguments stay as written, since case matters in them.
pub(super) fn unify(factor: &mut TableFactor) {
    match factor {
        TableFactor::TableFunction { expr: Expr::Function(function), alias } => {
            let (name, args) = take_call(function);
            *factor = call(name, args, alias.take(), false);
        }
        TableFactor::Table { version: Some(TableVersion::ForSystemTimeAsOf(time)), name, alias, .. } => {
            let versioned = query_of(select_all(table(take_name(name), None, None)));
            let args = [time.clone(), Expr::Subquery(versioned)];
            let args = args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).to_vec();
            *factor = TableFactor::Function {
                lateral: true,
                name: ObjectName::from(vec![quoted(AS_OF)]),
                args,
                alias: alias.take(),
                with_ordinality: false,
            };
        }
        TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
            let (name, args) = (take_name(name), mem::take(&mut args.args));
            *factor = call(name, args, alias.take(), *with_ordinality);
        }
        TableFactor::Function { lateral: true, name, args, alias, with_ordinality } => {
            let (mut name, mut args) = (take_name(name), mem::take(args));
            if is_named(&name, "TABLE")
                && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function)))] =
                    args.as_mut_slice()
            {
                (name, args) = take_call(function);
            }
            let (alias, with_ordinality) = (alias.take(), *with_ordinality);
            *factor = if is_named(&name, "UNNEST") {
                call(name, args, alias, with_ordinality)
            } else {
                keep_numbers(&mut args);
                TableFactor::Function { lateral: true, name: lower_case(name), args, alias, with_ordinality }
            };
        }
        _ => {}
    }
}

fn call(
    name: ObjectName,
    mut args: Vec<FunctionArg>,
    alias: Option<TableAlias>,
    with_ordinality: bool,
) -> TableFactor {
    if is_input(&name) {
        match args.pop() {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query)))) => {
                return derived(query, alias);
            }
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(mut function)))) => {
                let (name, args) = take_call(&mut function);
                return call(name, args, alias, false);
            }
            other => args.extend(other),
        }
    }
    if is_named(&name, "UNNEST") {
        let array = |arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Some(array),
            _ => None,
        };
        let array_exprs = args.into_iter().filter_map(array).collect();
        return TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset: false,
            with_offset_alias: Some(quoted(FLINK)),
            with_ordinality,
        };
    }
    keep_numbers(&mut args);
    table(lower_case(name), Some(args), alias)
}

/// Undoes [`crate::sql::queries`] where the FROM was that of an expression, as in `EXTRACT(DAY FROM (SELECT …))`.
pub(super) fn input_of(function: &mut Function) -> Option<Expr> {
    if !is_input(&function.name) {
        return None;
    }
    match take_call(function).1.pop() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(subquery))) => Some(subquery),
        _ => None,
    }
}

fn is_input(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if name.value == INPUT)
}

fn take_name(name: &mut ObjectName) -> ObjectName {
    ObjectName(mem::take(&mut name.0))
}

fn take_call(function: &mut Function) -> (ObjectName, Vec<FunctionArg>) {
    let args = match &mut function.args {
        FunctionArguments::List(list) => mem::take(&mut list.args),
        _ => vec![],
    };
    (take_name(&mut function.name), args)
}

/// Table functions registered with DataFusion look for plain literals among their arguments.
fn keep_numbers(args: &mut [FunctionArg]) {
    for arg in args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } = arg
        {
            keep(expr);
        }
    }
}

fn is_named(name: &ObjectName, expected: &str) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(ident)]
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(expected))
}

fn lower_case(mut name: ObjectName) -> ObjectName {
    if let [ObjectNamePart::Identifier(ident)] = name.0.as_mut_slice()
        && ident.quote_style.is_none()
    {
        ident.value.make_ascii_lowercase();
    }
    name
}

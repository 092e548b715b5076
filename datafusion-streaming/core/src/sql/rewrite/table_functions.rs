//! One form for calls of table functions.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart, TableAlias, TableFactor,
    TableFunctionArgs,
};

/// A call of a table function becomes `TableFactor::Table` with arguments, after LATERAL `TableFactor::Function`,
/// and UNNEST `TableFactor::UNNEST`. The name of an unquoted function is in lower case, as DataFusion registers
/// functions; names of arguments stay as written, since case matters in them.
pub(super) fn unify(factor: &mut TableFactor) {
    match factor {
        TableFactor::TableFunction { expr: Expr::Function(function), alias } => {
            if let FunctionArguments::List(list) = &mut function.args {
                let (name, args) = (mem::take(&mut function.name.0), mem::take(&mut list.args));
                *factor = call(ObjectName(name), args, alias.take(), false);
            }
        }
        TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
            let (name, args) = (mem::take(&mut name.0), mem::take(&mut args.args));
            *factor = call(ObjectName(name), args, alias.take(), *with_ordinality);
        }
        TableFactor::Function { lateral: true, name, args, alias, with_ordinality } => {
            let (mut name, mut args) = (ObjectName(mem::take(&mut name.0)), mem::take(args));
            if is_named(&name, "TABLE")
                && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function)))] = args.as_mut_slice()
                && let FunctionArguments::List(list) = &mut function.args
            {
                let inner = (ObjectName(mem::take(&mut function.name.0)), mem::take(&mut list.args));
                (name, args) = inner;
            }
            let (alias, with_ordinality) = (alias.take(), *with_ordinality);
            *factor = if is_named(&name, "UNNEST") {
                call(name, args, alias, with_ordinality)
            } else {
                let mut args = args;
                keep_numbers(&mut args);
                TableFactor::Function { lateral: true, name: lower_case(name), args, alias, with_ordinality }
            };
        }
        _ => {}
    }
}

fn call(name: ObjectName, mut args: Vec<FunctionArg>, alias: Option<TableAlias>, with_ordinality: bool) -> TableFactor {
    keep_numbers(&mut args);
    if is_named(&name, "UNNEST") {
        let array = |arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Some(array),
            _ => None,
        };
        let array_exprs = args.into_iter().filter_map(array).collect();
        return TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_offset_alias: None, with_ordinality };
    }
    TableFactor::Table {
        name: lower_case(name),
        alias,
        args: Some(TableFunctionArgs { args, settings: None }),
        with_hints: vec![],
        version: None,
        with_ordinality,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

/// Table functions registered with DataFusion look for plain literals among their arguments.
fn keep_numbers(args: &mut [FunctionArg]) {
    for arg in args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } = arg
        {
            super::keep(expr);
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

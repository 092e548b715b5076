//! Pieces of sqlparser's AST.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr,
    Ident, ObjectName, Query, Select, SelectFlavor, SelectItem, SetExpr, TableAlias, TableFactor,
    TableFunctionArgs, TableWithJoins, Value, WildcardAdditionalOptions,
};

/// `name(args, …)`
pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// `'text'`
pub(super) fn text(text: impl Into<String>) -> Expr {
    Expr::value(Value::SingleQuotedString(text.into()))
}

/// The name as an identifier that is quoted, as it may need to be.
pub(super) fn quoted(name: impl Into<String>) -> Ident {
    Ident::with_quote('`', name)
}

/// A query of this body.
pub(super) fn query_of(body: SetExpr) -> Box<Query> {
    Box::new(Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    })
}

/// `SELECT * FROM relation`
pub(super) fn select_all(relation: TableFactor) -> SetExpr {
    select_of(vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())], Some(relation))
}

/// `SELECT items [FROM relation]`
pub(super) fn select_of(projection: Vec<SelectItem>, relation: Option<TableFactor>) -> SetExpr {
    SetExpr::Select(Box::new(Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from: relation.map(|relation| TableWithJoins { relation, joins: vec![] }).into_iter().collect(),
        lateral_views: vec![],
        prewhere: None,
        selection: None,
        connect_by: vec![],
        group_by: GroupByExpr::Expressions(vec![], vec![]),
        cluster_by: vec![],
        distribute_by: vec![],
        sort_by: vec![],
        having: None,
        named_window: vec![],
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }))
}

/// The table of this name in a FROM clause, or the table function called with these arguments.
pub(super) fn table(
    name: ObjectName,
    args: Option<Vec<FunctionArg>>,
    alias: Option<TableAlias>,
) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: args.map(|args| TableFunctionArgs { args, settings: None }),
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

/// The query as a table in a FROM clause.
pub(super) fn derived(subquery: Box<Query>, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Derived { lateral: false, subquery, alias, sample: None }
}

//! What a script of Flink SQL consists of.

use std::fmt;

use datafusion::common::TableReference;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    CreateTableOptions, CreateView as SqlCreateView, ObjectName, Query, Statement as SqlStatement,
    ViewColumnDef,
};

use super::ast::quoted;
use super::create_table::CreateTable;
use super::hints::Hint;

/// A statement with the text it was written as.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedStatement {
    /// The statement's own text, for display: without the `;` behind it and the comments in front.
    pub text: String,
    /// What it says.
    pub statement: Statement,
    /// The hints in it, in their order.
    pub hints: Vec<Hint>,
}

/// A statement of Flink SQL. Queries and expressions in it are rewritten (see [`super::rewrite`]): DataFusion's
/// planner gives them Flink's meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// What DataFusion plans itself: queries, `INSERT INTO`, `INSERT OVERWRITE`, `DROP TABLE` and `DROP VIEW`.
    DataFusion(DFStatement),
    /// `CREATE TABLE`
    CreateTable(Box<CreateTable>),
    /// `CREATE VIEW`
    CreateView(Box<CreateView>),
    /// `DESCRIBE name` or `DESC name`
    Describe(TableReference),
    /// `SHOW …`
    Show(Show),
    /// `EXPLAIN …`
    Explain {
        /// What to show beyond the plans.
        details: Vec<ExplainDetail>,
        /// A query, an INSERT or a statement set.
        statement: Box<Statement>,
    },
    /// `SET 'key' = 'value'`
    Set {
        /// The option.
        key: String,
        /// Its new value.
        value: String,
    },
    /// `SET`: list the options that are set.
    ListOptions,
    /// `RESET 'key'`, or `RESET` for all options.
    Reset(Option<String>),
    /// The INSERTs between `EXECUTE STATEMENT SET BEGIN` and `END`, to run as one job.
    StatementSet(Vec<ParsedStatement>),
}

/// `CREATE [TEMPORARY] VIEW [IF NOT EXISTS] name [(column, …)] [COMMENT …] AS query`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// The view's name; case matters.
    pub name: TableReference,
    /// Whether the view vanishes with the session.
    pub temporary: bool,
    /// Whether an existing view of this name is no error.
    pub if_not_exists: bool,
    /// Names for the query's columns; empty if they keep their own.
    pub columns: Vec<String>,
    /// The view's comment.
    pub comment: Option<String>,
    /// The query, rewritten and ready to be planned.
    pub query: Box<Query>,
    /// The query as it was written.
    pub definition: String,
}

/// What `SHOW` shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// `SHOW TABLES`: tables and views.
    Tables,
    /// `SHOW VIEWS`
    Views,
    /// `SHOW CREATE TABLE name`
    CreateTable(TableReference),
    /// `SHOW CREATE VIEW name`
    CreateView(TableReference),
}

/// An addition to an `EXPLAIN`, as in `EXPLAIN CHANGELOG_MODE, ESTIMATED_COST SELECT …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainDetail {
    /// The cost of every node.
    EstimatedCost,
    /// The changelog mode of every node.
    ChangelogMode,
    /// Advice on the plan.
    PlanAdvice,
    /// The job as JSON.
    JsonExecutionPlan,
}

impl ExplainDetail {
    /// All of them.
    pub const ALL: [ExplainDetail; 4] = [
        ExplainDetail::EstimatedCost,
        ExplainDetail::ChangelogMode,
        ExplainDetail::PlanAdvice,
        ExplainDetail::JsonExecutionPlan,
    ];
}

impl fmt::Display for ExplainDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExplainDetail::EstimatedCost => "ESTIMATED_COST",
            ExplainDetail::ChangelogMode => "CHANGELOG_MODE",
            ExplainDetail::PlanAdvice => "PLAN_ADVICE",
            ExplainDetail::JsonExecutionPlan => "JSON_EXECUTION_PLAN",
        })
    }
}

impl CreateView {
    /// The statement that DataFusion plans. Left out is what DataFusion does not know: the comment, and that an
    /// existing view may stay, which is to be looked up before.
    pub fn to_datafusion(&self) -> DFStatement {
        let column = |name: &String| ViewColumnDef { name: quoted(name), data_type: None, options: None };
        let name = self.name.to_vec().into_iter().map(quoted).collect::<Vec<_>>();
        DFStatement::Statement(Box::new(SqlStatement::CreateView(SqlCreateView {
            or_alter: false,
            or_replace: false,
            materialized: false,
            secure: false,
            name: ObjectName::from(name),
            name_before_not_exists: false,
            columns: self.columns.iter().map(column).collect(),
            query: self.query.clone(),
            options: CreateTableOptions::None,
            cluster_by: vec![],
            comment: None,
            with_no_schema_binding: false,
            if_not_exists: false,
            temporary: self.temporary,
            copy_grants: false,
            to: None,
            params: None,
        })))
    }
}

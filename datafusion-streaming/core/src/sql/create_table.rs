//! `CREATE TABLE`: columns (physical, computed, metadata), watermark, primary key, options.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{Expr, Query};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token};

use super::types::{TypeKind, parse_type};
use super::visit::each_expr;
use super::{rewrite, tokens};

/// `CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (…) [COMMENT …] [PARTITIONED BY (…)] [WITH (…)] [LIKE … | AS …]`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table's name; case matters.
    pub name: TableReference,
    /// Whether the table vanishes with the session.
    pub temporary: bool,
    /// Whether an existing table of this name is no error.
    pub if_not_exists: bool,
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// Which column is the event time, and how far behind it the watermark runs.
    pub watermark: Option<WatermarkDefinition>,
    /// The columns of `PRIMARY KEY (…) NOT ENFORCED`. Those among the physical columns are `NOT NULL`.
    pub primary_key: Vec<String>,
    /// The table's comment.
    pub comment: Option<String>,
    /// The columns of `PARTITIONED BY`.
    pub partitioned_by: Vec<String>,
    /// The key-value pairs of `WITH`, in their order.
    pub options: Vec<(String, String)>,
    /// `LIKE source (…)`
    pub like: Option<LikeClause>,
    /// The query of `CREATE TABLE … AS`, rewritten and ready to be planned.
    pub query: Option<Box<Query>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// `name type`: what the table's storage holds.
    Physical {
        /// Name, Arrow type and nullability, with [`FLINK_TYPE_KEY`](super::FLINK_TYPE_KEY) where needed.
        field: FieldRef,
        /// The column's comment.
        comment: Option<String>,
    },
    /// `name AS expr`: evaluated over the other columns when the table is read.
    Computed {
        /// The column's name.
        name: String,
        /// The expression, rewritten and ready to be planned over the physical and metadata columns.
        expr: Box<Expr>,
        /// The expression as it was written.
        text: String,
        /// The column's comment.
        comment: Option<String>,
    },
    /// `name type METADATA [FROM 'key'] [VIRTUAL]`: supplied by the connector or the format.
    Metadata {
        /// As for a physical column.
        field: FieldRef,
        /// The key under which the connector knows it: the column's name if no other was given.
        key: String,
        /// Whether it is only read, never written.
        is_virtual: bool,
        /// The column's comment.
        comment: Option<String>,
    },
}

impl Column {
    /// The column's name.
    pub fn name(&self) -> &str {
        match self {
            Column::Physical { field, .. } | Column::Metadata { field, .. } => field.name(),
            Column::Computed { name, .. } => name,
        }
    }
}

/// `WATERMARK FOR column AS expr`
#[derive(Debug, Clone, PartialEq)]
pub struct WatermarkDefinition {
    /// The event-time column: `TIMESTAMP(p)` or `TIMESTAMP_LTZ(p)`, physical or computed.
    pub column: String,
    /// The watermark that a row gives rise to, rewritten and ready to be planned over the table's columns.
    pub expr: Expr,
    /// The expression as it was written.
    pub text: String,
}

/// `LIKE source [({INCLUDING | EXCLUDING | OVERWRITING} {ALL | CONSTRAINTS | …} …)]`
#[derive(Debug, Clone, PartialEq)]
pub struct LikeClause {
    /// The table whose definition is taken over.
    pub source: TableReference,
    /// What is taken over and how, in upper case, such as `("EXCLUDING", "OPTIONS")`. Flink's default is
    /// `INCLUDING ALL OVERWRITING OPTIONS`.
    pub options: Vec<(String, String)>,
}

/// What follows `CREATE [TEMPORARY] TABLE`.
pub(super) fn parse(parser: &mut Parser, temporary: bool) -> Result<CreateTable, ParserError> {
    let if_not_exists = tokens::accept_words(parser, &["IF", "NOT", "EXISTS"]);
    let name = tokens::table_reference(parser)?;
    let mut table = CreateTable {
        name,
        temporary,
        if_not_exists,
        columns: vec![],
        watermark: None,
        primary_key: vec![],
        comment: None,
        partitioned_by: vec![],
        options: vec![],
        like: None,
        query: None,
    };
    let mut watermark_at = Location::empty();
    if parser.consume_token(&Token::LParen) && !parser.consume_token(&Token::RParen) {
        loop {
            parse_element(parser, &mut table, &mut watermark_at)?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    table.comment = parse_comment(parser)?;
    if tokens::accept_words(parser, &["PARTITIONED", "BY"]) {
        table.partitioned_by = tokens::names(parser)?;
    }
    if tokens::accept_words(parser, &["WITH"]) {
        table.options = parse_options(parser)?;
    }
    if tokens::accept_words(parser, &["LIKE"]) {
        table.like = Some(parse_like(parser)?);
    } else if tokens::accept_words(parser, &["AS"]) {
        let mut query = parser.parse_query()?;
        rewrite::query(&mut query)?;
        table.query = Some(query);
    }
    require_key_values(&mut table);
    check_watermark(&table).map_err(|message| tokens::error(message, watermark_at))?;
    Ok(table)
}

/// A column, a constraint or the watermark.
fn parse_element(
    parser: &mut Parser,
    table: &mut CreateTable,
    watermark_at: &mut Location,
) -> Result<(), ParserError> {
    let location = parser.peek_token_ref().span.start;
    if tokens::accept_words(parser, &["WATERMARK", "FOR"]) {
        if table.watermark.is_some() {
            return Err(tokens::error("A table has one watermark, this is the second", location));
        }
        let location = parser.peek_token_ref().span.start;
        let column = tokens::identifier(parser)?.value;
        if parser.consume_token(&Token::Period) {
            let message =
                format!("The watermark is for a field of {column}: make the field a computed column");
            return Err(tokens::error(message, location));
        }
        tokens::expect_words(parser, &["AS"])?;
        let (expr, text) = parse_expr(parser)?;
        table.watermark = Some(WatermarkDefinition { column, expr, text });
        *watermark_at = location;
        return Ok(());
    }
    let key = if tokens::at_words(parser, &["PRIMARY", "KEY"]) || at_named_constraint(parser) {
        skip_constraint_name(parser)?;
        tokens::expect_words(parser, &["PRIMARY", "KEY"])?;
        let columns = tokens::names(parser)?;
        expect_not_enforced(parser)?;
        Some(columns)
    } else {
        parse_column(parser, table)?
    };
    match key {
        Some(_) if !table.primary_key.is_empty() => {
            Err(tokens::error("A table has one primary key, this is the second", location))
        }
        Some(columns) => {
            table.primary_key = columns;
            Ok(())
        }
        None => Ok(()),
    }
}

/// A column, and the key that it states to be.
fn parse_column(parser: &mut Parser, table: &mut CreateTable) -> Result<Option<Vec<String>>, ParserError> {
    let location = parser.peek_token_ref().span.start;
    let name = tokens::identifier(parser)?.value;
    if table.columns.iter().any(|column| column.name() == name) {
        return Err(tokens::error(format!("There are two columns {name}"), location));
    }
    if tokens::accept_words(parser, &["AS"]) {
        let (expr, text) = parse_expr(parser)?;
        let comment = parse_comment(parser)?;
        table.columns.push(Column::Computed { name, expr: Box::new(expr), text, comment });
        return Ok(None);
    }
    if matches!(parser.peek_token_ref().token, Token::Comma | Token::RParen) {
        return Err(tokens::error(format!("The column {name} has no type"), location));
    }
    let field = Arc::new(parse_type(parser)?.to_field(&name));
    if tokens::accept_words(parser, &["METADATA"]) {
        let key = if tokens::accept_words(parser, &["FROM"]) { tokens::string(parser)? } else { name };
        let is_virtual = tokens::accept_words(parser, &["VIRTUAL"]);
        let comment = parse_comment(parser)?;
        table.columns.push(Column::Metadata { field, key, is_virtual, comment });
        return Ok(None);
    }
    let mut is_key = false;
    if tokens::at_words(parser, &["PRIMARY", "KEY"]) || tokens::at_words(parser, &["CONSTRAINT"]) {
        skip_constraint_name(parser)?;
        tokens::expect_words(parser, &["PRIMARY", "KEY"])?;
        expect_not_enforced(parser)?;
        is_key = true;
    }
    let comment = parse_comment(parser)?;
    table.columns.push(Column::Physical { field, comment });
    Ok(is_key.then(|| vec![name]))
}

fn at_named_constraint(parser: &Parser) -> bool {
    tokens::at_words(parser, &["CONSTRAINT"])
        && tokens::is_word(&parser.peek_nth_token_ref(2).token, "PRIMARY")
}

fn skip_constraint_name(parser: &mut Parser) -> Result<(), ParserError> {
    if tokens::accept_words(parser, &["CONSTRAINT"]) {
        tokens::identifier(parser)?;
    }
    Ok(())
}

/// A key is a promise of the source that nobody checks, and Flink wants that said.
fn expect_not_enforced(parser: &mut Parser) -> Result<(), ParserError> {
    if tokens::accept_words(parser, &["NOT", "ENFORCED"]) {
        return Ok(());
    }
    let location = parser.peek_token_ref().span.start;
    Err(tokens::error("A primary key is not enforced: write PRIMARY KEY … NOT ENFORCED", location))
}

/// An expression, rewritten, and its text with all column names in backticks, as Flink shows it.
fn parse_expr(parser: &mut Parser) -> Result<(Expr, String), ParserError> {
    let start = parser.index();
    let mut expr = parser.parse_expr()?;
    let mut columns = vec![];
    let _ = each_expr(&expr, &mut |expr| {
        match expr {
            Expr::Identifier(name) => columns.push(name.value.clone()),
            Expr::CompoundIdentifier(names) => columns.extend(names.iter().map(|name| name.value.clone())),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let shown = |index: usize| match &parser.token_at(index).token {
        Token::Word(word) if columns.contains(&word.value) => format!("`{}`", word.value),
        token => token.to_string(),
    };
    let text: String = (start..parser.index()).map(shown).collect();
    rewrite::expression(&mut expr)?;
    Ok((expr, text.trim().to_string()))
}

/// `[COMMENT 'text']`
pub(super) fn parse_comment(parser: &mut Parser) -> Result<Option<String>, ParserError> {
    tokens::accept_words(parser, &["COMMENT"]).then(|| tokens::string(parser)).transpose()
}

/// `('key' = 'value', …)`
fn parse_options(parser: &mut Parser) -> Result<Vec<(String, String)>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    if parser.consume_token(&Token::RParen) {
        return Ok(vec![]);
    }
    let mut options: Vec<(String, String)> = vec![];
    loop {
        let location = parser.peek_token_ref().span.start;
        let key = tokens::string(parser)?;
        if options.iter().any(|(known, _)| *known == key) {
            return Err(tokens::error(format!("The option '{key}' is given twice"), location));
        }
        parser.expect_token(&Token::Eq)?;
        options.push((key, tokens::string(parser)?));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

fn parse_like(parser: &mut Parser) -> Result<LikeClause, ParserError> {
    const WHAT: [&str; 8] = [
        "ALL",
        "CONSTRAINTS",
        "DISTRIBUTION",
        "GENERATED",
        "METADATA",
        "OPTIONS",
        "PARTITIONS",
        "WATERMARKS",
    ];
    let source = tokens::table_reference(parser)?;
    let mut options = vec![];
    if parser.consume_token(&Token::LParen) {
        while !parser.consume_token(&Token::RParen) {
            let mut one_of = |choices: &[&str]| {
                let found = choices.iter().find(|choice| tokens::accept_words(parser, &[choice]));
                match found {
                    Some(found) => Ok(found.to_string()),
                    None => parser.expected(&format!("one of {}", choices.join(", ")), parser.peek_token()),
                }
            };
            options.push((one_of(&["INCLUDING", "EXCLUDING", "OVERWRITING"])?, one_of(&WHAT)?));
        }
    }
    Ok(LikeClause { source, options })
}

fn require_key_values(table: &mut CreateTable) {
    for column in &mut table.columns {
        if let Column::Physical { field, .. } = column
            && table.primary_key.contains(field.name())
        {
            *field = Arc::new(field.as_ref().clone().with_nullable(false));
        }
    }
}

/// A watermark is for a column of the table, unless LIKE may bring it in. Of a computed one the type is not yet known.
fn check_watermark(table: &CreateTable) -> Result<(), String> {
    let Some(WatermarkDefinition { column: name, .. }) = &table.watermark else { return Ok(()) };
    let Some(column) = table.columns.iter().find(|column| column.name() == name) else {
        let like = table.like.is_some();
        return if like {
            Ok(())
        } else {
            Err(format!("The watermark is for {name}, which is no column of the table"))
        };
    };
    match column {
        Column::Physical { field, .. } | Column::Metadata { field, .. } => match field.data_type() {
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => Ok(()),
            other => Err(format!(
                "The watermark is for {name}, which has to be of TIMESTAMP(3) or TIMESTAMP_LTZ(3), or fewer digits, \
                 and is {}",
                TypeKind::from_arrow(other).map_or_else(|_| other.to_string(), |kind| kind.to_string())
            )),
        },
        Column::Computed { .. } => Ok(()),
    }
}

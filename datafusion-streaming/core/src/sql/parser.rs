//! From a script to its statements.

use datafusion::common::Result;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{ObjectType, Statement as SqlStatement};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token};

use super::create_table::{self, parse_comment};
use super::hints::{self, LocatedHint};
use super::rewrite;
use super::statement::{CreateView, ExplainDetail, ParsedStatement, Show, Statement};
use super::tokens::{self, Source, accept_words, at_words};

const ACCEPTED: &str = "SELECT, WITH, VALUES, INSERT INTO, INSERT OVERWRITE, CREATE [TEMPORARY] TABLE, \
    CREATE [TEMPORARY] VIEW, DROP [TEMPORARY] TABLE, DROP [TEMPORARY] VIEW, DESCRIBE, SHOW TABLES, SHOW VIEWS, \
    SHOW CREATE TABLE, SHOW CREATE VIEW, EXPLAIN, SET, RESET, EXECUTE STATEMENT SET BEGIN … END";

/// Parses a script of Flink SQL: statements with `;` between them, and comments.
///
/// # Errors
/// Syntax errors, with line and column, and statements other than those of [`Statement`].
pub fn parse(script: &str) -> Result<Vec<ParsedStatement>> {
    let tokens = tokens::tokenize(script)?;
    let hints = hints::find(&tokens)?;
    let parser = tokens::parser_of(tokens);
    let mut script = ScriptParser { parser, source: Source::new(script), hints };
    let mut statements = vec![];
    loop {
        while script.parser.consume_token(&Token::SemiColon) {}
        if script.parser.peek_token_ref().token == Token::EOF {
            return Ok(statements);
        }
        statements.push(script.statement()?);
        script.end_of_statement()?;
    }
}

struct ScriptParser<'a> {
    parser: Parser<'a>,
    source: Source<'a>,
    hints: Vec<LocatedHint>,
}

impl ScriptParser<'_> {
    fn location(&self) -> Location {
        self.parser.peek_token_ref().span.start
    }

    fn expected<T>(&self, what: &str) -> Result<T, ParserError> {
        self.parser.expected(what, self.parser.peek_token())
    }

    fn end_of_statement(&mut self) -> Result<(), ParserError> {
        match self.parser.peek_token_ref().token {
            Token::SemiColon | Token::EOF => Ok(()),
            _ => self.expected("the end of the statement or ;"),
        }
    }

    fn statement(&mut self) -> Result<ParsedStatement, ParserError> {
        let start = self.location();
        let statement = self.parse_statement()?;
        let end = self.location();
        let within = |at: Location| at >= start && (end.line == 0 || at < end);
        Ok(ParsedStatement {
            text: self.source.between(start, end).to_string(),
            statement,
            hints: self.hints.iter().filter(|hint| within(hint.at)).map(|hint| hint.hint.clone()).collect(),
        })
    }

    fn parse_statement(&mut self) -> Result<Statement, ParserError> {
        let parser = &mut self.parser;
        let first = &parser.peek_token_ref().token;
        if tokens::starts_query(first) || *first == Token::LParen {
            return self.parse_query();
        }
        if at_words(parser, &["INSERT"]) {
            return self.parse_insert();
        }
        let start = self.location();
        let unknown = self.describe_next();
        let parser = &mut self.parser;
        if accept_words(parser, &["CREATE"]) {
            let temporary = accept_words(parser, &["TEMPORARY"]);
            if accept_words(parser, &["TABLE"]) {
                let table = create_table::parse(parser, temporary)?;
                return Ok(Statement::CreateTable(Box::new(table)));
            } else if accept_words(parser, &["VIEW"]) {
                return self.parse_create_view(temporary);
            }
        } else if accept_words(parser, &["DROP"]) {
            let temporary = accept_words(parser, &["TEMPORARY"]);
            if accept_words(parser, &["TABLE"]) {
                return self.parse_drop(ObjectType::Table, temporary);
            } else if accept_words(parser, &["VIEW"]) {
                return self.parse_drop(ObjectType::View, temporary);
            }
        } else if accept_words(parser, &["DESCRIBE"]) || accept_words(parser, &["DESC"]) {
            return Ok(Statement::Describe(tokens::table_reference(parser)?));
        } else if accept_words(parser, &["SHOW", "TABLES"]) {
            return Ok(Statement::Show(Show::Tables));
        } else if accept_words(parser, &["SHOW", "VIEWS"]) {
            return Ok(Statement::Show(Show::Views));
        } else if accept_words(parser, &["SHOW", "CREATE", "TABLE"]) {
            return Ok(Statement::Show(Show::CreateTable(tokens::table_reference(parser)?)));
        } else if accept_words(parser, &["SHOW", "CREATE", "VIEW"]) {
            return Ok(Statement::Show(Show::CreateView(tokens::table_reference(parser)?)));
        } else if accept_words(parser, &["EXPLAIN"]) {
            return self.parse_explain();
        } else if accept_words(parser, &["SET"]) {
            return self.parse_set();
        } else if accept_words(parser, &["RESET"]) {
            let all = matches!(parser.peek_token_ref().token, Token::SemiColon | Token::EOF);
            return Ok(Statement::Reset(if all { None } else { Some(tokens::string(parser)?) }));
        } else if accept_words(parser, &["EXECUTE", "STATEMENT", "SET", "BEGIN"])
            || accept_words(parser, &["BEGIN", "STATEMENT", "SET"])
        {
            return self.parse_statement_set();
        } else if accept_words(parser, &["EXECUTE"]) {
            if at_words(parser, &["INSERT"]) {
                return self.parse_insert();
            } else if tokens::starts_query(&parser.peek_token_ref().token) {
                return self.parse_query();
            }
        }
        Err(ParserError::ParserError(format!(
            "{unknown}{start} is no statement that is supported; these are: {ACCEPTED}"
        )))
    }

    /// The words by which a statement is known, to name it in an error.
    fn describe_next(&self) -> String {
        let words = (0..3).map_while(|i| tokens::word(&self.parser.peek_nth_token_ref(i).token));
        let mut words: Vec<String> = words.map(str::to_ascii_uppercase).collect();
        if words.get(1).is_some_and(|word| word != "TEMPORARY") {
            words.truncate(2);
        }
        if words.is_empty() { self.parser.peek_token_ref().to_string() } else { words.join(" ") }
    }

    fn parse_query(&mut self) -> Result<Statement, ParserError> {
        let mut query = self.parser.parse_query()?;
        rewrite::query(&mut query)?;
        rewrite::state_ttl::apply(&mut query, &self.hints)?;
        rewrite::lookup_hint::apply(&mut query, &self.hints)?;
        rewrite::lookup_options::apply(
            &mut query,
            self.hints.iter().map(|located| (located.at, &located.hint)),
        );
        Ok(datafusion(SqlStatement::Query(query)))
    }

    fn parse_insert(&mut self) -> Result<Statement, ParserError> {
        let mut insert = self.parser.parse_statement()?;
        rewrite::insert(&mut insert)?;
        rewrite::state_ttl::apply(&mut insert, &self.hints)?;
        rewrite::lookup_hint::apply(&mut insert, &self.hints)?;
        rewrite::lookup_options::apply(
            &mut insert,
            self.hints.iter().map(|located| (located.at, &located.hint)),
        );
        Ok(datafusion(insert))
    }

    fn parse_create_view(&mut self, temporary: bool) -> Result<Statement, ParserError> {
        let parser = &mut self.parser;
        let if_not_exists = accept_words(parser, &["IF", "NOT", "EXISTS"]);
        let name = tokens::table_reference(parser)?;
        let mut columns = vec![];
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(|parser| {
                let column = tokens::identifier(parser)?.value;
                parse_comment(parser)?;
                Ok(column)
            })?;
            parser.expect_token(&Token::RParen)?;
        }
        let comment = parse_comment(parser)?;
        tokens::expect_words(parser, &["AS"])?;
        let start = self.location();
        let mut query = self.parser.parse_query()?;
        let definition = self.source.between(start, self.location()).to_string();
        rewrite::query(&mut query)?;
        rewrite::state_ttl::apply(&mut query, &self.hints)?;
        rewrite::lookup_hint::apply(&mut query, &self.hints)?;
        rewrite::lookup_options::apply(
            &mut query,
            self.hints.iter().map(|located| (located.at, &located.hint)),
        );
        let view = CreateView { name, temporary, if_not_exists, columns, comment, query, definition };
        Ok(Statement::CreateView(Box::new(view)))
    }

    fn parse_drop(&mut self, object_type: ObjectType, temporary: bool) -> Result<Statement, ParserError> {
        let if_exists = accept_words(&mut self.parser, &["IF", "EXISTS"]);
        let name = tokens::object_name(&mut self.parser)?;
        Ok(datafusion(SqlStatement::Drop {
            object_type,
            if_exists,
            names: vec![name],
            cascade: false,
            restrict: false,
            purge: false,
            temporary,
            table: None,
        }))
    }

    fn parse_explain(&mut self) -> Result<Statement, ParserError> {
        let mut details = vec![];
        if !accept_words(&mut self.parser, &["PLAN", "FOR"]) {
            let next = |parser: &mut Parser| {
                ExplainDetail::ALL.into_iter().find(|detail| accept_words(parser, &[&detail.to_string()]))
            };
            while let Some(detail) = next(&mut self.parser) {
                details.push(detail);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
        }
        let set = accept_words(&mut self.parser, &["STATEMENT", "SET", "BEGIN"]);
        let statement = if set { self.parse_statement_set()? } else { self.parse_statement()? };
        match statement {
            Statement::DataFusion(_) | Statement::StatementSet(_) => {
                Ok(Statement::Explain { details, statement: Box::new(statement) })
            }
            _ => self.expected("a query, an INSERT or a statement set to explain before this"),
        }
    }

    fn parse_set(&mut self) -> Result<Statement, ParserError> {
        let parser = &mut self.parser;
        if matches!(parser.peek_token_ref().token, Token::SemiColon | Token::EOF) {
            return Ok(Statement::ListOptions);
        }
        let key = tokens::string(parser)?;
        parser.expect_token(&Token::Eq)?;
        let value = tokens::string(parser)?;
        Ok(Statement::Set { key, value })
    }

    /// The INSERTs up to `END`.
    fn parse_statement_set(&mut self) -> Result<Statement, ParserError> {
        let mut statements = vec![];
        loop {
            while self.parser.consume_token(&Token::SemiColon) {}
            if accept_words(&mut self.parser, &["END"]) {
                return Ok(Statement::StatementSet(statements));
            }
            if !at_words(&self.parser, &["INSERT"]) {
                return self.expected("INSERT or END");
            }
            statements.push(self.statement()?);
            self.parser.expect_token(&Token::SemiColon)?;
        }
    }
}

fn datafusion(statement: SqlStatement) -> Statement {
    Statement::DataFusion(DFStatement::Statement(Box::new(statement)))
}

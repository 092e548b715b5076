//! Starting a job.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ahash::RandomState;
use async_trait::async_trait;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::runtime::StreamEnvironment;

use super::runner::Runner;
use super::{Job, JobRegistry};
use crate::checkpoint::CheckpointStorage;
use crate::session::run_statement;
use crate::sql::{Statement, parse};

/// Jobs of a session into which the extension is installed.
#[async_trait]
pub trait FlinkJobs {
    /// Plans an `INSERT INTO …` or an `EXECUTE STATEMENT SET BEGIN … END` as a job, to be started with
    /// [`JobBuilder::start`]. The options of the session at this time are the job's.
    ///
    /// ```no_run
    /// # use datafusion::prelude::SessionContext;
    /// # async fn run(ctx: SessionContext) -> datafusion::common::Result<()> {
    /// use datafusion_streaming::{FlinkJobs, FlinkSql};
    /// ctx.flink_sql("SET 'execution.checkpointing.dir' = 's3://bucket/checkpoints'").await?;
    /// ctx.flink_sql("SET 'execution.checkpointing.interval' = '10 s'").await?;
    /// let job = ctx.flink_job("INSERT INTO totals SELECT k, SUM(v) FROM events GROUP BY k").await?.start().await?;
    /// println!("{}", job.wait().await?);
    /// # Ok(())
    /// # }
    /// ```
    async fn flink_job(&self, statement: &str) -> Result<JobBuilder>;

    /// The jobs that were started in the session, those that have ended included.
    fn jobs(&self) -> Vec<Job>;
}

#[async_trait]
impl FlinkJobs for SessionContext {
    async fn flink_job(&self, statement: &str) -> Result<JobBuilder> {
        let mut statements = parse(statement)?;
        let (Some(parsed), true) = (statements.pop(), statements.is_empty()) else {
            return plan_err!("flink_job() takes one statement; put several INSERTs into a statement set");
        };
        let writes = match &parsed.statement {
            Statement::StatementSet(inserts) => !inserts.is_empty(),
            Statement::DataFusion(DFStatement::Statement(statement)) => {
                matches!(statement.as_ref(), SqlStatement::Insert(_))
            }
            _ => false,
        };
        if !writes {
            return plan_err!(
                "a job is an INSERT or a statement set of them, not '{}'; read the changelog of a query with \
                 execute_changelog()",
                parsed.text
            );
        }
        let query = run_statement(self, parsed.statement).await?;
        JobBuilder::new(self, query)
    }

    fn jobs(&self) -> Vec<Job> {
        let registry = self.state().config().get_extension::<JobRegistry>();
        registry.map(|registry| registry.list()).unwrap_or_default()
    }
}

/// Where a job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartFrom {
    /// At the latest checkpoint that a job of this name has left, or from the beginning if there is none. A job
    /// that came to the end of its input is then done at once.
    Latest,
    /// From the beginning, whatever checkpoints there are.
    Beginning,
    /// At a savepoint, a checkpoint or the latest checkpoint in the folder of a job, by path or URL. After a failure
    /// the job goes on from the checkpoints that it has taken since.
    Path(String),
}

/// A job that is about to be started.
#[derive(Debug)]
pub struct JobBuilder {
    pub(super) query: DataFrame,
    pub(super) options: StreamingOptions,
    pub(super) environment: StreamEnvironment,
    pub(super) start: StartFrom,
    registry: Arc<JobRegistry>,
    name: String,
}

impl JobBuilder {
    fn new(ctx: &SessionContext, query: DataFrame) -> Result<Self> {
        let state = ctx.state();
        let options = StreamingOptions::of(state.config_options());
        let registry = state.config().get_extension::<JobRegistry>().ok_or_else(|| {
            plan_datafusion_err!("the streaming extension is not installed in this session")
        })?;
        let environment = state.config().get_extension::<StreamEnvironment>().unwrap_or_default();
        let name = match options.job_name.as_str() {
            "" => default_name(query.logical_plan()),
            name => name.to_string(),
        };
        let start = match options.restore_path.as_str() {
            "" => StartFrom::Latest,
            path => StartFrom::Path(path.to_string()),
        };
        Ok(JobBuilder { query, options, environment: (*environment).clone(), start, registry, name })
    }

    /// The job under another name. A job finds its checkpoints again by its name.
    pub fn name(self, name: &str) -> Self {
        JobBuilder { name: name.to_string(), ..self }
    }

    /// The job that starts there.
    pub fn start_from(self, start: StartFrom) -> Self {
        JobBuilder { start, ..self }
    }

    /// The job with another clock.
    pub fn with_environment(self, environment: StreamEnvironment) -> Self {
        JobBuilder { environment, ..self }
    }

    /// Starts the job on the tokio runtime of the caller. Errors in its plan, and checkpoints that it cannot start
    /// from, come up in [`Job::wait`].
    pub async fn start(self) -> Result<Job> {
        let id = job_id(&self.name);
        if id.is_empty() {
            return plan_err!("'{}' is no name for a job: it has no letters or digits", self.name);
        }
        let storage = match self.options.checkpoint_dir.as_str() {
            "" => CheckpointStorage::in_memory(),
            dir => CheckpointStorage::open(dir, Some(&id), &self.base_dir(), &self.query_runtime())?,
        };
        let clock = Arc::clone(&self.environment.clock);
        let (job, commands) = Job::new(self.name.clone(), id, clock);
        self.registry.add(&job)?;
        let runner = Runner::new(&job, self, storage, commands);
        tokio::spawn(runner.run());
        Ok(job)
    }

    pub(super) fn base_dir(&self) -> PathBuf {
        PathBuf::from(&self.options.base_dir)
    }

    pub(super) fn query_runtime(&self) -> Arc<datafusion::execution::runtime_env::RuntimeEnv> {
        let (state, _) = self.query.clone().into_parts();
        Arc::clone(state.runtime_env())
    }
}

/// A random word that no other start has.
pub(super) fn random_word(now: i64) -> String {
    format!("{:x}{:08x}", now, RandomState::new().hash_one(now) as u32)
}

/// The name as it can stand in file names; names of jobs that differ only in other characters are the same job.
fn job_id(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    match name.chars().any(char::is_alphanumeric) {
        true => name.chars().map(fits).collect(),
        false => String::new(),
    }
}

/// Flink's: `insert-into_` and the tables.
fn default_name(plan: &LogicalPlan) -> String {
    fn targets(plan: &LogicalPlan, names: &mut BTreeSet<String>) {
        match plan {
            LogicalPlan::Dml(insert) => {
                names.insert(insert.table_name.table().to_string());
            }
            plan => plan.inputs().into_iter().for_each(|input| targets(input, names)),
        }
    }
    let mut names = BTreeSet::new();
    targets(plan, &mut names);
    format!("insert-into_{}", names.into_iter().collect::<Vec<_>>().join("_"))
}

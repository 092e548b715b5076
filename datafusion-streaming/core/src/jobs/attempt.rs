//! One attempt to run a job: plan, restore, run.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_err, plan_err};
use datafusion::execution::TaskContext;
use datafusion_streaming_physical_plan::runtime::{
    BarrierId, CheckpointCoordinator, ElementStream, JobScope, StreamElement, StreamEnvironment, StreamExec,
    elements_of,
};
use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::task::JoinHandle;

use super::builder::random_word;
use super::handle::Command;
use super::recovery::{Sinks, StartingPoint, coordinator};
use super::runner::Runner;
use super::writing::{Demand, Savepoint, Writer};
use super::{JobStatus, StartFrom};
use crate::checkpoint::{CheckpointKind, CheckpointStorage};
use crate::session::plan_job;

impl Runner {
    /// Runs the job from where it is to start now.
    pub(super) async fn attempt(&mut self) -> Result<JobStatus> {
        let scope = JobScope { id: self.job.id.clone(), attempt: random_word(self.job.clock.now()) };
        let environment = StreamEnvironment {
            checkpoints: None,
            job: Some(scope.clone()),
            ..self.plan.environment.clone()
        };
        let (mut state, logical) = self.plan.query.clone().into_parts();
        state.config_mut().set_extension(Arc::new(environment.clone()));
        let (plan, mut state) = plan_job(state, logical).await?;
        if !plan.is::<StreamExec>() {
            return plan_err!(
                "the INSERT of job '{}' is not carried out by a streaming sink but by {}; it runs with collect(), \
                 without checkpoints",
                self.job.name,
                plan.name()
            );
        }

        self.storage.clean().await?;
        let last_id = self.storage.latest().await?.unwrap_or(0);
        if !self.has_run && self.plan.start != StartFrom::Latest {
            self.earlier_id = last_id;
        }
        let start = self.starting_point(last_id).await?;
        let sinks = Sinks::of(&plan);
        if let Some(start) = &start {
            sinks.commit(&start.checkpoint).await?;
        }
        sinks.clean(&scope).await?;

        let finished = start.as_ref().is_some_and(|start| start.finished);
        let drops_unclaimed = self.plan.options.ignore_unclaimed_state;
        let coordinator = Arc::new(coordinator(&plan, start, drops_unclaimed, last_id)?);
        let environment = StreamEnvironment { checkpoints: Some(Arc::clone(&coordinator)), ..environment };
        state.config_mut().set_extension(Arc::new(environment));
        let elements = elements_of(&plan, 0, &Arc::new(TaskContext::from(&state)))?;
        coordinator.forget_restored();
        self.has_run = true;
        self.job.runs(&plan);

        let writer = Arc::new(Writer {
            job: Arc::clone(&self.job),
            storage: Arc::clone(&self.storage),
            sinks,
            clock: Arc::clone(&self.job.clock),
            retained: self.plan.options.checkpoints_retained,
        });
        let mut running = Running {
            runner: self,
            coordinator,
            elements,
            writer: Arc::clone(&writer),
            demands: VecDeque::new(),
            under_way: None,
            writing: None,
            tick: None,
            timeout: None,
        };
        let status = running.run().await;
        let last = running.finish_writing().await;
        let status = status.and_then(|status| last.map(|()| status));
        match (status, running) {
            (Ok(JobStatus::Finished), mut running) => {
                if !finished {
                    let checkpoint = running.coordinator.complete_at_end();
                    let demand = running.remaining_demand();
                    drop(running);
                    writer.write(checkpoint, CheckpointKind::Finished, demand).await?;
                }
                Ok(JobStatus::Finished)
            }
            (Ok(status), running) => {
                drop(running);
                writer.sinks.clean(&scope).await?;
                Ok(status)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Where an attempt starts: the first where it was told to, later ones from the latest checkpoint.
    async fn starting_point(&self, last_id: u64) -> Result<Option<StartingPoint>> {
        if self.has_run || self.plan.start == StartFrom::Latest {
            // of a run that started elsewhere, only its own checkpoints count
            if last_id > self.earlier_id {
                return StartingPoint::read(&self.storage, last_id).await.map(Some);
            }
        }
        match &self.plan.start {
            StartFrom::Path(path) => self.point_at(path).await.map(Some),
            StartFrom::Latest | StartFrom::Beginning => Ok(None),
        }
    }

    /// The checkpoint at a path: `…/chk-7`, or the latest in a folder.
    async fn point_at(&self, path: &str) -> Result<StartingPoint> {
        let trimmed = path.trim_end_matches('/');
        let runtime = self.plan.query_runtime();
        let (folder, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let number = name.strip_prefix("chk-").and_then(|number| number.parse::<u64>().ok());
        let folder = if number.is_some() { folder } else { trimmed };
        let storage = CheckpointStorage::open(folder, None, &self.plan.base_dir(), &runtime)?;
        let id = match number {
            Some(number) => Some(number),
            None => storage.latest().await?,
        };
        match id {
            Some(id) => StartingPoint::read(&storage, id).await,
            None => exec_err!(
                "there is no complete checkpoint in '{path}'; give the folder of a savepoint or of a job's checkpoints, \
                 or one of its chk-… folders"
            ),
        }
    }
}

/// A plan that runs.
struct Running<'a> {
    runner: &'a mut Runner,
    coordinator: Arc<CheckpointCoordinator>,
    elements: ElementStream,
    writer: Arc<Writer>,
    /// Checkpoints that were asked for while another was under way.
    demands: VecDeque<Demand>,
    under_way: Option<(BarrierId, Demand)>,
    /// The checkpoint that is being written, and whether the job stops at it.
    writing: Option<(JoinHandle<Result<()>>, bool)>,
    tick: Option<BoxFuture<'static, ()>>,
    timeout: Option<BoxFuture<'static, ()>>,
}

impl Running<'_> {
    async fn run(&mut self) -> Result<JobStatus> {
        self.schedule(self.interval());
        loop {
            self.start_demanded();
            tokio::select! {
                element = self.elements.next() => match element.transpose()? {
                    None => return Ok(JobStatus::Finished),
                    Some(StreamElement::Barrier(barrier)) => self.passed(barrier)?,
                    Some(_) => {}
                },
                written = joined(&mut self.writing) => {
                    let stops = self.writing.take().is_some_and(|(_, stops)| stops);
                    self.timeout = None;
                    written?;
                    if stops {
                        return Ok(JobStatus::Stopped);
                    }
                    self.schedule(self.interval().max(self.runner.plan.options.checkpoint_min_pause));
                }
                () = due(&mut self.tick) => {
                    self.tick = None;
                    self.demands.push_back(Demand::default());
                }
                () = due(&mut self.timeout) => {
                    return exec_err!(
                        "a checkpoint was not complete after {} ms ('execution.checkpointing.timeout')",
                        self.runner.plan.options.checkpoint_timeout
                    );
                }
                command = self.runner.commands.recv() => match command {
                    Some(Command::Cancel) | None => return Ok(JobStatus::Canceled),
                    Some(Command::Checkpoint(reply)) => {
                        self.demands.push_back(Demand { replies: vec![reply], savepoints: vec![] });
                    }
                    Some(Command::Savepoint { dir, stop, reply }) => match self.savepoint_folder(dir.as_deref()) {
                        Ok(storage) => {
                            let savepoints = vec![Savepoint { storage, stop, reply }];
                            self.demands.push_back(Demand { replies: vec![], savepoints });
                        }
                        Err(error) => {
                            let _ = reply.send(Err(error));
                        }
                    },
                },
            }
        }
    }

    /// A new folder for a savepoint.
    fn savepoint_folder(&self, dir: Option<&str>) -> Result<CheckpointStorage> {
        let plan = &self.runner.plan;
        let dir = dir.unwrap_or(&plan.options.savepoint_dir);
        if dir.is_empty() {
            return exec_err!(
                "there is no folder for the savepoint: name one, or SET 'execution.checkpointing.savepoint-dir'"
            );
        }
        let folder = format!("savepoint-{}-{}", self.writer.job.id, random_word(self.writer.clock.now()));
        CheckpointStorage::open(dir, Some(&folder), &plan.base_dir(), &plan.query_runtime())
    }

    fn interval(&self) -> u64 {
        self.runner.plan.options.checkpoint_interval
    }

    /// Plans the next checkpoint of the interval, which is a number of milliseconds away.
    fn schedule(&mut self, millis: u64) {
        if self.interval() > 0 {
            self.tick = Some(self.sleep(millis));
        }
    }

    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()> {
        let clock = &self.writer.clock;
        clock.sleep_until(clock.now().saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }

    /// Starts the next checkpoint that was asked for, if none is under way.
    fn start_demanded(&mut self) {
        if self.under_way.is_some() || self.writing.is_some() {
            return;
        }
        let Some(demand) = self.demands.pop_front() else { return };
        let barrier = match demand.stops() {
            true => self.coordinator.trigger_last(),
            false => self.coordinator.trigger(),
        };
        match barrier {
            Some(barrier) => {
                self.timeout = Some(self.sleep(self.runner.plan.options.checkpoint_timeout));
                self.under_way = Some((barrier, demand));
            }
            None => self.demands.push_front(demand),
        }
    }

    /// A barrier has come out of the plan: its checkpoint is written.
    fn passed(&mut self, barrier: BarrierId) -> Result<()> {
        let Some(checkpoint) = self.coordinator.complete(barrier) else {
            return exec_err!("barrier {barrier} came out of the plan, but no operator has a snapshot of it");
        };
        let Some((_, demand)) = self.under_way.take_if(|(under_way, _)| *under_way == barrier) else {
            return Ok(());
        };
        let stops = demand.stops();
        let write = Arc::clone(&self.writer).write(checkpoint, CheckpointKind::Checkpoint, demand);
        self.writing = Some((tokio::spawn(write), stops));
        Ok(())
    }

    /// Waits for the checkpoint that is being written: another attempt must not write at the same time.
    async fn finish_writing(&mut self) -> Result<()> {
        match self.writing {
            Some(_) => {
                let written = joined(&mut self.writing).await;
                self.writing = None;
                written
            }
            None => Ok(()),
        }
    }

    /// All that is still asked for when the input has ended.
    fn remaining_demand(&mut self) -> Demand {
        let under_way = self.under_way.take().map(|(_, demand)| demand).unwrap_or_default();
        self.demands.drain(..).fold(under_way, Demand::and)
    }
}

/// Completes when the task has, and never where there is none.
async fn joined(task: &mut Option<(JoinHandle<Result<()>>, bool)>) -> Result<()> {
    match task {
        Some((task, _)) => task.await.map_err(|error| DataFusionError::External(Box::new(error)))?,
        None => futures::future::pending().await,
    }
}

/// Completes when the time has come, and never where there is none.
async fn due(time: &mut Option<BoxFuture<'static, ()>>) {
    match time {
        Some(time) => time.as_mut().await,
        None => futures::future::pending().await,
    }
}

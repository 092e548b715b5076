//! The jobs of a session.

use datafusion::common::{Result, exec_err};
use parking_lot::Mutex;

use super::Job;

/// The jobs that were started in a session, an extension of its `SessionConfig`.
#[derive(Debug, Default)]
pub struct JobRegistry {
    jobs: Mutex<Vec<Job>>,
}

impl JobRegistry {
    /// All jobs, in the order in which they were started; one that was started again stands in its last place.
    pub fn list(&self) -> Vec<Job> {
        self.jobs.lock().clone()
    }

    /// Adds a job. An error where one of its id is running: they would share checkpoints and files.
    pub(super) fn add(&self, job: &Job) -> Result<()> {
        let mut jobs = self.jobs.lock();
        if jobs.iter().any(|known| known.id() == job.id() && !known.status().is_final()) {
            return exec_err!(
                "a job '{}' is running already; stop it, or give this one another name with SET 'pipeline.name'",
                job.name()
            );
        }
        jobs.retain(|known| known.id() != job.id());
        jobs.push(job.clone());
        Ok(())
    }
}

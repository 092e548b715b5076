//! When a job that has failed starts again.

use ahash::RandomState;
use datafusion_streaming_physical_plan::config::{RestartStrategy, StreamingOptions};

/// Flink's restart strategies. Times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) enum Restarts {
    None,
    FixedDelay { left: u64, delay: i64 },
    ExponentialDelay(Backoff),
}

#[derive(Debug, Clone)]
pub(super) struct Backoff {
    initial: f64,
    max: f64,
    multiplier: f64,
    jitter: f64,
    reset_threshold: i64,
    /// The number of restarts up to a reset; 0: no limit.
    attempts: u64,
    next: f64,
    taken: u64,
    last_failure: Option<i64>,
}

impl Restarts {
    pub(super) fn new(options: &StreamingOptions) -> Self {
        let millis = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match options.restarts() {
            RestartStrategy::None => Restarts::None,
            RestartStrategy::FixedDelay => {
                Restarts::FixedDelay { left: options.restart_attempts, delay: millis(options.restart_delay) }
            }
            RestartStrategy::ExponentialDelay => Restarts::ExponentialDelay(Backoff {
                initial: options.restart_initial_backoff as f64,
                max: options.restart_max_backoff as f64,
                multiplier: options.restart_backoff_multiplier.max(1.0),
                jitter: options.restart_jitter_factor.clamp(0.0, 1.0),
                reset_threshold: millis(options.restart_reset_threshold),
                attempts: options.restart_attempts_before_reset,
                next: options.restart_initial_backoff as f64,
                taken: 0,
                last_failure: None,
            }),
        }
    }

    /// How long to wait after a failure at `now`; `None` where the job has failed for good.
    pub(super) fn delay_after_failure(&mut self, now: i64) -> Option<i64> {
        match self {
            Restarts::None => None,
            Restarts::FixedDelay { left, delay } => {
                *left = left.checked_sub(1)?;
                Some(*delay)
            }
            Restarts::ExponentialDelay(backoff) => backoff.delay(now),
        }
    }
}

impl Backoff {
    fn delay(&mut self, now: i64) -> Option<i64> {
        let ran_long =
            |last: i64| now.saturating_sub(last) >= self.reset_threshold.saturating_add(self.next as i64);
        if self.last_failure.is_some_and(ran_long) {
            self.next = self.initial;
            self.taken = 0;
        }
        if self.attempts > 0 && self.taken >= self.attempts {
            return None;
        }
        self.last_failure = Some(now);
        self.taken += 1;
        let delay = self.next.min(self.max);
        self.next = (delay * self.multiplier).min(self.max);
        // between -1 and 1, so that jobs that failed together do not start together
        let random = f64::from(RandomState::new().hash_one(now) as i32) / f64::from(i32::MAX);
        Some((delay * (1.0 + self.jitter * random)).max(0.0) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restarts(change: impl FnOnce(&mut StreamingOptions)) -> Restarts {
        let mut options = StreamingOptions::default();
        change(&mut options);
        Restarts::new(&options)
    }

    #[test]
    fn none_and_fixed_delay() {
        assert_eq!(restarts(|_| {}).delay_after_failure(0), None);
        let mut fixed = restarts(|options| {
            options.restart_strategy = Some(RestartStrategy::FixedDelay);
            options.restart_attempts = 2;
            options.restart_delay = 70;
        });
        let delays: Vec<_> = (0..3).map(|now| fixed.delay_after_failure(now)).collect();
        assert_eq!(delays, [Some(70), Some(70), None]);
    }

    #[test]
    fn with_checkpoints_a_job_starts_again_unless_it_is_told_not_to() {
        let mut checkpointed = restarts(|options| options.checkpoint_interval = 10);
        for (failure, delay) in [(0, 1_000), (5_000, 1_500), (9_000, 2_250)] {
            let given = checkpointed.delay_after_failure(failure).unwrap_or_default();
            assert!((delay * 9 / 10..=delay * 11 / 10).contains(&given), "{given} after {failure}");
        }
        let mut told_not_to = restarts(|options| {
            options.checkpoint_interval = 10;
            options.restart_strategy = Some(RestartStrategy::None);
        });
        assert_eq!(told_not_to.delay_after_failure(0), None);
    }

    #[test]
    fn exponential_delay_grows_to_its_limit_and_starts_again_after_a_quiet_time() {
        let mut growing = restarts(|options| {
            options.restart_strategy = Some(RestartStrategy::ExponentialDelay);
            options.restart_jitter_factor = 0.0;
            options.restart_initial_backoff = 100;
            options.restart_max_backoff = 300;
            options.restart_backoff_multiplier = 2.0;
            options.restart_reset_threshold = 10_000;
            options.restart_attempts_before_reset = 4;
        });
        let delays: Vec<_> = (0..5).map(|now| growing.delay_after_failure(now)).collect();
        assert_eq!(delays, [Some(100), Some(200), Some(300), Some(300), None]);
        assert_eq!(growing.delay_after_failure(20_000), Some(100));
    }
}

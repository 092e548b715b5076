//! The clock: the only place where wall-clock time is read.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;

/// Processing time, in milliseconds since the epoch. Operators read it once a call, through their
/// context; tests replace it by a [`ManualClock`].
pub trait Clock: Debug + Send + Sync {
    /// The time now.
    fn now(&self) -> i64;

    /// Completes when [`Clock::now`] has reached `deadline`.
    fn sleep_until(&self, deadline: i64) -> BoxFuture<'static, ()>;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the wall clock is read")]
    fn now(&self) -> i64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        since_epoch.map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep_until(&self, deadline: i64) -> BoxFuture<'static, ()> {
        let wait = deadline.saturating_sub(self.now()).max(0);
        tokio::time::sleep(Duration::from_millis(wait.unsigned_abs())).boxed()
    }
}

/// A clock that stands still until it is told to go on.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<ManualState>);

#[derive(Debug, Default)]
struct ManualState {
    now: AtomicI64,
    moved: Notify,
}

impl ManualClock {
    /// A clock that shows `now`, in milliseconds since the epoch.
    pub fn new(now: i64) -> Self {
        let clock = ManualClock::default();
        clock.set(now);
        clock
    }

    /// Sets the time and wakes all sleepers that are due.
    pub fn set(&self, now: i64) {
        self.0.now.store(now, Ordering::SeqCst);
        self.0.moved.notify_waiters();
    }

    /// Moves the time on by `millis`.
    pub fn advance(&self, millis: i64) {
        self.0.now.fetch_add(millis, Ordering::SeqCst);
        self.0.moved.notify_waiters();
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.now.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, deadline: i64) -> BoxFuture<'static, ()> {
        let state = Arc::clone(&self.0);
        async move {
            loop {
                let moved = state.moved.notified();
                tokio::pin!(moved);
                moved.as_mut().enable();
                if state.now.load(Ordering::SeqCst) >= deadline {
                    return;
                }
                moved.await;
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_manual_clock_passes_its_deadline() {
        let clock = ManualClock::new(1_000);
        let sleep = clock.sleep_until(1_500);
        assert!(clock.sleep_until(1_000).now_or_never().is_some());
        let advancing = clock.clone();
        let advance = async move {
            advancing.advance(400);
            tokio::task::yield_now().await;
            advancing.advance(100);
        };
        tokio::join!(sleep, advance);
        assert_eq!(clock.now(), 1_500);
    }
}

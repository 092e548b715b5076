//! The one stream that runs operators.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion_common::Result;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};

use super::{Driver, ElementStream, StreamElement};
use crate::time::Clock;

/// Polls the inputs of an operator in turn, feeds its driver, and yields what comes out.
pub struct OperatorStream {
    driver: Driver,
    ports: Vec<Option<ElementStream>>,
    next_port: usize,
    clock: Arc<dyn Clock>,
    timer: Option<(i64, BoxFuture<'static, ()>)>,
    failed: bool,
}

impl OperatorStream {
    /// A stream of the output of `driver`, whose operator has as many inputs as there are `ports`.
    pub fn new(driver: Driver, ports: Vec<ElementStream>, clock: Arc<dyn Clock>) -> Self {
        let ports = ports.into_iter().map(Some).collect();
        OperatorStream { driver, ports, next_port: 0, clock, timer: None, failed: false }
    }

    /// Takes one element of one input; `Pending` if none has any.
    fn poll_ports(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let count = self.ports.len();
        for port in (self.next_port..count).chain(0..self.next_port) {
            if self.driver.is_blocked(port) {
                continue;
            }
            let Some(stream) = &mut self.ports[port] else { continue };
            let Poll::Ready(element) = stream.poll_next_unpin(cx) else { continue };
            self.next_port = (port + 1) % count;
            let now = self.clock.now();
            return Poll::Ready(match element {
                Some(element) => element.and_then(|element| self.driver.input(port, element, now)),
                None => {
                    self.ports[port] = None;
                    self.driver.end(port, now)
                }
            });
        }
        Poll::Pending
    }

    /// Drops all inputs: to the operator they have ended.
    fn end(&mut self) -> Result<()> {
        let now = self.clock.now();
        for port in 0..self.ports.len() {
            if self.ports[port].take().is_some() {
                self.driver.end(port, now)?;
            }
        }
        Ok(())
    }

    /// Fires the operator's timer if it is due, else makes sure that the task wakes when it is.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(deadline) = self.driver.next_timer() else {
            self.timer = None;
            return Poll::Pending;
        };
        if self.timer.as_ref().is_none_or(|(at, _)| *at != deadline) {
            self.timer = Some((deadline, self.clock.sleep_until(deadline)));
        }
        let Some((_, sleep)) = &mut self.timer else { return Poll::Pending };
        sleep.poll_unpin(cx).map(|()| {
            self.timer = None;
            self.driver.fire_timer(self.clock.now())
        })
    }
}

impl Stream for OperatorStream {
    type Item = Result<StreamElement>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(element) = self.driver.pop() {
                if let StreamElement::Data(changes) = &element {
                    self.driver.metrics().baseline.record_output(changes.num_rows());
                }
                return Poll::Ready(Some(Ok(element)));
            }
            if self.failed || self.driver.is_finished() {
                return Poll::Ready(None);
            }
            let mut progress = match self.driver.is_done() {
                true => Poll::Ready(self.end()),
                false => self.poll_ports(cx),
            };
            if progress.is_pending() {
                progress = self.poll_timer(cx);
            }
            match progress {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    self.failed = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

//! A job: an operation under way.

use crate::error::Error;
use crate::operation_run::OperationRun;
use crate::outcome::OffloadOutcome;
use crate::shared::SharedState;
use crate::wait::Waiter;
use std::sync::Arc;
use std::time::{Duration, Instant};

enum OffloadJobState {
    UnderWay(Box<OperationRun>),
    Ended(Result<OffloadOutcome, Error>),
    Taken,
}

/// An operation under way. Its result can be taken once.
///
/// A job that is dropped before its end leaves its memory to the device: the completion record is kept until
/// the device has written it, and the caller has to keep the operands.
pub struct OffloadJob {
    shared: Arc<SharedState>,
    state: OffloadJobState,
}

impl OffloadJob {
    pub(crate) fn ended(shared: &Arc<SharedState>, end: Result<OffloadOutcome, Error>) -> Self {
        Self { shared: Arc::clone(shared), state: OffloadJobState::Ended(end) }
    }

    pub(crate) fn begun(shared: &Arc<SharedState>, work: OperationRun) -> Self {
        let mut job =
            Self { shared: Arc::clone(shared), state: OffloadJobState::UnderWay(Box::new(work)) };
        job.advance();
        job
    }

    /// Whether the operation has ended. The call also submits further pieces of an operation that was
    /// divided or met an absent page.
    pub fn has_ended(&mut self) -> bool {
        self.advance();
        !matches!(self.state, OffloadJobState::UnderWay(_))
    }

    /// Takes the result; `None` if the operation has not ended, or its result was taken before.
    pub fn poll(&mut self) -> Option<Result<OffloadOutcome, Error>> {
        self.advance();
        match std::mem::replace(&mut self.state, OffloadJobState::Taken) {
            OffloadJobState::Ended(end) => Some(end),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Waits for the end and takes the result.
    ///
    /// # Errors
    /// If the operation fails.
    ///
    /// # Panics
    /// If the result was taken before.
    pub fn wait(mut self) -> Result<OffloadOutcome, Error> {
        let mut waiter = Waiter::new(self.shared.wait());
        loop {
            match std::mem::replace(&mut self.state, OffloadJobState::Taken) {
                OffloadJobState::UnderWay(mut work) => match work.poll(&self.shared) {
                    Some(end) => return end,
                    None => self.state = OffloadJobState::UnderWay(work),
                },
                OffloadJobState::Ended(end) => return end,
                OffloadJobState::Taken => panic!("the end of this job was taken before"),
            }
            waiter.pause(None);
        }
    }

    /// Waits for the end, at most so long, and takes the result; `None` if the operation is still under way.
    pub fn wait_for(&mut self, most: Duration) -> Option<Result<OffloadOutcome, Error>> {
        let begun = Instant::now();
        let mut waiter = Waiter::new(self.shared.wait());
        loop {
            let end = self.poll();
            if end.is_some() || begun.elapsed() >= most {
                return end;
            }
            waiter.pause(None);
        }
    }

    fn advance(&mut self) {
        if let OffloadJobState::UnderWay(work) = &mut self.state
            && let Some(end) = work.poll(&self.shared)
        {
            self.state = OffloadJobState::Ended(end);
        }
    }
}

impl Drop for OffloadJob {
    fn drop(&mut self) {
        self.advance();
        if let OffloadJobState::UnderWay(work) = &mut self.state {
            work.abandon(&self.shared);
        }
    }
}

//! An operation under way.

use crate::error::Error;
use crate::outcome::Outcome;
use crate::shared::Shared;
use crate::wait::Waiter;
use crate::work::Work;
use std::sync::Arc;
use std::time::{Duration, Instant};

enum State {
    UnderWay(Box<Work>),
    Ended(Result<Outcome, Error>),
    Taken,
}

/// An operation that was begun. Its end is taken once.
///
/// Dropped before its end it leaves its memory to the device: the completion record is kept for ever,
/// and the operands are the caller's to keep.
pub struct Job {
    shared: Arc<Shared>,
    state: State,
}

impl Job {
    pub(crate) fn ended(shared: &Arc<Shared>, end: Result<Outcome, Error>) -> Self {
        Self { shared: Arc::clone(shared), state: State::Ended(end) }
    }

    pub(crate) fn begun(shared: &Arc<Shared>, work: Work) -> Self {
        let mut job = Self { shared: Arc::clone(shared), state: State::UnderWay(Box::new(work)) };
        job.look();
        job
    }

    /// Whether it has ended; what is left of an operation that was divided, or met an absent page, goes on
    /// meanwhile.
    pub fn has_ended(&mut self) -> bool {
        self.look();
        !matches!(self.state, State::UnderWay(_))
    }

    /// Its end, if it has one that was not taken.
    pub fn poll(&mut self) -> Option<Result<Outcome, Error>> {
        self.look();
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Ended(end) => Some(end),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What the operation fails with.
    ///
    /// # Panics
    /// If its end was taken before.
    pub fn wait(mut self) -> Result<Outcome, Error> {
        let mut waiter = Waiter::new(self.shared.wait());
        loop {
            match std::mem::replace(&mut self.state, State::Taken) {
                State::UnderWay(mut work) => match work.poll(&self.shared) {
                    Some(end) => return end,
                    None => self.state = State::UnderWay(work),
                },
                State::Ended(end) => return end,
                State::Taken => panic!("the end of this job was taken before"),
            }
            waiter.pause(None);
        }
    }

    /// Waits for its end, but not longer; `None` leaves it under way.
    pub fn wait_for(&mut self, most: Duration) -> Option<Result<Outcome, Error>> {
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

    fn look(&mut self) {
        if let State::UnderWay(work) = &mut self.state
            && let Some(end) = work.poll(&self.shared)
        {
            self.state = State::Ended(end);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.look();
        if let State::UnderWay(work) = &mut self.state {
            work.abandon(&self.shared);
        }
    }
}

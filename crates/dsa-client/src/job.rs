//! An operation under way.

#![allow(unsafe_code)]

use crate::client::{Client, Path};
use crate::error::Error;
use crate::operation::Operation;
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

/// A copy between buffers that belong to it meanwhile, so that nothing can go wrong with their memory.
pub struct Copying {
    job: Option<Job>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Client {
    /// Begins a copy of all bytes of `from` to the beginning of `to`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `to` is shorter.
    pub fn begin_copy(&self, from: Vec<u8>, mut to: Vec<u8>) -> Result<Copying, Error> {
        if to.len() < from.len() {
            let why = format!("{} bytes do not fit into {}", from.len(), to.len());
            return Err(Error::Argument { operation: "memory move", why });
        }
        let copy = Operation::copy(from.as_ptr() as u64, to.as_mut_ptr() as u64, from.len() as u64);
        if from.is_empty() {
            return Ok(Copying { job: None, from, to });
        }
        // SAFETY: the buffers are kept, or left to the device, until the end.
        let job = unsafe { self.submit(&copy, Path::Automatic) }?;
        Ok(Copying { job: Some(job), from, to })
    }
}

impl Copying {
    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.job.as_mut().is_none_or(Job::has_ended)
    }

    /// Waits for its end, and gives both buffers back.
    ///
    /// # Errors
    /// What the copy fails with.
    pub fn wait(mut self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        if let Some(job) = self.job.take() {
            job.wait()?;
        }
        Ok((std::mem::take(&mut self.from), std::mem::take(&mut self.to)))
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        if !self.has_ended() {
            std::mem::forget(std::mem::take(&mut self.from));
            std::mem::forget(std::mem::take(&mut self.to));
        }
    }
}

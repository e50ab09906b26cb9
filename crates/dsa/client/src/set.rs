//! Sets of jobs, whose results are taken in the order in which the jobs end.

use crate::client::OffloadClient;
use crate::error::Error;
use crate::job::OffloadJob;
use crate::outcome::OffloadOutcome;
use crate::wait::Waiter;

/// The end of a job of a set.
#[derive(Debug)]
pub struct FinishedJob<T> {
    /// The tag with which the job was added.
    pub tag: T,
    /// Outcome of the job, or its error.
    pub result: Result<OffloadOutcome, Error>,
}

/// Jobs under way, each with a tag that the caller chose.
pub struct Set<T> {
    client: OffloadClient,
    jobs: Vec<(T, OffloadJob)>,
    /// Index of the job that is polled next, so that none is always polled last.
    next: usize,
}

impl<T> Set<T> {
    /// Creates an empty set of jobs.
    #[must_use]
    pub fn new(client: &OffloadClient) -> Self {
        Self { client: client.clone(), jobs: Vec::new(), next: 0 }
    }

    /// Adds a job to the set, with a tag by which its end is recognized.
    pub fn add(&mut self, tag: T, job: OffloadJob) {
        self.jobs.push((tag, job));
    }

    /// Number of jobs whose ends were not taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether all ends were taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Takes the end of a job that has ended; `None` if no job has.
    pub fn poll(&mut self) -> Option<FinishedJob<T>> {
        for _ in 0..self.jobs.len() {
            self.next = if self.next + 1 < self.jobs.len() { self.next + 1 } else { 0 };
            if let Some(result) = self.jobs[self.next].1.poll() {
                let (tag, _) = self.jobs.swap_remove(self.next);
                return Some(FinishedJob { tag, result });
            }
        }
        None
    }

    /// Waits until a job has ended, and takes its end; `None` if the set is empty.
    pub fn wait(&mut self) -> Option<FinishedJob<T>> {
        let mut waiter = Waiter::new(self.client.shared().wait());
        while !self.jobs.is_empty() {
            if let Some(end) = self.poll() {
                return Some(end);
            }
            waiter.pause(None);
        }
        None
    }
}

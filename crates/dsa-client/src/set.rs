//! Several jobs, whose ends come in any order.

use crate::client::Client;
use crate::error::Error;
use crate::job::Job;
use crate::outcome::Outcome;
use crate::wait::Waiter;

/// The end of one job of a set.
#[derive(Debug)]
pub struct End<T> {
    /// What it was added with.
    pub tag: T,
    /// How it ended.
    pub result: Result<Outcome, Error>,
}

/// Jobs under way, each with a tag of the caller's.
pub struct Set<T> {
    client: Client,
    jobs: Vec<(T, Job)>,
    /// Where the next look begins, so that none is looked at last for ever.
    next: usize,
}

impl<T> Set<T> {
    /// An empty one.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), jobs: Vec::new(), next: 0 }
    }

    /// Adds a job.
    pub fn add(&mut self, tag: T, job: Job) {
        self.jobs.push((tag, job));
    }

    /// Jobs whose ends were not taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether all ends were taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The end of a job, if one has ended.
    pub fn poll(&mut self) -> Option<End<T>> {
        for _ in 0..self.jobs.len() {
            self.next = if self.next + 1 < self.jobs.len() { self.next + 1 } else { 0 };
            if let Some(result) = self.jobs[self.next].1.poll() {
                let (tag, _) = self.jobs.swap_remove(self.next);
                return Some(End { tag, result });
            }
        }
        None
    }

    /// Waits for the end of a job; `None` if there is none.
    pub fn wait(&mut self) -> Option<End<T>> {
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

//! Operations that one descriptor gives to a device as a list.

mod under_way;

pub use under_way::BatchJob;

use crate::client::{Client, Path};
use crate::error::Error;
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::wait::Waiter;

/// A list that is being put together. Members run in any order, but for fences.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    members: Vec<(Operation, bool)>,
}

impl Batch {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation.
    pub fn add(&mut self, operation: Operation) {
        self.members.push((operation, false));
    }

    /// Adds an operation that begins when all before it have ended.
    pub fn add_behind_fence(&mut self, operation: Operation) {
        self.members.push((operation, true));
    }

    /// Operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl Client {
    /// Runs a list, and waits for the end of all its members: their ends, in the order of the list. The
    /// list goes to a device if its bytes together reach the threshold of asynchronous operations.
    ///
    /// # Errors
    /// Those of arguments, of the first member that has one: then nothing is done.
    ///
    /// # Safety
    /// As for [`Client::run`], of all members.
    #[allow(unsafe_code)]
    pub unsafe fn run_batch(
        &self,
        batch: &Batch,
        path: Path,
    ) -> Result<Vec<Result<Outcome, Error>>, Error> {
        // SAFETY: handed on, until all has ended.
        let mut job = unsafe { self.submit_batch(batch, path) }?;
        let mut waiter = Waiter::new(self.shared().wait());
        loop {
            if let Some(ends) = job.poll() {
                return Ok(ends);
            }
            waiter.pause(None);
        }
    }

    /// Begins a list.
    ///
    /// # Errors
    /// As for [`Client::run_batch`].
    ///
    /// # Safety
    /// As for [`Client::submit`], of all members.
    #[allow(unsafe_code)]
    pub unsafe fn submit_batch(&self, batch: &Batch, path: Path) -> Result<BatchJob, Error> {
        let shared = self.shared();
        let mut reason = None;
        let total = batch.members.iter().map(|(operation, _)| operation.bytes()).sum::<u64>();
        for (operation, _) in &batch.members {
            let threshold = shared.thresholds().asynchronous_bytes(operation.opcode());
            // One small member does not keep a large list from the device.
            let least = if total < threshold { u64::MAX } else { 0 };
            reason = reason.or(shared.reason_for_cpu(operation, path, least)?);
        }
        Ok(BatchJob::begun(shared, &batch.members, reason, path == Path::Device))
    }
}

//! Batches: lists of operations that one descriptor submits to a device.

mod batch_job;

pub use batch_job::BatchJob;

use crate::client::{OffloadClient, Path};
use crate::error::Error;
use crate::operation::OffloadOperation;
use crate::outcome::OffloadOutcome;
use crate::wait::Waiter;

/// A list of operations to submit together. They run in any order, except for fences.
#[derive(Clone, Debug, Default)]
pub struct OffloadBatch {
    members: Vec<(OffloadOperation, bool)>,
}

impl OffloadBatch {
    /// Creates an empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation to the batch.
    pub fn add(&mut self, operation: OffloadOperation) {
        self.members.push((operation, false));
    }

    /// Adds an operation that begins when all before it have ended.
    pub fn add_behind_fence(&mut self, operation: OffloadOperation) {
        self.members.push((operation, true));
    }

    /// Number of operations in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the batch has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl OffloadClient {
    /// Runs a batch, waits for the end of all its operations, and returns the result of each in the order
    /// of the batch. The batch goes to a device if its bytes together reach the threshold of asynchronous
    /// operations.
    ///
    /// # Errors
    /// [`Error::Argument`] or [`Error::NoDevice`] for the first operation that cannot run; nothing is done
    /// then.
    ///
    /// # Safety
    /// As for [`OffloadClient::run`], for the memory of all operations.
    #[allow(unsafe_code)]
    pub unsafe fn run_batch(
        &self,
        batch: &OffloadBatch,
        path: Path,
    ) -> Result<Vec<Result<OffloadOutcome, Error>>, Error> {
        // SAFETY: the caller promises the same; the job is waited for.
        let mut job = unsafe { self.submit_batch(batch, path) }?;
        let mut waiter = Waiter::new(self.shared().wait());
        loop {
            if let Some(ends) = job.poll() {
                return Ok(ends);
            }
            waiter.pause(None);
        }
    }

    /// Begins a batch.
    ///
    /// # Errors
    /// As for [`OffloadClient::run_batch`].
    ///
    /// # Safety
    /// As for [`OffloadClient::submit`], for the memory of all operations.
    #[allow(unsafe_code)]
    pub unsafe fn submit_batch(&self, batch: &OffloadBatch, path: Path) -> Result<BatchJob, Error> {
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

//! A copy under way that owns both of its buffers, so that safe code can begin it.

#![allow(unsafe_code)]

use crate::client::OffloadClient;
use crate::error::Error;
use crate::job::OffloadJob;
use crate::operation::OffloadOperation;
use crate::options::Path;

/// A copy under way that owns both buffers, so that no other code can use their memory meanwhile.
pub struct OwnedCopy {
    job: Option<OffloadJob>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl OffloadClient {
    /// Begins a copy of all bytes of `from` to the beginning of `to`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `to` is shorter.
    pub fn begin_copy(&self, from: Vec<u8>, mut to: Vec<u8>) -> Result<OwnedCopy, Error> {
        if to.len() < from.len() {
            let why = format!("{} bytes do not fit into {}", from.len(), to.len());
            return Err(Error::Argument { operation: "memory move", why });
        }
        let copy =
            OffloadOperation::copy(from.as_ptr() as u64, to.as_mut_ptr() as u64, from.len() as u64);
        if from.is_empty() {
            return Ok(OwnedCopy { job: None, from, to });
        }
        // SAFETY: the buffers are owned until the end; if that never comes, they are leaked.
        let job = unsafe { self.submit(&copy, Path::Automatic) }?;
        Ok(OwnedCopy { job: Some(job), from, to })
    }
}

impl OwnedCopy {
    /// Whether the copy has ended.
    pub fn has_ended(&mut self) -> bool {
        self.job.as_mut().is_none_or(OffloadJob::has_ended)
    }

    /// Waits for the end, and returns both buffers: source, then destination.
    ///
    /// # Errors
    /// If the copy fails.
    pub fn wait(mut self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        if let Some(job) = self.job.take() {
            job.wait()?;
        }
        Ok((std::mem::take(&mut self.from), std::mem::take(&mut self.to)))
    }
}

impl Drop for OwnedCopy {
    fn drop(&mut self) {
        if !self.has_ended() {
            std::mem::forget(std::mem::take(&mut self.from));
            std::mem::forget(std::mem::take(&mut self.to));
        }
    }
}

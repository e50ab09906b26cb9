//! A copy under way that owns both of its buffers, so that safe code can begin it.

#![allow(unsafe_code)]

use crate::client::Client;
use crate::error::Error;
use crate::job::Job;
use crate::operation::Operation;
use crate::options::Path;

/// A copy between buffers that belong to it meanwhile, so that nothing can go wrong with their memory.
pub struct OwnedCopy {
    job: Option<Job>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Client {
    /// Begins a copy of all bytes of `from` to the beginning of `to`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `to` is shorter.
    pub fn begin_copy(&self, from: Vec<u8>, mut to: Vec<u8>) -> Result<OwnedCopy, Error> {
        if to.len() < from.len() {
            let why = format!("{} bytes do not fit into {}", from.len(), to.len());
            return Err(Error::Argument { operation: "memory move", why });
        }
        let copy = Operation::copy(from.as_ptr() as u64, to.as_mut_ptr() as u64, from.len() as u64);
        if from.is_empty() {
            return Ok(OwnedCopy { job: None, from, to });
        }
        // SAFETY: the buffers are kept, or left to the device, until the end.
        let job = unsafe { self.submit(&copy, Path::Automatic) }?;
        Ok(OwnedCopy { job: Some(job), from, to })
    }
}

impl OwnedCopy {
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

impl Drop for OwnedCopy {
    fn drop(&mut self) {
        if !self.has_ended() {
            std::mem::forget(std::mem::take(&mut self.from));
            std::mem::forget(std::mem::take(&mut self.to));
        }
    }
}

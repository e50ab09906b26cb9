//! The client: open queues, thresholds and statistics, and calls that run operations on them.

#![allow(unsafe_code)]

use crate::cpu;
use crate::error::Error;
use crate::job::OffloadJob;
use crate::operation::{CrcKind, OffloadOperation};
use crate::operation_run::OperationRun;
use crate::outcome::{OffloadAnswer, OffloadOutcome};
use crate::portal::QueuePortal;
use crate::queues::{self, UserQueue};
use crate::shared::SharedState;
use crate::statistics::Statistics;
use crate::thresholds::Thresholds;
use dsa::hardware::Opcode;
use std::sync::Arc;

pub use crate::options::{Options, Path};

/// Runs operations on devices and on the CPU. Clones share their queues and statistics; threads may use
/// one client at the same time.
#[derive(Clone)]
pub struct OffloadClient {
    shared: Arc<SharedState>,
}

impl OffloadClient {
    /// Opens the queues that the options name, or all that can be opened. Without any queue the CPU
    /// executes all operations.
    ///
    /// # Errors
    /// [`Error::NoSuchQueue`] or [`Error::Open`] for a queue that the options name; without names, queues
    /// that cannot be opened are left out ([`Self::left_out`]). [`Error::Attribute`] if sysfs cannot be
    /// understood.
    pub fn open(options: &Options) -> Result<Self, Error> {
        let found = queues::find(&options.sysfs)?;
        let open =
            |queue: UserQueue| QueuePortal::open(queue, &options.devices, options.submission);
        let mut left_out = Vec::new();
        let portals = match &options.queues {
            None => {
                let tried = found.into_iter().map(open);
                tried.filter_map(|tried| tried.map_err(|why| left_out.push(why)).ok()).collect()
            }
            Some(names) => {
                select(&found, names)?.into_iter().map(open).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { shared: Arc::new(SharedState::new(portals, left_out, options)) })
    }

    /// The queues that the client has open.
    pub fn queues(&self) -> impl Iterator<Item = &UserQueue> {
        self.shared.portals().all().iter().map(QueuePortal::queue)
    }

    /// The portals of the open queues, in the order of [`Self::queues`].
    #[must_use]
    pub fn portals(&self) -> &[QueuePortal] {
        self.shared.portals().all()
    }

    /// The errors of enabled queues that could not be opened, one each.
    #[must_use]
    pub fn left_out(&self) -> &[Error] {
        self.shared.left_out()
    }

    /// Counts of all operations since the client was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.counters().read()
    }

    /// The sizes from which on a device is used.
    #[must_use]
    pub fn thresholds(&self) -> &Thresholds {
        self.shared.thresholds()
    }

    /// Whether this process is a child of the one that opened the client. The CPU executes its operations
    /// then, since the queues are the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// Runs an operation and waits for its end.
    ///
    /// # Errors
    /// All of [`Error`] but those of opening a client. Bytes that were written before the error stay.
    ///
    /// # Safety
    /// The caller may read and write the memory of the operation until the call returns.
    #[inline]
    pub unsafe fn run(
        &self,
        operation: &OffloadOperation,
        path: Path,
    ) -> Result<OffloadOutcome, Error> {
        let shared = &*self.shared;
        let threshold = shared.thresholds().synchronous_bytes(operation.opcode());
        match shared.reason_for_cpu(operation, path, threshold)? {
            Some(why) => cpu::run(operation, shared.counters(), why),
            None => OperationRun::new(*operation, path == Path::Device).wait(shared),
        }
    }

    /// Begins an operation.
    ///
    /// # Errors
    /// [`Error::Argument`] or [`Error::NoDevice`]; all others are reported by the job.
    ///
    /// # Safety
    /// The caller may read and write the memory of the operation, and leaves it alone until the job has
    /// ended. If the job is dropped before its end, the device may use the memory for ever.
    pub unsafe fn submit(
        &self,
        operation: &OffloadOperation,
        path: Path,
    ) -> Result<OffloadJob, Error> {
        let shared = &self.shared;
        let threshold = shared.thresholds().asynchronous_bytes(operation.opcode());
        Ok(match shared.reason_for_cpu(operation, path, threshold)? {
            Some(why) => OffloadJob::ended(shared, cpu::run(operation, shared.counters(), why)),
            None => OffloadJob::begun(shared, OperationRun::new(*operation, path == Path::Device)),
        })
    }

    /// Copies the bytes of `from` to `to`.
    ///
    /// # Errors
    /// [`Error::Argument`] if the lengths differ.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
        same_length(Opcode::Move, from.len(), to.len())?;
        let (from_at, to_at) = (from.as_ptr() as u64, to.as_mut_ptr() as u64);
        self.run_on_slices(&OffloadOperation::copy(from_at, to_at, from.len() as u64)).map(drop)
    }

    /// Fills `to` with a pattern of eight bytes, the least significant first.
    ///
    /// # Errors
    /// None on a healthy device.
    pub fn fill(&self, to: &mut [u8], pattern: u64) -> Result<(), Error> {
        let at = to.as_mut_ptr() as u64;
        self.run_on_slices(&OffloadOperation::fill(at, pattern, to.len() as u64)).map(drop)
    }

    /// The offset of the first byte in which two slices differ; `None` if they are equal.
    ///
    /// # Errors
    /// [`Error::Argument`] if the lengths differ.
    pub fn first_difference(&self, first: &[u8], second: &[u8]) -> Result<Option<u64>, Error> {
        same_length(Opcode::Compare, first.len(), second.len())?;
        let operands = (first.as_ptr() as u64, second.as_ptr() as u64);
        let compare = OffloadOperation::compare(operands.0, operands.1, first.len() as u64);
        Ok(match self.run_on_slices(&compare)? {
            OffloadAnswer::Differs { at } => Some(at),
            _ => None,
        })
    }

    /// Computes the CRC-32C of `bytes`. `seed` is the CRC-32C of the bytes before them, 0 if there are none.
    ///
    /// # Errors
    /// None on a healthy device.
    pub fn crc32c(&self, seed: u32, bytes: &[u8]) -> Result<u32, Error> {
        let at = bytes.as_ptr() as u64;
        let crc = OffloadOperation::crc(CrcKind::default(), seed.into(), at, bytes.len() as u64);
        Ok(match self.run_on_slices(&crc)? {
            OffloadAnswer::Crc(crc) => units::narrow::fit(crc),
            _ => seed,
        })
    }

    /// Runs an operation on borrowed memory; does nothing for 0 bytes.
    fn run_on_slices(&self, operation: &OffloadOperation) -> Result<OffloadAnswer, Error> {
        if operation.bytes() == 0 {
            return Ok(OffloadAnswer::Done);
        }
        // SAFETY: the slices are borrowed until the call returns, which is after the end of all descriptors.
        unsafe { self.run(operation, Path::Automatic) }.map(|outcome| outcome.answer)
    }

    pub(crate) fn shared(&self) -> &Arc<SharedState> {
        &self.shared
    }
}

fn same_length(opcode: Opcode, first: usize, second: usize) -> Result<(), Error> {
    if first == second {
        return Ok(());
    }
    let why = format!("the slices have {first} and {second} bytes; they have to be equally long");
    Err(Error::Argument { operation: opcode.name(), why })
}

/// The queues that have the names.
fn select(found: &[UserQueue], names: &[String]) -> Result<Vec<UserQueue>, Error> {
    let one = |name: &String| {
        found.iter().find(|queue| queue.name == *name).cloned().ok_or_else(|| {
            let known: Vec<&str> = found.iter().map(|queue| queue.name.as_str()).collect();
            let known = match known.is_empty() {
                true => "no queue is".to_owned(),
                false => format!("enabled are {}", known.join(", ")),
            };
            Error::NoSuchQueue { name: name.clone(), known }
        })
    };
    names.iter().map(one).collect()
}

//! Queues, thresholds and statistics together, and the calls that wait for their end.

#![allow(unsafe_code)]

use crate::cpu;
use crate::error::Error;
use crate::job::Job;
use crate::operation::{CrcKind, Operation};
use crate::outcome::{Answer, Outcome};
use crate::portal::Portal;
use crate::queues::{self, Queue};
use crate::shared::Shared;
use crate::statistics::Statistics;
use crate::thresholds::Thresholds;
use crate::work::Work;
use dsa::hardware::Opcode;
use std::sync::Arc;

pub use crate::options::{Options, Path};

/// What gives operations to devices and the CPU. Clones share their queues; threads may share one.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

impl Client {
    /// Opens queues. Without any the CPU does everything.
    ///
    /// # Errors
    /// [`Error::NoSuchQueue`], [`Error::Open`] for queues that were asked for by name (others that cannot
    /// be opened are left out), [`Error::Attribute`].
    pub fn open(options: &Options) -> Result<Self, Error> {
        let found = queues::find(&options.sysfs)?;
        let open = |queue: Queue| Portal::open(queue, &options.devices, options.submission);
        let mut left_out = Vec::new();
        let portals = match &options.queues {
            None => {
                let tried = found.into_iter().map(open);
                tried.filter_map(|tried| tried.map_err(|why| left_out.push(why)).ok()).collect()
            }
            Some(names) => {
                chosen(&found, names)?.into_iter().map(open).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { shared: Arc::new(Shared::new(portals, left_out, options)) })
    }

    /// Its queues.
    pub fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.shared.portals().all().iter().map(Portal::queue)
    }

    /// Its queues, opened.
    #[must_use]
    pub fn portals(&self) -> &[Portal] {
        self.shared.portals().all()
    }

    /// Why enabled queues are left out, one error each.
    #[must_use]
    pub fn left_out(&self) -> &[Error] {
        self.shared.left_out()
    }

    /// Where operations were done, and why.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.counters().read()
    }

    /// From which size a device pays.
    #[must_use]
    pub fn thresholds(&self) -> &Thresholds {
        self.shared.thresholds()
    }

    /// Whether this process is a child of the one that opened the client: its queues are the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// Runs an operation and waits for its end.
    ///
    /// # Errors
    /// Any but those of opening; what was written until then stays.
    ///
    /// # Safety
    /// The operation's memory is that which the caller may read and write until the call returns.
    #[inline]
    pub unsafe fn run(&self, operation: &Operation, path: Path) -> Result<Outcome, Error> {
        let shared = &*self.shared;
        let threshold = shared.thresholds().synchronous_bytes(operation.opcode());
        match shared.reason_for_cpu(operation, path, threshold)? {
            Some(why) => cpu::run(operation, shared.counters(), why),
            None => Work::new(*operation, path == Path::Device).wait(shared),
        }
    }

    /// Begins an operation.
    ///
    /// # Errors
    /// Those of its arguments; others come with its end.
    ///
    /// # Safety
    /// The operation's memory is that which the caller may read and write, and leaves alone, until the
    /// job has ended. A job that is dropped before leaves it to the device.
    pub unsafe fn submit(&self, operation: &Operation, path: Path) -> Result<Job, Error> {
        let shared = &self.shared;
        let threshold = shared.thresholds().asynchronous_bytes(operation.opcode());
        Ok(match shared.reason_for_cpu(operation, path, threshold)? {
            Some(why) => Job::ended(shared, cpu::run(operation, shared.counters(), why)),
            None => Job::begun(shared, Work::new(*operation, path == Path::Device)),
        })
    }

    /// Copies.
    ///
    /// # Errors
    /// [`Error::Argument`] if the lengths differ.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
        same_length(Opcode::Move, from.len(), to.len())?;
        let (from_at, to_at) = (from.as_ptr() as u64, to.as_mut_ptr() as u64);
        self.run_on_slices(&Operation::copy(from_at, to_at, from.len() as u64)).map(drop)
    }

    /// Fills with a pattern of eight bytes, the least significant first.
    ///
    /// # Errors
    /// None that a healthy device has.
    pub fn fill(&self, to: &mut [u8], pattern: u64) -> Result<(), Error> {
        let at = to.as_mut_ptr() as u64;
        self.run_on_slices(&Operation::fill(at, pattern, to.len() as u64)).map(drop)
    }

    /// The offset of the first byte in which two slices differ.
    ///
    /// # Errors
    /// [`Error::Argument`] if the lengths differ.
    pub fn first_difference(&self, first: &[u8], second: &[u8]) -> Result<Option<u64>, Error> {
        same_length(Opcode::Compare, first.len(), second.len())?;
        let operands = (first.as_ptr() as u64, second.as_ptr() as u64);
        let compare = Operation::compare(operands.0, operands.1, first.len() as u64);
        Ok(match self.run_on_slices(&compare)? {
            Answer::Differs { at } => Some(at),
            _ => None,
        })
    }

    /// The CRC-32C of bytes behind those whose CRC-32C is `seed` (0: of none).
    ///
    /// # Errors
    /// None that a healthy device has.
    pub fn crc32c(&self, seed: u32, bytes: &[u8]) -> Result<u32, Error> {
        let at = bytes.as_ptr() as u64;
        let crc = Operation::crc(CrcKind::default(), seed.into(), at, bytes.len() as u64);
        Ok(match self.run_on_slices(&crc)? {
            Answer::Crc(crc) => units::narrow::fit(crc),
            _ => seed,
        })
    }

    /// Runs an operation whose memory is borrowed: without bytes there is nothing to do.
    fn run_on_slices(&self, operation: &Operation) -> Result<Answer, Error> {
        if operation.bytes() == 0 {
            return Ok(Answer::Done);
        }
        // SAFETY: the slices are borrowed until the call returns, which it does only when all has ended.
        unsafe { self.run(operation, Path::Automatic) }.map(|outcome| outcome.answer)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
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

fn chosen(found: &[Queue], names: &[String]) -> Result<Vec<Queue>, Error> {
    let one = |name: &String| {
        found.iter().find(|queue| queue.name == *name).cloned().ok_or_else(|| {
            let there: Vec<&str> = found.iter().map(|queue| queue.name.as_str()).collect();
            let there = match there.is_empty() {
                true => "there is none".to_owned(),
                false => format!("there are {}", there.join(", ")),
            };
            Error::NoSuchQueue { name: name.clone(), there }
        })
    };
    names.iter().map(one).collect()
}

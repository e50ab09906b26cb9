//! What all clones of a client and its jobs share: the portals, the choice between device and CPU, and
//! the counters.

use crate::abandoned_records::AbandonedRecords;
use crate::error::Error;
use crate::forks::Mark;
use crate::operation::Operation;
use crate::options::{Options, Path};
use crate::portal::Portal;
use crate::portals::Portals;
use crate::statistics::{Counters, Reason};
use crate::thresholds::Thresholds;
use crate::wait::Wait;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;

/// Result of a submission.
pub(crate) enum Sent {
    /// The portal of this number has taken the descriptor.
    To(usize),
    /// No queue has taken it.
    Not(Reason),
}

/// State that all clones of a client, and its jobs, share.
pub(crate) struct Shared {
    portals: Portals,
    left_out: Vec<Error>,
    thresholds: Thresholds,
    wait: Wait,
    retries: u32,
    mark: Mark,
    counters: Counters,
    abandoned: AbandonedRecords,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // The child may have mapped something else at these addresses.
            self.portals.forget_pages();
        }
    }
}

impl Shared {
    pub fn new(portals: Vec<Portal>, left_out: Vec<Error>, options: &Options) -> Self {
        Self {
            portals: Portals::new(portals),
            left_out,
            thresholds: options.thresholds.clone(),
            wait: options.wait,
            retries: options.retries,
            mark: Mark::new(),
            counters: Counters::default(),
            abandoned: AbandonedRecords::default(),
        }
    }

    pub fn portals(&self) -> &Portals {
        &self.portals
    }

    pub fn left_out(&self) -> &[Error] {
        &self.left_out
    }

    /// Why an operation goes to the CPU; `None` if it goes to a device.
    ///
    /// # Errors
    /// [`Error::Argument`] for wrong arguments; [`Error::NoDevice`] if the path is [`Path::Device`] and
    /// no queue takes the operation.
    #[inline]
    pub fn reason_for_cpu(
        &self,
        operation: &Operation,
        path: Path,
        threshold: u64,
    ) -> Result<Option<Reason>, Error> {
        operation.check()?;
        let why = match path {
            Path::Cpu => Some(Reason::Asked),
            Path::Automatic if operation.bytes() < threshold => Some(Reason::Small),
            Path::Automatic if operation.overlaps() => Some(Reason::Overlap),
            _ => self.reason_against_devices(operation.opcode()),
        };
        match (path, why) {
            (Path::Device, Some(why)) => Err(no_device(operation.opcode(), why)),
            _ => Ok(why),
        }
    }

    /// Why no queue can execute an operation; `None` if one can.
    fn reason_against_devices(&self, opcode: Opcode) -> Option<Reason> {
        if self.portals.all().is_empty() {
            Some(Reason::NoQueue)
        } else if !self.portals.take(opcode) {
            Some(Reason::Unsupported)
        } else {
            self.is_forked().then_some(Reason::Forked)
        }
    }

    /// Submits a descriptor to the least loaded queue that is near, and tries again while all are full.
    pub fn send(&self, descriptor: &Descriptor, opcode: Opcode) -> Sent {
        if let Some(why) = self.reason_against_devices(opcode) {
            return Sent::Not(why);
        }
        for _ in 0..=self.retries {
            if let Some(number) = self.portals.submit(descriptor, opcode) {
                return Sent::To(number);
            }
            self.counters.retry();
            std::hint::spin_loop();
        }
        self.abandoned.sweep(&self.portals);
        Sent::Not(Reason::Full)
    }

    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn abandoned(&self) -> &AbandonedRecords {
        &self.abandoned
    }

    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// Whether this process is a child of the one that opened the client.
    pub fn is_forked(&self) -> bool {
        self.mark.is_foreign()
    }
}

fn no_device(opcode: Opcode, why: Reason) -> Error {
    let name = opcode.name();
    Error::NoDevice(match why {
        Reason::NoQueue => format!(
            "{name}: no work queue is open; `accel-config list` shows those that are enabled, and \
             their files are in /dev/dsa"
        ),
        Reason::Unsupported => format!("{name}: no open work queue takes this operation"),
        _ => format!(
            "{name}: this process came of a fork, and has no portal; a client that it opens itself has"
        ),
    })
}

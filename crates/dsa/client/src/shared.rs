//! The state that all clones of a client and its jobs share: the portals, the choice between device and
//! CPU, and the counters.

use crate::abandoned_records::AbandonedRecords;
use crate::error::Error;
use crate::forks::ForkMark;
use crate::operation::OffloadOperation;
use crate::options::{Options, Path};
use crate::portal::QueuePortal;
use crate::portals::Portals;
use crate::statistics::{ClientCounters, Reason};
use crate::thresholds::Thresholds;
use crate::wait::WaitMethod;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;

/// Result of a submission.
pub(crate) enum SubmissionResult {
    /// The portal of this number has taken the descriptor.
    Taken(usize),
    /// No queue has taken it.
    NotTaken(Reason),
}

/// State that all clones of a client, and its jobs, share.
pub(crate) struct SharedState {
    portals: Portals,
    left_out: Vec<Error>,
    thresholds: Thresholds,
    wait: WaitMethod,
    retries: u32,
    mark: ForkMark,
    counters: ClientCounters,
    abandoned: AbandonedRecords,
}

impl Drop for SharedState {
    fn drop(&mut self) {
        if self.is_forked() {
            // The child may have mapped something else at these addresses.
            self.portals.forget_pages();
        }
    }
}

impl SharedState {
    pub fn new(portals: Vec<QueuePortal>, left_out: Vec<Error>, options: &Options) -> Self {
        Self {
            portals: Portals::new(portals),
            left_out,
            thresholds: options.thresholds.clone(),
            wait: options.wait,
            retries: options.retries,
            mark: ForkMark::new(),
            counters: ClientCounters::default(),
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
        operation: &OffloadOperation,
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
    pub fn send(&self, descriptor: &Descriptor, opcode: Opcode) -> SubmissionResult {
        if let Some(why) = self.reason_against_devices(opcode) {
            return SubmissionResult::NotTaken(why);
        }
        for _ in 0..=self.retries {
            if let Some(number) = self.portals.submit(descriptor, opcode) {
                return SubmissionResult::Taken(number);
            }
            self.counters.retry();
            std::hint::spin_loop();
        }
        self.abandoned.sweep(&self.portals);
        SubmissionResult::NotTaken(Reason::Full)
    }

    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub fn counters(&self) -> &ClientCounters {
        &self.counters
    }

    pub fn abandoned(&self) -> &AbandonedRecords {
        &self.abandoned
    }

    pub fn wait(&self) -> WaitMethod {
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

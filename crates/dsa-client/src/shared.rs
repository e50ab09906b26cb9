//! What all clones of a client and its jobs have in common: which way an operation goes, and to which
//! queue.

use crate::client::{Options, Path};
use crate::error::Error;
use crate::forks::Mark;
use crate::operation::Operation;
use crate::portal::Portal;
use crate::queues::Queue;
use crate::statistics::{Counters, Reason};
use crate::thresholds::Thresholds;
use crate::wait::Wait;
use crate::work::drains::Drains;
use crate::work::left::Left;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;

/// Whether a descriptor was taken, and by whom.
pub(crate) enum Sent {
    /// By the portal of this number.
    To(usize),
    /// By none.
    Not(Reason),
}

/// What all clones of a client, and its jobs, have in common.
pub(crate) struct Shared {
    portals: Vec<Portal>,
    /// Of each portal.
    drains: Vec<Drains>,
    left_out: Vec<Error>,
    /// The NUMA node of each CPU; empty where there is one node.
    nodes: Vec<Option<u32>>,
    thresholds: Thresholds,
    wait: Wait,
    retries: u32,
    mark: Mark,
    counters: Counters,
    left: Left,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_forked() {
            // What a child has mapped there is its own.
            self.portals.iter_mut().for_each(Portal::forget_page);
        }
    }
}

impl Shared {
    pub fn new(portals: Vec<Portal>, left_out: Vec<Error>, options: &Options) -> Self {
        Self {
            drains: portals.iter().map(|_| Drains::default()).collect(),
            portals,
            left_out,
            nodes: crate::nodes::of_cpus(),
            thresholds: options.thresholds.clone(),
            wait: options.wait,
            retries: options.retries,
            mark: Mark::new(),
            counters: Counters::default(),
            left: Left::default(),
        }
    }

    pub fn portals(&self) -> &[Portal] {
        &self.portals
    }

    pub fn left_out(&self) -> &[Error] {
        &self.left_out
    }

    /// Why an operation goes to the CPU; `None`: it goes to a device.
    #[inline]
    pub fn way(
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
            _ => self.hindrance(operation.opcode()),
        };
        match (path, why) {
            (Path::Device, Some(why)) => Err(no_device(operation.opcode(), why)),
            _ => Ok(why),
        }
    }

    /// Why no queue can do an operation.
    fn hindrance(&self, opcode: Opcode) -> Option<Reason> {
        if self.portals.is_empty() {
            Some(Reason::NoQueue)
        } else if !self.portals.iter().any(|portal| portal.takes(opcode)) {
            Some(Reason::Unsupported)
        } else {
            self.is_forked().then_some(Reason::Forked)
        }
    }

    /// Submits a descriptor to the least loaded queue that is near.
    pub fn send(&self, descriptor: &Descriptor, opcode: Opcode) -> Sent {
        if let Some(why) = self.hindrance(opcode) {
            return Sent::Not(why);
        }
        for _ in 0..=self.retries {
            let Some(best) = self.best(opcode) else { break };
            if self.send_to(best, descriptor) {
                return Sent::To(best);
            }
            // The best one is full: any other.
            let mut others = (0..self.portals.len()).filter(|number| *number != best);
            let other = others.find(|number| {
                self.portals[*number].takes(opcode) && self.send_to(*number, descriptor)
            });
            if let Some(other) = other {
                return Sent::To(other);
            }
            self.counters.retry();
            std::hint::spin_loop();
        }
        self.left.sweep(self);
        Sent::Not(Reason::Full)
    }

    /// Submits a descriptor to a queue: whether it took it.
    #[allow(unsafe_code)]
    pub fn send_to(&self, number: usize, descriptor: &Descriptor) -> bool {
        // SAFETY: who runs an operation answers for its memory, and records are kept until they are
        // written, or are left to the device for ever.
        unsafe { self.portals[number].submit(descriptor) }
    }

    /// Submits a drain to a queue, beyond the entries that are counted: whether it took it.
    #[allow(unsafe_code)]
    pub fn send_beyond(&self, number: usize, drain: &Descriptor) -> bool {
        // SAFETY: it names its record only, which is kept until it is written, or left to the device.
        unsafe { self.portals[number].submit_beyond(drain) }
    }

    /// The queue with the smallest part of it in use, of the node of this CPU if one is there.
    fn best(&self, opcode: Opcode) -> Option<usize> {
        let here = crate::nodes::here(&self.nodes);
        let load = |number: &usize| {
            let portal = &self.portals[*number];
            let is_far =
                here.is_some() && portal.queue().node.is_some_and(|node| Some(node) != here);
            (is_far, u64::from(portal.under_way()) * 256 / u64::from(portal.queue().entries.max(1)))
        };
        let numbers = 0..self.portals.len();
        numbers.filter(|number| self.portals[*number].takes(opcode)).min_by_key(load)
    }

    /// Largest transfer that every queue takes which takes the operation.
    pub fn most_transfer_bytes(&self, opcode: Opcode) -> u64 {
        let able = self.portals.iter().filter(|portal| portal.takes(opcode));
        able.map(|portal| portal.queue().most_transfer_bytes).min().unwrap_or(1 << 21)
    }

    /// Largest batch that every queue takes which takes batches, in descriptors; 0 where none does.
    pub fn most_batch(&self) -> u32 {
        let able = self.portals.iter().filter(|portal| portal.takes(Opcode::Batch));
        able.map(|portal| portal.queue().most_batch).min().unwrap_or(0)
    }

    /// Whether no queue that takes an operation is enabled any more.
    pub fn have_gone(&self, opcode: Opcode) -> bool {
        let able = self.portals.iter().filter(|portal| portal.takes(opcode)).map(Portal::queue);
        !able.into_iter().any(Queue::is_enabled)
    }

    pub fn portal(&self, number: usize) -> &Portal {
        &self.portals[number]
    }

    pub fn drains(&self, number: usize) -> &Drains {
        &self.drains[number]
    }

    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn left(&self) -> &Left {
        &self.left
    }

    pub fn wait(&self) -> Wait {
        self.wait
    }

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

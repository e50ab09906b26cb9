//! Portals: what a core and the device exchange about one work queue.
//!
//! Models: descriptors on their way to the device; the answer to an ENQCMD; completion records.
//! Source: Intel DSA specification, sections 3.3 and 8.2.
//! Simplifies: a portal has one client; content is kept apart from the caches, as for the rings of a NIC.

use super::descriptor::DsaWork;
use crate::device::DeviceQueues;
use crate::device::queues::{QueueId, Queues};
use crate::root_complex::mmio::Answer;
use std::collections::VecDeque;
use units::Picos;

/// How a descriptor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All of the operation is done.
    Success,
    /// A page was not present: a part of the operation is done.
    PageFault,
    /// A member of the batch did not succeed.
    BatchFailed,
    /// The size or number of members is not allowed: nothing was done.
    Invalid,
}

/// Times of a descriptor on its way, each the end of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Time at which the device saw the write to the portal.
    pub seen: Picos,
    /// Time at which an engine took the descriptor.
    pub dispatched: Picos,
    /// Time at which operands were translated, and the engine was ready for its first request.
    pub ready: Picos,
    /// Time at which the last data was visible.
    pub moved: Picos,
    /// Time at which the completion record was visible.
    pub recorded: Picos,
}

/// A completion record that the device has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Identifier from the descriptor.
    pub id: u64,
    /// How the descriptor ended.
    pub status: Status,
    /// Bytes done, if the descriptor did not succeed; of a batch, members.
    pub completed: u64,
    /// When the record is visible, and what led there.
    pub phases: Phases,
}

/// A descriptor on its way to the device.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Time at which the device sees the write of the descriptor.
    pub visible: Picos,
    /// Descriptor, or batch, that is submitted.
    pub work: DsaWork,
}

/// A core's way to a work queue.
#[derive(Clone, Debug, Default)]
pub struct Portal {
    /// Descriptors that the device has not seen, in the order of their stores.
    pub posted: VecDeque<Submission>,
    /// The answer to an ENQCMD, and when the core receives it.
    pub answer: Option<(Answer, Picos)>,
    /// The descriptor of an ENQCMD that was refused: the client may submit it again.
    pub refused: Option<DsaWork>,
    /// Completion records that the client has not read.
    pub completed: VecDeque<Completion>,
}

impl Queues {
    /// A portal of a data streaming accelerator.
    ///
    /// # Panics
    /// If the queue belongs to another kind of device, which is a bug of the caller.
    pub fn dsa_portal(&mut self, id: QueueId) -> &mut Portal {
        let DeviceQueues::Dsa(portals) = self.device_mut(id.device) else {
            panic!("{id:?} belongs to no copy engine")
        };
        &mut portals[id.index()]
    }
}

//! The queues of all devices, as software and devices find them.
//!
//! Models: nothing of its own; the rings of each kind of device do.
//! Source: those of `nic::rings` and `nvme::rings`.
//! Simplifies: nothing.

use super::nic::rings::QueuePair;
use super::nvme::rings::NvmeQueuePair;

/// Queues in host memory, through which software and devices speak.
#[derive(Debug, Default)]
pub struct Queues {
    /// Queue pairs of each NIC.
    pub nics: Vec<Vec<QueuePair>>,
    /// Queue pairs of each SSD.
    pub ssds: Vec<Vec<NvmeQueuePair>>,
}

impl Queues {
    /// The queue pair of a NIC.
    ///
    /// # Panics
    /// If the queue is another device's: our own fault.
    pub fn nic_pair(&mut self, id: QueueId) -> &mut QueuePair {
        let QueueId::Nic { nic, queue } = id else { panic!("{id:?} belongs to no NIC") };
        &mut self.nics[nic][queue]
    }

    /// The queue pair of an SSD.
    ///
    /// # Panics
    /// If the queue is another device's: our own fault.
    pub fn ssd_pair(&mut self, id: QueueId) -> &mut NvmeQueuePair {
        let QueueId::Ssd { ssd, queue } = id else { panic!("{id:?} belongs to no SSD") };
        &mut self.ssds[ssd][queue]
    }
}

/// A queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueId {
    /// A queue pair of a NIC.
    Nic {
        /// Number of the NIC.
        nic: usize,
        /// Number of its queue pair.
        queue: usize,
    },
    /// A queue pair of an SSD.
    Ssd {
        /// Number of the SSD.
        ssd: usize,
        /// Number of its queue pair.
        queue: usize,
    },
}

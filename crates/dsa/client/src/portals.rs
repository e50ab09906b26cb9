//! The open queues of a client: the best one for an operation, and their limits.

use crate::lost_descriptor::DrainedQueue;
use crate::nodes;
use crate::portal::QueuePortal;
use crate::portal_page::load;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;

/// The portals of a client.
pub(crate) struct Portals {
    all: Vec<QueuePortal>,
    /// The NUMA node of each CPU; empty on a system with one node.
    nodes: Vec<Option<u32>>,
}

impl Portals {
    pub fn new(all: Vec<QueuePortal>) -> Self {
        Self { all, nodes: nodes::read_nodes() }
    }

    /// All portals, in the order of their numbers.
    pub fn all(&self) -> &[QueuePortal] {
        &self.all
    }

    /// The portal with a number.
    pub fn get(&self, number: usize) -> &QueuePortal {
        &self.all[number]
    }

    /// Leaves all mappings alone, since a child of a fork does not have them.
    pub fn forget_pages(&self) {
        self.all.iter().for_each(QueuePortal::forget_page);
    }

    /// Whether the queue of a portal takes an operation.
    pub fn take(&self, opcode: Opcode) -> bool {
        self.all.iter().any(|portal| portal.takes(opcode))
    }

    /// Submits a descriptor to the least loaded queue that is near, or to any other that has room:
    /// the number of the portal that took it.
    pub fn submit(&self, descriptor: &Descriptor, opcode: Opcode) -> Option<usize> {
        let best = self.best(opcode)?;
        if self.submit_to(best, descriptor) {
            return Some(best);
        }
        let mut others = (0..self.all.len()).filter(|number| *number != best);
        others.find(|number| self.all[*number].takes(opcode) && self.submit_to(*number, descriptor))
    }

    /// Submits a descriptor to a queue, and returns whether the queue took it.
    #[allow(unsafe_code)]
    fn submit_to(&self, number: usize, descriptor: &Descriptor) -> bool {
        // SAFETY: the caller of an operation answers for its memory, and records are kept until they
        // are written, or are left to the device for ever.
        unsafe { self.all[number].submit(descriptor) }
    }

    /// The queue with the smallest share of its entries in use, on the node of this CPU if that node
    /// has one.
    fn best(&self, opcode: Opcode) -> Option<usize> {
        let here = nodes::current_node(&self.nodes);
        let load = |number: &usize| {
            let portal = &self.all[*number];
            load(portal.queue(), portal.under_way(), here)
        };
        let numbers = 0..self.all.len();
        numbers.filter(|number| self.all[*number].takes(opcode)).min_by_key(load)
    }

    /// Largest transfer, in bytes, that is allowed by every queue that takes the operation.
    pub fn most_transfer_bytes(&self, opcode: Opcode) -> u64 {
        let able = self.all.iter().filter(|portal| portal.takes(opcode));
        able.map(|portal| portal.queue().most_transfer_bytes).min().unwrap_or(1 << 21)
    }

    /// Largest batch, in descriptors, that is allowed by every queue that takes batches; 0 if no queue
    /// takes batches.
    pub fn most_batch(&self) -> u32 {
        let able = self.all.iter().filter(|portal| portal.takes(Opcode::Batch));
        able.map(|portal| portal.queue().most_batch).min().unwrap_or(0)
    }

    /// Whether all queues that take an operation have been disabled since they were opened.
    pub fn are_disabled(&self, opcode: Opcode) -> bool {
        let mut able = self.all.iter().filter(|portal| portal.takes(opcode));
        !able.any(DrainedQueue::is_enabled)
    }
}

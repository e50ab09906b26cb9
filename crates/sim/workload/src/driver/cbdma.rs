//! The client of a channel of a CBDMA: how a core's descriptors get into its ring, and out of it.
//!
//! Models: a ring of which one entry stays free; a doorbell for each descriptor, an uncached posted store.
//! Source: Linux drivers/dma/ioat and SPDK's ioat driver.
//! Simplifies: doorbells of several descriptors are not combined; every descriptor writes a completion.

use model::core::Core;
use model::device::cbdma::channel::CopyDescriptor;
use model::device::dsa::descriptor::{Descriptor, DsaWork, Operation};
use model::device::dsa::portal::Completion;
use model::device::queues::{QueueId, Queues};
use model::root_complex::mmio::MmioPath;
use units::{LineAddr, Picos};

/// The client of a channel.
#[derive(Debug)]
pub struct CbdmaClient {
    queue: QueueId,
    /// The way of its stores to the channel's register.
    path: MmioPath,
    /// Descriptors that it may have in the ring.
    credits: u32,
}

impl CbdmaClient {
    /// A client of the channel `queue` with `entries` entries.
    ///
    /// # Panics
    /// If the ring has fewer than two entries. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(queue: QueueId, path: MmioPath, entries: u32) -> Self {
        assert!(entries >= 2);
        Self { queue, path, credits: entries - 1 }
    }

    /// The channel that the client uses.
    #[must_use]
    pub fn queue(&self) -> QueueId {
        self.queue
    }

    /// Descriptors that it may have in the ring.
    #[must_use]
    pub fn credits(&self) -> u32 {
        self.credits
    }

    /// The line of the next descriptor.
    pub fn entry(&self, queues: &mut Queues) -> LineAddr {
        queues.cbdma_channel(self.queue).next_line()
    }

    /// Address of the line to which the channel writes completions.
    pub fn status(&self, queues: &mut Queues) -> LineAddr {
        queues.cbdma_channel(self.queue).status
    }

    /// Puts a prepared descriptor into the ring and rings the doorbell.
    ///
    /// # Panics
    /// If it is a batch or another operation than a copy or a fill: scenarios are checked before they get
    /// here.
    pub fn submit(&self, core: &mut Core, queues: &mut Queues, work: &DsaWork) {
        let DsaWork::One(descriptor) = work else { panic!("a channel has no batches") };
        let visible = core.post(&self.path);
        let channel = queues.cbdma_channel(self.queue);
        channel.write(copy_descriptor(descriptor));
        channel.ring_doorbell(visible);
    }

    /// When the next completion is visible; [`Picos::NEVER`] if none is under way.
    pub fn next_recorded(&self, queues: &mut Queues) -> Picos {
        let channel = queues.cbdma_channel(self.queue);
        channel.completed.front().map_or(Picos::NEVER, |it| it.phases.recorded)
    }

    /// The next completion, if it is visible at `now`.
    pub fn take_completion(&self, queues: &mut Queues, now: Picos) -> Option<Completion> {
        if self.next_recorded(queues) > now {
            return None;
        }
        queues.cbdma_channel(self.queue).completed.pop_front()
    }
}

/// A descriptor of a channel for an operation.
fn copy_descriptor(descriptor: &Descriptor) -> CopyDescriptor {
    let source = match descriptor.operation {
        Operation::Move => Some(descriptor.source),
        Operation::Fill => None,
        other => panic!("{other:?}: a channel copies and fills"),
    };
    CopyDescriptor {
        id: descriptor.id,
        bytes: descriptor.bytes,
        source,
        destination: descriptor.second,
        wants_completion: true,
    }
}

//! A channel as software sees it: its ring, its doorbell, its completions.
//!
//! Models: descriptors in the order of the ring; a doorbell on its way; completions in the same order.
//! Source: Linux drivers/dma/ioat: DMACOUNT and the completion address of a channel.
//! Simplifies: content is kept apart from the caches, as for the rings of a NIC.

use crate::device::DeviceQueues;
use crate::device::dsa::portal::Completion;
use crate::device::queues::{QueueId, Queues};
use crate::device::ring::Ring;
use std::collections::VecDeque;
use units::{LineAddr, Picos};

/// A descriptor of a copy or a fill, as software writes it into the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyDescriptor {
    /// Identifier of the client, repeated in the completion.
    pub id: u64,
    /// Size of the transfer in bytes.
    pub bytes: u64,
    /// First line of the source; none for a fill.
    pub source: Option<LineAddr>,
    /// First line of the destination.
    pub destination: LineAddr,
    /// Writes a completion: the last descriptor of each group that software waits for.
    pub wants_completion: bool,
}

/// A write of the number of descriptors to a channel's register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Time at which the channel sees the write.
    pub visible: Picos,
    /// Number of descriptors written since time zero.
    pub count: u64,
}

/// Memory that a channel shares with its client: ring, status line and doorbells.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Ring of descriptors in host memory.
    pub ring: Ring,
    /// Line to which the channel writes completions.
    pub status: LineAddr,
    /// Descriptors that the channel has not fetched, in the order of the ring.
    pub written: VecDeque<CopyDescriptor>,
    /// Number of descriptors written since time zero.
    pub count: u64,
    /// Doorbells that the channel has not seen.
    pub doorbells: VecDeque<Doorbell>,
    /// Completions that software has not read.
    pub completed: VecDeque<Completion>,
}

impl Channel {
    /// An empty channel.
    #[must_use]
    pub fn new(ring: Ring, status: LineAddr) -> Self {
        Self {
            ring,
            status,
            written: VecDeque::new(),
            count: 0,
            doorbells: VecDeque::new(),
            completed: VecDeque::new(),
        }
    }

    /// The line of the next descriptor.
    #[must_use]
    pub fn next_line(&self) -> LineAddr {
        self.ring.line_of(self.count)
    }

    /// Puts a descriptor into the next entry.
    pub fn write(&mut self, descriptor: CopyDescriptor) {
        self.written.push_back(descriptor);
        self.count += 1;
    }

    /// Tells the channel of all descriptors written; it sees that at `visible`.
    pub fn ring_doorbell(&mut self, visible: Picos) {
        self.doorbells.push_back(Doorbell { visible, count: self.count });
    }
}

impl Queues {
    /// A channel of a CBDMA.
    ///
    /// # Panics
    /// If the queue belongs to another kind of device, which is a bug of the caller.
    pub fn cbdma_channel(&mut self, id: QueueId) -> &mut Channel {
        let DeviceQueues::Cbdma(channels) = self.device_mut(id.device) else {
            panic!("{id:?} belongs to no CBDMA")
        };
        &mut channels[id.index()]
    }
}

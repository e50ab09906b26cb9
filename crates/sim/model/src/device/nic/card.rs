//! A NIC as a machine sees it: one port with its receive side, its wire and its send queues.
//!
//! Models: one port of a card on a root port; its receive and send sides model the behaviour. A card with
//! several ports is several of these on one root port, whose link they share.
//! Source: ARCHITECTURE.md, "Two flows".
//! Simplifies: ports of a card share nothing but the link (DEVIATIONS.md, 8).

use super::NicConfig;
use super::dma_counts::DmaCounts;
use super::egress::Egress;
use super::rings::QueuePair;
use super::rx::RxPort;
use super::tx::TxQueue;
use crate::traffic::PacketSource;
use units::RootPortId;

/// A card on a root port.
#[derive(Debug)]
pub struct Nic<S> {
    /// Receive side of the port.
    pub port: RxPort<S>,
    /// Sending side of the port.
    pub egress: Egress,
    pub(crate) tx: Vec<TxQueue>,
}

impl<S: PacketSource> Nic<S> {
    /// A card on root port `link` with `queues` queue pairs; `source` feeds it.
    #[must_use]
    pub fn new(root_port: RootPortId, config: &NicConfig, source: S, queues: usize) -> Self {
        let awaits_answers = source.awaits_answers();
        Self {
            port: RxPort::new(root_port, config.clone(), source, queues),
            egress: Egress::new(config.tx_rate, awaits_answers)
                .with_pace(config.port_pace)
                .with_buffer(config.tx_buffer)
                .with_reads(config.port_read_bytes),
            tx: (0..)
                .take(queues)
                .map(|queue| TxQueue::new(root_port, queue, config.clone()))
                .collect(),
        }
    }

    /// The root port of the card.
    #[must_use]
    pub fn root_port(&self) -> RootPortId {
        self.port.root_port()
    }

    /// Payload that it moved, and all else, by DMA since time zero.
    #[must_use]
    pub fn moved(&self) -> (DmaCounts, DmaCounts) {
        let (payload, control) = (self.port.payload, self.port.control());
        self.tx.iter().fold((payload, control), |(payload, control), queue| {
            (payload.plus(queue.payload), control.plus(queue.control))
        })
    }

    /// Packets handed to its send queues whose payload has not been read.
    #[must_use]
    pub fn packets_in_send_queues(&self, pairs: &[QueuePair]) -> usize {
        let posted = pairs.iter().flat_map(|pair| &pair.tx.queued);
        let fetched: usize = self.tx.iter().map(TxQueue::packets_fetched).sum();
        fetched + posted.map(|request| request.packets.len()).sum::<usize>()
    }

    /// Buffers posted for receiving, on the chip or not.
    #[must_use]
    pub fn buffers_posted(&self, pairs: &[QueuePair]) -> usize {
        let in_memory: usize = pairs.iter().map(|pair| pair.rx.posted.len()).sum();
        in_memory + self.port.descriptors_on_chip()
    }

    /// Received packets that no completion has reported yet or that software has not read.
    #[must_use]
    pub fn packets_completed_unseen(&self, pairs: &[QueuePair]) -> usize {
        let completed = pairs.iter().flat_map(|pair| &pair.rx.completed);
        self.port.packets_gathered() + completed.map(|line| line.packets).sum::<usize>()
    }
}

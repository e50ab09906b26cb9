//! The layout of one core's queues in memory.
//!
//! Models: descriptor and completion rings in the formats of a card, doorbell records, the refill
//! threshold of a receive ring.
//! Source: DPDK mlx5 and i40e drivers.
//! Simplifies: a doorbell record takes a line.

use crate::host_memory::Arena;
use model::device::nic::formats::{RxFormat, TxCompletionPlace, TxFormat};
use model::device::nic::rings::{DOORBELL_BYTES, QueuePair, RxRing, TxRing};
use model::device::ring::Ring;
use std::collections::VecDeque;
use units::LINE_BYTES;

/// Shape of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueShape {
    /// Format of the receive queue.
    pub rx_format: RxFormat,
    /// Number of receive descriptors of a queue.
    pub rx_descriptors: u32,
    /// Number of descriptors without a buffer at which the driver refills.
    pub refill_at: u32,
    /// Format of the send queue.
    pub tx_format: TxFormat,
    /// Where sent packets are reported.
    pub tx_completion: TxCompletionPlace,
    /// Packets up to this size are copied into their request.
    pub inline_bytes: u64,
    /// Number of packets that the send ring holds, of which a chained one counts once for each buffer.
    pub tx_packets: u32,
    /// Bytes of a packet that a buffer holds.
    pub buffer_bytes: u64,
}

impl QueueShape {
    /// Bytes of all that [`Self::place`] allocates, with a line of margin for each structure.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let rx_entry = self.rx_format.descriptor_bytes() + self.rx_format.completion_bytes();
        let tx_entry = self.tx_format.entry_bytes() + self.tx_completion.bytes(self.tx_format);
        Ring::bytes(self.rx_descriptors, rx_entry)
            + Ring::bytes(self.tx_entries(), tx_entry)
            + 8 * LINE_BYTES
    }

    /// Empty rings in `arena`.
    #[must_use]
    pub fn place(&self, arena: &mut Arena) -> QueuePair {
        let mut ring = |entries: u32, entry_bytes: u64| Ring {
            first: arena.place(Ring::bytes(entries, entry_bytes)),
            entries,
            entry_bytes,
        };
        let descriptors = ring(self.rx_descriptors, self.rx_format.descriptor_bytes());
        let completions = match self.rx_format.completes_in_place() {
            true => descriptors,
            false => ring(self.rx_descriptors, self.rx_format.completion_bytes()),
        };
        let requests = ring(self.tx_entries(), self.tx_format.entry_bytes());
        let completion_bytes = self.tx_completion.bytes(self.tx_format);
        let tx_completions = match self.tx_completion {
            TxCompletionPlace::Queue => ring(self.tx_entries(), completion_bytes),
            TxCompletionPlace::DescriptorRing => requests,
            TxCompletionPlace::Head => ring(1, completion_bytes),
        };
        QueuePair {
            rx: RxRing {
                format: self.rx_format,
                descriptors,
                completions,
                buffer_bytes: self.buffer_bytes,
                refill_at: self.refill_at,
                doorbell: arena.place(DOORBELL_BYTES),
                posted: VecDeque::new(),
                completed: VecDeque::new(),
                packets: VecDeque::new(),
                chained: VecDeque::new(),
            },
            tx: TxRing {
                format: self.tx_format,
                completion: self.tx_completion,
                inline_bytes: self.inline_bytes,
                buffer_bytes: self.buffer_bytes,
                requests,
                completions: tx_completions,
                doorbell: arena.place(DOORBELL_BYTES),
                queued: VecDeque::new(),
                completed: VecDeque::new(),
            },
        }
    }

    /// Entries of the send ring: requests of single packets need the most.
    fn tx_entries(&self) -> u32 {
        TxRing::entries_for(self.tx_format, self.inline_bytes, self.tx_packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_memory::HostMemory;
    use units::Bytes;

    const CONNECTX: QueueShape = QueueShape {
        rx_format: RxFormat::Mlx5,
        rx_descriptors: 1024,
        refill_at: 64,
        tx_format: TxFormat::Mlx5MultiPacket,
        tx_completion: TxCompletionPlace::Queue,
        inline_bytes: 0,
        tx_packets: 256,
        buffer_bytes: 2048,
    };

    fn placed(shape: QueueShape) -> QueuePair {
        let mut memory = HostMemory::new(Bytes(2 << 20), 1);
        shape.place(&mut Arena::new(memory.region(shape.bytes())))
    }

    #[test]
    fn a_connectx_queue_has_completions_of_its_own() {
        let pair = placed(CONNECTX);
        assert_eq!(pair.rx.descriptors.entry_bytes, 16);
        assert_eq!(pair.rx.completions.first.0 - pair.rx.descriptors.first.0, 256);
        assert_eq!(pair.tx.requests.entries, 256);
    }

    #[test]
    fn intel_completions_overwrite_descriptors() {
        let shape = QueueShape {
            rx_format: RxFormat::Intel { bytes: 32 },
            tx_format: TxFormat::Intel,
            tx_completion: TxCompletionPlace::DescriptorRing,
            ..CONNECTX
        };
        let pair = placed(shape);
        assert_eq!(pair.rx.completions.first, pair.rx.descriptors.first);
        assert_eq!(pair.tx.completions.first, pair.tx.requests.first);
    }

    #[test]
    fn a_ring_has_room_for_its_packets_inlined_one_by_one() {
        let pair = placed(QueueShape { inline_bytes: 268, ..CONNECTX });
        // 32 B of header and 272 B of data are five entries of 64 B.
        assert_eq!(pair.tx.requests.entries, 5 * 256);
    }
}

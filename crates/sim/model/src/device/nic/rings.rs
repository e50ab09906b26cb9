//! Rings in host memory: the entries that driver and NIC exchange, and their lines.
//!
//! Models: receive and send rings, completions and doorbell records of the formats in [`super::formats`].
//! Source: Linux and DPDK mlx5 drivers.
//! Simplifies: see [`Ring`].
//!
//! The content is kept apart from the caches, which hold no data; every access to it comes with an
//! access to its line. An entry becomes visible to the other side at a time of its own.

use super::formats::{RxFormat, TxCompletionPlace, TxFormat};
use crate::device::queues::{QueueId, Queues};
use crate::device::ring::Ring;
use crate::device::{DeviceId, DeviceQueues};
use std::collections::VecDeque;
use units::narrow::fit;
use units::{Bytes, LineAddr, Picos};

/// Bytes of a doorbell record.
pub const DOORBELL_BYTES: u64 = 8;

/// A packet buffer of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Number within its pool.
    pub id: u32,
    /// First line of the packet data.
    pub data: LineAddr,
}

/// A packet on its way through the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The buffer that holds it, or its start.
    pub buffer: Buffer,
    /// Number of buffers that hold it: more than one if it is chained.
    pub buffers: u32,
    /// Size of the packet without FCS.
    pub bytes: Bytes,
    /// Time at which its last bit arrived on the wire.
    pub arrival: Picos,
    /// Number of the packet among those that got a descriptor.
    pub sequence: u64,
    /// RSS hash of its flow, as a completion reports it.
    pub rss_hash: u32,
}

/// A receive queue: descriptors for the NIC, completions for the driver.
#[derive(Clone, Debug)]
pub struct RxRing {
    /// Format of descriptors and completions.
    pub format: RxFormat,
    /// Ring of receive descriptors in memory.
    pub descriptors: Ring,
    /// Completions, one entry per descriptor: the descriptors themselves if completions overwrite them.
    pub completions: Ring,
    /// Bytes of a packet that a buffer holds. A longer packet takes several descriptors.
    pub buffer_bytes: u64,
    /// Number of descriptors without a buffer at which the driver refills.
    pub refill_at: u32,
    /// Line in which the driver publishes how far it has posted.
    pub doorbell: LineAddr,
    /// Posted buffers that the NIC has not fetched, with the time from which it can.
    pub posted: VecDeque<(Picos, Buffer)>,
    /// Completions that the driver has not read.
    pub completed: VecDeque<RxCompletion>,
    /// Packets that the driver has not taken: those of the completion that it has read, then those of
    /// the others in order. They are contiguous, which the host loads fastest.
    pub packets: VecDeque<Packet>,
    /// The buffers behind the first of each of those packets, in order.
    pub chained: VecDeque<Buffer>,
}

impl RxRing {
    /// Number of buffers that hold a packet of this size.
    #[inline]
    #[must_use]
    pub fn buffers_for(&self, bytes: Bytes) -> u32 {
        if bytes.0 <= self.buffer_bytes { 1 } else { fit(bytes.0.div_ceil(self.buffer_bytes)) }
    }
}

/// A receive completion, which reports one or more packets.
#[derive(Clone, Copy, Debug)]
pub struct RxCompletion {
    /// Time from which the completion is visible to the driver.
    pub visible: Picos,
    /// Line of the completion, or its first one.
    pub line: LineAddr,
    /// Lines behind it that are part of the completion, which reports a chained packet.
    pub more_lines: u64,
    /// How many of [`RxRing::packets`] the completion reports.
    pub packets: usize,
}

/// A send queue: requests for the NIC, completions for the driver.
#[derive(Clone, Debug)]
pub struct TxRing {
    /// Format of send requests.
    pub format: TxFormat,
    /// Where the NIC writes completions.
    pub completion: TxCompletionPlace,
    /// Packets up to this size are copied into their request, unless they are chained.
    pub inline_bytes: u64,
    /// Bytes of a chained packet that a buffer holds.
    pub buffer_bytes: u64,
    /// Ring of send requests (work request entries) in memory.
    pub requests: Ring,
    /// Completions: the requests themselves if completions overwrite them; one entry if the completion
    /// is a single word.
    pub completions: Ring,
    /// Line in which the driver publishes how far it has posted.
    pub doorbell: LineAddr,
    /// Requests that the NIC has not fetched.
    pub queued: VecDeque<TxRequest>,
    /// Completions that the driver has not read: when visible, their line, how many packets.
    pub completed: VecDeque<(Picos, LineAddr, u32)>,
}

/// A send request for one or more packets.
#[derive(Clone, Debug)]
pub struct TxRequest {
    /// Time at which the NIC learns of the request.
    pub visible: Picos,
    /// Number of the request's first entry in the ring.
    pub first_entry: u64,
    /// The packets to send.
    pub packets: Vec<Packet>,
    /// The buffers behind the first of its packet, which is the only one, if it is chained.
    pub chained: Vec<Buffer>,
}

impl TxRing {
    /// Whether a packet's data are part of its request.
    #[must_use]
    pub fn is_inlined(&self, packet: &Packet) -> bool {
        packet.buffers == 1 && packet.bytes.0 <= self.inline_bytes
    }

    /// Bytes of a request for `packets`, of which there is one if it is chained.
    #[must_use]
    pub fn request_bytes(&self, packets: &[Packet]) -> u64 {
        if let [Packet { buffers: buffers @ 2.., .. }] = packets {
            return self.format.chained_bytes(u64::from(*buffers));
        }
        let bytes = |packet| {
            let inlined = if self.is_inlined(packet) { packet.bytes.0 } else { 0 };
            self.format.packet_bytes(inlined)
        };
        self.format.header_bytes() + packets.iter().map(bytes).sum::<u64>()
    }

    /// Ring entries of a request for `packets`.
    #[must_use]
    pub fn request_entries(&self, packets: &[Packet]) -> u64 {
        self.request_bytes(packets).div_ceil(self.format.entry_bytes())
    }

    /// Largest number of ring entries that requests for `packets` packets need, in bursts of any size.
    #[must_use]
    pub fn entries_for(format: TxFormat, inline_bytes: u64, packets: u32) -> u32 {
        // One request for each packet takes the most.
        let bytes = format.header_bytes() + format.packet_bytes(inline_bytes);
        packets * fit::<u32, _>(bytes.div_ceil(format.entry_bytes()))
    }
}

/// The queues of one core.
#[derive(Clone, Debug)]
pub struct QueuePair {
    /// Receive ring of the pair.
    pub rx: RxRing,
    /// Send ring of the pair.
    pub tx: TxRing,
}

impl Queues {
    /// The queue pairs of a NIC.
    ///
    /// # Panics
    /// If the device is of another kind, which is a bug of the caller.
    #[must_use]
    pub fn nic_pairs(&self, device: DeviceId) -> &[QueuePair] {
        let DeviceQueues::Nic(pairs) = self.device(device) else { panic!("{device:?} is no NIC") };
        pairs
    }

    /// The queue pair of a NIC.
    ///
    /// # Panics
    /// If the queue belongs to another kind of device, which is a bug of the caller.
    pub fn nic_pair(&mut self, id: QueueId) -> &mut QueuePair {
        let DeviceQueues::Nic(pairs) = self.device_mut(id.device) else {
            panic!("{id:?} belongs to no NIC")
        };
        &mut pairs[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: u32, entry_bytes: u64) -> Ring {
        Ring { first: LineAddr(100), entries, entry_bytes }
    }

    fn send_ring(format: TxFormat, inline_bytes: u64) -> TxRing {
        TxRing {
            format,
            completion: TxCompletionPlace::Queue,
            inline_bytes,
            buffer_bytes: 2048,
            requests: ring(64, format.entry_bytes()),
            completions: ring(64, 64),
            doorbell: LineAddr(0),
            queued: VecDeque::new(),
            completed: VecDeque::new(),
        }
    }

    fn packets(count: usize, bytes: u64) -> Vec<Packet> {
        let buffer = Buffer { id: 0, data: LineAddr(1_000) };
        let (bytes, arrival) = (Bytes(bytes), Picos::ZERO);
        vec![Packet { buffer, buffers: 1, bytes, arrival, sequence: 0, rss_hash: 0 }; count]
    }

    #[test]
    fn a_chained_packet_has_a_segment_or_a_descriptor_for_each_buffer() {
        let jumbo = Packet { buffers: 5, ..packets(1, 9000)[0] };
        let entries = |format| send_ring(format, 268).request_entries(&[jumbo]);
        // Control and Ethernet segments and five pointers of 16 B are 112 B in entries of 64 B.
        assert_eq!((entries(TxFormat::Mlx5MultiPacket), entries(TxFormat::Mlx5)), (2, 2));
        assert_eq!((entries(TxFormat::Intel), entries(TxFormat::Events)), (5, 5));
        let short = Packet { buffers: 2, ..packets(1, 100)[0] };
        assert!(!send_ring(TxFormat::Mlx5, 268).is_inlined(&short));
    }

    #[test]
    fn a_full_send_request_takes_nine_entries() {
        let ring = send_ring(TxFormat::Mlx5MultiPacket, 0);
        assert_eq!(ring.request_bytes(&packets(32, 1500)), 544);
        assert_eq!(ring.request_entries(&packets(32, 1500)), 9);
        assert_eq!(ring.request_entries(&packets(1, 1500)), 1);
    }

    #[test]
    fn only_packets_up_to_the_limit_are_inlined() {
        let ring = send_ring(TxFormat::Mlx5MultiPacket, 268);
        assert_eq!(ring.request_bytes(&packets(1, 268)), 32 + 272);
        assert_eq!(ring.request_bytes(&packets(1, 269)), 32 + 16);
    }

    #[test]
    fn intel_descriptors_take_an_entry_each() {
        let ring = send_ring(TxFormat::Intel, 0);
        assert_eq!(ring.request_bytes(&packets(32, 1500)), 512);
        assert_eq!(ring.request_entries(&packets(32, 1500)), 32);
    }
}

//! Rings in host memory: what driver and NIC hand to each other, and in which lines it lies.
//!
//! Models: receive and send rings, completions and doorbell records of the formats in [`super::formats`].
//! Source: Linux and DPDK mlx5 drivers.
//! Simplifies: reads and writes of entries begin at the start of their first line.
//!
//! The content is kept beside the caches (they hold no data); every access to it is accompanied by
//! the access to its line. Things become visible to the other side at a time.

use super::formats::{RxFormat, TxCompletionPlace, TxFormat};
use std::collections::VecDeque;
use units::{Bytes, LINE_BYTES, LineAddr, Picos};

/// Bytes of a doorbell record.
pub const DOORBELL_BYTES: u64 = 8;

/// Equal entries in contiguous memory, used in a circle.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// First line.
    pub first: LineAddr,
    /// Number of entries.
    pub entries: u32,
    /// Size of an entry.
    pub entry_bytes: u64,
}

impl Ring {
    /// Bytes of the whole ring.
    #[must_use]
    pub fn bytes(entries: u32, entry_bytes: u64) -> u64 {
        u64::from(entries) * entry_bytes
    }

    /// Splits `bytes` from entry `index` on at the ring's end: the first line of each part and the
    /// bytes from its start on; the second is empty if the ring's end is not passed.
    #[must_use]
    pub fn parts(&self, index: u64, bytes: u64) -> [(LineAddr, u64); 2] {
        let place = index % u64::from(self.entries);
        let to_end = (u64::from(self.entries) - place) * self.entry_bytes;
        let before_end = bytes.min(to_end);
        let into_line = place * self.entry_bytes % LINE_BYTES;
        [(self.line_of(index), into_line + before_end), (self.first, bytes - before_end)]
    }

    /// The line in which entry `index` (counted without end) begins.
    #[must_use]
    pub fn line_of(&self, index: u64) -> LineAddr {
        self.first.step(index % u64::from(self.entries) * self.entry_bytes / LINE_BYTES)
    }
}

/// A packet buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Number within its pool.
    pub id: u32,
    /// Where packet data begins.
    pub data: LineAddr,
}

/// A packet on its way through the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it lies.
    pub buffer: Buffer,
    /// Its size.
    pub bytes: Bytes,
    /// When it had arrived on the wire.
    pub arrival: Picos,
    /// Its number among the packets that got a descriptor.
    pub sequence: u64,
    /// RSS hash of its flow, as a completion reports it.
    pub rss_hash: u32,
}

/// A receive queue: descriptors towards the NIC, completions towards the driver.
#[derive(Clone, Debug)]
pub struct RxRing {
    /// What descriptors and completions look like.
    pub format: RxFormat,
    /// Descriptors.
    pub descriptors: Ring,
    /// Completions, one entry per descriptor: the descriptors themselves if they are overwritten.
    pub completions: Ring,
    /// Descriptors without a buffer at which the driver refills.
    pub refill_at: u32,
    /// Where the driver says how far it has posted.
    pub doorbell: LineAddr,
    /// Posted buffers that the NIC has not fetched, with the time since when it could.
    pub posted: VecDeque<(Picos, Buffer)>,
    /// Completions that the driver has not read: when visible, where, of how many packets.
    pub completed: VecDeque<RxCompletion>,
    /// Packets that the driver has not taken: those of the completion that it has read, then those of
    /// the others in their order. They lie in a row, which is where the host loads them from best.
    pub packets: VecDeque<Packet>,
}

/// One completion line.
#[derive(Clone, Copy, Debug)]
pub struct RxCompletion {
    /// Since when the driver can see it.
    pub visible: Picos,
    /// Where it lies.
    pub line: LineAddr,
    /// How many of [`RxRing::packets`] it reports.
    pub packets: usize,
}

/// A send queue: requests towards the NIC, completions towards the driver.
#[derive(Clone, Debug)]
pub struct TxRing {
    /// What requests look like.
    pub format: TxFormat,
    /// Where completions are written.
    pub completion: TxCompletionPlace,
    /// Packets up to this size are copied into their request.
    pub inline_bytes: u64,
    /// Work request entries.
    pub requests: Ring,
    /// Completions: the requests themselves if they are overwritten, one entry if there is but a word.
    pub completions: Ring,
    /// Where the driver says how far it has posted.
    pub doorbell: LineAddr,
    /// Requests that the NIC has not taken.
    pub queued: VecDeque<TxRequest>,
    /// Completions that the driver has not read: when visible, where, how many packets.
    pub completed: VecDeque<(Picos, LineAddr, u32)>,
}

/// A send request.
#[derive(Clone, Debug)]
pub struct TxRequest {
    /// Since when the NIC knows of it.
    pub visible: Picos,
    /// First entry.
    pub first_entry: u64,
    /// What to send.
    pub packets: Vec<Packet>,
}

impl TxRing {
    /// Whether a packet's data are part of its request.
    #[must_use]
    pub fn is_inlined(&self, packet: &Packet) -> bool {
        packet.bytes.0 <= self.inline_bytes
    }

    /// Bytes of a request for `packets`.
    #[must_use]
    pub fn request_bytes(&self, packets: &[Packet]) -> u64 {
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

    /// Ring entries that requests for `packets` packets in bursts of any size need at most.
    #[must_use]
    pub fn entries_for(format: TxFormat, inline_bytes: u64, packets: u32) -> u32 {
        // A request of its own for each packet takes the most.
        let bytes = format.header_bytes() + format.packet_bytes(inline_bytes);
        packets * bytes.div_ceil(format.entry_bytes()) as u32
    }
}

/// The queues of one core.
#[derive(Clone, Debug)]
pub struct QueuePair {
    /// Receive side.
    pub rx: RxRing,
    /// Send side.
    pub tx: TxRing,
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
            requests: ring(64, format.entry_bytes()),
            completions: ring(64, 64),
            doorbell: LineAddr(0),
            queued: VecDeque::new(),
            completed: VecDeque::new(),
        }
    }

    fn packets(count: usize, bytes: u64) -> Vec<Packet> {
        let buffer = Buffer { id: 0, data: LineAddr(1_000) };
        vec![
            Packet { buffer, bytes: Bytes(bytes), arrival: Picos::ZERO, sequence: 0, rss_hash: 0 };
            count
        ]
    }

    #[test]
    fn four_receive_descriptors_share_a_line_and_the_ring_closes() {
        let lines: Vec<u64> = (0..9).map(|i| ring(8, 16).line_of(i).0).collect();
        assert_eq!(lines, [100, 100, 100, 100, 101, 101, 101, 101, 100]);
    }

    #[test]
    fn what_passes_the_end_of_a_ring_goes_on_at_its_start() {
        let ring = ring(16, 64);
        assert_eq!(ring.parts(14, 544), [(LineAddr(114), 128), (LineAddr(100), 416)]);
        assert_eq!(ring.parts(16, 544), [(LineAddr(100), 544), (LineAddr(100), 0)]);
    }

    #[test]
    fn entries_in_the_middle_of_a_line_touch_the_lines_they_lie_in() {
        // Four descriptors of 16 B from the fourth of a line on lie in two lines.
        assert_eq!(ring(16, 16).parts(3, 64), [(LineAddr(100), 112), (LineAddr(100), 0)]);
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

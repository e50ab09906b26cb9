//! Rings in host memory: what driver and NIC hand to each other, and in which lines it lies.
//!
//! Models: mlx5's receive and send rings, completions and doorbell records.
//! Source: Linux and DPDK mlx5 drivers (16 B scatter entries, 64 B completions and send entries,
//! multi-packet requests of 32 B and 16 B per packet).
//! Simplifies: a compressed completion is one line for up to eight packets.
//!
//! The content is kept beside the caches (they hold no data); every access to it is accompanied by
//! the access to its line. Things become visible to the other side at a time.

use std::collections::VecDeque;
use units::{Bytes, LINE_BYTES, LineAddr, Picos};

/// Bytes of a receive descriptor (one scatter entry).
pub const RX_DESCRIPTOR_BYTES: u64 = 16;
/// Receive descriptors per line.
pub const DESCRIPTORS_PER_LINE: u64 = LINE_BYTES / RX_DESCRIPTOR_BYTES;
/// Bytes of a completion, whole or compressed.
pub const COMPLETION_BYTES: u64 = 64;
/// Bytes of control and Ethernet segments at the head of a multi-packet send request.
pub const TX_REQUEST_HEADER_BYTES: u64 = 32;
/// Bytes per packet of a multi-packet send request.
pub const TX_SEGMENT_BYTES: u64 = 16;
/// Bytes of a send ring entry: requests begin at multiples of it.
pub const TX_ENTRY_BYTES: u64 = 64;
/// Free descriptors at which a driver refills a receive ring at the latest.
const REFILL_MOST: u32 = 64;

/// Free descriptors at which a driver refills a receive ring of `entries` (mlx5: min(64, n / 4)).
#[must_use]
pub fn refill_threshold(entries: u32) -> u32 {
    REFILL_MOST.min(entries / 4).max(1)
}

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

    /// Splits `bytes` from entry `index` on at the ring's end: the first line and the bytes of each
    /// part; the second is empty if the ring's end is not passed.
    #[must_use]
    pub fn parts(&self, index: u64, bytes: u64) -> [(LineAddr, u64); 2] {
        let place = index % u64::from(self.entries);
        let to_end = (u64::from(self.entries) - place) * self.entry_bytes;
        let before_end = bytes.min(to_end);
        [(self.line_of(index), before_end), (self.first, bytes - before_end)]
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
}

/// A receive queue: descriptors towards the NIC, completions towards the driver.
#[derive(Clone, Debug)]
pub struct RxRing {
    /// Descriptors.
    pub descriptors: Ring,
    /// Completions, one entry per descriptor.
    pub completions: Ring,
    /// Where the driver says how far it has posted.
    pub doorbell: LineAddr,
    /// Posted buffers that the NIC has not fetched, with the time since when it could.
    pub posted: VecDeque<(Picos, Buffer)>,
    /// Completions that the driver has not read: when visible, where, what.
    pub completed: VecDeque<RxCompletion>,
}

/// One completion line.
#[derive(Clone, Debug)]
pub struct RxCompletion {
    /// Since when the driver can see it.
    pub visible: Picos,
    /// Where it lies.
    pub line: LineAddr,
    /// What it reports.
    pub packets: Vec<Packet>,
}

/// A send queue: requests towards the NIC, completions towards the driver.
#[derive(Clone, Debug)]
pub struct TxRing {
    /// Work request entries.
    pub requests: Ring,
    /// Completions.
    pub completions: Ring,
    /// Where the driver says how far it has posted.
    pub doorbell: LineAddr,
    /// Requests that the NIC has not taken.
    pub queued: VecDeque<TxRequest>,
    /// Completions that the driver has not read: when visible, where, how many packets.
    pub completed: VecDeque<(Picos, LineAddr, u32)>,
}

/// A multi-packet send request.
#[derive(Clone, Debug)]
pub struct TxRequest {
    /// Since when the NIC knows of it.
    pub visible: Picos,
    /// First entry.
    pub first_entry: u64,
    /// What to send.
    pub packets: Vec<Packet>,
}

impl TxRequest {
    /// Bytes of a request for `packets` packets.
    #[must_use]
    pub fn bytes_for(packets: u64) -> u64 {
        TX_REQUEST_HEADER_BYTES + packets * TX_SEGMENT_BYTES
    }

    /// Ring entries of a request for `packets` packets.
    #[must_use]
    pub fn entries_for(packets: u64) -> u64 {
        Self::bytes_for(packets).div_ceil(TX_ENTRY_BYTES)
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

    #[test]
    fn four_receive_descriptors_share_a_line_and_the_ring_closes() {
        let ring = Ring { first: LineAddr(100), entries: 8, entry_bytes: RX_DESCRIPTOR_BYTES };
        let lines: Vec<u64> = (0..9).map(|i| ring.line_of(i).0).collect();
        assert_eq!(lines, [100, 100, 100, 100, 101, 101, 101, 101, 100]);
    }

    #[test]
    fn what_passes_the_end_of_a_ring_goes_on_at_its_start() {
        let ring = Ring { first: LineAddr(100), entries: 16, entry_bytes: TX_ENTRY_BYTES };
        assert_eq!(ring.parts(14, 544), [(LineAddr(114), 128), (LineAddr(100), 416)]);
        assert_eq!(ring.parts(16, 544), [(LineAddr(100), 544), (LineAddr(100), 0)]);
    }

    #[test]
    fn a_full_send_request_takes_nine_entries() {
        assert_eq!(TxRequest::bytes_for(32), 544);
        assert_eq!(TxRequest::entries_for(32), 9);
        assert_eq!(TxRequest::entries_for(1), 1);
    }
}

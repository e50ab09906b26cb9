//! Packets on the chip, between the wire and the link.
//!
//! Models: one buffer for packets on their way to memory and packets that wait for a descriptor, in
//! lines of their own.
//! Source: the internal buffer of ConnectX cards, whose overflow is rx_discards_phy.
//! Simplifies: bytes are packets' own; there is no fragmentation into cells.

use crate::traffic::Arrival;
use std::collections::VecDeque;
use units::Picos;

/// The receive buffer of a NIC: packets that wait for descriptors or leave for memory.
#[derive(Debug)]
pub(super) struct InternalBuffer {
    /// Packets on their way to memory: until when, how many bytes.
    pub leaving: VecDeque<(Picos, u64)>,
    /// Packets without a descriptor: a packet waits only behind those of its line.
    lines: Vec<PacketQueue>,
    /// When the first of a line retries to get a descriptor.
    next_retry: Picos,
    /// Bytes of the waiting packets.
    pub waiting_bytes: u64,
    /// Bytes of all packets in the buffer, waiting or leaving.
    pub bytes: u64,
}

/// Packets that wait behind each other, oldest first.
#[derive(Clone, Debug)]
struct PacketQueue {
    /// The packets, each with the number of descriptors that it needs.
    packets: VecDeque<(Arrival, u32)>,
    /// Descriptors that they need together.
    wanted: u64,
    /// When its first packet retries. Never, if there is none.
    retry: Picos,
}

impl InternalBuffer {
    /// An empty buffer in which packets wait in `lines` lines.
    pub fn new(lines: usize) -> Self {
        let empty = PacketQueue { packets: VecDeque::new(), wanted: 0, retry: Picos::NEVER };
        Self {
            leaving: VecDeque::new(),
            lines: vec![empty; lines],
            next_retry: Picos::NEVER,
            waiting_bytes: 0,
            bytes: 0,
        }
    }

    /// Packets that wait in all lines.
    pub fn waiting(&self) -> usize {
        self.lines.iter().map(|line| line.packets.len()).sum()
    }

    /// Packets that wait in a line.
    pub fn waiting_in(&self, line: usize) -> usize {
        self.lines[line].packets.len()
    }

    /// Descriptors that the packets of a line need.
    pub fn wanted_in(&self, line: usize) -> u64 {
        self.lines[line].wanted
    }

    /// When the first of a line retries to get a descriptor.
    pub fn next_retry(&self) -> Picos {
        self.next_retry
    }

    /// The line whose first packet retries at `now`, and this packet. Of several the oldest is first.
    pub fn retrying(&self, now: Picos) -> Option<(usize, Arrival)> {
        if self.next_retry > now {
            return None;
        }
        let due = self.lines.iter().enumerate().filter(|(_, line)| line.retry <= now);
        let firsts = due.filter_map(|(number, line)| Some((number, line.packets.front()?.0)));
        firsts.min_by_key(|(_, packet)| packet.time)
    }

    /// Adds a packet that needs some descriptors to a line. If it is the first there it retries at
    /// `retry`.
    pub fn keep(&mut self, line: usize, (packet, descriptors): (Arrival, u32), retry: Picos) {
        self.waiting_bytes += packet.bytes.0;
        self.bytes += packet.bytes.0;
        let line = &mut self.lines[line];
        if line.packets.is_empty() {
            line.retry = retry;
            self.next_retry = self.next_retry.min(retry);
        }
        line.wanted += u64::from(descriptors);
        line.packets.push_back((packet, descriptors));
    }

    /// Lets the first packet of a line retry at `retry`.
    pub fn retry_at(&mut self, line: usize, retry: Picos) {
        self.lines[line].retry = retry;
        self.find_next_retry();
    }

    /// Removes the first packet of a line; the next one retries at once.
    pub fn forget_first(&mut self, line: usize) {
        let line = &mut self.lines[line];
        let Some((first, descriptors)) = line.packets.pop_front() else { return };
        line.wanted -= u64::from(descriptors);
        self.waiting_bytes -= first.bytes.0;
        self.bytes -= first.bytes.0;
        if line.packets.is_empty() {
            line.retry = Picos::NEVER;
            self.find_next_retry();
        }
    }

    fn find_next_retry(&mut self) {
        let retries = self.lines.iter().map(|line| line.retry);
        self.next_retry = retries.fold(Picos::NEVER, Picos::min);
    }

    /// Removes packets that have left by `now`.
    pub fn drain(&mut self, now: Picos) {
        while let Some(&(until, leaving)) = self.leaving.front() {
            if until > now {
                break;
            }
            self.leaving.pop_front();
            self.bytes -= leaving;
        }
    }
}

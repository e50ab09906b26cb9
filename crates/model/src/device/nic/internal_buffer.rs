//! Packets on the chip, between the wire and the link.
//!
//! Models: one buffer for packets on their way to memory and packets that wait for a descriptor.
//! Source: the internal buffer of ConnectX cards, whose overflow is rx_discards_phy.
//! Simplifies: bytes are packets' own; there is no fragmentation into cells.

use crate::traffic::Arrival;
use std::collections::VecDeque;
use units::Picos;

/// Packets on the chip.
#[derive(Debug, Default)]
pub(super) struct InternalBuffer {
    /// Packets on their way to memory: until when, how many bytes.
    pub leaving: VecDeque<(Picos, u64)>,
    /// Packets without a descriptor, oldest first.
    pub waiting: VecDeque<Arrival>,
    /// Bytes of the waiting packets.
    pub waiting_bytes: u64,
    /// Bytes of all packets.
    pub bytes: u64,
}

impl InternalBuffer {
    /// Adds a waiting packet.
    pub fn keep(&mut self, packet: Arrival) {
        self.waiting_bytes += packet.bytes.0;
        self.bytes += packet.bytes.0;
        self.waiting.push_back(packet);
    }

    /// Removes the first waiting packet.
    pub fn forget_first(&mut self) {
        let Some(first) = self.waiting.pop_front() else { return };
        self.waiting_bytes -= first.bytes.0;
        self.bytes -= first.bytes.0;
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

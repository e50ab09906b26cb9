//! Arrivals on a wire: the interface between the hardware and the generators of traffic.
//!
//! Models: frames as a port sees them.
//! Source: IEEE 802.3.
//! Simplifies: a frame is its size, its flow, the flow's RSS hash and its arrival time.

use units::{Bytes, Picos};

/// A frame that has been received completely by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time at which the last bit of the frame arrived. Never earlier than the previous arrival.
    pub time: Picos,
    /// Size of the packet without FCS.
    pub bytes: Bytes,
    /// RSS hash of the frame's flow (Toeplitz over the flow tuple).
    pub rss_hash: u32,
    /// Number of the frame's flow in its source; none for frames without a flow.
    pub flow: Option<u32>,
}

/// A frame that has left a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Time at which the frame's last bit left.
    pub time: Picos,
    /// Time at which the frame that it answers had arrived.
    pub arrival: Picos,
    /// Size of the packet without FCS.
    pub bytes: Bytes,
}

/// A sequence of arrivals in time order. Deterministic for a given seed.
pub trait PacketSource {
    /// The next frame, or `None` when the source has ended.
    ///
    /// A closed-loop source is asked again whenever an answer has left: its earlier announcement, such
    /// as a retransmission, is then void.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// Whether the source needs to know what leaves through its port.
    fn awaits_answers(&self) -> bool {
        false
    }

    /// A frame has left through the source's port: a closed-loop source continues from here.
    fn answered(&mut self, _departure: Departure) {}
}

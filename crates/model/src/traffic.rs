//! What arrives on a wire: the seam between the hardware and whatever generates traffic.
//!
//! Models: frames as a port sees them.
//! Source: IEEE 802.3 (4 B FCS, 8 B preamble, 12 B gap).
//! Simplifies: nothing; a frame is its size, its flow, the flow's RSS hash and its arrival time.

use units::{Bytes, Picos};

/// Bytes that a frame occupies on the wire beyond its own: FCS, preamble and inter-frame gap.
pub const WIRE_OVERHEAD_BYTES: u64 = 4 + 8 + 12;

/// A frame that has been received completely by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the last bit of the frame arrived. Never earlier than the previous arrival.
    pub time: Picos,
    /// Size without FCS.
    pub bytes: Bytes,
    /// RSS hash of the frame's flow (Toeplitz over the flow tuple).
    pub rss_hash: u32,
    /// Number of the frame's flow among those of its source; none for frames that belong to none.
    pub flow: Option<u32>,
}

/// A frame that has left a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When its last bit left.
    pub time: Picos,
    /// When the frame that it answers had arrived.
    pub arrival: Picos,
    /// Size without FCS.
    pub bytes: Bytes,
}

/// A sequence of arrivals in time order. Deterministic by the seed it was built with.
pub trait PacketSource {
    /// The next frame, or `None` when the source has ended.
    ///
    /// A source in closed loop is asked again whenever an answer has left: what it had announced
    /// before, such as a frame sent again, has then not been sent.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// Whether the source wants to know what leaves through its port.
    fn awaits_answers(&self) -> bool {
        false
    }

    /// A frame has left through the source's port: a source in closed loop goes on from here.
    fn answered(&mut self, _departure: Departure) {}
}

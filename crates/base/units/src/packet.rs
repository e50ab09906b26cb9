//! Packets of a capture, their flows, and the bytes of a frame on Ethernet.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Bytes, Picos};

/// Bytes that a frame occupies on the wire beyond its own: FCS, preamble and inter-frame gap (IEEE 802.3).
pub const WIRE_OVERHEAD_BYTES: u64 = 4 + 8 + 12;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Time since the first packet of the capture.
    pub since_start: Picos,
    /// Size of the Ethernet frame without FCS, padding included.
    pub frame_bytes: Bytes,
    /// Index into the flows of the capture; `None` if the packet is not IP.
    pub flow: Option<usize>,
}

/// Both ends of a flow. The two addresses are always of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowAddresses {
    /// IPv4 addresses.
    V4 {
        /// Address of the sender.
        source: Ipv4Addr,
        /// Address of the receiver.
        destination: Ipv4Addr,
    },
    /// IPv6 addresses.
    V6 {
        /// Address of the sender.
        source: Ipv6Addr,
        /// Address of the receiver.
        destination: Ipv6Addr,
    },
}

/// TCP or UDP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowPorts {
    /// Port of the sender.
    pub source: u16,
    /// Port of the receiver.
    pub destination: u16,
}

/// Identity of a flow: addresses, protocol and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowTuple {
    /// Addresses of both ends of the flow.
    pub addresses: FlowAddresses,
    /// The IP protocol number: 6 is TCP, 17 is UDP. Distinguishes flows; receive-side scaling does not hash it.
    pub protocol: u8,
    /// `None` for other protocols than TCP and UDP, and for fragments, which may lack ports.
    pub ports: Option<FlowPorts>,
}

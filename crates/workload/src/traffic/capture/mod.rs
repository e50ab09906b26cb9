//! Captures: real traffic read from pcap and pcapng files.
//!
//! Models: frames as they passed an interface: size on the wire, flow, time.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; read with the `pcap-file` crate.
//! Simplifies: sizes are those that Ethernet would carry, whatever the link; a packet without a
//! time of its own (pcapng simple packet) has that of the packet before it.
//!
//! `input` reads pieces of the file, `pcap` and `pcapng` find the packets in them, `link` turns
//! each into a frame, `builder` collects them and `replay` plays them.

mod block_reader;
mod builder;
mod error;
mod input;
mod link;
mod pcap;
mod pcapng;
mod replay;
#[cfg(test)]
mod test_files;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use units::{Bytes, GbitPerSec, Picos};

use self::builder::Builder;
use self::input::Input;
use super::rss::FlowTuple;
use super::wire::wire_bytes;

pub use self::error::{CaptureError, CaptureFault, Place};
pub use self::replay::{CaptureReplay, ReplayConfig, ReplaySpeed};

/// Most captured bytes of a packet: libpcap's own limit.
const MAX_CAPTURED_BYTES: u32 = 262_144;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Time since the first packet of the capture.
    pub since_start: Picos,
    /// Size of the Ethernet frame without FCS, padding included.
    pub frame_bytes: Bytes,
    /// Index into [`Capture::flows`]; `None` if the packet is not IP.
    pub flow: Option<usize>,
}

/// All packets of a capture file in time order. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Capture {
    packets: Arc<[CapturedPacket]>,
    flows: Arc<[FlowTuple]>,
    reordered: u64,
}

impl Capture {
    /// Reads a pcap or pcapng file completely.
    ///
    /// # Errors
    /// If the file cannot be read, is of another format, damaged or truncated, uses a link type or
    /// time unit that is not supported, or holds no packets. Nothing of such a file is returned.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        File::open(path)
            .map_err(CaptureFault::CannotOpen)
            .and_then(Self::from_reader)
            .map_err(|fault| CaptureError { path: path.to_owned(), fault })
    }

    fn from_reader(reader: impl Read) -> Result<Self, CaptureFault> {
        let (mut input, magic) = Input::open(reader)?;
        let mut builder = Builder::default();
        match magic {
            pcapng::SECTION_HEADER => pcapng::read(&mut input, &mut builder)?,
            magic if pcap::MAGICS.contains(&magic) => pcap::read(&mut input, &mut builder)?,
            found => return Err(CaptureFault::WrongMagic { found }),
        }
        builder.finish()
    }

    /// The packets in time order; the first is at time zero.
    #[must_use]
    pub fn packets(&self) -> &[CapturedPacket] {
        &self.packets
    }

    /// The different flows, in the order in which the file names them.
    #[must_use]
    pub fn flows(&self) -> &[FlowTuple] {
        &self.flows
    }

    /// Number of packets: those of one loop of a replay.
    #[must_use]
    pub fn packet_count(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Number of different IP flows.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// Sum of the frames' sizes without FCS.
    #[must_use]
    pub fn total_bytes(&self) -> Bytes {
        Bytes(self.packets.iter().map(|packet| packet.frame_bytes.0).sum())
    }

    /// Sum of what the frames occupy on the wire: with FCS, preamble and gap.
    #[must_use]
    pub fn wire_bytes(&self) -> Bytes {
        Bytes(self.packets.iter().map(|packet| wire_bytes(packet.frame_bytes.0)).sum())
    }

    /// Size of the largest frame without FCS: what a receive buffer must hold.
    #[must_use]
    pub fn largest_frame_bytes(&self) -> Bytes {
        self.packets.iter().map(|packet| packet.frame_bytes).max().unwrap_or_default()
    }

    /// From the first packet to the last.
    #[must_use]
    pub fn duration(&self) -> Picos {
        self.packets.last().map_or(Picos::ZERO, |last| last.since_start)
    }

    /// Packets that the file holds after a later one; they were sorted by their time.
    #[must_use]
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Mean rate on the wire over a loop, or `None` if all packets have the same time.
    #[must_use]
    pub fn mean_wire_rate(&self) -> Option<GbitPerSec> {
        let loop_ns = self.loop_ps() / 1e3;
        (loop_ns > 0.0).then(|| GbitPerSec(self.wire_bytes().0 as f64 * 8.0 / loop_ns))
    }

    /// Length of a loop: the duration and one mean inter-arrival time, zero without a duration.
    fn loop_ps(&self) -> f64 {
        let packets = self.packets.len() as f64;
        if packets < 2.0 { 0.0 } else { self.duration().0 as f64 * packets / (packets - 1.0) }
    }
}

/// Most captured bytes under a snap length; zero stands for "no limit" in both formats.
fn captured_limit_bytes(snap_length_bytes: u32) -> u32 {
    match snap_length_bytes {
        0 => MAX_CAPTURED_BYTES,
        limit => limit.min(MAX_CAPTURED_BYTES),
    }
}

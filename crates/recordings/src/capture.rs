//! Captures: real traffic read from pcap and pcapng files.
//!
//! Models: frames as they passed an interface: size on the wire, flow, time.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; read with the `pcap-file` crate.
//! Simplifies: sizes are those that Ethernet would carry, whatever the link; a packet without a
//! time of its own (pcapng simple packet) has that of the packet before it.
//!
//! `input` reads pieces of the file, `pcap` and `pcapng` find the packets in them, `link` converts each
//! to a frame and `builder` collects them; `tcp` takes those with segments of TCP instead, with payload.

mod block_reader;
mod builder;
mod error;
mod input;
mod link;
mod packet_consumer;
mod pcap;
mod pcapng;
mod tcp;
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "packets of the tests are small")]
mod test_files;
#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "packets of the tests are small"
)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use workload::traffic::Capture;

use self::builder::CaptureBuilder;
use self::input::CaptureInput;
use self::packet_consumer::PacketConsumer;

pub use self::error::{CaptureError, CaptureFault, RecordPosition};
pub use self::tcp::{Segment, Segments, read_tcp};

/// Most captured bytes of a packet: libpcap's own limit.
const MAX_CAPTURED_BYTES: u32 = 262_144;

/// Treatment of a file that ends within a record, as that of an interrupted tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The file is refused.
    Refused,
    /// The packets before that record are returned, if there are any.
    Read,
}

/// The packets of a file.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The packets.
    pub capture: Capture,
    /// The record within which the file ends.
    pub cut_in: Option<RecordPosition>,
}

/// Reads a pcap or pcapng file.
///
/// # Errors
/// If the file cannot be read, is of another format or damaged, ends within a record and that is not
/// allowed, uses an unsupported link type or time unit, or holds no packets. No packets of such a file are
/// returned.
pub fn read(path: impl AsRef<Path>, cut_short: CutShort) -> Result<Recording, CaptureError> {
    let path = path.as_ref();
    File::open(path)
        .map_err(CaptureFault::CannotOpen)
        .and_then(|file| from_reader(file, cut_short))
        .map_err(|fault| CaptureError { path: path.to_owned(), fault })
}

fn from_reader(reader: impl Read, cut_short: CutShort) -> Result<Recording, CaptureFault> {
    let mut builder = CaptureBuilder::default();
    let cut_in = hand_over(reader, cut_short, &mut builder)?;
    Ok(Recording { capture: builder.finish()?, cut_in })
}

/// Hands all packets of a file over; the record within which it ends, if it does and that is allowed.
fn hand_over(
    reader: impl Read,
    cut_short: CutShort,
    packets: &mut impl PacketConsumer,
) -> Result<Option<RecordPosition>, CaptureFault> {
    let (mut input, magic) = CaptureInput::open(reader)?;
    let read = match magic {
        pcapng::SECTION_HEADER => pcapng::read(&mut input, packets),
        magic if pcap::MAGICS.contains(&magic) => pcap::read(&mut input, packets),
        found => Err(CaptureFault::WrongMagic { found }),
    };
    match read {
        Ok(()) => Ok(None),
        Err(CaptureFault::TruncatedRecord { position, .. })
            if cut_short == CutShort::Read && packets.count() > 0 =>
        {
            Ok(Some(position))
        }
        Err(fault) => Err(fault),
    }
}

/// Largest number of captured bytes under a snap length; zero means "no limit" in both formats.
fn captured_limit_bytes(snap_length_bytes: u32) -> u32 {
    match snap_length_bytes {
        0 => MAX_CAPTURED_BYTES,
        limit => limit.min(MAX_CAPTURED_BYTES),
    }
}

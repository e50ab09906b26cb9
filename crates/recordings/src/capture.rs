//! Captures: real traffic read from pcap and pcapng files.
//!
//! Models: frames as they passed an interface: size on the wire, flow, time.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; read with the `pcap-file` crate.
//! Simplifies: sizes are those that Ethernet would carry, whatever the link; a packet without a
//! time of its own (pcapng simple packet) has that of the packet before it.
//!
//! `input` reads pieces of the file, `pcap` and `pcapng` find the packets in them, `link` converts each
//! to a frame and `builder` collects them.

mod block_reader;
mod builder;
mod error;
mod input;
mod link;
mod pcap;
mod pcapng;
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

use self::builder::Builder;
use self::input::Input;

pub use self::error::{CaptureError, CaptureFault, RecordPosition};

/// Most captured bytes of a packet: libpcap's own limit.
const MAX_CAPTURED_BYTES: u32 = 262_144;

/// Reads a pcap or pcapng file completely.
///
/// # Errors
/// If the file cannot be read, is of another format, damaged or truncated, uses an unsupported link
/// type or time unit, or holds no packets. No packets of such a file are returned.
pub fn read(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
    let path = path.as_ref();
    File::open(path)
        .map_err(CaptureFault::CannotOpen)
        .and_then(from_reader)
        .map_err(|fault| CaptureError { path: path.to_owned(), fault })
}

fn from_reader(reader: impl Read) -> Result<Capture, CaptureFault> {
    let (mut input, magic) = Input::open(reader)?;
    let mut builder = Builder::default();
    match magic {
        pcapng::SECTION_HEADER => pcapng::read(&mut input, &mut builder)?,
        magic if pcap::MAGICS.contains(&magic) => pcap::read(&mut input, &mut builder)?,
        found => return Err(CaptureFault::WrongMagic { found }),
    }
    builder.finish()
}

/// Largest number of captured bytes under a snap length; zero means "no limit" in both formats.
fn captured_limit_bytes(snap_length_bytes: u32) -> u32 {
    match snap_length_bytes {
        0 => MAX_CAPTURED_BYTES,
        limit => limit.min(MAX_CAPTURED_BYTES),
    }
}

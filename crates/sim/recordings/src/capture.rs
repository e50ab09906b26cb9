//! Captures: real traffic read from pcap and pcapng files.
//!
//! Models: frames as they passed an interface: size on the wire, flow, time.
//! Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; read with the `pcap-file` crate.
//! Simplifies: sizes are those that Ethernet would carry, whatever the link; a packet without a
//! time of its own (pcapng simple packet) has that of the packet before it.
//!
//! `input` reads pieces of the file, unpacked, `pcap` and `pcapng` find the packets in them, `link`
//! converts each to a frame, `builder` collects them and `pace` decides on their times; `tcp` takes those
//! with segments of TCP instead, with payload. Deviations from the format that do not matter to a replay
//! are counted (`oddities`).

mod block_options;
mod block_reader;
mod builder;
mod error;
mod input;
mod interface;
mod link;
mod oddities;
mod pace;
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

use std::io::Read;
use std::path::Path;

use units::{CapturedPacket, FlowTuple, Picos};

use self::builder::{CaptureBuilder, CollectedPackets};
use self::input::CaptureInput;
use self::link::unsupported_link;
use self::packet_consumer::PacketConsumer;

pub use self::error::{CaptureError, CaptureFault, RecordPosition};
pub use self::oddities::Oddities;
pub use self::pace::Paced;
pub use self::tcp::{Segment, Segments, Tunnels, read_tcp};

/// Most captured bytes of a packet: libpcap's own limit.
const MAX_CAPTURED_BYTES: u32 = 262_144;
/// Most packets that are kept: some 3 GB of memory while they are sorted.
const MAX_PACKETS: u64 = 1 << 25;
/// Most flows that are kept: some 1 GB.
const MAX_FLOWS: usize = 1 << 23;

/// Treatment of a file that ends within a record, as that of an interrupted tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The file is refused.
    Refused,
    /// The packets before that record are returned, if there are any.
    Read,
}

/// How a capture is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaptureOptions {
    /// Whether a file that ends within a record is read up to there. Refused by default.
    pub cut_short: CutShort,
    /// The mean rate on the wire at which the capture is going to be replayed, in Gbit/s. By default it is
    /// replayed as captured.
    pub scale_to_gbps: Option<f64>,
    /// The longest time without a packet in the replay; longer ones are shortened to it. Ten minutes by default.
    pub longest_gap: Picos,
}

impl CaptureOptions {
    /// The default of [`Self::longest_gap`], in s.
    pub const LONGEST_GAP_S: f64 = 600.0;
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            cut_short: CutShort::Refused,
            scale_to_gbps: None,
            longest_gap: Picos::from_ns(1e9 * Self::LONGEST_GAP_S),
        }
    }
}

/// The packets of a file.
#[derive(Clone, Debug)]
pub struct Recording {
    /// How the file was read.
    pub options: CaptureOptions,
    /// Packets in the order of their times, the first at time zero.
    pub packets: Vec<CapturedPacket>,
    /// The different flows of the packets, in the order in which the file names them.
    pub flows: Vec<FlowTuple>,
    /// Number of packets that the file holds after a later one.
    pub reordered: u64,
    /// The record within which the file ends.
    pub cut_in: Option<RecordPosition>,
    /// Deviations of the file from its format.
    pub oddities: Oddities,
    /// How the times were changed.
    pub paced: Paced,
}

/// Reads a pcap or pcapng file, which may be compressed.
///
/// # Errors
/// If the file cannot be read, is of another format or damaged, ends within a record and that is not
/// allowed, has no packet of a supported link type, no packets at all or more than are kept, uses an
/// unsupported time unit, or would be replayed for longer than simulated time lasts. No packets of such a
/// file are returned.
pub fn read(path: impl AsRef<Path>, options: &CaptureOptions) -> Result<Recording, CaptureError> {
    let path = path.as_ref();
    inputs::streams::open(path)
        .map_err(CaptureFault::CannotOpen)
        .and_then(|file| from_reader(file, options))
        .map_err(|fault| CaptureError { path: path.to_owned(), fault })
}

fn from_reader(
    reader: impl Read + Send,
    options: &CaptureOptions,
) -> Result<Recording, CaptureFault> {
    let mut builder = CaptureBuilder::default();
    let FileEnd { cut_in, oddities } = read_packets(reader, options.cut_short, &mut builder)?;
    let CollectedPackets { packets, flows, reordered, paced } = builder.finish(options)?;
    Ok(Recording { options: *options, packets, flows, reordered, cut_in, oddities, paced })
}

/// The facts on a file that are known when it has been read to its end.
struct FileEnd {
    /// The record within which it ends, if it does and that is allowed.
    cut_in: Option<RecordPosition>,
    oddities: Oddities,
}

/// Adds all packets of a file to `packets`.
fn read_packets(
    reader: impl Read + Send,
    cut_short: CutShort,
    packets: &mut impl PacketConsumer,
) -> Result<FileEnd, CaptureFault> {
    let (mut input, magic) = CaptureInput::open(Box::new(reader))?;
    let mut oddities = Oddities::default();
    let read = match magic {
        pcapng::SECTION_HEADER => pcapng::read(&mut input, packets, &mut oddities),
        magic if pcap::MAGICS.contains(&magic) => pcap::read(&mut input, packets, &mut oddities),
        found => Err(input.unknown_format(found)),
    };
    let cut_in = match read {
        Ok(()) => None,
        Err(fault) if cut_short == CutShort::Read && packets.count() > 0 => {
            let number = packets.count() + 1;
            Some(fault.end_of_cut_file(number).ok_or(fault)?)
        }
        Err(fault) => return Err(fault),
    };
    if packets.count() == 0
        && let Some(number) = oddities.unsupported_link
    {
        return Err(unsupported_link(number, None));
    }
    Ok(FileEnd { cut_in, oddities })
}

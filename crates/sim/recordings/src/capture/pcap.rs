//! The packets of a classic pcap file.
//!
//! Models: both byte orders, microseconds and nanoseconds; the order of lengths by the format's version.
//! Source: draft-ietf-opsawg-pcap; for versions before 2.4 `sf-pcap.c` of libpcap.
//! Simplifies: all other versions are read as 2.4, the only one ever in wide use.

use pcap_file::TsResolution;
use pcap_file::pcap::{PcapHeader, PcapParser, RawPcapPacket};

use super::MAX_CAPTURED_BYTES;
use super::error::{CaptureFault, RecordPosition};
use super::input::{CaptureInput, u32_at};
use super::link::{Link, unsupported_link};
use super::oddities::Oddities;
use super::packet_consumer::{Lengths, PacketConsumer, Recorded};

/// First four bytes, read as a big-endian number.
pub(super) const MAGICS: [u32; 4] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1];

const FILE_HEADER_BYTES: u64 = 24;
const RECORD_HEADER_BYTES: u64 = 16;
/// Offset of the captured length within a record's header.
const CAPTURED_LENGTH_AT: usize = 8;
const ORIGINAL_LENGTH_AT: usize = 12;

/// Reads the file up to its end.
pub(super) fn read(
    input: &mut CaptureInput<'_>,
    packets: &mut impl PacketConsumer,
    oddities: &mut Oddities,
) -> Result<(), CaptureFault> {
    let mut buffer = Vec::new();
    let present = input.append(&mut buffer, FILE_HEADER_BYTES)?;
    let too_short = CaptureFault::TruncatedHeader { present, needed: FILE_HEADER_BYTES };
    let (_, parser) = PcapParser::new(&buffer).map_err(|_| too_short)?;
    let header = parser.header();

    loop {
        let position = RecordPosition { offset: input.offset(), packet: Some(packets.count() + 1) };
        buffer.clear();
        if !read_record(input, &mut buffer, &header, position)? {
            return Ok(());
        }
        let (_, packet) = parser
            .next_raw_packet(&buffer)
            .map_err(|error| CaptureFault::Malformed { position, problem: error.to_string() })?;
        let lengths = Lengths {
            captured_bytes: packet.incl_len.into(),
            original_bytes: packet.orig_len,
            snap_length_bytes: header.snaplen,
        };
        packets.add(&Recorded {
            link: link(&header, position)?,
            time_ps: Some(time_ps(&packet, header.ts_resolution, oddities)),
            original_bytes: lengths.checked(position, oddities)?,
            captured: &packet.data,
        })?;
    }
}

/// Reads a record after a check of its length; `false` at the end of the file.
fn read_record(
    input: &mut CaptureInput<'_>,
    buffer: &mut Vec<u8>,
    header: &PcapHeader,
    position: RecordPosition,
) -> Result<bool, CaptureFault> {
    let mut present = input.append(buffer, RECORD_HEADER_BYTES)?;
    if present == 0 {
        return Ok(false);
    }
    let mut needed = RECORD_HEADER_BYTES;
    if present == needed {
        if has_lengths_swapped(buffer, header) {
            buffer[CAPTURED_LENGTH_AT..].rotate_left(ORIGINAL_LENGTH_AT - CAPTURED_LENGTH_AT);
        }
        let captured_bytes = u32_at(buffer, CAPTURED_LENGTH_AT, header.endianness);
        if captured_bytes > MAX_CAPTURED_BYTES {
            let captured_bytes = captured_bytes.into();
            return Err(CaptureFault::OversizedRecord { position, captured_bytes });
        }
        needed += u64::from(captured_bytes);
        present += input.append(buffer, captured_bytes.into())?;
    }
    if present < needed {
        return Err(CaptureFault::TruncatedRecord { position, present, needed });
    }
    Ok(true)
}

/// Whether the header of a record has the packet's own length before the captured one: all did before version
/// 2.3, some in that version, and DG/UX's tcpdump, whose version is 543.0.
fn has_lengths_swapped(record: &[u8], header: &PcapHeader) -> bool {
    match (header.version_major, header.version_minor) {
        (2, ..=2) | (543, _) => true,
        (2, 3) => {
            let length = |at| u32_at(record, at, header.endianness);
            length(CAPTURED_LENGTH_AT) > length(ORIGINAL_LENGTH_AT)
        }
        _ => false,
    }
}

/// The link type; its upper half may state that frames were captured with their FCS.
fn link(header: &PcapHeader, position: RecordPosition) -> Result<Link, CaptureFault> {
    const FCS_LENGTH_PRESENT: u32 = 1 << 26;
    let field = u32::from(header.datalink);
    let fcs_bytes = if field & FCS_LENGTH_PRESENT == 0 { 0 } else { u64::from(field >> 28) * 2 };
    let number = field & 0xffff;
    Link::from_number(number, fcs_bytes).ok_or_else(|| unsupported_link(number, Some(position)))
}

fn time_ps(packet: &RawPcapPacket, unit: TsResolution, oddities: &mut Oddities) -> i128 {
    const PICOS_PER_SECOND: i128 = 1_000_000_000_000;
    let picos_per_tick = match unit {
        TsResolution::MicroSecond => 1_000_000,
        TsResolution::NanoSecond => 1_000,
    };
    let fraction_ps = i128::from(packet.ts_frac) * picos_per_tick;
    oddities.long_fractions += u64::from(fraction_ps >= PICOS_PER_SECOND);
    i128::from(packet.ts_sec) * PICOS_PER_SECOND + fraction_ps
}

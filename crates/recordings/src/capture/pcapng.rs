//! The packets of a pcapng file.
//!
//! Models: sections of either byte order, several interfaces with their own link types and clocks,
//! enhanced and simple packet blocks.
//! Source: draft-ietf-opsawg-pcapng.
//! Simplifies: all other blocks are skipped unread; interfaces of all sections share one time line.

use std::io::Read;

use pcap_file::PcapError;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;
use pcap_file::pcapng::blocks::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, PACKET_BLOCK, SECTION_HEADER_BLOCK,
    SIMPLE_PACKET_BLOCK,
};
use pcap_file::pcapng::{Block, PcapNgParser};

use super::block_reader::{BlockReader, Framed};
use super::captured_limit_bytes;
use super::error::{CaptureFault, RecordPosition};
use super::input::CaptureInput;
use super::link::{Link, unsupported_link};
use super::packet_consumer::{PacketConsumer, Recorded};

/// First four bytes, the same in both byte orders.
pub(super) const SECTION_HEADER: u32 = SECTION_HEADER_BLOCK;

/// Reads the file up to its end.
pub(super) fn read<R: Read>(
    input: &mut CaptureInput<R>,
    packets: &mut impl PacketConsumer,
) -> Result<(), CaptureFault> {
    let mut blocks = BlockReader::new(input);
    let mut section = None;
    while let Some(Framed { kind, position }) = blocks.next_block(packets.count() + 1)? {
        let malformed =
            |error| CaptureFault::Malformed { position, problem: what_is_malformed(&error) };
        match kind {
            SECTION_HEADER_BLOCK => {
                let (_, parser) = PcapNgParser::new(blocks.bytes()).map_err(malformed)?;
                section = Some(Section { parser, interfaces: Vec::new() });
            }
            INTERFACE_DESCRIPTION_BLOCK | ENHANCED_PACKET_BLOCK | SIMPLE_PACKET_BLOCK => {
                // The first block of the file was a section header, or it would not be read here.
                let Some(section) = section.as_mut() else { continue };
                let (_, block) = section.parser.next_block(blocks.bytes()).map_err(malformed)?;
                if let Some(packet) = section.packet(&block, position)? {
                    packets.add(&packet);
                }
            }
            PACKET_BLOCK => return Err(CaptureFault::ObsoletePacketBlock { position }),
            _ => {}
        }
    }
    Ok(())
}

/// Text of the parser's error in a complete block.
fn what_is_malformed(error: &PcapError) -> String {
    match error {
        PcapError::IncompleteBuffer => "one of its options is too short for its kind".to_owned(),
        other => other.to_string(),
    }
}

/// A section: its byte order (in the parser) and its interfaces.
struct Section {
    parser: PcapNgParser,
    interfaces: Vec<Interface>,
}

impl Section {
    /// Registers an interface, or returns the packet of a packet block.
    fn packet<'a>(
        &mut self,
        block: &'a Block,
        position: RecordPosition,
    ) -> Result<Option<Recorded<'a>>, CaptureFault> {
        match block {
            Block::InterfaceDescription(description) => {
                self.interfaces.push(Interface::new(description));
                Ok(None)
            }
            Block::EnhancedPacket(packet) => self
                .interface(packet.interface_id, position)?
                .enhanced_packet(packet, position)
                .map(Some),
            Block::SimplePacket(packet) => {
                self.interface(0, position)?.simple_packet(packet, position).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn interface(&self, id: u32, position: RecordPosition) -> Result<&Interface, CaptureFault> {
        self.interfaces.get(id as usize).ok_or_else(|| {
            let known = self.interfaces.len();
            let problem = format!("it is of interface {id}, but only {known} are described before");
            CaptureFault::Malformed { position, problem }
        })
    }
}

/// The properties of an interface that packets depend on. An unsupported one is refused only when a
/// packet needs it.
struct Interface {
    link_number: u32,
    fcs_bytes: u64,
    captured_limit_bytes: u32,
    snap_length_bytes: u32,
    time_unit: TimeUnit,
    time_offset_seconds: i64,
}

impl Interface {
    fn new(description: &InterfaceDescriptionBlock) -> Self {
        let mut interface = Self {
            link_number: description.linktype.into(),
            fcs_bytes: 0,
            captured_limit_bytes: captured_limit_bytes(description.snaplen),
            snap_length_bytes: description.snaplen,
            time_unit: TimeUnit::MICROSECOND,
            time_offset_seconds: 0,
        };
        for option in &description.options {
            match *option {
                InterfaceDescriptionOption::IfTsResol(code) => interface.time_unit = TimeUnit(code),
                // The field is signed in the format, but not in the crate.
                InterfaceDescriptionOption::IfTsOffset(seconds) => {
                    interface.time_offset_seconds = seconds.cast_signed();
                }
                InterfaceDescriptionOption::IfFcsLen(bits) => {
                    interface.fcs_bytes = u64::from(bits / 8);
                }
                _ => {}
            }
        }
        interface
    }

    fn enhanced_packet<'a>(
        &self,
        packet: &'a EnhancedPacketBlock,
        position: RecordPosition,
    ) -> Result<Recorded<'a>, CaptureFault> {
        // The crate takes every tick as a nanosecond; its nanoseconds are therefore the ticks.
        let ticks = packet.timestamp.as_nanos();
        let since_offset_ps = self.time_unit.picos(ticks, position)?;
        let time_ps = since_offset_ps + i128::from(self.time_offset_seconds) * PICOS_PER_SECOND;
        self.recorded(Some(time_ps), packet.original_len, &packet.data, position)
    }

    fn simple_packet<'a>(
        &self,
        packet: &'a SimplePacketBlock,
        position: RecordPosition,
    ) -> Result<Recorded<'a>, CaptureFault> {
        let captured_bytes = match self.snap_length_bytes {
            0 => packet.original_len,
            limit => limit.min(packet.original_len),
        };
        let captured = packet.data.get(..captured_bytes as usize).ok_or_else(|| {
            let problem = format!(
                "it should hold {captured_bytes} captured bytes, but its block has {}",
                packet.data.len()
            );
            CaptureFault::Malformed { position, problem }
        })?;
        self.recorded(None, packet.original_len, captured, position)
    }

    fn recorded<'a>(
        &self,
        time_ps: Option<i128>,
        original_bytes: u32,
        captured: &'a [u8],
        position: RecordPosition,
    ) -> Result<Recorded<'a>, CaptureFault> {
        let captured_bytes = captured.len() as u64;
        let limit_bytes = self.captured_limit_bytes;
        if captured_bytes > u64::from(limit_bytes) {
            return Err(CaptureFault::OversizedRecord { position, captured_bytes, limit_bytes });
        }
        if captured_bytes > u64::from(original_bytes) {
            let problem = format!(
                "{captured_bytes} bytes were captured of a packet of {original_bytes} bytes"
            );
            return Err(CaptureFault::Malformed { position, problem });
        }
        let link = Link::from_number(self.link_number, self.fcs_bytes)
            .ok_or_else(|| unsupported_link(self.link_number, position))?;
        Ok(Recorded { link, time_ps, original_bytes, captured })
    }
}

const PICOS_PER_SECOND: i128 = 1_000_000_000_000;

/// The `if_tsresol` of an interface: a negative power of ten, or of two if its top bit is set.
#[derive(Clone, Copy)]
struct TimeUnit(u8);

impl TimeUnit {
    const MICROSECOND: Self = Self(6);
    const BASE_TWO: u8 = 0x80;

    /// `ticks`, of at most 64 bits, as picoseconds.
    fn picos(self, ticks: u128, position: RecordPosition) -> Result<i128, CaptureFault> {
        let exponent = self.0 & !Self::BASE_TWO;
        let base = if self.0 & Self::BASE_TWO == 0 { 10 } else { 2 };
        let ticks_ps = ticks.cast_signed() * PICOS_PER_SECOND;
        match (base, exponent) {
            (10, 0..=12) => Ok(ticks_ps / 10_i128.pow(exponent.into())),
            (2, 0..=63) => Ok(ticks_ps >> exponent),
            _ => Err(CaptureFault::UnknownTimestampUnit { position, base, exponent }),
        }
    }
}

//! The packets of a pcapng file.
//!
//! Models: sections of either byte order, several interfaces with their own link types and clocks,
//! enhanced, simple and obsolete packet blocks.
//! Source: draft-ietf-opsawg-pcapng.
//! Simplifies: of a packet's options only the flags are read, for the length of the FCS; all other blocks are
//! skipped unread; interfaces of all sections share one time line.

use pcap_file::Endianness;
use pcap_file::pcapng::blocks::{
    ENHANCED_PACKET_BLOCK, INTERFACE_DESCRIPTION_BLOCK, PACKET_BLOCK, SECTION_HEADER_BLOCK,
    SIMPLE_PACKET_BLOCK,
};
use units::narrow::usize_from;

use super::block_options::BlockOptions;
use super::block_reader::{BlockReader, Framed};
use super::error::{CaptureFault, RecordPosition};
use super::input::{CaptureInput, u16_at, u32_at};
use super::interface::Interface;
use super::link::Link;
use super::oddities::Oddities;
use super::packet_consumer::{Lengths, PacketConsumer, Recorded};

/// First four bytes, the same in both byte orders.
pub(super) const SECTION_HEADER: u32 = SECTION_HEADER_BLOCK;

/// The only major version of the format.
const MAJOR_VERSION: u16 = 1;
/// Byte-order magic, versions and length of the section.
const SECTION_HEADER_BYTES: usize = 16;
/// Interface, time, captured and original length; the obsolete block has as many.
const PACKET_FIELDS_BYTES: usize = 20;
const SIMPLE_FIELDS_BYTES: usize = 4;
/// The option that states how a packet was received.
const PACKET_FLAGS: u16 = 2;
/// Most interfaces of a section: a few bytes of a packed file could describe more than memory holds.
const MAX_INTERFACES: usize = 1 << 16;
/// Most bytes of other blocks before a packet: a packed file could hold hours of them.
const MAX_BYTES_WITHOUT_PACKET: u64 = 1 << 30;

/// Reads the file up to its end.
pub(super) fn read(
    input: &mut CaptureInput<'_>,
    packets: &mut impl PacketConsumer,
    oddities: &mut Oddities,
) -> Result<(), CaptureFault> {
    let mut blocks = BlockReader::new(input);
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut last_packet_at = 0;
    while let Some(Framed { kind, position }) = blocks.next_block(packets.count() + 1)? {
        let block =
            CompleteBlock { body: blocks.body(), endianness: blocks.endianness(), position };
        if position.packet.is_some() {
            last_packet_at = position.offset;
        } else if position.offset - last_packet_at > MAX_BYTES_WITHOUT_PACKET {
            let problem = "there is no packet in the GiB before it".into();
            return Err(block.malformed(problem));
        }
        match kind {
            SECTION_HEADER_BLOCK => {
                block.check_version()?;
                interfaces.clear();
            }
            INTERFACE_DESCRIPTION_BLOCK => {
                if interfaces.len() == MAX_INTERFACES {
                    return Err(block.malformed(format!(
                        "its section describes more than {MAX_INTERFACES} interfaces"
                    )));
                }
                interfaces.push(Interface::parse(
                    block.body,
                    block.endianness,
                    position,
                    oddities,
                )?);
            }
            ENHANCED_PACKET_BLOCK | SIMPLE_PACKET_BLOCK | PACKET_BLOCK => {
                let packet = match kind {
                    SIMPLE_PACKET_BLOCK => block.simple_packet(&interfaces)?,
                    _ => block.packet(&interfaces, kind == PACKET_BLOCK)?,
                };
                if let Some(recorded) = packet.recorded(position, oddities)? {
                    packets.add(&recorded)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A packet block whose fields have been found.
struct PacketBlock<'a> {
    interface: Interface,
    ticks: Option<u64>,
    original_bytes: u32,
    captured: &'a [u8],
    options: BlockOptions<'a>,
}

impl<'a> PacketBlock<'a> {
    /// The packet; `None` if its interface has a link type that is not supported.
    fn recorded(
        self,
        position: RecordPosition,
        oddities: &mut Oddities,
    ) -> Result<Option<Recorded<'a>>, CaptureFault> {
        let Self { interface, ticks, original_bytes, captured, options } = self;
        let Some(link) = Link::from_number(interface.link_number, interface.fcs_bytes) else {
            oddities.left_out += 1;
            oddities.unsupported_link.get_or_insert(interface.link_number);
            return Ok(None);
        };
        let link = match stated_fcs_bytes(options, oddities) {
            Some(fcs_bytes) => link.with_fcs(fcs_bytes),
            None => link,
        };
        let lengths = Lengths {
            captured_bytes: captured.len() as u64,
            original_bytes,
            snap_length_bytes: interface.snap_length_bytes,
        };
        let original_bytes = lengths.checked(position, oddities)?;
        let time_ps = ticks.map(|ticks| interface.time_ps(ticks, position)).transpose()?;
        Ok(Some(Recorded { link, time_ps, original_bytes, captured }))
    }
}

/// Bytes of FCS at the end of a packet, where its flags state any; else those of its interface count.
fn stated_fcs_bytes(options: BlockOptions<'_>, oddities: &mut Oddities) -> Option<u64> {
    let endianness = options.endianness();
    let mut fcs_bytes = None;
    for option in options {
        match option {
            Ok((PACKET_FLAGS, flags)) if flags.len() == 4 => {
                let stated = u32_at(flags, 0, endianness) >> 5 & 0xf;
                fcs_bytes = (stated > 0).then_some(stated.into());
            }
            Ok((PACKET_FLAGS, _)) | Err(_) => oddities.options += 1,
            Ok(_) => {}
        }
    }
    fcs_bytes
}

/// A complete block without its type and lengths.
struct CompleteBlock<'a> {
    body: &'a [u8],
    endianness: Endianness,
    position: RecordPosition,
}

impl<'a> CompleteBlock<'a> {
    fn malformed(&self, problem: String) -> CaptureFault {
        CaptureFault::Malformed { position: self.position, problem }
    }

    fn u16(&self, at: usize) -> u16 {
        u16_at(self.body, at, self.endianness)
    }

    fn u32(&self, at: usize) -> u32 {
        u32_at(self.body, at, self.endianness)
    }

    /// Refuses a body that is shorter than the fields of its kind.
    fn require(&self, bytes: usize) -> Result<(), CaptureFault> {
        if self.body.len() < bytes {
            let present = self.body.len();
            return Err(
                self.malformed(format!("its fields need {bytes} bytes, {present} are there"))
            );
        }
        Ok(())
    }

    /// Refuses a section of a version whose layout is not known.
    fn check_version(&self) -> Result<(), CaptureFault> {
        self.require(SECTION_HEADER_BYTES)?;
        let (major, minor) = (self.u16(4), self.u16(6));
        if major != MAJOR_VERSION {
            return Err(self.malformed(format!(
                "its section has version {major}.{minor} of pcapng; supported is {MAJOR_VERSION}"
            )));
        }
        Ok(())
    }

    /// The fields of an enhanced packet block, or of the packet block that it replaced.
    fn packet(
        &self,
        interfaces: &[Interface],
        is_obsolete: bool,
    ) -> Result<PacketBlock<'a>, CaptureFault> {
        self.require(PACKET_FIELDS_BYTES)?;
        // The obsolete block has a number of drops in the other half of the first field.
        let id = if is_obsolete { self.u16(0).into() } else { self.u32(0) };
        let interface = self.interface(interfaces, id)?;
        let ticks = u64::from(self.u32(4)) << 32 | u64::from(self.u32(8));
        let captured_bytes = self.u32(12);
        let data = &self.body[PACKET_FIELDS_BYTES..];
        let captured = data.get(..usize_from(captured_bytes.into())).ok_or_else(|| {
            self.malformed(format!(
                "it claims {captured_bytes} captured bytes, but its block has {}",
                data.len()
            ))
        })?;
        let (original_bytes, ticks) = (self.u32(16), Some(ticks));
        let options = data.get(captured.len().next_multiple_of(4)..).unwrap_or_default();
        let options = BlockOptions::new(options, self.endianness);
        Ok(PacketBlock { interface, ticks, original_bytes, captured, options })
    }

    /// The fields of a simple packet block, which is of the first interface and has no time.
    fn simple_packet(&self, interfaces: &[Interface]) -> Result<PacketBlock<'a>, CaptureFault> {
        self.require(SIMPLE_FIELDS_BYTES)?;
        let interface = self.interface(interfaces, 0)?;
        let original_bytes = self.u32(0);
        let data = &self.body[SIMPLE_FIELDS_BYTES..];
        let captured_bytes = match interface.snap_length_bytes {
            0 => original_bytes,
            limit => limit.min(original_bytes),
        };
        let captured = data.get(..usize_from(captured_bytes.into())).ok_or_else(|| {
            self.malformed(format!(
                "it should hold {captured_bytes} captured bytes, but its block has {}",
                data.len()
            ))
        })?;
        let options = BlockOptions::new(&[], self.endianness);
        Ok(PacketBlock { interface, ticks: None, original_bytes, captured, options })
    }

    fn interface(&self, interfaces: &[Interface], id: u32) -> Result<Interface, CaptureFault> {
        interfaces.get(usize_from(id.into())).copied().ok_or_else(|| {
            let known = interfaces.len();
            self.malformed(format!(
                "it is of interface {id}, but only {known} are described before"
            ))
        })
    }
}

//! The interface description block of pcapng: what a packet of the interface depends on.
//!
//! Models: link type, snap length, and three of the options: resolution and offset of times, FCS length.
//! Source: draft-ietf-opsawg-pcapng, sections 3.5 and 4.2.
//! Simplifies: other options are skipped unread, so that their content cannot make a file unreadable.

use pcap_file::Endianness;

use super::block_options::BlockOptions;
use super::error::{CaptureFault, RecordPosition};
use super::input::{u16_at, u32_at};
use super::oddities::Oddities;

/// Link type, reserved field and snap length.
const FIXED_BYTES: usize = 8;
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const PICOS_PER_SECOND: i128 = 1_000_000_000_000;

/// The properties of an interface that packets depend on. An unsupported one is refused only when a
/// packet needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) link_number: u32,
    pub(super) fcs_bytes: u64,
    /// Most bytes captured of a packet; zero: no limit.
    pub(super) snap_length_bytes: u32,
    time_unit: TimeUnit,
    time_offset_seconds: i64,
}

impl Interface {
    /// The interface that the body of a block describes.
    ///
    /// # Errors
    /// If the body is too short, or the option that states the resolution or the offset of times does not
    /// have the length that the format gives it: every time would be a guess.
    pub(super) fn parse(
        body: &[u8],
        endianness: Endianness,
        position: RecordPosition,
        oddities: &mut Oddities,
    ) -> Result<Self, CaptureFault> {
        let malformed = |problem| CaptureFault::Malformed { position, problem };
        if body.len() < FIXED_BYTES {
            return Err(malformed(format!(
                "an interface description needs {FIXED_BYTES} bytes, {} are there",
                body.len()
            )));
        }
        let mut interface = Self {
            link_number: u16_at(body, 0, endianness).into(),
            fcs_bytes: 0,
            snap_length_bytes: u32_at(body, 4, endianness),
            time_unit: TimeUnit::MICROSECOND,
            time_offset_seconds: 0,
        };
        for option in BlockOptions::new(&body[FIXED_BYTES..], endianness) {
            let Ok((code, value)) = option else {
                oddities.options += 1;
                break;
            };
            match (code, value) {
                (IF_TSRESOL, &[unit]) => interface.time_unit = TimeUnit(unit),
                (IF_TSOFFSET, value) if value.len() == 8 => {
                    interface.time_offset_seconds = i64_at(value, endianness);
                }
                (IF_TSRESOL, value) => {
                    return Err(malformed(wrong_length("if_tsresol", value, 1)));
                }
                (IF_TSOFFSET, value) => {
                    return Err(malformed(wrong_length("if_tsoffset", value, 8)));
                }
                (IF_FCSLEN, &[length]) => interface.fcs_bytes = fcs_bytes(length),
                (IF_FCSLEN, _) => oddities.options += 1,
                _ => {}
            }
        }
        Ok(interface)
    }

    /// The time of so many ticks of the interface's clock, in ps since 1970.
    ///
    /// # Errors
    /// If the unit of its clock is not supported.
    pub(super) fn time_ps(
        &self,
        ticks: u64,
        position: RecordPosition,
    ) -> Result<i128, CaptureFault> {
        let since_offset_ps = self.time_unit.picos(ticks, position)?;
        Ok(since_offset_ps + i128::from(self.time_offset_seconds) * PICOS_PER_SECOND)
    }
}

/// Bytes of FCS. The format counts them in bits, and its example is 4: some writers took that for bytes, and
/// Wireshark reads so whatever is less than one byte of bits.
fn fcs_bytes(length: u8) -> u64 {
    u64::from(if length < 8 { length } else { length / 8 })
}

fn wrong_length(option: &str, value: &[u8], expected: usize) -> String {
    format!(
        "option {option} has {} bytes instead of {expected}, so times cannot be known",
        value.len()
    )
}

fn i64_at(bytes: &[u8], endianness: Endianness) -> i64 {
    let field = std::array::from_fn(|i| bytes[i]);
    match endianness {
        Endianness::Big => i64::from_be_bytes(field),
        Endianness::Little => i64::from_le_bytes(field),
    }
}

/// The `if_tsresol` of an interface: a negative power of ten, or of two if its top bit is set.
#[derive(Clone, Copy, Debug)]
struct TimeUnit(u8);

impl TimeUnit {
    const MICROSECOND: Self = Self(6);
    const BASE_TWO: u8 = 0x80;

    fn picos(self, ticks: u64, position: RecordPosition) -> Result<i128, CaptureFault> {
        let exponent = self.0 & !Self::BASE_TWO;
        let base = if self.0 & Self::BASE_TWO == 0 { 10 } else { 2 };
        let ticks_ps = i128::from(ticks) * PICOS_PER_SECOND;
        match (base, exponent) {
            // A second of the finest fits into the 64 bits of a time; libpcap reads as many.
            (10, 0..=19) => Ok(ticks_ps / 10_i128.pow(exponent.into())),
            (2, 0..=63) => Ok(ticks_ps >> exponent),
            _ => Err(CaptureFault::UnknownTimestampUnit { position, base, exponent }),
        }
    }
}

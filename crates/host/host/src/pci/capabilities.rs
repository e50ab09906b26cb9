//! The capabilities of a function, and the range of configuration space that each occupies.
//!
//! Source: PCI Express base specification, "PCI-compatible Configuration Registers" and "PCI Express
//! Extended Capabilities". A list gives the offset of each capability. Its length is in its own header
//! (vendor-specific ones) or follows from its kind; a capability of any other kind is assumed to reach
//! to the next one.

use std::fmt;

use crate::error::{FileError, Problem};
use crate::pci_address::Bdf;
use crate::pci_config::PciConfig;
use units::narrow::{low_u8, low_u16};

const POINTER: u16 = 0x34;
/// The end of the header that every function has.
const HEADER_BYTES: u16 = 0x40;
/// Offset of the first extended capability, and end of configuration space.
const EXTENDED: u16 = 0x100;
const END: u16 = 0x1000;
/// More capabilities than fit between the header and 256 bytes are a loop.
const MOST_CAPABILITIES: u32 = 48;
/// More extended capabilities than fit, of 8 bytes each, are a loop.
const MOST_EXTENDED: u16 = (END - EXTENDED) / 8;

const ADVANCED_ERROR_REPORTING: u16 = 0x01;
const VENDOR_SPECIFIC: u16 = 0x0b;
const ACCESS_CONTROL: u16 = 0x0d;
const DESIGNATED_VENDOR_SPECIFIC: u16 = 0x23;

/// A capability: a range of configuration space whose meaning the specification defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Offset of the capability's first byte.
    pub offset: u16,
    /// Upper bound of the capability's length in bytes.
    pub bytes: u16,
    /// Capability ID, as the specification numbers it; 0 for the header of the function.
    pub id: u16,
}

impl Capability {
    fn holds(&self, offset: u16) -> bool {
        (self.offset..self.offset + self.bytes).contains(&offset)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.id {
            _ if self.offset < EXTENDED => "capability",
            ADVANCED_ERROR_REPORTING => "advanced error reporting capability",
            VENDOR_SPECIFIC => "vendor-specific capability",
            _ => "extended capability",
        };
        write!(f, "{kind} {:#04x} at {:#x} ({} bytes)", self.id, self.offset, self.bytes)
    }
}

/// Offset of the first standard capability (below 256 bytes) with an ID; `None` if there is none.
///
/// # Errors
/// If configuration space cannot be read, or the list is a loop.
pub(super) fn find_standard(
    config: &dyn PciConfig,
    function: Bdf,
    kind: u8,
) -> Result<Option<u16>, FileError> {
    let list = standard_list(config, function)?;
    Ok(list.into_iter().find(|(_, id)| *id == kind).map(|(offset, _)| offset))
}

/// The capability that an offset lies in; `None` if the offset belongs to none.
///
/// # Errors
/// If configuration space cannot be read, or a list is a loop.
pub fn capability_at(
    config: &dyn PciConfig,
    function: Bdf,
    offset: u16,
) -> Result<Option<Capability>, FileError> {
    if offset < HEADER_BYTES {
        return Ok(Some(Capability { offset: 0, bytes: HEADER_BYTES, id: 0 }));
    }
    let mut all = if offset < EXTENDED {
        with_lengths(
            standard_list(config, function)?.into_iter().map(|(at, id)| (at, id.into())),
            EXTENDED,
        )
    } else {
        with_lengths(extended_list(config, function)?.into_iter(), END)
    };
    for capability in all.iter_mut().filter(|one| one.offset >= EXTENDED) {
        let bytes = declared_length(config, function, capability)?;
        capability.bytes = bytes.map_or(capability.bytes, |bytes| bytes.max(4));
    }
    Ok(all.into_iter().find(|capability| capability.holds(offset)))
}

/// Capabilities with the lengths that reach to the next one, and to `end` for the last.
fn with_lengths(list: impl Iterator<Item = (u16, u16)>, end: u16) -> Vec<Capability> {
    let mut list: Vec<(u16, u16)> = list.collect();
    list.sort_unstable();
    let ends = list.iter().skip(1).map(|(offset, _)| *offset).chain([end]);
    let with_end = list.iter().zip(ends);
    with_end
        .map(|(&(offset, id), end)| Capability { offset, bytes: end.saturating_sub(offset), id })
        .collect()
}

/// Offset and ID of each standard capability (below 256 bytes).
fn standard_list(config: &dyn PciConfig, function: Bdf) -> Result<Vec<(u16, u8)>, FileError> {
    let mut list = Vec::new();
    let mut at = (read_answering(config, function, POINTER)? & 0xfc) as u16;
    for _ in 0..MOST_CAPABILITIES {
        if at < HEADER_BYTES {
            return Ok(list);
        }
        let header = read_answering(config, function, at)?;
        list.push((at, low_u8(header.into())));
        at = (header >> 8 & 0xfc) as u16;
    }
    Err(loop_error(function))
}

/// Offset and ID of each extended capability.
fn extended_list(config: &dyn PciConfig, function: Bdf) -> Result<Vec<(u16, u16)>, FileError> {
    let mut list = Vec::new();
    let mut at = EXTENDED;
    for _ in 0..MOST_EXTENDED {
        let header = read_answering(config, function, at)?;
        // A function without extended capabilities begins with none.
        if header != 0 {
            list.push((at, (header & 0xffff) as u16));
        }
        at = (header >> 20 & 0xffc) as u16;
        if at < EXTENDED {
            return Ok(list);
        }
    }
    Err(loop_error(function))
}

/// Reads a register of a capability list. All ones is an error: the function does not answer.
fn read_answering(config: &dyn PciConfig, function: Bdf, offset: u16) -> Result<u32, FileError> {
    match config.read(function, offset)? {
        u32::MAX => Err(FileError::new(crate::pci_config::file(function), Problem::NoAnswer)),
        word => Ok(word),
    }
}

/// Error of a capability list that is a loop.
fn loop_error(function: Bdf) -> FileError {
    FileError::new(crate::pci_config::file(function), Problem::Loop)
}

/// Length in bytes that the capability's header or kind declares; `None` if neither does.
fn declared_length(
    config: &dyn PciConfig,
    function: Bdf,
    capability: &Capability,
) -> Result<Option<u16>, FileError> {
    let word = |offset: u16| read_answering(config, function, capability.offset + offset);
    Ok(match capability.id {
        VENDOR_SPECIFIC | DESIGNATED_VENDOR_SPECIFIC => {
            let declared = (word(4)? >> 20) as u16;
            // A length of 0 is a header that is not understood.
            (declared > 0).then_some(declared)
        }
        ADVANCED_ERROR_REPORTING => {
            // Later versions may log TLP prefixes behind the root port's registers.
            Some(if word(0)? >> 16 & 0xf == 1 { 0x38 } else { 0x48 })
        }
        ACCESS_CONTROL => {
            let [has_vector, bits] = [word(4)? >> 5 & 1, word(4)? >> 8 & 0xff];
            // 256 bits are written as 0.
            let bits = if bits == 0 { 256 } else { bits };
            let words = if has_vector == 1 { bits.div_ceil(32) } else { 0 };
            Some(8 + 4 * low_u16(words.into()))
        }
        _ => None,
    })
}

//! The layout of a PDU: its type, its common header, and the ranges of header, data and digests.
//!
//! Source: NVMe/TCP specification, common header (CH) and the figures of each PDU.
//! ```text
//! 0        8            HLEN        +4          PDO          PLEN-4      PLEN
//! | common | by the type | (HDGST) | (padding) | (data) ... | (DDGST) |
//! ```

use std::fmt;
use std::ops::Range;

/// Bytes of the common header (CH).
pub const COMMON_BYTES: usize = 8;
/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 4;
/// Most bytes before the data: its offset PDO is one byte.
pub const MOST_FRONT_BYTES: usize = 255;
/// Most bytes of a header that a termination request quotes.
pub const MOST_QUOTED_BYTES: usize = 128;

/// Flags of the common header.
pub mod flags {
    /// HDGSTF: a header digest follows the header.
    pub const HEADER_DIGEST: u8 = 1;
    /// DDGSTF: a data digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// LAST_PDU: the data is the last of its transfer.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS: no completion follows the last data.
    pub const SUCCESS: u8 = 1 << 3;
    /// All flags that are defined.
    pub const ALL: u8 = 0xf;
}

/// Types of PDUs, with their numbers (PDU-Type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PduKind {
    /// The host opens a connection.
    IcReq = 0x00,
    /// The controller accepts the connection.
    IcResp = 0x01,
    /// The host ends a connection for an error.
    H2cTermReq = 0x02,
    /// The controller ends a connection for an error.
    C2hTermReq = 0x03,
    /// A command, with or without data.
    CapsuleCmd = 0x04,
    /// A completion.
    CapsuleResp = 0x05,
    /// Data for the controller.
    H2cData = 0x06,
    /// Data for the host.
    C2hData = 0x07,
    /// The controller is ready for data of a command.
    R2t = 0x09,
}

impl PduKind {
    /// All types, by number.
    pub const ALL: [Self; 9] = [
        Self::IcReq,
        Self::IcResp,
        Self::H2cTermReq,
        Self::C2hTermReq,
        Self::CapsuleCmd,
        Self::CapsuleResp,
        Self::H2cData,
        Self::C2hData,
        Self::R2t,
    ];

    /// The type with this number; `None`: the number is reserved, or of a PDU that is left out.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// The name in the specification, such as `C2HData`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IcReq => "ICReq",
            Self::IcResp => "ICResp",
            Self::H2cTermReq => "H2CTermReq",
            Self::C2hTermReq => "C2HTermReq",
            Self::CapsuleCmd => "CapsuleCmd",
            Self::CapsuleResp => "CapsuleResp",
            Self::H2cData => "H2CData",
            Self::C2hData => "C2HData",
            Self::R2t => "R2T",
        }
    }

    /// HLEN: bytes of the header, without digest and padding.
    #[must_use]
    pub fn header_bytes(self) -> u8 {
        match self {
            Self::IcReq | Self::IcResp => 128,
            Self::CapsuleCmd => 72,
            _ => 24,
        }
    }

    /// Whether PDUs of this type have digests, once both sides have agreed on them.
    #[must_use]
    pub fn has_digests(self) -> bool {
        !matches!(self, Self::IcReq | Self::IcResp | Self::H2cTermReq | Self::C2hTermReq)
    }

    /// Whether data may follow the header.
    #[must_use]
    pub fn may_have_data(self) -> bool {
        !matches!(self, Self::IcReq | Self::IcResp | Self::CapsuleResp | Self::R2t)
    }
}

/// The first invalid field of a common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// PDU-Type is not one of [`PduKind`].
    #[error("PDU type {0:#04x} is unknown; known are 0x00 to 0x07 and 0x09")]
    Type(u8),
    /// HLEN is not that of the type.
    #[error("{kind} has a header of {stated} bytes; it has to have {}", kind.header_bytes())]
    HeaderBytes {
        /// The type of the PDU.
        kind: PduKind,
        /// The value in the header.
        stated: u8,
    },
    /// A digest flag is set for a type that has no digests.
    #[error("{kind} has flags {flags:#04x}: it has no digests")]
    Flags {
        /// The type of the PDU.
        kind: PduKind,
        /// The flags of the header.
        flags: u8,
    },
    /// PLEN is out of range.
    #[error("{kind} has {stated} bytes; {least} to {most} are allowed")]
    Bytes {
        /// The type of the PDU.
        kind: PduKind,
        /// The value in the header.
        stated: u32,
        /// Least valid value.
        least: u32,
        /// Largest valid value.
        most: u32,
    },
    /// PDO is not a valid offset of the data.
    #[error(
        "{kind} has its data at byte {stated}; it has to be a multiple of 4, at least {least}, and \
         before the end at {end}"
    )]
    DataAt {
        /// The type of the PDU.
        kind: PduKind,
        /// The value in the header.
        stated: u8,
        /// Least valid value: the end of header and header digest.
        least: u8,
        /// The end of the data.
        end: u32,
    },
}

impl fmt::Display for PduKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A valid common header: header, data and digests lie in order within the PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the PDU.
    pub kind: PduKind,
    /// Flags of the PDU (FLAGS), see [`flags`].
    pub flags: u8,
    /// PDO: offset of the data in bytes; without data it has no meaning.
    pub data_at: u8,
    /// Number of bytes of the whole PDU (PLEN).
    pub bytes: u32,
}

impl Header {
    /// Parses the first bytes of a PDU. PDUs of more than `most_bytes` are refused.
    ///
    /// # Errors
    /// If a field is invalid.
    pub fn parse(first: [u8; COMMON_BYTES], most_bytes: u32) -> Result<Self, HeaderFault> {
        let [number, flags, header_bytes, data_at, plen @ ..] = first;
        let kind = PduKind::from_number(number).ok_or(HeaderFault::Type(number))?;
        if header_bytes != kind.header_bytes() {
            return Err(HeaderFault::HeaderBytes { kind, stated: header_bytes });
        }
        if !kind.has_digests() && flags & (flags::HEADER_DIGEST | flags::DATA_DIGEST) != 0 {
            return Err(HeaderFault::Flags { kind, flags });
        }
        let header = Self { kind, flags, data_at, bytes: u32::from_le_bytes(plen) };
        header.check_bytes(most_bytes)?;
        header.check_data()?;
        Ok(header)
    }

    /// The bytes of the common header.
    #[must_use]
    pub fn to_bytes(self) -> [u8; COMMON_BYTES] {
        let [a, b, c, d] = self.bytes.to_le_bytes();
        [self.kind as u8, self.flags, self.kind.header_bytes(), self.data_at, a, b, c, d]
    }

    fn check_bytes(&self, most_bytes: u32) -> Result<(), HeaderFault> {
        let least = u32::from(self.fixed_bytes());
        let quoted = least + u32::try_from(MOST_QUOTED_BYTES).unwrap_or(0);
        let most = match self.kind {
            kind if !kind.may_have_data() => least,
            PduKind::H2cTermReq | PduKind::C2hTermReq => quoted.min(most_bytes.max(least)),
            _ => most_bytes.max(least),
        };
        if (least..=most).contains(&self.bytes) {
            return Ok(());
        }
        Err(HeaderFault::Bytes { kind: self.kind, stated: self.bytes, least, most })
    }

    fn check_data(&self) -> Result<(), HeaderFault> {
        // A termination request quotes a header right behind its own; its PDO is reserved.
        if !self.has_data() || !self.kind.has_digests() {
            return Ok(());
        }
        let (least, end) = (self.fixed_bytes(), self.bytes.saturating_sub(self.tail_bytes()));
        let is_right = self.data_at >= least
            && self.data_at.is_multiple_of(4)
            && u32::from(self.data_at) < end;
        if is_right {
            return Ok(());
        }
        Err(HeaderFault::DataAt { kind: self.kind, stated: self.data_at, least, end })
    }

    /// Whether the PDU has a header digest.
    #[must_use]
    pub fn has_header_digest(&self) -> bool {
        self.flags & flags::HEADER_DIGEST != 0
    }

    /// Whether the PDU has data.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.bytes > u32::from(self.fixed_bytes())
    }

    /// Whether the PDU has a data digest: the flag is set, and there is data.
    #[must_use]
    pub fn has_data_digest(&self) -> bool {
        self.flags & flags::DATA_DIGEST != 0 && self.has_data()
    }

    /// Bytes of header and header digest.
    fn fixed_bytes(&self) -> u8 {
        self.kind.header_bytes() + if self.has_header_digest() { 4 } else { 0 }
    }

    /// Bytes of the data digest.
    fn tail_bytes(&self) -> u32 {
        if self.has_data_digest() { 4 } else { 0 }
    }

    /// Bytes before the data: header, header digest and padding.
    #[must_use]
    pub fn front_bytes(&self) -> usize {
        match self.has_data() && self.kind.has_digests() {
            true => self.data_at.into(),
            false => self.fixed_bytes().into(),
        }
    }

    /// The range of the data in the PDU, in bytes; empty without data.
    #[must_use]
    pub fn data(&self) -> Range<usize> {
        let end = units::narrow::usize_from((self.bytes - self.tail_bytes()).into());
        self.front_bytes().min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 1 << 20;

    fn fault(first: [u8; 8]) -> String {
        Header::parse(first, MOST).expect_err("is refused").to_string()
    }

    #[test]
    fn parts_are_where_the_specification_has_them() {
        let [low, mid, ..] = 4136_u32.to_le_bytes();
        let header = Header::parse([7, 7, 24, 36, low, mid, 0, 0], MOST).expect("is right");
        assert_eq!((header.front_bytes(), header.data()), (36, 36..4132));
        assert!(header.has_header_digest() && header.has_data_digest());
        let header = Header::parse([4, 3, 72, 0, 76, 0, 0, 0], MOST).expect("has no data");
        assert_eq!((header.front_bytes(), header.data()), (76, 76..76));
        assert!(!header.has_data_digest());
    }

    #[test]
    fn what_no_pdu_has_is_refused_with_what_is_allowed() {
        assert_eq!(
            fault([8, 0, 24, 0, 24, 0, 0, 0]),
            "PDU type 0x08 is unknown; known are 0x00 to 0x07 and 0x09"
        );
        assert_eq!(
            fault([4, 0, 71, 0, 72, 0, 0, 0]),
            "CapsuleCmd has a header of 71 bytes; it has to have 72"
        );
        assert_eq!(fault([9, 1, 24, 0, 24, 0, 0, 0]), "R2T has 24 bytes; 28 to 28 are allowed");
        assert_eq!(fault([0, 1, 128, 0, 128, 0, 0, 0]), "ICReq has flags 0x01: it has no digests");
        assert_eq!(
            fault([7, 2, 24, 22, 100, 0, 0, 0]),
            "C2HData has its data at byte 22; it has to be a multiple of 4, at least 24, and before \
             the end at 96"
        );
        assert!(fault([7, 2, 24, 24, 27, 0, 0, 0]).contains("before the end at 23"));
        assert!(fault([7, 0, 24, 24, 0, 0, 0, 0xff]).contains("to 1048576 are allowed"));
        assert!(fault([3, 0, 24, 0, 153, 0, 0, 0]).contains("24 to 152 are allowed"));
    }

    #[test]
    fn every_header_that_is_read_is_written_the_same_and_has_its_parts_in_order() {
        for kind in PduKind::ALL {
            for flags in 0..16 {
                for (data_at, bytes) in (0..=255).flat_map(|at| [(at, at), (at, 24), (255, at)]) {
                    let first = [kind as u8, flags, kind.header_bytes(), data_at, bytes, 1, 0, 0];
                    let Ok(header) = Header::parse(first, MOST) else { continue };
                    assert_eq!(header.to_bytes(), first);
                    let data = header.data();
                    assert!(usize::from(kind.header_bytes()) <= data.start, "{header:?}");
                    assert!(data.start <= data.end, "{header:?}");
                    assert_eq!(data.is_empty(), !header.has_data(), "{header:?}");
                }
            }
        }
    }
}

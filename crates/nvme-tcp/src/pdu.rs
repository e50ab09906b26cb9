//! What a PDU is: its kind, its common header, and where its parts are.
//!
//! Source: NVMe/TCP specification, common header (CH) and the figures of each PDU.
//! ```text
//! 0        8            HLEN        +4          PDO          PLEN-4      PLEN
//! | common | by the kind | (HDGST) | (padding) | (data) ... | (DDGST) |
//! ```

use std::fmt;
use std::ops::Range;

/// Bytes of the header that all PDUs have.
pub const COMMON_BYTES: usize = 8;
/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 4;
/// Most bytes before the data: its offset has one byte.
pub const MOST_FRONT_BYTES: usize = 255;
/// Most bytes of a header that a termination request quotes.
pub const MOST_QUOTED_BYTES: usize = 128;

/// Flags of the common header.
pub mod flags {
    /// HDGSTF: a header digest follows the header.
    pub const HEADER_DIGEST: u8 = 1;
    /// DDGSTF: a data digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// LAST_PDU: the data ends what was asked for.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS: no completion follows the last data.
    pub const SUCCESS: u8 = 1 << 3;
    /// All that have a meaning.
    pub const ALL: u8 = 0xf;
}

/// Kinds of PDUs, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The host opens a connection.
    IcReq = 0x00,
    /// The controller agrees.
    IcResp = 0x01,
    /// The host ends a connection for an error.
    H2cTermReq = 0x02,
    /// The controller does.
    C2hTermReq = 0x03,
    /// A command, with or without data.
    CapsuleCmd = 0x04,
    /// A completion.
    CapsuleResp = 0x05,
    /// Data for the controller.
    H2cData = 0x06,
    /// Data for the host.
    C2hData = 0x07,
    /// The controller is ready for data.
    R2t = 0x09,
}

impl Kind {
    /// All of them.
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

    /// The kind of a number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// What the specification calls it.
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

    /// HLEN: bytes of its header.
    #[must_use]
    pub fn header_bytes(self) -> u8 {
        match self {
            Self::IcReq | Self::IcResp => 128,
            Self::CapsuleCmd => 72,
            _ => 24,
        }
    }

    /// Whether it has digests, once they are agreed on.
    #[must_use]
    pub fn has_digests(self) -> bool {
        !matches!(self, Self::IcReq | Self::IcResp | Self::H2cTermReq | Self::C2hTermReq)
    }

    /// Whether data may follow its header.
    #[must_use]
    pub fn may_have_data(self) -> bool {
        !matches!(self, Self::IcReq | Self::IcResp | Self::CapsuleResp | Self::R2t)
    }
}

/// What is wrong with a common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A number without a kind.
    #[error("PDU type {0:#04x} is unknown; known are 0x00 to 0x07 and 0x09")]
    Kind(u8),
    /// HLEN.
    #[error("{kind} has a header of {stated} bytes; it has to have {}", kind.header_bytes())]
    HeaderBytes {
        /// The kind.
        kind: Kind,
        /// What it states.
        stated: u8,
    },
    /// A flag that this kind does not have.
    #[error("{kind} has flags {flags:#04x}: it has no digests")]
    Flags {
        /// The kind.
        kind: Kind,
        /// Its flags.
        flags: u8,
    },
    /// PLEN.
    #[error("{kind} has {stated} bytes; {least} to {most} are allowed")]
    Bytes {
        /// The kind.
        kind: Kind,
        /// What it states.
        stated: u32,
        /// At least.
        least: u32,
        /// At most.
        most: u32,
    },
    /// PDO.
    #[error(
        "{kind} has its data at byte {stated}; it has to be a multiple of 4, at least {least}, and \
         before the end at {end}"
    )]
    DataAt {
        /// The kind.
        kind: Kind,
        /// What it states.
        stated: u8,
        /// Behind header and digest.
        least: u8,
        /// Behind the data.
        end: u32,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The common header of a PDU, whose parts fit into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind.
    pub kind: Kind,
    /// See [`flags`].
    pub flags: u8,
    /// PDO: where the data begins; without data it says nothing.
    pub data_at: u8,
    /// PLEN: bytes of the whole PDU.
    pub bytes: u32,
}

impl Header {
    /// Reads one; a PDU of more than `most_bytes` is refused.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(first: [u8; COMMON_BYTES], most_bytes: u32) -> Result<Self, Fault> {
        let [number, flags, header_bytes, data_at, plen @ ..] = first;
        let kind = Kind::of(number).ok_or(Fault::Kind(number))?;
        if header_bytes != kind.header_bytes() {
            return Err(Fault::HeaderBytes { kind, stated: header_bytes });
        }
        if !kind.has_digests() && flags & (flags::HEADER_DIGEST | flags::DATA_DIGEST) != 0 {
            return Err(Fault::Flags { kind, flags });
        }
        let header = Self { kind, flags, data_at, bytes: u32::from_le_bytes(plen) };
        header.check_bytes(most_bytes)?;
        header.check_data()?;
        Ok(header)
    }

    /// The eight bytes of it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; COMMON_BYTES] {
        let [a, b, c, d] = self.bytes.to_le_bytes();
        [self.kind as u8, self.flags, self.kind.header_bytes(), self.data_at, a, b, c, d]
    }

    fn check_bytes(&self, most_bytes: u32) -> Result<(), Fault> {
        let least = u32::from(self.fixed_bytes());
        let quoted = least + u32::try_from(MOST_QUOTED_BYTES).unwrap_or(0);
        let most = match self.kind {
            kind if !kind.may_have_data() => least,
            Kind::H2cTermReq | Kind::C2hTermReq => quoted.min(most_bytes.max(least)),
            _ => most_bytes.max(least),
        };
        if (least..=most).contains(&self.bytes) {
            return Ok(());
        }
        Err(Fault::Bytes { kind: self.kind, stated: self.bytes, least, most })
    }

    fn check_data(&self) -> Result<(), Fault> {
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
        Err(Fault::DataAt { kind: self.kind, stated: self.data_at, least, end })
    }

    /// Whether a header digest is there.
    #[must_use]
    pub fn has_header_digest(&self) -> bool {
        self.flags & flags::HEADER_DIGEST != 0
    }

    /// Whether data is there.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.bytes > u32::from(self.fixed_bytes())
    }

    /// Whether a data digest is there: not without data, whatever the flag says.
    #[must_use]
    pub fn has_data_digest(&self) -> bool {
        self.flags & flags::DATA_DIGEST != 0 && self.has_data()
    }

    /// Header and header digest.
    fn fixed_bytes(&self) -> u8 {
        self.kind.header_bytes() + if self.has_header_digest() { 4 } else { 0 }
    }

    /// The data digest.
    fn tail_bytes(&self) -> u32 {
        if self.has_data_digest() { 4 } else { 0 }
    }

    /// Bytes before the data: header, header digest, padding.
    #[must_use]
    pub fn front_bytes(&self) -> usize {
        match self.has_data() && self.kind.has_digests() {
            true => self.data_at.into(),
            false => self.fixed_bytes().into(),
        }
    }

    /// Where the data is.
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
        for kind in Kind::ALL {
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

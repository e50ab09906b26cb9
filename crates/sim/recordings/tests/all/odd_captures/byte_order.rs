//! Numbers in the byte order that a file or a section of it has chosen.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    pub const BOTH: [Self; 2] = [Self::Big, Self::Little];

    pub fn encode_u16(self, number: u16) -> [u8; 2] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }

    pub fn encode_u32(self, number: u32) -> [u8; 4] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }

    pub fn encode_i64(self, number: i64) -> [u8; 8] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }
}

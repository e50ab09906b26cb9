//! The functions of the C library that a device can do.

use dsa::hardware::Opcode;

/// The functions that have settings of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Function {
    /// memcpy and mempcpy.
    Copy,
    /// memmove.
    Move,
    /// memset.
    Fill,
    /// memcmp and bcmp.
    Compare,
}

impl Function {
    pub const ALL: [Self; 4] = [Self::Copy, Self::Move, Self::Fill, Self::Compare];

    pub fn name(self) -> &'static str {
        ["memcpy", "memmove", "memset", "memcmp"][self as usize]
    }

    pub fn opcode(self) -> Opcode {
        [Opcode::Move, Opcode::Move, Opcode::Fill, Opcode::Compare][self as usize]
    }
}

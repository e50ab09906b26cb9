//! The functions of the C library that a device can execute.

use dsa::hardware::Opcode;

/// A function of the C library with settings of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum MemoryFunction {
    /// memcpy and mempcpy.
    Copy,
    /// memmove.
    Move,
    /// memset.
    Fill,
    /// memcmp and bcmp.
    Compare,
}

impl MemoryFunction {
    /// All functions, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Copy, Self::Move, Self::Fill, Self::Compare];

    /// Name of the function in settings and reports.
    pub fn name(self) -> &'static str {
        ["memcpy", "memmove", "memset", "memcmp"][self as usize]
    }

    /// Operation by which a device does the work of the function.
    pub fn opcode(self) -> Opcode {
        [Opcode::Move, Opcode::Move, Opcode::Fill, Opcode::Compare][self as usize]
    }
}

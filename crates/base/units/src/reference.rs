//! A memory reference of a program, as a trace records it and caches serve it.

use crate::{LINE_BYTES, LineAddr};

/// Kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Reads an instruction.
    Fetch,
    /// Reads data.
    Load,
    /// Writes data.
    Store,
    /// Reads data and writes them back to the same address.
    Modify,
}

impl ReferenceKind {
    /// Whether the reference leaves its lines modified.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Store | Self::Modify)
    }
}

/// One access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Address of the first byte that is accessed.
    pub address: u64,
    /// Number of bytes; at least one is accessed.
    pub bytes: u32,
    /// Kind of access.
    pub kind: ReferenceKind,
}

impl Reference {
    /// The lines that it accesses, in ascending order: two if it crosses a line border.
    ///
    /// They are lines of the program's 64-bit addresses, more than a cache can name.
    pub fn lines(self) -> impl Iterator<Item = LineAddr> {
        let last_byte = self.address.saturating_add(u64::from(self.bytes.max(1)) - 1);
        (self.address / LINE_BYTES..=last_byte / LINE_BYTES).map(LineAddr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(address: u64, bytes: u32) -> Vec<u64> {
        let reference = Reference { address, bytes, kind: ReferenceKind::Load };
        reference.lines().map(|line| line.0).collect()
    }

    #[test]
    fn a_reference_touches_every_line_that_it_has_a_byte_in() {
        assert_eq!(lines_of(64, 64), [1]);
        assert_eq!(lines_of(127, 1), [1]);
        assert_eq!(lines_of(127, 2), [1, 2]);
        assert_eq!(lines_of(60, 72), [0, 1, 2]);
    }

    #[test]
    fn a_reference_without_a_size_touches_the_line_of_its_address() {
        assert_eq!(lines_of(130, 0), [2]);
    }

    #[test]
    fn a_reference_at_the_end_of_all_addresses_does_not_wrap() {
        assert_eq!(lines_of(u64::MAX, 8), [u64::MAX / 64]);
    }
}

//! Lines cut into objects that are smaller than a line.

use units::LINE_BYTES;
use units::narrow::{fit, low_u8};

/// Sizes of objects: 8, 16, 32 bytes, and whole lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectSize {
    bits: u8,
}

/// Number of sizes below a whole line.
pub(super) const CUT_SIZES: usize = 3;

const SMALLEST_BITS: u8 = 3;

impl ObjectSize {
    pub const LINE: Self = Self { bits: SMALLEST_BITS + low_u8(CUT_SIZES as u64) };

    /// The size for so many bytes, if they fit a line.
    pub fn holding(bytes: u64) -> Option<Self> {
        let bits = fit(bytes.max(1).next_power_of_two().trailing_zeros());
        (bytes <= LINE_BYTES).then_some(Self { bits: SMALLEST_BITS.max(bits) })
    }

    /// Whether that is a whole line.
    #[inline]
    pub fn is_line(bytes: u64) -> bool {
        (LINE_BYTES / 2 + 1..=LINE_BYTES).contains(&bytes)
    }

    pub fn bytes(self) -> u32 {
        1 << self.bits
    }

    /// Number of the size among those that share a line.
    pub fn cut(self) -> Option<usize> {
        (self != Self::LINE).then_some(usize::from(self.bits - SMALLEST_BITS))
    }

    fn slots(self) -> u32 {
        fit::<u32, _>(LINE_BYTES) >> self.bits
    }
}

/// What a line is used for; means nothing while the line is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineUse {
    pub owner: u16,
    pub size: ObjectSize,
    /// Bit i: object i of the line is handed out.
    used: u8,
    /// Its index in the list of its owner's lines with a free slot.
    pub index: u32,
}

impl LineUse {
    pub fn new(owner: u16, size: ObjectSize) -> Self {
        Self { owner, size, used: 0, index: 0 }
    }

    /// Hands out the first free object: its offset in the line in bytes.
    pub fn take(&mut self) -> u32 {
        let slot = self.used.trailing_ones();
        debug_assert!(slot < self.size.slots(), "the line has room");
        self.used |= 1 << slot;
        slot * self.size.bytes()
    }

    /// Takes back the object at this offset; `false` if none is handed out there.
    pub fn give_back(&mut self, offset: u32) -> bool {
        let handed_out = self.object_at(offset).is_some();
        if handed_out {
            self.used &= !(1 << (offset / self.size.bytes()));
        }
        handed_out
    }

    /// The size of the object that is handed out and begins there.
    pub fn object_at(&self, offset: u32) -> Option<ObjectSize> {
        let begins = offset.is_multiple_of(self.size.bytes());
        (begins && self.used >> (offset / self.size.bytes()) & 1 == 1).then_some(self.size)
    }

    /// Objects that are handed out.
    pub fn objects(&self) -> u32 {
        self.used.count_ones()
    }

    pub fn is_full(&self) -> bool {
        self.objects() == self.size.slots()
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_next_power_of_two_from_8_to_a_line() {
        let sizes = [0, 1, 8, 9, 16, 17, 32, 33, 64].map(ObjectSize::holding);
        let sizes = sizes.map(|size| size.expect("fits").bytes());
        assert_eq!(sizes, [8, 8, 8, 16, 16, 32, 32, 64, 64]);
        assert_eq!(ObjectSize::holding(65), None);
        for bytes in 0..200 {
            let is_line = ObjectSize::holding(bytes) == Some(ObjectSize::LINE);
            assert_eq!(ObjectSize::is_line(bytes), is_line);
        }
    }
}

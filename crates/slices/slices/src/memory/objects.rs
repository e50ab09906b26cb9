//! Lines that are divided into objects smaller than a line.

use units::LINE_BYTES;
use units::narrow::{fit, low_u8};

/// Sizes of objects: 8, 16, 32 bytes, and whole lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectSize {
    bits: u8,
}

/// Number of object sizes below a whole line.
pub(super) const CUT_SIZES: usize = 3;

const SMALLEST_BITS: u8 = 3;

impl ObjectSize {
    pub const LINE: Self = Self { bits: SMALLEST_BITS + low_u8(CUT_SIZES as u64) };

    /// The smallest object size for so many bytes; `None` if they do not fit a line.
    pub fn fitting(bytes: u64) -> Option<Self> {
        if bytes > LINE_BYTES {
            return None;
        }
        let bits = fit(bytes.max(1).next_power_of_two().trailing_zeros());
        Some(Self { bits: SMALLEST_BITS.max(bits) })
    }

    pub const fn bytes(self) -> u32 {
        1 << self.bits
    }

    /// Index of the size among those that share a line; `None` for a whole line.
    pub fn cut(self) -> Option<usize> {
        (self != Self::LINE).then_some(usize::from(self.bits - SMALLEST_BITS))
    }

    fn slots(self) -> u32 {
        fit::<u32, _>(LINE_BYTES) >> self.bits
    }
}

/// Use of a noted line; undefined while the line is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineUse {
    pub owner: u16,
    pub size: ObjectSize,
    /// Bit i: object i of the line is allocated.
    used: u8,
    /// Bytes of each object beyond the requested size, in as many bits as half of the object's bytes.
    spare: u32,
    /// Index of the line in the list of its owner's lines with a free slot.
    pub index: u32,
}

impl LineUse {
    pub fn new(owner: u16, size: ObjectSize) -> Self {
        Self { owner, size, used: 0, spare: 0, index: 0 }
    }

    /// Allocates the first free object, which is `spare` bytes larger than requested, and returns its
    /// offset in the line in bytes.
    pub fn take(&mut self, spare: u32) -> u32 {
        let slot = self.used.trailing_ones();
        debug_assert!(slot < self.size.slots(), "the line has room");
        debug_assert!(spare <= self.size.bytes(), "an object has no more");
        self.used |= 1 << slot;
        let offset = slot * self.size.bytes();
        self.spare |= spare << (offset / 2);
        offset
    }

    /// Frees the object at this offset and returns its spare bytes; `None` if no allocated object begins
    /// there.
    pub fn give_back(&mut self, offset: u32) -> Option<u32> {
        self.object_at(offset)?;
        self.used &= !(1 << (offset / self.size.bytes()));
        Some(self.resize(offset, 0))
    }

    /// Sets the spare bytes of the object at this offset and returns the old number.
    pub fn resize(&mut self, offset: u32, spare: u32) -> u32 {
        let mask = u32::MAX >> (u32::BITS - self.size.bytes() / 2);
        let before = self.spare >> (offset / 2) & mask;
        self.spare = self.spare & !(mask << (offset / 2)) | spare << (offset / 2);
        before
    }

    /// The size of the allocated object that begins at this offset.
    pub fn object_at(&self, offset: u32) -> Option<ObjectSize> {
        let begins = offset.is_multiple_of(self.size.bytes());
        (begins && self.used >> (offset / self.size.bytes()) & 1 == 1).then_some(self.size)
    }

    /// Number of allocated objects.
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
        let sizes = [0, 1, 8, 9, 16, 17, 32, 33, 64].map(ObjectSize::fitting);
        let sizes = sizes.map(|size| size.expect("fits").bytes());
        assert_eq!(sizes, [8, 8, 8, 16, 16, 32, 32, 64, 64]);
        assert_eq!([65, u64::MAX].map(ObjectSize::fitting), [None; 2]);
    }

    #[test]
    fn each_object_has_its_own_spare_bytes() {
        for bytes in [0, 9, 17, 33] {
            let size = ObjectSize::fitting(bytes).expect("fits");
            let mut line = LineUse::new(0, size);
            let spares: Vec<u32> = (0..size.slots()).map(|slot| size.bytes() - slot).collect();
            let offsets: Vec<u32> = spares.iter().map(|&spare| line.take(spare)).collect();
            for (&offset, &spare) in offsets.iter().zip(&spares) {
                assert_eq!(line.give_back(offset), Some(spare));
                assert_eq!(line.give_back(offset), None);
            }
            assert!(line.is_empty());
        }
    }
}

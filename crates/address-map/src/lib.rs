//! Where a line lives in a sliced last-level cache: address -> slice and set.
//!
//! Models: the hash that spreads lines over slices, and the set index inside a slice.
//! Source: EuroSys'19 (XOR masks for 2^n slices), J. McCalpin's Intel_Address_Hash
//! (base sequence with permutation masks for other counts).
//! Simplifies: parts whose base sequence is not public use a uniform mixing function, which says
//! what it is through [`SliceFunction::describe`] (DEVIATIONS.md, 2).

use units::{LineAddr, SetIndex, SliceId};

/// XOR masks of 2, 4, 8 and 16 slices over physical address bits (EuroSys'19, Haswell and after).
pub const XOR_MASKS: [u64; 4] = [0x1B_5F57_5440, 0x2E_B5FA_A880, 0x3C_CCC9_3100, 0x31_AEEB_1200];

/// How the slice of a line is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceFunction {
    /// Bit i of the slice number is the parity of the physical address under mask i.
    Xor(Parities),
    /// The four published XOR masks choose one of 16 equal shares, a uniform mix the place within
    /// it: lines of one huge page with equal set index meet different slices, as they do under an
    /// XOR function, for any number of slices. A stand-in, right in its balance only.
    Balanced(Parities),
    /// A uniform mixing function over any number of slices: right on average, not for one address.
    Mixing,
}

impl SliceFunction {
    /// The XOR function of `masks`, one for each bit of the slice number.
    #[must_use]
    pub fn xor(masks: &[u64]) -> Self {
        Self::Xor(Parities::new(masks))
    }

    /// The balanced stand-in.
    #[must_use]
    pub fn balanced() -> Self {
        Self::Balanced(Parities::new(&XOR_MASKS))
    }

    /// What this function is, for reports.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Xor(_) => "published XOR masks",
            Self::Balanced(_) => {
                "balanced stand-in on the published XOR masks (the part's own is not public)"
            }
            Self::Mixing => "uniform mixing stand-in (the part's own function is not public)",
        }
    }

    fn slice(&self, line: LineAddr, slices: u32) -> u32 {
        match self {
            Self::Xor(parities) => parities.of(line),
            Self::Balanced(parities) => {
                let share = u64::from(parities.of(line)) << 60;
                // Bits 20:17 of the address only choose the share: what is mixed is constant over the 16
                // lines of a 2 MiB page with equal bits 16:6, so that they get different slices.
                let rest = line.0 >> 15 << 11 | line.0 & 0x7FF;
                scale(share | mix(rest) >> 4, slices)
            }
            Self::Mixing => scale(mix(line.0), slices),
        }
    }
}

/// Parities of a physical address under up to eight masks, one table look-up per address byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parities {
    /// For each byte of the address, bit i is the byte's parity under its part of mask i.
    tables: Box<[[u8; 256]; ADDRESS_BYTES]>,
}

/// Bytes of a physical address that masks may cover.
const ADDRESS_BYTES: usize = 5;

impl Parities {
    /// # Panics
    /// If there are more than eight masks, or one covers bits above 39.
    #[must_use]
    pub fn new(masks: &[u64]) -> Self {
        assert!(masks.len() <= 8 && masks.iter().all(|mask| mask >> (8 * ADDRESS_BYTES) == 0));
        let mut tables = Box::new([[0; 256]; ADDRESS_BYTES]);
        for (place, table) in tables.iter_mut().enumerate() {
            for (byte, entry) in table.iter_mut().enumerate() {
                let address = (byte as u64) << (8 * place);
                *entry = masks.iter().enumerate().fold(0, |bits, (bit, mask)| {
                    bits | (((address & mask).count_ones() & 1) as u8) << bit
                });
            }
        }
        Self { tables }
    }

    /// Bit i is the parity of the address of `line` under mask i.
    #[inline]
    fn of(&self, line: LineAddr) -> u32 {
        let address = line.0 * units::LINE_BYTES;
        let bytes = address.to_le_bytes();
        let bits = self.tables.iter().zip(bytes).map(|(table, byte)| table[usize::from(byte)]);
        u32::from(bits.fold(0, |parities, bits| parities ^ bits))
    }
}

/// How the set inside a slice is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFunction {
    /// The low bits of the line address (physical address bits 16:6 for 2048 sets).
    Plain,
    /// The low bits, XORed with a mix of the higher ones.
    Hashed,
}

/// The complete map of one socket's last-level cache.
#[derive(Clone, Debug)]
pub struct AddressMap {
    slices: u32,
    sets_per_slice: u32,
    slice_function: SliceFunction,
    set_function: SetFunction,
}

impl AddressMap {
    /// # Panics
    /// If `sets_per_slice` is no power of two or there are no slices: the platform is checked
    /// before it comes here.
    #[must_use]
    pub fn new(
        slices: u32,
        sets_per_slice: u32,
        slice_function: SliceFunction,
        set_function: SetFunction,
    ) -> Self {
        assert!(slices > 0 && sets_per_slice.is_power_of_two());
        Self { slices, sets_per_slice, slice_function, set_function }
    }

    /// The slice that holds `line`.
    #[must_use]
    pub fn slice_of(&self, line: LineAddr) -> SliceId {
        SliceId(self.slice_function.slice(line, self.slices) as u16)
    }

    /// The set of `line`, counted over all slices: slice x sets per slice + set in the slice.
    #[inline]
    #[must_use]
    pub fn set_of(&self, line: LineAddr) -> SetIndex {
        let low = match self.set_function {
            SetFunction::Plain => line.0,
            SetFunction::Hashed => line.0 ^ mix(line.0 / u64::from(self.sets_per_slice)),
        };
        let index = low as u32 & (self.sets_per_slice - 1);
        let slice = self.slice_function.slice(line, self.slices);
        SetIndex(slice * self.sets_per_slice + index)
    }

    /// The slice that a set, counted over all slices, belongs to.
    #[inline]
    #[must_use]
    pub fn slice_of_set(&self, set: SetIndex) -> SliceId {
        SliceId((set.0 >> self.sets_per_slice.trailing_zeros()) as u16)
    }

    /// Sets over all slices.
    #[must_use]
    pub fn total_sets(&self) -> u32 {
        self.slices * self.sets_per_slice
    }
}

/// The finaliser of splitmix64: every output bit depends on every input bit.
#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A uniform 64-bit value to 0..n without division.
#[inline]
fn scale(value: u64, n: u32) -> u32 {
    (((value >> 32) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASWELL_8: [u64; 3] = [0x1B_5F57_5440, 0x2E_B5FA_A880, 0x3C_CCC9_3100];

    #[test]
    fn xor_masks_fill_eight_slices_evenly_over_a_huge_page() {
        let map = AddressMap::new(8, 2048, SliceFunction::xor(&HASWELL_8), SetFunction::Plain);
        let mut lines = [0; 8];
        for line in 0..32_768 {
            lines[map.slice_of(LineAddr(line)).0 as usize] += 1;
        }
        assert_eq!(lines, [4096; 8]);
    }

    #[test]
    fn a_single_bit_of_a_mask_selects_its_slice() {
        let function = SliceFunction::xor(&HASWELL_8);
        assert_eq!(function.slice(LineAddr::of_byte(0x40), 8), 0b001);
        assert_eq!(function.slice(LineAddr::of_byte(0x80), 8), 0b010);
        assert_eq!(function.slice(LineAddr::of_byte(0x100), 8), 0b100);
    }

    #[test]
    fn mixing_spreads_eighteen_slices_within_three_percent() {
        let map = AddressMap::new(18, 2048, SliceFunction::Mixing, SetFunction::Plain);
        let mut lines = [0u32; 18];
        let total = 1 << 20;
        for line in 0..total {
            lines[map.slice_of(LineAddr(line)).0 as usize] += 1;
        }
        let fair = total as f64 / 18.0;
        assert!(lines.iter().all(|&n| (f64::from(n) / fair - 1.0).abs() < 0.03), "{lines:?}");
    }

    #[test]
    fn a_plain_set_index_is_address_bits_16_to_6() {
        let map = AddressMap::new(1, 2048, SliceFunction::Mixing, SetFunction::Plain);
        assert_eq!(map.set_of(LineAddr::of_byte(0x1_FFC0)), SetIndex(2047));
        assert_eq!(map.set_of(LineAddr::of_byte(0x2_0000)), SetIndex(0));
    }

    #[test]
    fn a_hashed_set_index_is_a_permutation_of_each_block() {
        let map = AddressMap::new(1, 64, SliceFunction::Mixing, SetFunction::Hashed);
        let mut seen: Vec<u32> = (640..704).map(|line| map.set_of(LineAddr(line)).0).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
    }
}

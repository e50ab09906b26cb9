//! Maps 64-bit addresses to the memory that the caches can name.
//!
//! Models: a memory of 255 GiB; each GiB of addresses that a program uses is mapped to one of them.
//! Source: the caches' tags hold 32-bit line numbers.
//! Simplifies: a GiB keeps its number if it lies below 255 GiB and its number is free; otherwise it
//! gets the highest free one. The low 30 bits of an address never change, so sets are right, while
//! slice functions see other high bits.

use thiserror::Error;
use units::LineAddr;

/// A region: a GiB.
const REGION_BITS: u32 = 30;
/// Lines of a region, as a power of two.
const REGION_LINE_BITS: u32 = REGION_BITS - units::LINE_BYTES.trailing_zeros();
/// A line within its region.
const WITHIN: u32 = (1 << REGION_LINE_BITS) - 1;
/// Lines that are mapped together.
const AT_ONCE: usize = 64;
/// The last line number marks an empty way in the caches, so the last GiB is not used.
const REGIONS: usize = 255;
/// Twice the regions, so that a look-up needs few probes.
const SLOTS: usize = 2 * REGIONS;

/// A program that uses more memory than can be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "uses more than {REGIONS} different GiB of addresses; one too many holds address {address:#x}"
)]
pub struct AddressWindowFull {
    /// First byte of the line that could not be mapped.
    pub address: u64,
}

/// A GiB of the program's addresses and its location.
#[derive(Clone, Copy, Debug)]
struct MappedRegion {
    number: u64,
    first_line: u64,
}

/// Maps lines of a 64-bit address space to 32-bit line numbers; the mapping of a line never changes.
#[derive(Clone, Debug)]
pub struct AddressWindow {
    /// Open addressing: a region is at or, without a gap, after the slot of its hash.
    slots: Box<[Option<MappedRegion>; SLOTS]>,
    taken: [bool; REGIONS],
    last: MappedRegion,
}

impl Default for AddressWindow {
    fn default() -> Self {
        // No line is in this region, so the first look-up misses.
        let last = MappedRegion { number: u64::MAX, first_line: 0 };
        Self { slots: Box::new([None; SLOTS]), taken: [false; REGIONS], last }
    }
}

impl AddressWindow {
    /// The mapped line number of `line`, below 2^32.
    ///
    /// # Errors
    /// If it is in another GiB than the first 255 requested ones.
    #[inline]
    pub fn place(&mut self, line: LineAddr) -> Result<LineAddr, AddressWindowFull> {
        let number = line.0 >> REGION_LINE_BITS;
        if number != self.last.number {
            self.last = self
                .region(number)
                .ok_or(AddressWindowFull { address: line.0 * units::LINE_BYTES })?;
        }
        let within = line.0 & ((1 << REGION_LINE_BITS) - 1);
        Ok(LineAddr(self.last.first_line | within))
    }

    /// Appends the mapped line numbers of all `addresses`.
    ///
    /// # Errors
    /// As [`Self::place`].
    pub fn place_all(
        &mut self,
        addresses: &[u64],
        into: &mut Vec<u32>,
    ) -> Result<(), AddressWindowFull> {
        into.reserve(addresses.len());
        for some in addresses.chunks(AT_ONCE) {
            let Some(&first) = some.first() else { continue };
            let base = self.place(LineAddr::of_byte(first))?.low_bits() & !WITHIN;
            // Usually all of them are in the same region. One loop maps them under this assumption and
            // checks it, without a branch for each.
            let mut places = [0; AT_ONCE];
            let mut others = 0;
            for (place, &address) in places.iter_mut().zip(some) {
                others |= address ^ first;
                *place = base | LineAddr::of_byte(address).low_bits() & WITHIN;
            }
            if others >> REGION_BITS != 0 {
                for (place, &address) in places.iter_mut().zip(some) {
                    *place = self.place(LineAddr::of_byte(address))?.low_bits();
                }
            }
            into.extend_from_slice(&places[..some.len()]);
        }
        Ok(())
    }

    fn region(&mut self, number: u64) -> Option<MappedRegion> {
        // Fibonacci hashing: neighbours go to distant slots.
        let mut slot = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % SLOTS;
        while let Some(region) = self.slots[slot] {
            if region.number == number {
                return Some(region);
            }
            slot = (slot + 1) % SLOTS;
        }
        let place = self.free_place(number)?;
        self.taken[place] = true;
        let region = MappedRegion { number, first_line: (place as u64) << REGION_LINE_BITS };
        self.slots[slot] = Some(region);
        Some(region)
    }

    fn free_place(&self, number: u64) -> Option<usize> {
        let own = usize::try_from(number).ok().filter(|&own| self.taken.get(own) == Some(&false));
        own.or_else(|| self.taken.iter().rposition(|taken| !taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    fn place(window: &mut AddressWindow, address: u64) -> Result<u64, AddressWindowFull> {
        window.place(LineAddr::of_byte(address)).map(|line| line.0 * 64)
    }

    #[test]
    fn low_addresses_stay_where_they_are() {
        let mut window = AddressWindow::default();
        for address in [0, 64, GIB, 17 * GIB + 4096, 254 * GIB, 255 * GIB - 64] {
            assert_eq!(place(&mut window, address), Ok(address));
        }
    }

    #[test]
    fn high_addresses_come_down_from_the_top() {
        let mut window = AddressWindow::default();
        assert_eq!(place(&mut window, 0x7fff_1234_5640), Ok(254 * GIB + 0x1234_5640));
        assert_eq!(place(&mut window, 0x1000 * GIB), Ok(253 * GIB));
        assert_eq!(place(&mut window, 0x7fff_1234_5680), Ok(254 * GIB + 0x1234_5680));
    }

    #[test]
    fn a_low_address_whose_place_is_taken_moves() {
        let mut window = AddressWindow::default();
        assert_eq!(place(&mut window, 1 << 40), Ok(254 * GIB));
        assert_eq!(place(&mut window, 254 * GIB + 128), Ok(253 * GIB + 128));
        assert_eq!(place(&mut window, 254 * GIB), Ok(253 * GIB));
    }

    #[test]
    fn the_256th_gib_is_refused_by_its_address_and_the_others_stay() {
        let mut window = AddressWindow::default();
        for region in 0..255 {
            place(&mut window, (region + 1_000) * GIB).unwrap();
        }
        let error = place(&mut window, 0xdead_beef_0000).unwrap_err();
        let told = "uses more than 255 different GiB of addresses; \
                    one too many holds address 0xdeadbeef0000";
        assert_eq!(error.to_string(), told);
        assert_eq!(place(&mut window, 1_000 * GIB + 64), Ok(254 * GIB + 64));
        assert_eq!(place(&mut window, 1_254 * GIB), Ok(0));
    }

    proptest! {
        #[test]
        fn lines_keep_their_low_bits_and_never_share_a_place(
            regions in prop::collection::vec(0_u64..1 << 34, 1..255),
            lines in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..1 << 24), 1..400),
        ) {
            let mut window = AddressWindow::default();
            let mut placed = std::collections::BTreeMap::new();
            for (region, within) in lines {
                let line = region.get(&regions) << 24 | within;
                let place = window.place(LineAddr(line)).unwrap().0;
                prop_assert!(place < 1 << 32);
                prop_assert_eq!(place & 0xff_ffff, within);
                prop_assert_eq!(*placed.entry(place).or_insert(line), line);
                prop_assert_eq!(window.place(LineAddr(line)).unwrap().0, place);
            }
        }

        #[test]
        fn lines_placed_together_lie_where_they_would_alone(
            lines in prop::collection::vec((0_u64..3, 0_u64..1 << 24), 0..400),
            runs in 1_usize..300,
        ) {
            let line = |(i, &(region, within)): (usize, &(u64, u64))| {
                (region * 7_777 + (i / runs) as u64 % 5) << 24 | within
            };
            let lines: Vec<u64> = lines.iter().enumerate().map(line).collect();
            let addresses: Vec<u64> = lines.iter().map(|line| line * 64 + line % 64).collect();
            let (mut window, mut other) = (AddressWindow::default(), AddressWindow::default());
            let mut together = Vec::new();
            window.place_all(&addresses, &mut together).unwrap();
            let alone = lines.iter().map(|&line| other.place(LineAddr(line)).unwrap().low_bits());
            prop_assert_eq!(together, alone.collect::<Vec<_>>());
        }
    }
}

//! A slice function in few instructions, for coverage that one comparison checks.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;

use address_map::BaseSequence;
use std::sync::Arc;
use units::narrow::{fit, low_u32, usize_from};
use units::{LineAddr, SliceId};

/// Tables that find the slice of an address by five look-ups: four, on the same address bits for every
/// function, find the position in the sequence, and one the slice of the position. The address itself or
/// some of its bits show whether it is covered. The tables are one allocation, so that a look-up follows
/// a single pointer. Look-ups of random lines read 4 KiB of the tables and the sequence: fewer look-ups
/// in larger tables take longer, since callers need the L1 cache for themselves. The layout is C's: there
/// look-ups are compiled into callers.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ShortForm {
    /// Addresses below this one are covered.
    pub limit: u64,
    /// Mask of address bits: other addresses are covered if these bits equal [`Self::fixed`].
    pub compared: u64,
    /// Values of the bits in [`Self::compared`] of covered addresses.
    pub fixed: u64,
    /// Number that each value of bits 6 to 14, 15 to 23, 24 to 32 and 33 to 41 of an address adds (XOR) to
    /// the position.
    pub parts: [[u16; 1 << PART_BITS]; PARTS],
    /// Slice of each position; as long as the longest sequence, so that any position is in it.
    pub base: [u8; 1 << 16],
    /// The numbers of [`Self::parts`] for many addresses at once. C code does not use them.
    #[cfg(target_arch = "x86_64")]
    halves: avx2::Halves,
}

/// The tables look at all bits that choose a line below 2 TiB, from the lowest one on.
const LINE_BIT: u32 = units::LINE_BYTES.trailing_zeros();
const PART_BITS: u32 = 9;
const PARTS: usize = 4;
const _: () = assert!(LINE_BIT + PART_BITS * low_u32(PARTS as u64) >= address_map::ADDRESS_BITS);

/// Lowest bit of an address that a table looks at.
const fn first_bit(part: usize) -> u32 {
    LINE_BIT + PART_BITS * low_u32(part as u64)
}

impl ShortForm {
    /// The form of a function that is established for the addresses of [`crate::Coverage::fixed_bits`];
    /// for no address, if these are `None`.
    pub(crate) fn new(function: &BaseSequence, fixed_bits: Option<(u64, u64)>) -> Arc<Self> {
        let position = |address: u64| {
            // Covered addresses have no bits above those that functions know.
            let address = address & ((1 << address_map::ADDRESS_BITS) - 1);
            fit::<u16, _>(function.position(LineAddr::of_byte(address)))
        };
        // No address has a bit that is not compared.
        let (compared, fixed) = fixed_bits.unwrap_or((0, 1));
        let below = fixed == 0 && compared.leading_ones() + compared.trailing_zeros() == u64::BITS;
        let mut base = [0; 1 << 16];
        for (line, slice) in (0..function.length()).zip(&mut base) {
            *slice = fit(function.slice(LineAddr(line)));
        }
        Arc::new(Self {
            limit: if below { !compared + 1 } else { 0 },
            compared,
            fixed,
            parts: std::array::from_fn(|part| {
                std::array::from_fn(|value| position((value as u64) << first_bit(part)))
            }),
            base,
            #[cfg(target_arch = "x86_64")]
            halves: avx2::Halves::new(position),
        })
    }

    /// Whether the function is established for an address.
    #[inline(always)]
    pub(crate) fn covers(&self, physical_address: u64) -> bool {
        physical_address < self.limit || physical_address & self.compared == self.fixed
    }

    /// Whether the function is established for all of `addresses`. The loop has no exits, so that several
    /// are compared at once.
    #[inline(always)]
    pub(crate) fn covers_all(&self, addresses: &[u64]) -> bool {
        let differing = |address: &u64| (address & self.compared) ^ self.fixed;
        addresses.iter().map(differing).fold(0, |all, bits| all | bits) == 0
    }

    /// Calls `put` with the index and the slice of each of `addresses`, which must be covered.
    #[inline(always)]
    pub(crate) fn for_each_slice(&self, addresses: &[u64], mut put: impl FnMut(usize, SliceId)) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.for_each_slice_avx2(addresses, put) };
        }
        for (index, &address) in addresses.iter().enumerate() {
            put(index, SliceId(self.slice(address).into()));
        }
    }

    /// The slice of a covered address.
    #[inline(always)]
    pub(crate) fn slice(&self, address: u64) -> u8 {
        let part = |part| {
            let value = usize_from(address >> first_bit(part));
            self.parts[part][value % (1 << PART_BITS)]
        };
        let position = part(0) ^ part(1) ^ part(2) ^ part(3);
        self.base[usize::from(position)]
    }
}

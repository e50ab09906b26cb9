//! A slice function in few instructions, for addresses that one comparison recognises.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod vectors;

use address_map::BaseSequence;
use std::sync::Arc;
use units::narrow::{fit, low_u32, usize_from};
use units::{LineAddr, SliceId};

/// Position by four look-ups, whose bits of an address are the same ones for every function, and the
/// slice by one more; coverage by comparing the address or some of its bits. All is in one piece,
/// so that a look-up follows a single pointer. Random lines read 4 KiB of it, and the sequence: fewer
/// look-ups in larger tables take longer, since callers need the first cache for themselves. The
/// layout is C's: there look-ups are compiled into callers.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ShortForm {
    /// Addresses below this one are covered.
    pub limit: u64,
    /// Others are if these bits of them are [`Self::fixed`].
    pub compared: u64,
    /// Values of those bits.
    pub fixed: u64,
    /// What each value of bits 6 to 14, 15 to 23, 24 to 32 and 33 to 41 of an address adds to the
    /// position.
    pub parts: [[u16; 1 << PART_BITS]; PARTS],
    /// Slice of each position; as long as the longest sequence, so that any position is in it.
    pub base: [u8; 1 << 16],
    /// The same as [`Self::parts`], for many addresses at once. C does not know of it.
    #[cfg(target_arch = "x86_64")]
    halves: vectors::Halves,
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
    /// The form of a function that is established where [`crate::Coverage::fixed_bits`] says; of no
    /// address at all, if it does not.
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
            halves: vectors::Halves::new(position),
        })
    }

    /// Whether an address is among those that the function is established for.
    #[inline(always)]
    pub(crate) fn covers(&self, physical_address: u64) -> bool {
        physical_address < self.limit || physical_address & self.compared == self.fixed
    }

    /// The same for all of `addresses`, without exits, so that several are compared at once.
    #[inline(always)]
    pub(crate) fn covers_all(&self, addresses: &[u64]) -> bool {
        let differing = |address: &u64| (address & self.compared) ^ self.fixed;
        addresses.iter().map(differing).fold(0, |all, bits| all | bits) == 0
    }

    /// The slices of covered addresses, each handed to `put` under its index.
    #[inline(always)]
    pub(crate) fn each_slice(&self, addresses: &[u64], mut put: impl FnMut(usize, SliceId)) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.each_slice_of_vectors(addresses, put) };
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

//! A slice function in few instructions, for addresses that one comparison recognises.

use address_map::BaseSequence;
use std::sync::Arc;
use units::LineAddr;
use units::narrow::{fit, usize_from};

/// Position by three look-ups, whose bits of an address are the same ones for every function, and the
/// slice by one more; coverage by comparing the address or some of its bits. All is in one piece,
/// so that a look-up follows a single pointer. Where random lines of 128 GiB are looked up, 17 KiB
/// of it are read, and the sequence. The layout is C's: there look-ups are compiled into callers.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ShortForm {
    /// Addresses below this one are covered.
    pub limit: u64,
    /// Others are if these bits of them are [`Self::fixed`].
    pub compared: u64,
    /// Values of those bits.
    pub fixed: u64,
    /// What each value of bits 6 to 17 of an address adds to the position.
    pub low: [u16; 1 << LOW_BITS],
    /// The same of bits 18 to 29.
    pub middle: [u16; 1 << LOW_BITS],
    /// The same of bits 30 to 40.
    pub high: [u16; 1 << HIGH_BITS],
    /// Slice of each position; as long as the longest sequence, so that any position is in it.
    pub base: [u8; 1 << 16],
}

/// Bits of an address that the tables look at: all that choose a line below 2 TiB.
const LINE_BIT: u32 = units::LINE_BYTES.trailing_zeros();
const LOW_BITS: u32 = 12;
const HIGH_BITS: u32 = address_map::ADDRESS_BITS - LINE_BIT - 2 * LOW_BITS;

/// The value of `BITS` bits of an address from `first` on.
#[inline(always)]
fn bits<const BITS: u32>(physical_address: u64, first: u32) -> usize {
    usize_from(physical_address >> first & ((1 << BITS) - 1))
}

impl ShortForm {
    /// The form of a function that is established where [`crate::Coverage::fixed_bits`] says; of no
    /// address at all, if it does not.
    pub(crate) fn new(function: &BaseSequence, fixed_bits: Option<(u64, u64)>) -> Arc<Self> {
        let position = |value: usize, first: u32| {
            let line = LineAddr::of_byte((value as u64) << first);
            fit::<u16, _>(function.position(line))
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
            low: std::array::from_fn(|value| position(value, LINE_BIT)),
            middle: std::array::from_fn(|value| position(value, LINE_BIT + LOW_BITS)),
            high: std::array::from_fn(|value| position(value, LINE_BIT + 2 * LOW_BITS)),
            base,
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

    /// The slice of a covered address.
    #[inline(always)]
    pub(crate) fn slice(&self, address: u64) -> u8 {
        let position = self.low[bits::<LOW_BITS>(address, LINE_BIT)]
            ^ self.middle[bits::<LOW_BITS>(address, LINE_BIT + LOW_BITS)]
            ^ self.high[bits::<HIGH_BITS>(address, LINE_BIT + 2 * LOW_BITS)];
        self.base[usize::from(position)]
    }
}

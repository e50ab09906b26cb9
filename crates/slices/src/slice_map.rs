//! Look-ups in a slice table, for addresses that it covers.

use crate::coverage::CoverageLookup;
use crate::table_file::TableFile;
use address_map::{BaseSequence, SliceTableError};
use units::{LineAddr, SliceId};

/// A slice function and the addresses that it is established for.
#[derive(Clone, Debug)]
pub struct SliceMap {
    function: BaseSequence,
    coverage: CoverageLookup,
}

/// A table is not established for this physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the slice table does not cover physical address {physical_address:#x}: recover it again with \
     pages that include it"
)]
pub struct NotCovered {
    /// The address.
    pub physical_address: u64,
}

impl SliceMap {
    /// # Errors
    /// If the table is no slice function.
    pub fn new(file: &TableFile) -> Result<Self, SliceTableError> {
        let function = BaseSequence::new(&file.table)?;
        Ok(Self { function, coverage: file.coverage.lookup() })
    }

    /// Slices of the part.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.function.slices()
    }

    /// The slice of the line at a physical address.
    ///
    /// # Errors
    /// If the table is not established for the address.
    #[inline]
    pub fn slice_of(&self, physical_address: u64) -> Result<SliceId, NotCovered> {
        match self.coverage.covers(physical_address) {
            true => Ok(SliceId(self.function.slice(LineAddr::of_byte(physical_address)) as u16)),
            false => Err(NotCovered { physical_address }),
        }
    }

    /// The slices of the lines at many physical addresses; `slices` is as long as `addresses`.
    ///
    /// # Errors
    /// Names the first address that the table is not established for; nothing is filled in then.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn slices_of(&self, addresses: &[u64], slices: &mut [SliceId]) -> Result<(), NotCovered> {
        assert_eq!(addresses.len(), slices.len());
        // Two passes without exits in between: both overlap the look-ups of several addresses.
        if !addresses.iter().fold(true, |all, &address| all & self.coverage.covers(address)) {
            let covered = |&address: &u64| self.coverage.covers(address);
            let first = addresses.iter().copied().find(|address| !covered(address));
            return first.map_or(Ok(()), |physical_address| Err(NotCovered { physical_address }));
        }
        for (slice, &address) in slices.iter_mut().zip(addresses) {
            *slice = SliceId(self.function.slice(LineAddr::of_byte(address)) as u16);
        }
        Ok(())
    }
}

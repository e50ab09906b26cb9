//! Allocation of many lines at once.

use super::allocation_error::AllocationError;
use super::owners::SliceOwner;
use super::slice_memory::SliceMemory;
use units::LINE_BYTES;

impl SliceMemory {
    /// Allocates so many whole lines in the owner's slices, all or none, and calls `put` with the index and
    /// the virtual address of each. Each is freed by [`Self::free`] or [`Self::free_many`].
    ///
    /// # Errors
    /// As [`Self::allocate`].
    pub fn allocate_many(
        &mut self,
        owner: SliceOwner,
        lines: usize,
        mut put: impl FnMut(usize, u64),
    ) -> Result<(), AllocationError> {
        let start = self.pages.start();
        let only = self.only_list.get(usize::from(owner.0)).copied();
        let address = |id: u32| start + u64::from(id) * LINE_BYTES;
        if let Some(list) = only
            && self.lines.take_many(list.into(), lines, |index, id| put(index, address(id)))
        {
            return Ok(());
        }
        let lines = match lines {
            0 => Vec::new(),
            // A saturated size is still larger than any memory, so that the request fails.
            lines => self.allocate_scattered(owner, (lines as u64).saturating_mul(LINE_BYTES))?,
        };
        lines.into_iter().enumerate().for_each(|(index, line)| put(index, line));
        Ok(())
    }

    /// Frees objects and lines.
    ///
    /// # Errors
    /// If no allocated object begins at one of the addresses; those before it are freed.
    pub fn free_many(&mut self, objects: &[u64]) -> Result<(), AllocationError> {
        let mut rest = objects;
        while let Some(&first) = rest.first() {
            let start = self.pages.start();
            let line = |&object: &u64| {
                let offset = object.checked_sub(start)?;
                let id = u32::try_from(offset / LINE_BYTES).ok()?;
                offset.is_multiple_of(LINE_BYTES).then_some(id)
            };
            match self.lines.give_back_many(rest.iter().map(line)) {
                0 => {
                    self.free(first)?;
                    rest = &rest[1..];
                }
                given => rest = &rest[given..],
            }
        }
        Ok(())
    }
}

//! Objects that are zeroed, or get another size.

use super::allocation_error::AllocationError;
use super::objects::ObjectSize;
use super::owners::Owner;
use super::slice_memory::SliceMemory;
use units::narrow::{fit, usize_from};

impl SliceMemory {
    /// As [`Self::allocate`], with zeros in it.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    pub fn allocate_zeroed(&mut self, owner: Owner, bytes: u64) -> Result<u64, AllocationError> {
        let object = self.allocate(owner, bytes)?;
        if let Some(bytes) = self.bytes_mut(object, usize_from(bytes)) {
            bytes.fill(0);
        }
        Ok(object)
    }

    /// An object with the content of `object`, as far as it goes, and another size: the same one, if
    /// its place is of the size already, or a new one of the `owner`, and the old one is taken back.
    ///
    /// # Errors
    /// As [`Self::allocate`], and if nothing is handed out at the address; the object stays as it is
    /// then.
    pub fn reallocate(
        &mut self,
        owner: Owner,
        object: u64,
        bytes: u64,
    ) -> Result<u64, AllocationError> {
        let place = self.place(object).ok_or(AllocationError::NotAllocated(object))?;
        let size = ObjectSize::holding(bytes).ok_or(AllocationError::TooLarge(bytes))?;
        if size == place && self.resize_in_place(object, bytes) {
            return Ok(object);
        }
        let mut content = [0; ObjectSize::LINE.bytes() as usize];
        let kept = place.bytes().min(fit(bytes)) as usize;
        content[..kept].copy_from_slice(self.bytes(object, kept).expect("is handed out"));
        let moved = self.allocate(owner, bytes)?;
        self.bytes_mut(moved, kept).expect("is as large").copy_from_slice(&content[..kept]);
        self.free(object).expect("is handed out");
        Ok(moved)
    }
}

//! Zeroed objects, and changes of an object's size.

use super::allocation_error::AllocationError;
use super::objects::ObjectSize;
use super::owners::SliceOwner;
use super::slice_memory::SliceMemory;
use units::narrow::{fit, usize_from};

impl SliceMemory {
    /// Allocates an object as [`Self::allocate`] does and fills it with zeros.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    pub fn allocate_zeroed(
        &mut self,
        owner: SliceOwner,
        bytes: u64,
    ) -> Result<u64, AllocationError> {
        let object = self.allocate(owner, bytes)?;
        if let Some(bytes) = self.bytes_mut(object, usize_from(bytes)) {
            bytes.fill(0);
        }
        Ok(object)
    }

    /// Changes the size of an object and returns its virtual address. If the new size has the same slot
    /// size, the object stays where it is; otherwise a new object of the `owner` gets as much of the content
    /// as fits, and the old one is freed.
    ///
    /// # Errors
    /// As [`Self::allocate`], and if no object is allocated at the address; the object stays unchanged then.
    pub fn reallocate(
        &mut self,
        owner: SliceOwner,
        object: u64,
        bytes: u64,
    ) -> Result<u64, AllocationError> {
        let slot = self.slot_size(object).ok_or(AllocationError::NotAllocated(object))?;
        let size = ObjectSize::fitting(bytes).ok_or(AllocationError::TooLarge(bytes))?;
        if size == slot && self.resize_in_place(object, bytes) {
            return Ok(object);
        }
        let mut content = [0; ObjectSize::LINE.bytes() as usize];
        let kept = slot.bytes().min(fit(bytes)) as usize;
        content[..kept].copy_from_slice(self.bytes(object, kept).expect("is handed out"));
        let moved = self.allocate(owner, bytes)?;
        self.bytes_mut(moved, kept).expect("is as large").copy_from_slice(&content[..kept]);
        self.free(object).expect("is handed out");
        Ok(moved)
    }
}

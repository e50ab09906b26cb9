//! Buffers that are larger than a line: neighbouring lines are in different slices, so that a buffer
//! in chosen slices is made of lines that are not neighbours.

use super::allocation_error::AllocationError;
use super::objects::ObjectSize;
use super::owners::{Holding, SliceOwner};
use super::slice_memory::SliceMemory;
use units::LINE_BYTES;
use units::narrow::{fit, usize_from};

/// Bytes of a linked buffer in each of its lines.
pub const LINKED_BYTES: u64 = LINE_BYTES - 8;

impl SliceMemory {
    /// Allocates a buffer of at least `bytes` as lines anywhere in the owner's slices, all or none, and
    /// returns their virtual addresses. Each is freed by [`Self::free`].
    ///
    /// # Errors
    /// If the owner's slices are full, or there is no memory for the list.
    pub fn allocate_scattered(
        &mut self,
        owner: SliceOwner,
        bytes: u64,
    ) -> Result<Vec<u64>, AllocationError> {
        self.allocate_lines(owner, bytes, LINE_BYTES)
    }

    /// Allocates lines for `bytes`, with `line_payload` bytes of the buffer in each.
    fn allocate_lines(
        &mut self,
        owner: SliceOwner,
        bytes: u64,
        line_payload: u64,
    ) -> Result<Vec<u64>, AllocationError> {
        let wanted = usize_from(bytes.div_ceil(line_payload).max(1));
        let free = self.free_lines(owner)?;
        if wanted > free && !self.make_room(owner, wanted) {
            return Err(AllocationError::Exhausted { wanted, free });
        }
        let mut lines = Vec::new();
        lines.try_reserve_exact(wanted)?;
        for line in 0..wanted as u64 {
            let spare = LINE_BYTES - line_payload.min(bytes - line * line_payload);
            lines.push(match spare {
                0 => self.allocate(owner, LINE_BYTES)?,
                _ => self.allocate_noted(owner, ObjectSize::LINE, fit(usize_from(spare)))?,
            });
        }
        Ok(lines)
    }

    /// Number of lines that the owner can still allocate without growth.
    pub(super) fn free_lines(&self, owner: SliceOwner) -> Result<usize, AllocationError> {
        let holding = self.owners.get(usize::from(owner.0)).and_then(Option::as_ref);
        let holding = holding.ok_or(AllocationError::NoOwner)?;
        Ok(self.lines.free_lines(&holding.slices))
    }

    /// Allocates a buffer for at least `bytes` as a chain of lines, and returns the virtual address of the
    /// first. The first eight bytes of each line are the virtual address of the next one, or 0; the other
    /// [`LINKED_BYTES`] are the buffer's.
    ///
    /// # Errors
    /// If the owner's slices are full, or there is no memory for a list of the lines.
    pub fn allocate_linked(
        &mut self,
        owner: SliceOwner,
        bytes: u64,
    ) -> Result<u64, AllocationError> {
        let lines = self.allocate_lines(owner, bytes, LINKED_BYTES)?;
        let mut next = 0u64;
        for &line in lines.iter().rev() {
            self.bytes_mut(line, 8).expect("was handed out").copy_from_slice(&next.to_ne_bytes());
            next = line;
        }
        Ok(next)
    }

    /// The lines of a linked buffer by its first line: follows the links.
    ///
    /// # Errors
    /// If a link was overwritten, so that it leads in a circle or to anything but an allocated line of the
    /// same owner. If there is no memory for the list.
    pub fn linked_lines(&self, first: u64) -> Result<Vec<u64>, AllocationError> {
        let mut lines = Vec::new();
        let mut next = first;
        while next != 0 {
            let not_allocated = AllocationError::NotAllocated(next);
            let link = self.bytes(next, usize_from(LINE_BYTES)).ok_or(not_allocated.clone())?;
            if lines.len() == self.uses.len() || self.owner_of(next) != self.owner_of(first) {
                return Err(not_allocated);
            }
            lines.try_reserve(1)?;
            lines.push(next);
            next = u64::from_ne_bytes(link[..8].try_into().expect("eight bytes"));
        }
        Ok(lines)
    }

    /// The owner of an allocated line.
    fn owner_of(&self, line: u64) -> Option<usize> {
        let line = self.lines.line_at(line)?;
        let Some(slice) = line.slice else { return Some(self.uses[line.id as usize].owner.into()) };
        let has =
            |holding: &Option<Holding>| holding.as_ref().is_some_and(|h| h.slices.contains(&slice));
        self.owners.iter().position(has)
    }

    /// Frees a linked buffer by its first line.
    ///
    /// # Errors
    /// As [`Self::linked_lines`]; no line is freed then.
    pub fn free_linked(&mut self, first: u64) -> Result<(), AllocationError> {
        self.linked_lines(first)?.into_iter().try_for_each(|line| self.free(line))
    }
}

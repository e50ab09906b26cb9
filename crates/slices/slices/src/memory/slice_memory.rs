//! Memory whose owners have disjoint sets of slices.

use super::allocation_error::AllocationError;
use super::fallible_list::try_collect;
use super::huge_pages::HugePages;
use super::lines::LineAllocator;
use super::objects::{LineUse, ObjectSize};
use super::owners::{Holding, SliceOwner};
use super::page_location::{PlacementError, locate};
use super::pagemap::{OWN, ProcPagemap};
use crate::mapped_page::MappedPage;
use crate::slice_map::SliceMap;
use std::path::Path;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Huge pages whose lines belong to owners. Each owner claims slices, which no other owner has, and allocates
/// objects, scattered buffers and linked buffers in them.
#[derive(Debug)]
pub struct SliceMemory {
    pub(super) pages: HugePages,
    pub(super) map: SliceMap,
    /// Physical addresses of the mapped pages; empty if slices are not known.
    pub(super) located: Vec<MappedPage>,
    /// The node that all pages are on, if the kernel has nodes.
    pub(super) node: Option<u32>,
    pub(super) lines: LineAllocator,
    /// Use of each noted line, by its number: noted lines are divided into objects.
    pub(super) uses: Vec<LineUse>,
    /// Whether whole lines are noted too: if slices are not known, they do not show the owner of a line.
    pub(super) notes_all: bool,
    pub(super) owners: Vec<Option<Holding>>,
    /// The slice of each owner of a single slice; [`NO_LIST`] for other owners, and if slices are not known.
    /// The fast path reads only this of an owner.
    pub(super) only_list: Vec<u16>,
}

/// A number that no list has: there are 256 at most.
pub(super) const NO_LIST: u16 = u16::MAX;

impl SliceMemory {
    /// The reason why memory is allocated regardless of slices; `None` if it is allocated by slice.
    #[must_use]
    pub fn plain_reason(&self) -> Option<&str> {
        self.lines.plain_reason()
    }

    /// Whether the caller has mapped the pages, and unmaps them.
    #[must_use]
    pub fn is_caller_memory(&self) -> bool {
        self.pages.is_caller_memory()
    }

    /// Reads the physical addresses of the pages again and compares them with those at the start.
    ///
    /// # Errors
    /// If a page was moved, or the kernel no longer reports addresses.
    pub fn verify(&self) -> Result<(), PlacementError> {
        let pages = try_collect(self.located.iter().map(MappedPage::virtual_page))?;
        let now = locate(&pages, &ProcPagemap::open(Path::new(OWN))?)?;
        let moved = now.iter().zip(&self.located).find(|(now, then)| now != then);
        moved.map_or(Ok(()), |(now, _)| Err(PlacementError::Moved(now.virtual_start)))
    }

    /// Allocates an object of at most a line in the owner's slices and returns its virtual address. The
    /// object is aligned to its size, rounded up to 8, 16, 32 or 64 bytes. Objects of one size share lines.
    ///
    /// # Errors
    /// If the object is larger than a line, or the owner's slices are full.
    #[inline]
    pub fn allocate(&mut self, owner: SliceOwner, bytes: u64) -> Result<u64, AllocationError> {
        if bytes == LINE_BYTES
            && let Some(line) = self.take_line(owner)
        {
            return Ok(line);
        }
        let size = ObjectSize::fitting(bytes).ok_or(AllocationError::TooLarge(bytes))?;
        let spare = size.bytes() - fit::<u32, _>(usize_from(bytes));
        match self.allocate_noted(owner, size, spare) {
            Err(AllocationError::Exhausted { .. }) if self.make_room(owner, 1) => {
                self.allocate_noted(owner, size, spare)
            }
            answer => answer,
        }
    }

    /// Allocates a whole line without a note of its use: the fast path of [`Self::allocate`]. `None` if the
    /// slow path is needed.
    #[inline(always)]
    #[must_use]
    pub fn take_line(&mut self, owner: SliceOwner) -> Option<u64> {
        let list = *self.only_list.get(usize::from(owner.0))?;
        let id = match self.lines.take_from(list.into()) {
            Some(id) => id,
            None => self.take_line_of_several(owner)?,
        };
        Some(self.pages.start() + u64::from(id) * LINE_BYTES)
    }

    /// [`Self::take_line`] for an owner of several slices, or of one that has no free line.
    #[inline(never)]
    fn take_line_of_several(&mut self, owner: SliceOwner) -> Option<u32> {
        let holding = self.owners.get(usize::from(owner.0))?.as_ref()?;
        if self.notes_all { None } else { self.lines.take(&holding.slices) }
    }

    /// Allocates an object in a noted line; `spare` is the number of its bytes beyond the requested size.
    pub(super) fn allocate_noted(
        &mut self,
        owner: SliceOwner,
        size: ObjectSize,
        spare: u32,
    ) -> Result<u64, AllocationError> {
        let holding = self.owners.get_mut(usize::from(owner.0)).and_then(Option::as_mut);
        let holding = holding.ok_or(AllocationError::NoOwner)?;
        let id = match size.cut().and_then(|cut| holding.with_room[cut].last()) {
            Some(&id) => id,
            None => {
                let id = self.lines.take(&holding.slices);
                let id = id.ok_or(AllocationError::Exhausted { wanted: 1, free: 0 })?;
                self.lines.note(id);
                self.uses[id as usize] = LineUse::new(owner.0, size);
                holding.open(&mut self.uses, id);
                id
            }
        };
        let line = &mut self.uses[id as usize];
        let offset = line.take(spare);
        if line.is_full() {
            holding.close(&mut self.uses, id);
        }
        holding.objects += 1;
        holding.spare_bytes += u64::from(spare);
        Ok(self.pages.start() + u64::from(id) * LINE_BYTES + u64::from(offset))
    }

    /// Frees an object.
    ///
    /// # Errors
    /// If no allocated object begins at the address.
    #[inline]
    pub fn free(&mut self, virtual_address: u64) -> Result<(), AllocationError> {
        if self.free_line(virtual_address) { Ok(()) } else { self.free_noted(virtual_address) }
    }

    /// Frees a line that is not noted: the fast path of [`Self::free`]. Returns false if the slow path is
    /// needed.
    #[inline(always)]
    #[must_use]
    pub fn free_line(&mut self, virtual_address: u64) -> bool {
        match self.split(virtual_address) {
            Some((id, 0)) => self.lines.give_back_whole(id),
            _ => false,
        }
    }

    /// Frees an object in a noted line.
    fn free_noted(&mut self, virtual_address: u64) -> Result<(), AllocationError> {
        let not_allocated = AllocationError::NotAllocated(virtual_address);
        let found =
            self.split(virtual_address).filter(|&(id, _)| self.lines.state(id) == Some(true));
        let Some((id, offset)) = found else { return Err(not_allocated) };
        let line = &mut self.uses[id as usize];
        let was_full = line.is_full();
        let Some(spare) = line.give_back(offset) else { return Err(not_allocated) };
        let (owner, is_empty) = (usize::from(line.owner), line.is_empty());
        let holding = self.owners[owner].as_mut().expect("an owner with lines is not released");
        holding.objects -= 1;
        holding.spare_bytes -= u64::from(spare);
        match (was_full, is_empty) {
            (true, false) => holding.open(&mut self.uses, id),
            (false, true) => holding.close(&mut self.uses, id),
            _ => {}
        }
        if is_empty {
            holding.noted_lines -= 1;
            self.lines.give_back(id);
        }
        Ok(())
    }

    /// Number of the line at a virtual address, and the offset of the byte in it; `None` if the address is
    /// outside of the memory's range.
    #[inline(always)]
    fn split(&self, virtual_address: u64) -> Option<(u32, u32)> {
        let offset = virtual_address.checked_sub(self.pages.start())?;
        let line = u32::try_from(offset / LINE_BYTES).ok()?;
        Some((line, (offset % LINE_BYTES) as u32))
    }

    /// The slice of the allocated line at an address; `None` if the line is not allocated, or slices are
    /// not known.
    #[must_use]
    pub fn slice_of(&self, virtual_address: u64) -> Option<SliceId> {
        self.lines.line_at(virtual_address)?.slice
    }

    /// The first bytes of an object; `None` if no allocated object of that length begins at the address.
    #[must_use]
    pub fn bytes(&self, object: u64, bytes: usize) -> Option<&[u8]> {
        let range = self.byte_range(object, bytes)?;
        self.pages.range_bytes(range)
    }

    /// The first bytes of an object, for writing; `None` if no allocated object of that length begins at the
    /// address.
    #[must_use]
    pub fn bytes_mut(&mut self, object: u64, bytes: usize) -> Option<&mut [u8]> {
        let range = self.byte_range(object, bytes)?;
        self.pages.range_bytes_mut(range)
    }

    /// Virtual address of the first line of [`Self::as_lines_mut`].
    #[must_use]
    pub fn start(&self) -> u64 {
        self.pages.start()
    }

    /// All lines up to the first page that is not mapped, regardless of owners: for programs that distribute
    /// their allocated lines over threads, each line to one thread.
    #[must_use]
    pub fn as_lines_mut(&mut self) -> &mut [[u8; usize_from(LINE_BYTES)]] {
        self.pages.bytes_mut().as_chunks_mut().0
    }

    fn byte_range(&self, object: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        let start = usize_from(object.checked_sub(self.pages.start())?);
        let size = self.slot_size(object)?;
        (bytes <= size.bytes() as usize).then_some(start..start + bytes)
    }

    /// The slot size of the allocated object that begins at an address.
    pub(super) fn slot_size(&self, object: u64) -> Option<ObjectSize> {
        let (id, offset) = self.split(object)?;
        match self.lines.state(id)? {
            true => self.uses[id as usize].object_at(offset),
            false => (offset == 0).then_some(ObjectSize::LINE),
        }
    }

    /// Sets the size of an allocated object within its slot, whose size the caller has compared. Returns
    /// whether that was possible.
    pub(super) fn resize_in_place(&mut self, object: u64, bytes: u64) -> bool {
        let Some((id, offset)) = self.split(object) else { return false };
        if self.lines.state(id) != Some(true) {
            return bytes == LINE_BYTES;
        }
        let line = &mut self.uses[id as usize];
        let spare = line.size.bytes() - fit::<u32, _>(usize_from(bytes));
        let before = line.resize(offset, spare);
        if let Some(holding) = &mut self.owners[usize::from(line.owner)] {
            holding.spare_bytes = holding.spare_bytes + u64::from(spare) - u64::from(before);
        }
        true
    }
}

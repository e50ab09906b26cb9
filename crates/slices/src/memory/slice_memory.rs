//! Memory whose owners have slices of their own.

use super::allocation_error::AllocationError;
use super::huge_pages::HugePages;
use super::lines::LineAllocator;
use super::mapped::{MappedPage, PlacementError, locate};
use super::objects::{LineUse, ObjectSize};
use super::owners::{Holding, Owner};
use super::pagemap::{OWN, ProcPagemap};
use super::reserved::collected;
use crate::slice_map::SliceMap;
use std::path::Path;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Huge pages whose lines belong to owners: each owner claims slices, no two the same one, and gets
/// objects, scattered and linked buffers in them.
#[derive(Debug)]
pub struct SliceMemory {
    pub(super) pages: HugePages,
    pub(super) map: SliceMap,
    /// Physical addresses of the mapped pages; empty if slices are not known.
    pub(super) located: Vec<MappedPage>,
    /// The node that all pages are on, if the kernel has nodes.
    pub(super) node: Option<u32>,
    pub(super) lines: LineAllocator,
    /// By number of the line, for those that are noted: lines in parts.
    pub(super) uses: Vec<LineUse>,
    /// Whether whole lines are noted, too: where slices do not say whose they are.
    pub(super) notes_all: bool,
    pub(super) owners: Vec<Option<Holding>>,
    /// For each owner of a single slice that slice, [`NO_LIST`] for the others and where slices are
    /// not known: what the fast path reads of an owner.
    pub(super) only_list: Vec<u16>,
}

/// No number of a list: there are 256 at most.
pub(super) const NO_LIST: u16 = u16::MAX;

impl SliceMemory {
    /// Why memory is handed out regardless of slices; `None` if it is not.
    #[must_use]
    pub fn plain_because(&self) -> Option<&str> {
        self.lines.plain_because()
    }

    /// Whether the caller has brought the pages.
    #[must_use]
    pub fn is_of_caller(&self) -> bool {
        self.pages.are_of_caller()
    }

    /// Asks the kernel once more where the pages are.
    ///
    /// # Errors
    /// If one was moved, or the kernel does not say any more.
    pub fn verify(&self) -> Result<(), PlacementError> {
        let pages = collected(self.located.iter().map(MappedPage::virtual_page))?;
        let now = locate(&pages, &ProcPagemap::open(Path::new(OWN))?)?;
        let moved = now.iter().zip(&self.located).find(|(now, then)| now != then);
        moved.map_or(Ok(()), |(now, _)| Err(PlacementError::Moved(now.virtual_start)))
    }

    /// An object of at most a line in the owner's slices; its virtual address. It is aligned to its
    /// size, rounded up to 8, 16, 32 or 64 bytes. Objects of one size share lines.
    ///
    /// # Errors
    /// If it is larger than a line, or the owner's slices are full.
    #[inline]
    pub fn allocate(&mut self, owner: Owner, bytes: u64) -> Result<u64, AllocationError> {
        if bytes == LINE_BYTES
            && let Some(line) = self.take_line(owner)
        {
            return Ok(line);
        }
        let size = ObjectSize::holding(bytes).ok_or(AllocationError::TooLarge(bytes))?;
        let spare = size.bytes() - fit::<u32, _>(usize_from(bytes));
        match self.allocate_noted(owner, size, spare) {
            Err(AllocationError::Exhausted { .. }) if self.make_room(owner, 1) => {
                self.allocate_noted(owner, size, spare)
            }
            answer => answer,
        }
    }

    /// A whole line that is not noted, if there is one: the fast path of [`Self::allocate`].
    #[inline(always)]
    #[must_use]
    pub fn take_line(&mut self, owner: Owner) -> Option<u64> {
        let list = *self.only_list.get(usize::from(owner.0))?;
        let id = match self.lines.take_from(list.into()) {
            Some(id) => id,
            None => self.take_line_of_several(owner)?,
        };
        Some(self.pages.start() + u64::from(id) * LINE_BYTES)
    }

    /// The same for an owner of several slices, or of one that is empty.
    #[inline(never)]
    fn take_line_of_several(&mut self, owner: Owner) -> Option<u32> {
        let holding = self.owners.get(usize::from(owner.0))?.as_ref()?;
        if self.notes_all { None } else { self.lines.take(&holding.slices) }
    }

    /// An object whose line is noted, with its bytes that were not asked for, or why there is none.
    pub(super) fn allocate_noted(
        &mut self,
        owner: Owner,
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

    /// Takes an object back.
    ///
    /// # Errors
    /// If none that is handed out begins at the address.
    #[inline]
    pub fn free(&mut self, virtual_address: u64) -> Result<(), AllocationError> {
        if self.free_line(virtual_address) { Ok(()) } else { self.free_noted(virtual_address) }
    }

    /// Takes a line back that is not noted, if there is one: the fast path of [`Self::free`].
    #[inline(always)]
    #[must_use]
    pub fn free_line(&mut self, virtual_address: u64) -> bool {
        match self.split(virtual_address) {
            Some((id, 0)) => self.lines.give_back_whole(id),
            _ => false,
        }
    }

    /// Takes an object back whose line is noted, or says that there is none.
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

    /// Number of the line that would hold a byte, and the offset of the byte in it.
    #[inline(always)]
    fn split(&self, virtual_address: u64) -> Option<(u32, u32)> {
        let offset = virtual_address.checked_sub(self.pages.start())?;
        let line = u32::try_from(offset / LINE_BYTES).ok()?;
        Some((line, (offset % LINE_BYTES) as u32))
    }

    /// The slice of the line at an address that is handed out; `None` if it is not, or slices are
    /// not known.
    #[must_use]
    pub fn slice_of(&self, virtual_address: u64) -> Option<SliceId> {
        self.lines.line_at(virtual_address)?.slice
    }

    /// The first bytes of an object, if one that is handed out begins there and is as long.
    #[must_use]
    pub fn bytes(&self, object: u64, bytes: usize) -> Option<&[u8]> {
        let range = self.byte_range(object, bytes)?;
        self.pages.part(range)
    }

    /// The same to write to.
    #[must_use]
    pub fn bytes_mut(&mut self, object: u64, bytes: usize) -> Option<&mut [u8]> {
        let range = self.byte_range(object, bytes)?;
        self.pages.part_mut(range)
    }

    /// Virtual address of the first line of [`Self::as_lines_mut`].
    #[must_use]
    pub fn start(&self) -> u64 {
        self.pages.start()
    }

    /// All lines up to the first page that is not mapped, regardless of owners: for programs that distribute the lines that they were
    /// given, each line to one thread.
    #[must_use]
    pub fn as_lines_mut(&mut self) -> &mut [[u8; usize_from(LINE_BYTES)]] {
        self.pages.bytes_mut().as_chunks_mut().0
    }

    fn byte_range(&self, object: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        let start = usize_from(object.checked_sub(self.pages.start())?);
        let size = self.place(object)?;
        (bytes <= size.bytes() as usize).then_some(start..start + bytes)
    }

    /// The size of the place of the object that begins at an address, if one is handed out there.
    pub(super) fn place(&self, object: u64) -> Option<ObjectSize> {
        let (id, offset) = self.split(object)?;
        match self.lines.state(id)? {
            true => self.uses[id as usize].object_at(offset),
            false => (offset == 0).then_some(ObjectSize::LINE),
        }
    }

    /// Whether an object that is handed out can have so many bytes where it is, in a place of that
    /// size; if so, it has.
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

//! Memory whose owners have slices of their own.

use super::huge_pages::{HugePages, PagesUnavailable};
use super::lines::{AllocationError, LineAllocator};
use super::mapped::{MappedPage, PlacementError, locate};
use super::objects::{LineUse, ObjectSize};
use super::owners::{Holding, Owner};
use super::pagemap::{OWN, PhysicalAddressError, PhysicalAddresses, ProcPagemap};
use super::reserved::collected;
use crate::recovery::PageSize;
use crate::slice_map::SliceMap;
use std::collections::TryReserveError;
use std::io;
use std::iter::repeat_n;
use std::path::Path;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

/// Huge pages whose lines belong to owners: each owner claims slices, no two the same one, and gets
/// objects, scattered and linked buffers in them.
#[derive(Debug)]
pub struct SliceMemory {
    pages: HugePages,
    /// Physical addresses of the pages; empty if slices are not known.
    located: Vec<MappedPage>,
    pub(super) slices: u32,
    pub(super) lines: LineAllocator,
    /// By number of the line, for those that are noted: lines in parts.
    pub(super) uses: Vec<LineUse>,
    /// Whether whole lines are noted, too: where slices do not say whose they are.
    notes_all: bool,
    pub(super) owners: Vec<Option<Holding>>,
}

/// Why there is no memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There are too few huge pages.
    #[error(transparent)]
    Huge(#[from] PagesUnavailable),
    /// There is too little memory of any kind, for the lines or for lists of them.
    #[error("no memory")]
    Plain(#[source] io::Error),
    /// The lines' slices are not known.
    #[error(transparent)]
    Placement(PlacementError),
}

impl From<PlacementError> for MemoryError {
    fn from(error: PlacementError) -> Self {
        match error {
            PlacementError::NoMemory(error) => Self::Plain(error.into()),
            error => Self::Placement(error),
        }
    }
}

impl SliceMemory {
    /// At least `bytes` of huge pages, sorted by slice.
    ///
    /// # Errors
    /// If there are too few huge pages, the kernel hides physical addresses, or the table does not
    /// cover the pages.
    pub fn new(map: &SliceMap, bytes: usize, size: PageSize) -> Result<Self, MemoryError> {
        let pages = HugePages::map(bytes, size)?;
        let pagemap = ProcPagemap::open(Path::new(OWN)).map_err(PlacementError::from)?;
        Ok(Self::placed(map, pages, &pagemap)?)
    }

    /// The lines of `pages` by slice, with physical addresses as told.
    ///
    /// # Errors
    /// If an address is not known, the memory is no huge page, the table does not cover it, or there
    /// is none for lists of the lines.
    pub fn placed(
        map: &SliceMap,
        pages: HugePages,
        addresses: &impl PhysicalAddresses,
    ) -> Result<Self, PlacementError> {
        let located = locate(&pages.pages()?, addresses)?;
        let lines = LineAllocator::new(map, &located)?;
        Ok(Self::of_lines(map, pages, located, lines)?)
    }

    /// The same, or memory regardless of slices if the kernel gives no huge pages or hides their
    /// addresses: [`Self::plain_because`] says so.
    ///
    /// # Errors
    /// If there is no memory at all, or the table does not cover the pages: placement would be
    /// wrong.
    pub fn or_plain(map: &SliceMap, bytes: usize, size: PageSize) -> Result<Self, MemoryError> {
        match Self::new(map, bytes, size) {
            Err(error) if error.is_lack_of_rights_or_pages() => {
                Self::plain(map, bytes, size, &error.in_full())
            }
            other => other,
        }
    }

    /// Memory regardless of slices, for the `reason` given. Claims are checked all the same.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn plain(
        map: &SliceMap,
        bytes: usize,
        size: PageSize,
        reason: &str,
    ) -> Result<Self, MemoryError> {
        let pages = HugePages::plain(bytes, size).map_err(MemoryError::Plain)?;
        Self::plain_lines(map, pages, reason).map_err(|error| MemoryError::Plain(error.into()))
    }

    fn plain_lines(
        map: &SliceMap,
        pages: HugePages,
        reason: &str,
    ) -> Result<Self, TryReserveError> {
        let lines = LineAllocator::plain(&pages.pages()?, reason)?;
        Self::of_lines(map, pages, Vec::new(), lines)
    }

    fn of_lines(
        map: &SliceMap,
        pages: HugePages,
        located: Vec<MappedPage>,
        lines: LineAllocator,
    ) -> Result<Self, TryReserveError> {
        let unused = LineUse::new(0, ObjectSize::LINE);
        let count: u64 = lines.lines_of_slices().iter().sum();
        let uses = collected(repeat_n(unused, usize_from(count)))?;
        let notes_all = lines.plain_because().is_some();
        let (slices, owners) = (map.slices(), Vec::new());
        Ok(Self { pages, located, slices, lines, uses, notes_all, owners })
    }

    /// Why memory is handed out regardless of slices; `None` if it is not.
    #[must_use]
    pub fn plain_because(&self) -> Option<&str> {
        self.lines.plain_because()
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
        let whole = bytes == LINE_BYTES && !self.notes_all;
        if whole && let Some(line) = self.take_line(owner) {
            return Ok(line);
        }
        let size = ObjectSize::holding(bytes).ok_or(AllocationError::TooLarge(bytes))?;
        self.allocate_noted(owner, size, size.bytes() - fit::<u32, _>(usize_from(bytes)))
    }

    #[inline]
    fn take_line(&mut self, owner: Owner) -> Option<u64> {
        let holding = self.owners.get(usize::from(owner.0))?.as_ref()?;
        let id = self.lines.take(&holding.slices)?;
        Some(self.pages.start() + u64::from(id) * LINE_BYTES)
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
        match self.split(virtual_address) {
            Some((id, 0)) if self.lines.state(id) == Some(false) => {
                self.lines.give_back(id);
                Ok(())
            }
            _ => self.free_noted(virtual_address),
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
    #[inline]
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
        Some(&self.pages.bytes()[range])
    }

    /// The same to write to.
    #[must_use]
    pub fn bytes_mut(&mut self, object: u64, bytes: usize) -> Option<&mut [u8]> {
        let range = self.byte_range(object, bytes)?;
        Some(&mut self.pages.bytes_mut()[range])
    }

    /// Virtual address of the first line of [`Self::as_lines_mut`].
    #[must_use]
    pub fn start(&self) -> u64 {
        self.pages.start()
    }

    /// All lines at once, regardless of owners: for programs that distribute the lines that they were
    /// given, each line to one thread.
    #[must_use]
    pub fn as_lines_mut(&mut self) -> &mut [[u8; usize_from(LINE_BYTES)]] {
        self.pages.bytes_mut().as_chunks_mut().0
    }

    fn byte_range(&self, object: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
        let (id, offset) = self.split(object)?;
        let begins = match self.lines.state(id)? {
            true => self.uses[id as usize].object_at(offset)?,
            false if offset == 0 => ObjectSize::LINE,
            false => return None,
        };
        let start = usize_from(object - self.pages.start());
        (bytes <= begins.bytes() as usize).then_some(start..start + bytes)
    }
}

impl MemoryError {
    /// Whether plain memory may be used instead: not if the table does not cover the pages.
    fn is_lack_of_rights_or_pages(&self) -> bool {
        use PhysicalAddressError::{Hidden, Unreadable};
        matches!(
            self,
            Self::Huge(_) | Self::Placement(PlacementError::Unknown(Hidden | Unreadable { .. }))
        )
    }

    fn in_full(&self) -> String {
        let cause = std::error::Error::source(self);
        cause.map_or(self.to_string(), |cause| format!("{self}: {cause}"))
    }
}

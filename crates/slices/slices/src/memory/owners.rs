//! Owners of the slices of a memory, and their use of it.

use super::objects::{CUT_SIZES, LineUse};
use super::slice_memory::{NO_LIST, SliceMemory};
use units::narrow::fit;
use units::{LINE_BYTES, SliceId};

/// Number of an owner, which has claimed slices of a [`SliceMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceOwner(pub u16);

/// The slices of an owner, and its objects in them.
#[derive(Debug)]
pub(super) struct Holding {
    pub slices: Vec<SliceId>,
    /// Number of lines that are divided into objects; of all allocated lines if slices are not known.
    pub noted_lines: u64,
    /// Number of objects in these lines.
    pub objects: u64,
    /// Bytes of these objects beyond the requested sizes.
    pub spare_bytes: u64,
    /// Lines with a free slot, by the size of their objects.
    pub with_room: [Vec<u32>; CUT_SIZES],
}

impl Holding {
    /// Adds a line to those with a free slot.
    pub fn open(&mut self, uses: &mut [LineUse], id: u32) {
        let line = &mut uses[id as usize];
        self.noted_lines += u64::from(line.is_empty());
        if let Some(cut) = line.size.cut() {
            line.index = fit(self.with_room[cut].len());
            self.with_room[cut].push(id);
        }
    }

    /// Removes a line from those with a free slot: it is full or freed.
    pub fn close(&mut self, uses: &mut [LineUse], id: u32) {
        let LineUse { size, index, .. } = uses[id as usize];
        if let Some(cut) = size.cut() {
            self.with_room[cut].swap_remove(index as usize);
            if let Some(&moved) = self.with_room[cut].get(index as usize) {
                uses[moved as usize].index = index;
            }
        }
    }
}

/// Error of an attempt to claim or release slices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The list of slices is empty; such an owner could never allocate memory.
    #[error("no slices; needed: one or more")]
    Nothing,
    /// The slice does not exist.
    #[error("no slice {slice}; allowed: 0 to {}", slices - 1)]
    NoSlice {
        /// The slice.
        slice: u16,
        /// Number of slices.
        slices: u32,
    },
    /// Another owner has one of the slices.
    #[error("slice {slice} belongs to owner {owner}; sets of slices must be disjoint")]
    Taken {
        /// The slice.
        slice: u16,
        /// Number of its owner.
        owner: u16,
    },
    /// All numbers of owners are used up.
    #[error("{} owners; allowed: no more", u16::MAX)]
    TooMany,
    /// The owner does not exist in this memory, or has released its slices.
    #[error("no such owner; it has released its slices, or is another memory's")]
    NoOwner,
    /// Lines of the owner are still allocated.
    #[error("{0} lines of the owner are handed out; free them before")]
    InUse(u64),
}

/// Counts of the lines and objects of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStatistics {
    /// Number of all lines.
    pub lines: u64,
    /// Number of lines in slices that an owner has claimed.
    pub claimed_lines: u64,
    /// Number of allocated lines, whole or divided into objects.
    pub used_lines: u64,
    /// Number of allocated objects; each line of a buffer counts as one.
    pub objects: u64,
    /// Bytes of used lines beyond the requested sizes: free slots, sizes rounded up, links.
    pub unused_bytes_of_used_lines: u64,
    /// Size of the lists beside the lines, in bytes.
    pub list_bytes: u64,
}

impl MemoryStatistics {
    /// Share of the lines, from 0 to 1, that are in slices without an owner, so that no owner can use them.
    #[must_use]
    pub fn unclaimed_share(&self) -> f64 {
        1.0 - self.claimed_lines as f64 / self.lines as f64
    }
}

impl SliceMemory {
    /// Makes a new owner of the slices.
    ///
    /// # Errors
    /// If the list is empty, a slice does not exist, or another owner has it.
    pub fn claim(&mut self, slices: &[SliceId]) -> Result<SliceOwner, ClaimError> {
        let mut slices = slices.to_vec();
        slices.sort_unstable_by_key(|slice| slice.0);
        slices.dedup();
        let last = slices.last().ok_or(ClaimError::Nothing)?.0;
        let slice_count = self.map.slices();
        if u32::from(last) >= slice_count {
            return Err(ClaimError::NoSlice { slice: last, slices: slice_count });
        }
        for (owner, holding) in self.owners.iter().enumerate() {
            let theirs =
                |slice: &&SliceId| holding.as_ref().is_some_and(|h| h.slices.contains(slice));
            if let Some(slice) = slices.iter().find(theirs) {
                return Err(ClaimError::Taken { slice: slice.0, owner: fit(owner) });
            }
        }
        // Numbers are not used again: objects of a former owner cannot become another's.
        let number = u16::try_from(self.owners.len()).map_err(|_| ClaimError::TooMany)?;
        let with_room = Default::default();
        self.only_list.push(match slices[..] {
            [SliceId(only)] if !self.notes_all => only,
            _ => NO_LIST,
        });
        self.owners.push(Some(Holding {
            slices,
            noted_lines: 0,
            objects: 0,
            spare_bytes: 0,
            with_room,
        }));
        Ok(SliceOwner(number))
    }

    /// Releases an owner's slices.
    ///
    /// # Errors
    /// If lines of the owner are still allocated, or there is no such owner.
    pub fn release(&mut self, owner: SliceOwner) -> Result<(), ClaimError> {
        let index = usize::from(owner.0);
        let holding = self.owners.get(index).and_then(Option::as_ref).ok_or(ClaimError::NoOwner)?;
        match self.used_lines(holding) {
            0 => {
                self.owners[index] = None;
                self.only_list[index] = NO_LIST;
                Ok(())
            }
            lines => Err(ClaimError::InUse(lines)),
        }
    }

    /// Number of lines that an owner has allocated.
    fn used_lines(&self, holding: &Holding) -> u64 {
        match self.plain_reason() {
            Some(_) => holding.noted_lines,
            None => self.claimed_lines(holding) - self.lines.free_lines(&holding.slices) as u64,
        }
    }

    /// Number of lines in an owner's slices; of all lines if slices are not known.
    fn claimed_lines(&self, holding: &Holding) -> u64 {
        let counts = self.lines.lines_of_slices();
        match self.plain_reason() {
            Some(_) => counts[0],
            None => holding.slices.iter().map(|slice| counts[usize::from(slice.0)]).sum(),
        }
    }

    /// Counts over all owners.
    #[must_use]
    pub fn statistics(&self) -> MemoryStatistics {
        let mut all = self.without_owners();
        for one in self.owners.iter().flatten().map(|holding| self.holding_statistics(holding)) {
            all.claimed_lines = all.lines.min(all.claimed_lines + one.claimed_lines);
            all.used_lines += one.used_lines;
            all.objects += one.objects;
            all.unused_bytes_of_used_lines += one.unused_bytes_of_used_lines;
        }
        all
    }

    /// Counts of one owner: claimed and used lines, and objects. [`MemoryStatistics::lines`] and
    /// [`MemoryStatistics::list_bytes`] are those of the whole memory.
    ///
    /// # Errors
    /// If there is no such owner.
    pub fn owner_statistics(&self, owner: SliceOwner) -> Result<MemoryStatistics, ClaimError> {
        let holding = self.owners.get(usize::from(owner.0)).and_then(Option::as_ref);
        Ok(self.holding_statistics(holding.ok_or(ClaimError::NoOwner)?))
    }

    fn without_owners(&self) -> MemoryStatistics {
        let lines = self.lines.lines_of_slices().iter().sum();
        let list_bytes = self.lines.list_bytes() + size_of_val(&self.uses[..]) as u64;
        MemoryStatistics { lines, list_bytes, ..MemoryStatistics::default() }
    }

    fn holding_statistics(&self, holding: &Holding) -> MemoryStatistics {
        let used_lines = self.used_lines(holding);
        let unused = |&id: &u32| {
            let line = &self.uses[id as usize];
            LINE_BYTES - u64::from(line.objects() * line.size.bytes())
        };
        let with_room = holding.with_room.iter().flatten().map(unused);
        MemoryStatistics {
            claimed_lines: self.claimed_lines(holding),
            used_lines,
            // A line that is not noted is one object.
            objects: used_lines - holding.noted_lines + holding.objects,
            unused_bytes_of_used_lines: holding.spare_bytes + with_room.sum::<u64>(),
            ..self.without_owners()
        }
    }
}

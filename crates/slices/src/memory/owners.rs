//! Who has which slices of a memory, and how it is used.

use super::objects::{CUT_SIZES, LineUse};
use super::slice_memory::{NO_LIST, SliceMemory};
use units::narrow::fit;
use units::{LINE_BYTES, SliceId};

/// Handle of an owner, which has claimed slices of a [`SliceMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u16);

/// What an owner has.
#[derive(Debug)]
pub(super) struct Holding {
    pub slices: Vec<SliceId>,
    /// Lines in parts; all lines where slices are not known.
    pub noted_lines: u64,
    /// Objects in them.
    pub objects: u64,
    /// Bytes of these objects that were not asked for.
    pub spare_bytes: u64,
    /// Lines with a free slot, by the size of their objects.
    pub with_room: [Vec<u32>; CUT_SIZES],
}

impl Holding {
    /// Notes that a line has a free slot.
    pub fn open(&mut self, uses: &mut [LineUse], id: u32) {
        let line = &mut uses[id as usize];
        self.noted_lines += u64::from(line.is_empty());
        if let Some(cut) = line.size.cut() {
            line.index = fit(self.with_room[cut].len());
            self.with_room[cut].push(id);
        }
    }

    /// Notes that a line has no free slot any more, or is given back.
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

/// Why slices cannot be claimed or released.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// An owner without slices could never get memory.
    #[error("no slices; needed: one or more")]
    Nothing,
    /// The part has no such slice.
    #[error("no slice {slice}; allowed: 0 to {}", slices - 1)]
    NoSlice {
        /// The slice asked for.
        slice: u16,
        /// Slices of the part.
        slices: u32,
    },
    /// Another owner has one of the slices.
    #[error("slice {slice} belongs to owner {owner}; sets of slices must be disjoint")]
    Taken {
        /// The slice.
        slice: u16,
        /// Its owner.
        owner: u16,
    },
    /// Owners' numbers have run out.
    #[error("{} owners; allowed: no more", u16::MAX)]
    TooMany,
    /// The owner has none.
    #[error("no such owner; it has released its slices, or is another memory's")]
    NoOwner,
    /// What the owner got is not given back.
    #[error("{0} lines of the owner are handed out; free them before")]
    InUse(u64),
}

/// How a memory is used, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStatistics {
    /// All lines.
    pub lines: u64,
    /// Lines in slices that an owner has claimed.
    pub claimed_lines: u64,
    /// Lines that are handed out, whole or in parts.
    pub used_lines: u64,
    /// Objects that are handed out; a line of a buffer counts as one.
    pub objects: u64,
    /// Bytes of used lines that were not asked for: free places, sizes rounded up, links.
    pub unused_bytes_of_used_lines: u64,
    /// Bytes of the lists beside the lines.
    pub list_bytes: u64,
}

impl MemoryStatistics {
    /// Share of the memory that no owner can ever use: lines in slices without an owner.
    #[must_use]
    pub fn unclaimed_share(&self) -> f64 {
        1.0 - self.claimed_lines as f64 / self.lines as f64
    }
}

impl SliceMemory {
    /// Gives slices to a new owner.
    ///
    /// # Errors
    /// If there is none, a slice does not exist, or another owner has it.
    pub fn claim(&mut self, slices: &[SliceId]) -> Result<Owner, ClaimError> {
        let mut slices = slices.to_vec();
        slices.sort_unstable_by_key(|slice| slice.0);
        slices.dedup();
        let last = slices.last().ok_or(ClaimError::Nothing)?.0;
        let of_part = self.map.slices();
        if u32::from(last) >= of_part {
            return Err(ClaimError::NoSlice { slice: last, slices: of_part });
        }
        for (owner, holding) in self.owners.iter().enumerate() {
            let theirs =
                |slice: &&SliceId| holding.as_ref().is_some_and(|h| h.slices.contains(slice));
            if let Some(slice) = slices.iter().find(theirs) {
                return Err(ClaimError::Taken { slice: slice.0, owner: fit(owner) });
            }
        }
        // Numbers are not used again: what is left of a former owner cannot become another's.
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
        Ok(Owner(number))
    }

    /// Takes an owner's slices back.
    ///
    /// # Errors
    /// If something that it got is still handed out.
    pub fn release(&mut self, owner: Owner) -> Result<(), ClaimError> {
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

    /// Lines that are handed out to an owner.
    fn used_lines(&self, holding: &Holding) -> u64 {
        match self.plain_because() {
            Some(_) => holding.noted_lines,
            None => self.claimed_lines(holding) - self.lines.free_lines(&holding.slices) as u64,
        }
    }

    /// Lines in an owner's slices: all, where those are not known.
    fn claimed_lines(&self, holding: &Holding) -> u64 {
        let of_slices = self.lines.lines_of_slices();
        match self.plain_because() {
            Some(_) => of_slices[0],
            None => holding.slices.iter().map(|slice| of_slices[usize::from(slice.0)]).sum(),
        }
    }

    /// How the memory is used.
    #[must_use]
    pub fn statistics(&self) -> MemoryStatistics {
        let mut all = self.without_owners();
        for of_one in self.owners.iter().flatten().map(|holding| self.use_of(holding)) {
            all.claimed_lines = all.lines.min(all.claimed_lines + of_one.claimed_lines);
            all.used_lines += of_one.used_lines;
            all.objects += of_one.objects;
            all.unused_bytes_of_used_lines += of_one.unused_bytes_of_used_lines;
        }
        all
    }

    /// How an owner uses the memory: lines of its slices, and what it got.
    ///
    /// # Errors
    /// If there is no such owner.
    pub fn owner_statistics(&self, owner: Owner) -> Result<MemoryStatistics, ClaimError> {
        let holding = self.owners.get(usize::from(owner.0)).and_then(Option::as_ref);
        Ok(self.use_of(holding.ok_or(ClaimError::NoOwner)?))
    }

    fn without_owners(&self) -> MemoryStatistics {
        let lines = self.lines.lines_of_slices().iter().sum();
        let list_bytes = self.lines.list_bytes() + size_of_val(&self.uses[..]) as u64;
        MemoryStatistics { lines, list_bytes, ..MemoryStatistics::default() }
    }

    fn use_of(&self, holding: &Holding) -> MemoryStatistics {
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

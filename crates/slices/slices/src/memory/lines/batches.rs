//! Allocation of many lines of one slice at once: the writes for each line depend on no other line, so that
//! the processor overlaps them.

use super::{ALLOCATED, LINES_OF_WORD, LineAllocator, NOTED, shift};

impl LineAllocator {
    /// Allocates so many lines of a list, all or none, and calls `put` with the index and number of each.
    /// Returns whether the list had as many.
    #[inline]
    pub(in crate::memory) fn take_many(
        &mut self,
        list: usize,
        lines: usize,
        mut put: impl FnMut(usize, u32),
    ) -> bool {
        let Some(ids) = self.free.pop_many(list, lines) else { return false };
        for (index, &id) in ids.iter().rev().enumerate() {
            self.flags[(id / LINES_OF_WORD) as usize] |= ALLOCATED << shift(id);
            put(index, id);
        }
        true
    }

    /// Frees lines of one list, up to the first one that is of another list, not allocated, or noted.
    /// Returns how many it freed.
    #[inline]
    pub(in crate::memory) fn give_back_many(
        &mut self,
        ids: impl Iterator<Item = Option<u32>>,
    ) -> usize {
        let mut ids = ids.peekable();
        let first = ids.peek().copied().flatten();
        let Some(&list) = first.and_then(|id| self.lists.get(id as usize)) else { return 0 };
        let mut given = 0;
        let room = self.free.room(list.into());
        for id in ids {
            let Some(id) = id else { break };
            let flags = ALLOCATED << shift(id);
            let word = self.flags.get_mut((id / LINES_OF_WORD) as usize);
            let (Some(word), Some(place)) = (word, room.get_mut(given)) else { break };
            let is_whole = *word & (flags | NOTED << shift(id)) == flags;
            if !is_whole || self.lists.get(id as usize) != Some(&list) {
                break;
            }
            *word ^= flags;
            *place = id;
            given += 1;
        }
        self.free.extend_from_room(list.into(), given);
        given
    }
}

//! Many lines of one slice at once: what is written for each line depends on no other one, so that
//! the processor overlaps them.

use super::{ALLOCATED, LINES_OF_WORD, LineAllocator, NOTED, shift};

impl LineAllocator {
    /// Takes so many lines of a list and hands each to `put` under its index; all or none: whether
    /// there were as many.
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

    /// Takes lines of one list back, up to the first one that is of another list, not handed out, or
    /// noted: how many.
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
        self.free.pushed(list.into(), given);
        given
    }
}

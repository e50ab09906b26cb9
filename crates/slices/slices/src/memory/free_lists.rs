//! The free lines of each slice.

use super::fallible_list::try_collect;
use std::collections::TryReserveError;
use units::narrow::{fit, usize_from};

/// Stacks of line numbers, one for each slice, side by side. Each has the capacity for all lines of
/// its slice, so that freeing a line never allocates memory.
#[derive(Debug)]
pub(super) struct FreeLists {
    stacks: Box<[Stack]>,
    ids: Box<[u32]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stack {
    /// Index of the lowest element in the common array.
    bottom: u32,
    length: u32,
}

impl FreeLists {
    /// Lists with all lines free, from the list of each line; lower line numbers are taken first.
    pub fn full(list_of_lines: &[u8], lists: usize) -> Result<Self, TryReserveError> {
        let mut stacks = vec![Stack::default(); lists].into_boxed_slice();
        list_of_lines.iter().for_each(|&list| stacks[usize::from(list)].length += 1);
        let mut bottom = 0;
        for stack in &mut stacks {
            stack.bottom = bottom;
            bottom += stack.length;
            stack.length = 0;
        }
        let ids = try_collect(std::iter::repeat_n(0, list_of_lines.len()))?;
        let mut full = Self { stacks, ids: ids.into() };
        for (id, &list) in list_of_lines.iter().enumerate().rev() {
            full.push(usize::from(list), fit(id));
        }
        Ok(full)
    }

    /// A copy with the capacities `lengths`: the free lines in the same order, without those for which
    /// `is_removed` is true.
    pub fn with_capacities(
        &self,
        lengths: &[u64],
        is_removed: impl Fn(u32) -> bool,
    ) -> Result<Self, TryReserveError> {
        let mut stacks = vec![Stack::default(); lengths.len()].into_boxed_slice();
        let mut total = 0;
        for (stack, &length) in stacks.iter_mut().zip(lengths) {
            stack.bottom = fit(total);
            total += length;
        }
        let ids = try_collect(std::iter::repeat_n(0, usize_from(total)))?;
        let mut copy = Self { stacks, ids: ids.into() };
        for (list, stack) in self.stacks.iter().enumerate() {
            let free = &self.ids[stack.bottom as usize..(stack.bottom + stack.length) as usize];
            free.iter().filter(|&&id| !is_removed(id)).for_each(|&id| copy.push(list, id));
        }
        Ok(copy)
    }

    /// Size of all lists in bytes.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.stacks[..]) + size_of_val(&self.ids[..])) as u64
    }

    /// Number of free lists.
    pub fn lists(&self) -> usize {
        self.stacks.len()
    }

    /// Number of free lines of a list.
    #[inline]
    pub fn length(&self, list: usize) -> u32 {
        self.stacks[list].length
    }

    /// Takes the line of a list that was freed last.
    #[inline(always)]
    pub fn pop(&mut self, list: usize) -> Option<u32> {
        let stack = self.stacks.get_mut(list)?;
        stack.length = stack.length.checked_sub(1)?;
        self.ids.get((stack.bottom + stack.length) as usize).copied()
    }

    /// Takes so many lines of a list, those freed last; `None` if it has fewer.
    pub fn pop_many(&mut self, list: usize, lines: usize) -> Option<&[u32]> {
        let stack = self.stacks.get_mut(list)?;
        stack.length = stack.length.checked_sub(u32::try_from(lines).ok()?)?;
        let first = (stack.bottom + stack.length) as usize;
        self.ids.get(first..first + lines)
    }

    /// The unused elements above the free lines of a list, to be filled from the first one on.
    pub fn room(&mut self, list: usize) -> &mut [u32] {
        let stack = self.stacks[list];
        &mut self.ids[(stack.bottom + stack.length) as usize..]
    }

    /// Adds the first `lines` elements of [`Self::room`] to a list.
    pub fn extend_from_room(&mut self, list: usize, lines: usize) {
        self.stacks[list].length += fit::<u32, _>(lines);
    }

    /// Puts a line into its list.
    #[inline(always)]
    pub fn push(&mut self, list: usize, id: u32) {
        let stack = &mut self.stacks[list];
        self.ids[(stack.bottom + stack.length) as usize] = id;
        stack.length += 1;
    }
}

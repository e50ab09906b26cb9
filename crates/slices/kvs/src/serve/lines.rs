//! The lines of a core in two pools, hot ones in its slice and cold ones in others; items in chains of lines.
//!
//! An item is a head, a key and its value, in as many lines as they need. A line begins with the number of
//! the next one, as in the library's linked buffers, so that the whole item is in the pool's slices:
//! neighbouring lines are in different slices.

use units::LINE_BYTES;
use units::narrow::{fit, usize_from};

/// A line of memory.
pub type Line = [u8; usize_from(LINE_BYTES)];

/// Bytes of the number of the next line, at the start of a line.
const LINK_BYTES: usize = size_of::<u32>();
/// Bytes of an item in each line.
pub const LINE_ROOM: usize = usize_from(LINE_BYTES) - LINK_BYTES;
/// Bytes of the head: lengths of key and value, in the first line.
const HEAD_BYTES: usize = 2 * size_of::<u32>();

/// Number of the next line if no line follows.
const NONE: u32 = u32::MAX;

/// A pool of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Hot,
    Cold,
}

/// Error of an item for which there are not enough free lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The lines of a core, with lists of the free ones.
pub struct Lines<'m> {
    lines: Vec<&'m mut Line>,
    /// Number of hot lines; they come first.
    hot: u32,
    free_hot: Vec<u32>,
    free_cold: Vec<u32>,
}

/// Number of lines of an item.
pub fn lines_needed(key_bytes: usize, value_bytes: usize) -> usize {
    (HEAD_BYTES + key_bytes + value_bytes).div_ceil(LINE_ROOM)
}

impl<'m> Lines<'m> {
    pub fn new(hot: Vec<&'m mut Line>, cold: Vec<&'m mut Line>) -> Self {
        let hot_lines: u32 = fit(hot.len());
        let all: u32 = fit(hot.len() + cold.len());
        Self {
            lines: hot.into_iter().chain(cold).collect(),
            hot: hot_lines,
            free_hot: (0..hot_lines).rev().collect(),
            free_cold: (hot_lines..all).rev().collect(),
        }
    }

    pub fn pool_of(&self, item: u32) -> Pool {
        if item < self.hot { Pool::Hot } else { Pool::Cold }
    }

    /// Number of hot lines.
    pub fn hot_count(&self) -> usize {
        self.hot as usize
    }

    /// Number of lines of both pools.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Number of free lines of both pools.
    pub fn free_count(&self) -> usize {
        self.free_hot.len() + self.free_cold.len()
    }

    /// Stores an item in lines of the pool, or of the other pool when this one is empty, and returns the
    /// number of its first line.
    pub fn store(&mut self, pool: Pool, key: &[u8], value: &[u8]) -> Result<u32, Full> {
        let lines = lines_needed(key.len(), value.len());
        if self.free_count() < lines {
            return Err(Full);
        }
        // From the last line to the first: each one is linked to the one behind it.
        let mut next = NONE;
        for _ in 0..lines {
            let line = self.take(pool);
            self.lines[line as usize][..LINK_BYTES].copy_from_slice(&next.to_le_bytes());
            next = line;
        }
        self.fill(next, key, value);
        Ok(next)
    }

    /// Replaces key and value of an item that has as many lines as they need.
    pub fn fill(&mut self, item: u32, key: &[u8], value: &[u8]) {
        let (key_bytes, value_bytes): (u32, u32) = (fit(key.len()), fit(value.len()));
        let parts = [&key_bytes.to_le_bytes()[..], &value_bytes.to_le_bytes(), key, value];
        let (mut line, mut at) = (item, LINK_BYTES);
        for mut part in parts {
            while !part.is_empty() {
                if at == usize_from(LINE_BYTES) {
                    (line, at) = (self.next(line), LINK_BYTES);
                }
                let (now, later) = part.split_at(part.len().min(usize_from(LINE_BYTES) - at));
                self.lines[line as usize][at..at + now.len()].copy_from_slice(now);
                (part, at) = (later, at + now.len());
            }
        }
    }

    pub fn remove(&mut self, item: u32) {
        let mut line = item;
        while line != NONE {
            let next = self.next(line);
            match self.pool_of(line) {
                Pool::Hot => self.free_hot.push(line),
                Pool::Cold => self.free_cold.push(line),
            }
            line = next;
        }
    }

    /// Lengths of the item's key and value in bytes.
    #[inline]
    pub fn sizes(&self, item: u32) -> (usize, usize) {
        let line = &self.lines[item as usize];
        let word = |at: usize| {
            u32::from_le_bytes(line[at..at + 4].try_into().expect("four bytes")) as usize
        };
        (word(LINK_BYTES), word(LINK_BYTES + 4))
    }

    #[inline]
    pub fn has_key(&self, item: u32, key: &[u8]) -> bool {
        if self.sizes(item).0 != key.len() {
            return false;
        }
        let mut rest = key;
        self.pieces(item, 0, key.len(), |piece| {
            let (now, later) = rest.split_at(piece.len());
            rest = later;
            piece == now
        })
    }

    /// Appends the item's value.
    #[inline]
    pub fn copy_value(&self, item: u32, out: &mut Vec<u8>) {
        let (key_bytes, value_bytes) = self.sizes(item);
        self.pieces(item, key_bytes, value_bytes, |piece| {
            out.extend_from_slice(piece);
            true
        });
    }

    /// Copies of the item's key and value.
    pub fn copy(&self, item: u32) -> (Vec<u8>, Vec<u8>) {
        let (key_bytes, _) = self.sizes(item);
        let mut key = Vec::with_capacity(key_bytes);
        self.pieces(item, 0, key_bytes, |piece| {
            key.extend_from_slice(piece);
            true
        });
        let mut value = Vec::new();
        self.copy_value(item, &mut value);
        (key, value)
    }

    /// Whether any of the item's lines is hot.
    pub fn has_hot_line(&self, item: u32) -> bool {
        self.chain(item).any(|line| self.pool_of(line) == Pool::Hot)
    }

    /// Whether any of the item's lines is cold.
    pub fn has_cold_line(&self, item: u32) -> bool {
        self.chain(item).any(|line| self.pool_of(line) == Pool::Cold)
    }

    fn chain(&self, item: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(item), |line| {
            Some(self.next(*line)).filter(|next| *next != NONE)
        })
    }

    /// Calls `each` with the bytes of key and value from `skip` on, line by line, until it returns false;
    /// returns whether it never did.
    #[inline]
    fn pieces<'s>(
        &'s self,
        item: u32,
        skip: usize,
        mut bytes: usize,
        mut each: impl FnMut(&'s [u8]) -> bool,
    ) -> bool {
        let mut at = HEAD_BYTES + skip;
        let mut line = item;
        while bytes > 0 {
            if at >= LINE_ROOM {
                (line, at) = (self.next(line), at - LINE_ROOM);
                continue;
            }
            let piece = &self.lines[line as usize][LINK_BYTES + at..];
            let piece = &piece[..piece.len().min(bytes)];
            if !each(piece) {
                return false;
            }
            (at, bytes) = (at + piece.len(), bytes - piece.len());
        }
        true
    }

    #[inline]
    fn next(&self, line: u32) -> u32 {
        let link = &self.lines[line as usize][..LINK_BYTES];
        u32::from_le_bytes(link.try_into().expect("four bytes"))
    }

    /// Takes a free line, of the other pool if this one is empty; the caller has checked that there is one.
    fn take(&mut self, pool: Pool) -> u32 {
        let (first, second) = match pool {
            Pool::Hot => (&mut self.free_hot, &mut self.free_cold),
            Pool::Cold => (&mut self.free_cold, &mut self.free_hot),
        };
        first.pop().or_else(|| second.pop()).expect("as many were counted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_any_size_are_read_as_stored_and_their_lines_come_back() {
        let mut memory = vec![[0; 64]; 64];
        let mut lines: Vec<&mut Line> = memory.iter_mut().collect();
        let cold = lines.split_off(16);
        let mut lines = Lines::new(lines, cold);
        for (key, value) in [(0, 0), (1, 51), (1, 52), (60, 0), (52, 60), (52, 61), (200, 1000)] {
            let (key, value): (Vec<u8>, Vec<u8>) = ((0..key).collect(), vec![key; value]);
            let item = lines.store(Pool::Hot, &key, &value).expect("there are enough");
            assert_eq!(64 - lines.free_count(), lines_needed(key.len(), value.len()));
            assert!(lines.has_key(item, &key) && !lines.has_key(item, &[9; 7]));
            assert_eq!(lines.copy(item), (key, value));
            lines.remove(item);
            assert_eq!(lines.free_count(), 64);
        }
        // The numbers in the help text.
        assert_eq!((lines_needed(1, 51), lines_needed(1, 52), lines_needed(1, 51 + 60)), (1, 2, 2));
    }

    #[test]
    fn a_pool_that_is_empty_takes_lines_of_the_other_and_none_is_left_out() {
        let mut memory = vec![[0; 64]; 8];
        let mut lines: Vec<&mut Line> = memory.iter_mut().collect();
        let cold = lines.split_off(2);
        let mut lines = Lines::new(lines, cold);
        let items: Vec<u32> =
            (0..8).map(|key| lines.store(Pool::Hot, &[key], b"v").expect("is left")).collect();
        let hot = items.iter().filter(|item| lines.pool_of(**item) == Pool::Hot).count();
        assert_eq!((hot, lines.free_count()), (2, 0));
        assert_eq!(lines.store(Pool::Cold, b"k", b"v"), Err(Full));
    }
}

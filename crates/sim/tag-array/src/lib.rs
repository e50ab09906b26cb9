//! Sets of tags: the look-up that every cache of the simulator is made of.
//!
//! [`TagArray`] is the tag store of a set-associative structure with fixed ways; the caller chooses the
//! replacement policy. A tag is the low 32 bits of the line address, so simulated memory ends at
//! 256 GiB ([`TagArray::MAX_LINES`]). The whole line number is kept, so no set function has to be inverted.
//!
//! The compare runs over a whole set without branches, in vectors of eight tags; a set of up to twelve
//! ways with its notes is one host cache line. [`Table`] keeps large arrays in huge pages. In
//! [`RecencySets`] the order of a set's tags is its replacement state; requests come in batches.

mod compare;
mod recency_sets;
mod run;
mod table;

pub use recency_sets::{EvictionOrder, Kernel, Places, RecencySets, Request, WriteBackCounts};
pub use run::RUN_LINES;
pub use table::Table;

use compare::CHUNK;
use units::{LineAddr, SetIndex, WayMask};

/// The tag of an empty way: the last line number is never used.
const EMPTY: u32 = u32::MAX;
/// Words of a host cache line.
const BLOCK: usize = 16;
/// Notes per word.
const NOTES: usize = 4;

/// Tags of `sets` x `ways` lines, with a byte of notes for each.
///
/// A set is one block: its tags, then its notes and a count of its lines. Up to twelve ways fit one
/// host cache line, so that the look-up and the note that it finds cost one host cache miss.
#[derive(Clone, Debug)]
pub struct TagArray {
    words: Table<u32>,
    stride: usize,
    /// Bytes from the start of a set to its notes.
    first_note: usize,
    ways: u32,
    /// Index of the note that counts the lines of a set, less one: [`u8::MAX`] at first, as all notes.
    count: u32,
    /// Words of a set that are compared: its tags, padded to whole vectors.
    compared: usize,
    /// A mask of all ways.
    all_ways: u32,
    /// A set fits one register of the host.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    wide: bool,
}

impl TagArray {
    /// Line addresses must be below this: 256 GiB of simulated memory.
    pub const MAX_LINES: u64 = EMPTY as u64;

    /// An empty array.
    ///
    /// # Panics
    /// If `ways` is not within 1..=32.
    #[must_use]
    pub fn new(sets: u32, ways: u32) -> Self {
        Self::with_more_notes(sets, ways, 0)
    }

    /// An empty array with `more` notes in each set: [`Self::note`] takes them as ways from `ways` on.
    /// They are [`u8::MAX`] at first.
    ///
    /// # Panics
    /// If `ways` is not within 1..=32.
    #[must_use]
    pub fn with_more_notes(sets: u32, ways: u32, more: u32) -> Self {
        assert!((1..=32).contains(&ways));
        // The last note counts the lines of the set.
        let tags_and_notes = ways as usize + ((ways + more + 1) as usize).div_ceil(NOTES);
        let stride = tags_and_notes.next_multiple_of(CHUNK);
        let compared = (ways as usize).next_multiple_of(CHUNK);
        let all_ways = u32::MAX >> (32 - ways);
        let words = Table::new(EMPTY, sets as usize * stride);
        let first_note = ways as usize * NOTES;
        let (count, wide) = (ways + more, stride == BLOCK && run::host_is_wide());
        Self { words, stride, first_note, ways, count, compared, all_ways, wide }
    }

    /// Number of ways of a set.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// Index of (set, way) in arrays that keep more than a byte beside each tag.
    #[inline]
    #[must_use]
    pub fn place(&self, set: SetIndex, way: u32) -> usize {
        (set.0 * self.ways + way) as usize
    }

    /// The note of a way: the one written last, undefined if there was none.
    #[inline]
    #[must_use]
    pub fn note(&self, set: SetIndex, way: u32) -> u8 {
        self.words.bytes()[self.place_of_note(set, way)]
    }

    /// Changes the note of a way.
    #[inline]
    pub fn set_note(&mut self, set: SetIndex, way: u32, note: u8) {
        let place = self.place_of_note(set, way);
        self.words.bytes_mut()[place] = note;
    }

    #[inline]
    fn place_of_note(&self, set: SetIndex, way: u32) -> usize {
        set.0 as usize * self.stride * NOTES + self.first_note + way as usize
    }

    #[inline]
    fn word(&self, set: SetIndex, way: u32) -> usize {
        set.0 as usize * self.stride + way as usize
    }

    /// Starts to load `set` into the host's cache.
    #[inline]
    pub fn prefetch(&self, set: SetIndex) {
        self.words.prefetch(self.word(set, 0));
    }

    /// The way that holds `line`, if any.
    #[inline]
    #[must_use]
    pub fn find(&self, set: SetIndex, line: LineAddr) -> Option<u32> {
        let found = self.matches(set, line.low_bits());
        (found != 0).then(|| found.trailing_zeros())
    }

    /// The ways of `within` that are empty.
    #[inline]
    #[must_use]
    pub fn empty_ways(&self, set: SetIndex, within: WayMask) -> WayMask {
        if self.is_full(set) {
            return WayMask(0);
        }
        WayMask(self.matches(set, EMPTY) & within.0)
    }

    /// The line in a way.
    #[inline]
    #[must_use]
    pub fn line_at(&self, set: SetIndex, way: u32) -> Option<LineAddr> {
        let tag = self.words[self.word(set, way)];
        (tag != EMPTY).then_some(LineAddr(u64::from(tag)))
    }

    /// Puts `line` with a note into a way, whatever it held.
    #[inline]
    pub fn put(&mut self, set: SetIndex, way: u32, line: LineAddr, note: u8) {
        self.replace(set, way, line, note);
    }

    /// Puts `line` with a note into a way; returns the line that was there with its note.
    #[inline(always)]
    pub fn replace(
        &mut self,
        set: SetIndex,
        way: u32,
        line: LineAddr,
        note: u8,
    ) -> Option<(LineAddr, u8)> {
        debug_assert!(line.0 < Self::MAX_LINES);
        let word = self.word(set, way);
        let before = std::mem::replace(&mut self.words[word], line.low_bits());
        let place = self.place_of_note(set, way);
        let note_before = std::mem::replace(&mut self.words.bytes_mut()[place], note);
        if before == EMPTY {
            self.count_one_more(set);
            return None;
        }
        Some((LineAddr(u64::from(before)), note_before))
    }

    /// (Not inlined: rare once a cache is warm.)
    #[inline(never)]
    fn count_one_more(&mut self, set: SetIndex) {
        let held = self.note(set, self.count);
        self.set_note(set, self.count, held.wrapping_add(1));
    }

    /// Empties a way.
    #[inline]
    pub fn clear(&mut self, set: SetIndex, way: u32) {
        let word = self.word(set, way);
        if std::mem::replace(&mut self.words[word], EMPTY) != EMPTY {
            let held = self.note(set, self.count);
            self.set_note(set, self.count, held.wrapping_sub(1));
        }
    }

    /// Whether every way of a set holds a line: nearly always, once a cache is warm.
    #[inline]
    #[must_use]
    pub fn is_full(&self, set: SetIndex) -> bool {
        u32::from(self.note(set, self.count)) == self.ways - 1
    }

    /// Whether no way of a set holds a line.
    #[inline]
    #[must_use]
    pub fn is_empty(&self, set: SetIndex) -> bool {
        self.note(set, self.count) == u8::MAX
    }

    /// The lines of a set, way by way.
    #[inline]
    pub fn lines_in(&self, set: SetIndex) -> impl Iterator<Item = LineAddr> + '_ {
        let first = self.word(set, 0);
        held(&self.words[first..first + self.ways as usize])
    }

    /// All lines held, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.words.chunks_exact(self.stride).flat_map(|set| held(&set[..self.ways as usize]))
    }

    #[inline(always)]
    fn matches(&self, set: SetIndex, tag: u32) -> u32 {
        let first = set.0 as usize * self.stride;
        let words = &self.words[first..first + self.compared];
        // The last vector may include notes.
        compare::equal(words, tag) & self.all_ways
    }
}

/// The lines that a slice of tags names.
#[inline]
fn held(tags: &[u32]) -> impl Iterator<Item = LineAddr> + '_ {
    tags.iter().filter(|&&tag| tag != EMPTY).map(|&tag| LineAddr(u64::from(tag)))
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "lines of the tests are small, notes are any bytes"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn an_array_remembers_exactly_what_a_map_does(
            (ways, more) in (1u32..=32, 0u32..=32),
            operations in prop::collection::vec((0u32..4, 0u32..32, prop::option::of(0u64..40)), 1..200),
        ) {
            let mut array = TagArray::with_more_notes(4, ways, more);
            let mut more_notes = [u8::MAX; 32];
            let mut reference: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for (set, way, line) in operations {
                let way = way % ways;
                match line {
                    Some(line) if array.find(SetIndex(set), LineAddr(line)).is_none() => {
                        array.put(SetIndex(set), way, LineAddr(line), line as u8);
                        reference.insert((set, way), line);
                    }
                    Some(_) => {}
                    None => {
                        array.clear(SetIndex(set), way);
                        reference.remove(&(set, way));
                    }
                }
                for line in 0..40 {
                    let expected = reference
                        .iter()
                        .find(|&(&(s, _), &held)| s == set && held == line)
                        .map(|(&(_, w), _)| w);
                    prop_assert_eq!(array.find(SetIndex(set), LineAddr(line)), expected);
                }
                for (&(set, way), &line) in &reference {
                    prop_assert_eq!(array.note(SetIndex(set), way), line as u8);
                }
                if way < more {
                    array.set_note(SetIndex(1), ways + way, set as u8);
                    more_notes[way as usize] = set as u8;
                }
                for way in 0..more {
                    prop_assert_eq!(array.note(SetIndex(1), ways + way), more_notes[way as usize]);
                }
                let held_lines: Vec<u64> = reference.values().copied().collect();
                let mut lines: Vec<u64> = array.lines().map(|line| line.0).collect();
                lines.sort_unstable();
                let mut expected = held_lines;
                expected.sort_unstable();
                prop_assert_eq!(lines, expected);
                let empty = array.empty_ways(SetIndex(set), WayMask(u32::MAX >> (32 - ways)));
                let held = reference.keys().filter(|key| key.0 == set).count() as u32;
                prop_assert_eq!(empty.count(), ways - held);
                prop_assert_eq!(array.is_full(SetIndex(set)), held == ways);
                prop_assert_eq!(array.is_empty(SetIndex(set)), held == 0);
            }
        }
    }
}

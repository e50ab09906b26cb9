//! The sets of lines that cores have touched lately or will touch soon.
//!
//! Models: nothing: it saves the host work. A line that misses L2 is asked for its set when it is
//! expected, when it is fetched and again when it leaves L2; the slice hash is most of what an answer
//! costs. A line that is new here is also one whose set the host has to be told to load.
//! Source: none needed; this is bookkeeping.
//! Simplifies: nothing; as in the tags, a line is the low 32 bits of its address.

use units::narrow::usize_from;
use units::{LineAddr, SetIndex};

/// Lines that are remembered. What a batch of packets touches fits, and stays in the host's L1.
const ENTRIES: usize = 1024;

/// Lines with their sets: a direct-mapped table.
#[derive(Clone, Debug)]
pub(super) struct RecentSets {
    entries: Box<[(u32, SetIndex); ENTRIES]>,
}

impl RecentSets {
    /// No line is remembered.
    pub fn new() -> Self {
        // No line has the last number.
        Self { entries: Box::new([(u32::MAX, SetIndex(0)); ENTRIES]) }
    }

    /// The set of `line`, if it is remembered.
    #[inline]
    pub fn find(&self, line: LineAddr) -> Option<SetIndex> {
        let (remembered, set) = self.entries[entry_of(line)];
        (remembered == line.low_bits()).then_some(set)
    }

    /// Remembers the set of a line.
    #[inline]
    pub fn note(&mut self, line: LineAddr, set: SetIndex) {
        self.entries[entry_of(line)] = (line.low_bits(), set);
    }
}

/// Neighbouring lines, and equal lines of neighbouring buffers, have different entries.
#[inline]
fn entry_of(line: LineAddr) -> usize {
    usize_from(line.0 ^ line.0 >> 10) % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn what_is_remembered_is_what_was_noted_last(
            lines in prop::collection::vec((0u64..5000, 0u32..3), 1..300),
        ) {
            let mut recent = RecentSets::new();
            let mut noted = BTreeMap::new();
            for (line, set) in lines {
                recent.note(LineAddr(line), SetIndex(set));
                noted.insert(line, set);
                prop_assert_eq!(recent.find(LineAddr(line)), Some(SetIndex(set)));
            }
            for line in 0..5000 {
                if let Some(set) = recent.find(LineAddr(line)) {
                    prop_assert_eq!(noted.get(&line), Some(&set.0));
                }
            }
        }
    }
}

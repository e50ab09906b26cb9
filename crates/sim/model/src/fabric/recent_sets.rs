//! The sets of lines that cores have accessed lately or will access soon.
//!
//! Models: no hardware; it saves work of the host. The set of a line that misses L2 is needed when the
//! line is expected, when it is fetched and when L2 evicts it; the slice hash is most of the cost of
//! computing it. A line that is new here is also one whose set the host has to prefetch.
//! Simplifies: a line is the low 32 bits of its address, as in the tags.

use units::narrow::usize_from;
use units::{LineAddr, SetIndex};

/// Number of entries. The lines of a batch of packets fit, and the table stays in the host's L1.
const ENTRIES: usize = 1024;

/// Lines with their sets: a direct-mapped table.
#[derive(Clone, Debug)]
pub(super) struct RecentSets {
    entries: Box<[(u32, SetIndex); ENTRIES]>,
}

impl RecentSets {
    /// An empty table.
    pub fn new() -> Self {
        // No line has the largest number.
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

/// Neighbouring lines, and equal lines of neighbouring buffers, map to different entries.
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

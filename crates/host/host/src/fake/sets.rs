//! Sets of a described machine's cache: which lines are in it, the least recently used of a set leaves.

use std::collections::{BTreeMap, VecDeque};

use super::slices::SetsDescription;
use units::LINE_BYTES;

/// Lines in the cache, by slice and set.
#[derive(Debug, Default)]
pub(super) struct CachedLines(BTreeMap<(usize, u64), VecDeque<u64>>);

impl CachedLines {
    /// Accesses the line at an address of a slice; returns whether it was in the cache.
    pub(super) fn access(&mut self, sets: &SetsDescription, slice: usize, address: u64) -> bool {
        let line = address / LINE_BYTES;
        let lines = self.0.entry((slice, sets.set_of(line))).or_default();
        let found = lines.iter().position(|known| *known == line);
        if let Some(place) = found {
            lines.remove(place);
        }
        lines.push_back(line);
        if lines.len() > sets.ways {
            lines.pop_front();
        }
        found.is_some()
    }

    /// Flushes the line at an address of a slice.
    pub(super) fn flush(&mut self, sets: &SetsDescription, slice: usize, address: u64) {
        let line = address / LINE_BYTES;
        if let Some(lines) = self.0.get_mut(&(slice, sets.set_of(line))) {
            lines.retain(|known| *known != line);
        }
    }
}

/// Any odd number with as many ones as zeros mixes the bits above the index.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl SetsDescription {
    fn set_of(&self, line: u64) -> u64 {
        let above = line / self.sets_per_slice;
        let hash = if self.hashed { above.wrapping_mul(MIX) >> 40 } else { 0 };
        (line ^ hash) % self.sets_per_slice
    }
}

//! One set of a cache whose lines are letters, for tests of replacement policies.

#![allow(dead_code)]

use model::replacement::{Replacement, Replacer};
use tag_array::TagArray;
use units::{LineAddr, SetIndex, WayMask};

const SET: SetIndex = SetIndex(0);

/// The policy with this name.
pub fn policy(name: &str) -> Replacement {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A set with its replacement state.
pub struct OneSet {
    tags: TagArray,
    replacer: Replacer,
    ways: u32,
}

impl OneSet {
    pub fn new(policy: Replacement, ways: u32, seed: u64) -> Self {
        let tags = TagArray::new(1, ways);
        Self { replacer: Replacer::new(policy, &tags, 1, seed), tags, ways }
    }

    pub fn all_ways(&self) -> u32 {
        u32::MAX >> (32 - self.ways)
    }

    /// The way that holds `line`.
    pub fn find(&self, line: u64) -> Option<u32> {
        self.tags.find(SET, LineAddr(line))
    }

    pub fn is_held(&self, way: u32) -> bool {
        self.tags.line_at(SET, way).is_some()
    }

    pub fn hit(&mut self, way: u32) {
        self.replacer.hit(&self.tags, SET, way);
    }

    /// Fills `line` into `way` without informing the policy.
    pub fn put(&mut self, way: u32, line: u64) {
        self.tags.put(SET, way, LineAddr(line), 0);
    }

    /// Fills `line` into `way`.
    pub fn fill(&mut self, way: u32, line: u64) {
        self.put(way, line);
        self.replacer.fill(&self.tags, SET, way);
    }

    pub fn choose(&mut self, mask: u32) -> u32 {
        self.replacer.choose(&self.tags, SET, WayMask(mask))
    }

    pub fn invalidate(&mut self, way: u32) {
        self.tags.clear(SET, way);
    }

    /// An access that may allocate in `mask`; returns whether it hit.
    pub fn access_within(&mut self, line: u64, mask: u32) -> bool {
        if let Some(way) = self.find(line) {
            self.hit(way);
            return true;
        }
        let way = self.choose(mask);
        self.fill(way, line);
        false
    }

    pub fn access(&mut self, line: u64) -> bool {
        self.access_within(line, self.all_ways())
    }

    /// Accesses lines named by letters in order; spaces are ignored.
    pub fn run(&mut self, letters: &str) -> &mut Self {
        for letter in letters.bytes().filter(|&letter| letter != b' ') {
            self.access(letter.into());
        }
        self
    }

    /// How many of these accesses miss.
    pub fn misses(&mut self, lines: impl IntoIterator<Item = u64>) -> usize {
        lines.into_iter().filter(|&line| !self.access(line)).count()
    }

    /// The letters of the lines held, in order of the ways, `.` for an empty way.
    pub fn content(&self) -> String {
        let line_at = |way| self.tags.line_at(SET, way);
        (0..self.ways).map(|way| line_at(way).map_or('.', |line| line.0 as u8 as char)).collect()
    }
}

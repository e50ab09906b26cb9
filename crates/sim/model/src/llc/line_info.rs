//! State of a line in the LLC besides its tag.
//!
//! Models: dirty lines; the agent that wrote the content, and whether it was used since: evictions are
//! attributed by these.
//! Source: the project's own attribution; hardware keeps no more than the dirty bit.

use super::directory::Sharers;
use crate::attribution::Owner;
use units::LineAddr;

/// State of a line in the LLC besides its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// The agent that wrote the current content.
    pub owner: Owner,
    /// Whether the line is newer than memory.
    pub dirty: bool,
    /// Used by any agent since the owner wrote it.
    pub consumed: bool,
}

impl LineInfo {
    const DIRTY: u8 = 1;
    pub(super) const CONSUMED: u8 = 2;
    const OWNER_SHIFT: u32 = 2;

    /// The index of the owner among counts of all owners.
    #[inline]
    pub(super) fn owner_index(self) -> usize {
        usize::from(self.owner.0 % Owner::MOST)
    }

    pub(super) fn note(self) -> u8 {
        debug_assert!(self.owner.0 < Owner::MOST);
        self.owner.0 << Self::OWNER_SHIFT
            | if self.dirty { Self::DIRTY } else { 0 }
            | if self.consumed { Self::CONSUMED } else { 0 }
    }

    pub(super) fn of_note(note: u8) -> Self {
        Self {
            owner: Owner(note >> Self::OWNER_SHIFT),
            dirty: note & Self::DIRTY != 0,
            consumed: note & Self::CONSUMED != 0,
        }
    }
}

/// A line that the LLC evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The evicted line.
    pub line: LineAddr,
    /// State of the line when it was evicted.
    pub info: LineInfo,
    /// Cores that still hold the line.
    pub sharers: Sharers,
}

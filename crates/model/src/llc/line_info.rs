//! What an LLC knows about its lines beside their tags.
//!
//! Models: dirty lines; the agent that wrote the content, and whether it has been used since: what an
//! eviction is attributed by.
//! Source: the project's own attribution; hardware keeps no more than the dirty bit.
//! Simplifies: nothing.

use super::directory::Sharers;
use crate::attribution::Owner;
use units::LineAddr;

/// What is known about a line in the LLC beside its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Who put the current content here.
    pub owner: Owner,
    /// Newer than memory.
    pub dirty: bool,
    /// Used by any agent since the owner put it here.
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

/// A line that had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which line.
    pub line: LineAddr,
    /// What was known about it.
    pub info: LineInfo,
    /// Cores that still hold it.
    pub sharers: Sharers,
}

//! Read buffers: lines that the engines of an instance have asked for and not yet passed on.
//!
//! Models: a total, a share that each group reserves, a limit for each group.
//! Source: Intel DSA specification, sections 3.10 and 9.2 (GRPCFG).
//! Simplifies: a buffer is taken with the request and free when the line has been handed to its
//! destination; data without a source takes one as well.

use super::GroupConfig;

/// Buffers in use.
#[derive(Clone, Debug)]
pub(super) struct ReadBuffers {
    total: u32,
    groups: Vec<Share>,
}

#[derive(Clone, Debug)]
struct Share {
    reserved: u32,
    allowed: u32,
    used: u32,
}

impl ReadBuffers {
    pub(super) fn new(total: u32, groups: &[GroupConfig]) -> Self {
        let share = |group: &GroupConfig| Share {
            reserved: group.read_buffers_reserved,
            allowed: group.read_buffers_allowed,
            used: 0,
        };
        Self { total, groups: groups.iter().map(share).collect() }
    }

    /// Takes `count` buffers for a group, if it may have them.
    pub(super) fn take(&mut self, group: usize, count: u32) -> bool {
        let claimed: u32 = self.groups.iter().map(|share| share.used.max(share.reserved)).sum();
        let share = &mut self.groups[group];
        let used = share.used + count;
        let more = used.max(share.reserved) - share.used.max(share.reserved);
        let may = used <= share.allowed && claimed + more <= self.total;
        if may {
            share.used = used;
        }
        may
    }

    pub(super) fn release(&mut self, group: usize, count: u32) {
        self.groups[group].used -= count;
    }

    /// The most that a group can have at a time.
    pub(super) fn most(&self, group: usize) -> u32 {
        let others = self.groups.iter().enumerate().filter(|&(number, _)| number != group);
        let reserved: u32 = others.map(|(_, share)| share.reserved).sum();
        self.groups[group].allowed.min(self.total - reserved)
    }

    pub(super) fn in_use(&self) -> u32 {
        self.groups.iter().map(|share| share.used).sum()
    }
}

//! Read buffers: lines that the engines of an instance have asked for and not yet passed on.
//!
//! Models: a total, a share that each group reserves, a limit for each group, and one limit that groups may
//! share.
//! Source: Intel DSA specification, sections 3.10 and 9.2 (GRPCFG).
//! Simplifies: a buffer is taken with the request and free when the line has been handed to its
//! destination; data without a source takes one as well.

use super::GroupConfig;

/// Read buffers of an instance: how many each group uses, and may use.
#[derive(Clone, Debug)]
pub(super) struct ReadBuffers {
    total: u32,
    /// The limit of all groups together that share it.
    limit: Option<u32>,
    groups: Vec<Share>,
}

#[derive(Clone, Debug)]
struct Share {
    reserved: u32,
    allowed: u32,
    used: u32,
    shares_limit: bool,
}

impl ReadBuffers {
    pub(super) fn new(total: u32, limit: Option<u32>, groups: &[GroupConfig]) -> Self {
        let share = |group: &GroupConfig| Share {
            reserved: group.read_buffers_reserved,
            allowed: group.read_buffers_allowed,
            used: 0,
            shares_limit: group.uses_read_buffer_limit,
        };
        Self { total, limit, groups: groups.iter().map(share).collect() }
    }

    /// Takes `count` buffers for a group, if it may have them.
    pub(super) fn take(&mut self, group: usize, count: u32) -> bool {
        let claimed: u32 = self.groups.iter().map(|share| share.used.max(share.reserved)).sum();
        let limited: u32 =
            self.groups.iter().filter(|share| share.shares_limit).map(|share| share.used).sum();
        let share = &mut self.groups[group];
        let used = share.used + count;
        let more = used.max(share.reserved) - share.used.max(share.reserved);
        let beyond = |limit: u32| share.shares_limit && limited + count > limit;
        let may = used <= share.allowed
            && claimed + more <= self.total
            && !self.limit.is_some_and(beyond);
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
        let own = &self.groups[group];
        let limit = self.limit.filter(|_| own.shares_limit).unwrap_or(self.total);
        own.allowed.min(self.total - reserved).min(limit)
    }

    pub(super) fn in_use(&self) -> u32 {
        self.groups.iter().map(|share| share.used).sum()
    }
}

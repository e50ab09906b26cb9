//! Where the lines of a packet go beyond what DDIO does by itself: policies that today's processors do
//! not have, and one that early ones had.
//!
//! Models: selective DMA (the head of a packet to the LLC, the rest to memory), bypass of the LLC where
//! a line would evict one that has not been read, I/O priority in victim choice, injection into the
//! consumer's L2, and the prefetch hint of early direct cache access.
//! Source: ATC'20, "future directions"; IDIO (MICRO'22) for L2; PCIe TPH steering tags and Huggahalli
//! et al. (ISCA'05) for the hint.
//! Simplifies: a tag takes no room on the link, hinted lines are in the cache at once.

/// The placement policy of a root port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePlacement {
    /// Only that many lines at the head of each write are placed as DDIO says, what is behind them
    /// goes to memory. None: all.
    pub injected_lines: Option<u64>,
    /// What a write does where its victim would be a device's line that has not been read.
    pub on_unread: OnUnread,
    /// Writes replace lines that have been read before they replace others.
    pub replaces_read_first: bool,
    /// A core's fill does not evict this port's lines that have not been read, as long as its ways
    /// hold something else.
    pub io_priority: bool,
    /// What is done for the core that a write is tagged with.
    pub steering: Steering,
}

/// What a write does with a victim that a device wrote and no agent has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnread {
    /// It evicts it, as DDIO does.
    #[default]
    Replace,
    /// It goes to memory itself.
    Bypass,
}

/// What is done for the core that will read a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// Nothing: the LLC is as near as a packet comes.
    #[default]
    Off,
    /// The first lines are placed in its L2.
    PushToL2 {
        /// How many of each write.
        lines: u64,
    },
    /// The first lines that went to memory are prefetched into its L2.
    PrefetchHint {
        /// How many of each write.
        lines: u64,
    },
}

impl LinePlacement {
    /// Whether writes go where DDIO alone would send them.
    #[must_use]
    pub fn leaves_writes_alone(&self) -> bool {
        let Self { injected_lines, on_unread, replaces_read_first, io_priority: _, steering } =
            self;
        injected_lines.is_none()
            && *on_unread == OnUnread::Replace
            && !replaces_read_first
            && *steering == Steering::Off
    }

    /// Whether line `number` of a write is placed as DDIO says.
    #[must_use]
    pub fn injects(&self, number: u64) -> bool {
        self.injected_lines.is_none_or(|lines| number < lines)
    }

    /// Whether line `number` of a write is pushed into its reader's L2.
    #[must_use]
    pub fn pushes(&self, number: u64) -> bool {
        matches!(self.steering, Steering::PushToL2 { lines } if number < lines)
    }

    /// Whether line `number` of a write is prefetched by its reader.
    #[must_use]
    pub fn hints(&self, number: u64) -> bool {
        matches!(self.steering, Steering::PrefetchHint { lines } if number < lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_priority_concerns_cores_and_no_write() {
        let mut placement = LinePlacement { io_priority: true, ..LinePlacement::default() };
        assert!(placement.leaves_writes_alone());
        placement.injected_lines = Some(2);
        assert!(!placement.leaves_writes_alone());
        assert!(placement.injects(1) && !placement.injects(2));
    }
}

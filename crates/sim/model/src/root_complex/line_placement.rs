//! Placement of a packet's lines beyond DDIO: policies that today's processors do not have, and one of
//! early processors.
//!
//! Models: selective DMA (the head of a packet to the LLC, the rest to memory), bypass of the LLC where
//! a line would evict one that has not been read, I/O priority in victim choice, injection into the
//! consumer's L2, and the prefetch hint of early direct cache access.
//! Source: ATC'20, "future directions"; IDIO (MICRO'22) for L2; PCIe TPH steering tags and Huggahalli
//! et al. (ISCA'05) for the hint.
//! Simplifies: a tag takes no bytes on the link; hinted lines are in the cache at once.

/// The placement policy of a root port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePlacement {
    /// Only this number of lines at the head of each write is placed by DDIO; the rest goes to memory.
    /// None: all lines are.
    pub injected_lines: Option<u64>,
    /// Action of a write whose victim would be a device's unread line.
    pub on_unread: OnUnread,
    /// Writes evict lines that have been read before they evict others.
    pub replaces_read_first: bool,
    /// A core's fill does not evict this port's unread lines while its ways hold other lines.
    pub io_priority: bool,
    /// Action for the core of a write's steering tag.
    pub steering: TagSteering,
}

/// Action of a write whose victim a device wrote and no agent has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnread {
    /// The write evicts the line, as DDIO does.
    #[default]
    Replace,
    /// The write goes to memory.
    Bypass,
}

/// Action for the core that will read a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagSteering {
    /// None: the packet goes no further than the LLC.
    #[default]
    Off,
    /// The first lines are placed in the core's L2.
    PushToL2 {
        /// Number of lines of each write.
        lines: u64,
    },
    /// The first lines that went to memory are prefetched into the core's L2.
    PrefetchHint {
        /// Number of lines of each write.
        lines: u64,
    },
}

impl LinePlacement {
    /// Whether DDIO alone places all writes.
    #[must_use]
    pub fn leaves_writes_alone(&self) -> bool {
        let Self { injected_lines, on_unread, replaces_read_first, io_priority: _, steering } =
            self;
        injected_lines.is_none()
            && *on_unread == OnUnread::Replace
            && !replaces_read_first
            && *steering == TagSteering::Off
    }

    /// Whether DDIO places line `number` of a write.
    #[must_use]
    pub fn injects(&self, number: u64) -> bool {
        self.injected_lines.is_none_or(|lines| number < lines)
    }

    /// Whether line `number` of a write is pushed into its reader's L2.
    #[must_use]
    pub fn pushes(&self, number: u64) -> bool {
        matches!(self.steering, TagSteering::PushToL2 { lines } if number < lines)
    }

    /// Whether line `number` of a write is prefetched by its reader.
    #[must_use]
    pub fn hints(&self, number: u64) -> bool {
        matches!(self.steering, TagSteering::PrefetchHint { lines } if number < lines)
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

//! The driver's state of groups and engines.

use dsa::hardware::capabilities::Capabilities;

/// Configuration of a group: read buffers, traffic classes, progress limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxdGroup {
    pub(crate) read_buffers_reserved: u16,
    pub(crate) read_buffers_allowed: u16,
    pub(crate) use_read_buffer_limit: bool,
    pub(crate) traffic_class_a: i8,
    pub(crate) traffic_class_b: i8,
    pub(crate) desc_progress_limit: u8,
    pub(crate) batch_progress_limit: u8,
}

impl IdxdGroup {
    /// An unconfigured group. Its traffic classes are 1 on versions 1 and 2, on which they cannot be
    /// written, and unset on later versions.
    pub(crate) fn new(part: &Capabilities) -> Self {
        let traffic_class = if part.version <= 0x200 { 1 } else { -1 };
        Self {
            read_buffers_reserved: 0,
            read_buffers_allowed: part.read_buffers,
            use_read_buffer_limit: false,
            traffic_class_a: traffic_class,
            traffic_class_b: traffic_class,
            desc_progress_limit: 0,
            batch_progress_limit: 0,
        }
    }

    /// Number of read buffers that are reserved for the group.
    #[must_use]
    pub fn read_buffers_reserved(&self) -> u16 {
        self.read_buffers_reserved
    }

    /// Most read buffers that the group takes.
    #[must_use]
    pub fn read_buffers_allowed(&self) -> u16 {
        self.read_buffers_allowed
    }

    /// Whether the device's limit of read buffers applies to the group.
    #[must_use]
    pub fn use_read_buffer_limit(&self) -> bool {
        self.use_read_buffer_limit
    }

    /// Traffic classes A and B of the group; `None` if unset.
    #[must_use]
    pub fn traffic_classes(&self) -> [Option<u8>; 2] {
        [self.traffic_class_a, self.traffic_class_b].map(|class| u8::try_from(class).ok())
    }

    /// Limit of descriptors in progress, as a share of the most that its engines can have: 0 all, 1 half, 2 a
    /// quarter, 3 an eighth.
    #[must_use]
    pub fn desc_progress_limit(&self) -> u8 {
        self.desc_progress_limit
    }

    /// Limit of batches in progress, as a share as in [`Self::desc_progress_limit`].
    #[must_use]
    pub fn batch_progress_limit(&self) -> u8 {
        self.batch_progress_limit
    }
}

/// Configuration of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdxdEngine {
    pub(crate) group: Option<usize>,
}

impl IdxdEngine {
    /// Number in the device of its group; `None` if it is in no group.
    #[must_use]
    pub fn group(&self) -> Option<usize> {
        self.group
    }
}

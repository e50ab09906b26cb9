//! The interface that takes packets from the readers of capture files.

use super::link::Link;

/// A packet as the file records it.
pub(super) struct Recorded<'a> {
    pub(super) link: Link,
    /// Time since an epoch that is the same for the whole file; `None` if it has no time.
    pub(super) time_ps: Option<i128>,
    /// Size on its own link, before truncation.
    pub(super) original_bytes: u32,
    pub(super) captured: &'a [u8],
}

/// Takes the packets of a file, in its order.
pub(super) trait PacketConsumer {
    /// Packets so far.
    fn count(&self) -> u64;

    /// Takes the next packet.
    fn add(&mut self, packet: &Recorded);
}

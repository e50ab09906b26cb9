//! The interface between the readers of files and the collectors of packets.

use super::MAX_CAPTURED_BYTES;
use super::error::{CaptureFault, RecordPosition};
use super::link::Link;
use super::oddities::Oddities;

/// A packet as the file records it.
pub(super) struct Recorded<'a> {
    pub(super) link: Link,
    /// Time since an epoch that is the same for the whole file; `None` if it has no time.
    pub(super) time_ps: Option<i128>,
    /// Size on its own link, before truncation.
    pub(super) original_bytes: u32,
    pub(super) captured: &'a [u8],
}

/// A collector of the packets of a file, in its order.
pub(super) trait PacketConsumer {
    /// Packets so far.
    fn count(&self) -> u64;

    /// Adds the next packet.
    ///
    /// # Errors
    /// If there are more packets or flows than are kept in memory.
    fn add(&mut self, packet: &Recorded) -> Result<(), CaptureFault>;
}

/// The lengths that a record states for its packet.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    pub(super) captured_bytes: u64,
    pub(super) original_bytes: u32,
    /// Most bytes captured of a packet; zero: no limit.
    pub(super) snap_length_bytes: u32,
}

impl Lengths {
    /// The size of the packet on its link: no less than was captured of it.
    ///
    /// # Errors
    /// If more bytes are claimed than any tool captures of a packet.
    pub(super) fn checked(
        self,
        position: RecordPosition,
        oddities: &mut Oddities,
    ) -> Result<u32, CaptureFault> {
        let Self { captured_bytes, original_bytes, snap_length_bytes } = self;
        let captured = u32::try_from(captured_bytes)
            .ok()
            .filter(|captured| *captured <= MAX_CAPTURED_BYTES)
            .ok_or(CaptureFault::OversizedRecord { position, captured_bytes })?;
        oddities.beyond_snap_length +=
            u64::from(snap_length_bytes > 0 && captured > snap_length_bytes);
        oddities.beyond_original_length += u64::from(captured > original_bytes);
        Ok(original_bytes.max(captured))
    }
}

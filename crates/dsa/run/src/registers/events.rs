//! The event log of a device: the engines of all processes write to it, and the supervisor reads it.

use dsa::device::{EventLogPlace, EventSlot};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most entries of an event log. A log that is configured with more gets this size.
pub const MOST_EVENTS: usize = 1024;

/// Registers and memory of an event log.
#[repr(C)]
pub struct Events {
    /// EVLSTATUS: head, tail and pending interrupt.
    status: AtomicU64,
    /// Number of entries; 0 while the log is off.
    entries: AtomicU32,
    /// Number of the client that is writing an entry; 0: none.
    writer: AtomicU32,
    ring: [EventSlot; MOST_EVENTS],
}

impl Events {
    /// Empties the log and sets its number of entries, at most [`MOST_EVENTS`]; 0 switches it off.
    pub fn begin(&self, entries: usize) {
        self.status.store(0, Ordering::Relaxed);
        let entries = entries.min(MOST_EVENTS);
        self.entries.store(units::narrow::fit(entries), Ordering::Release);
    }

    /// Place of the log for a client. `first_queue` is the number of its queue, `pasid` that of its
    /// descriptors. `None` while the log is off.
    #[must_use]
    pub fn log_for(
        &'static self,
        client: NonZeroU32,
        first_queue: usize,
        pasid: Option<u32>,
    ) -> Option<EventLogPlace> {
        let entries = units::narrow::usize_from(self.entries.load(Ordering::Acquire).into());
        let ring = self.ring.get(..entries).filter(|ring| !ring.is_empty())?;
        let (status, writer) = (&self.status, &self.writer);
        Some(EventLogPlace { ring, status, writer, client, first_queue, pasid })
    }

    /// Releases the log if a client that has ended was writing an entry.
    pub fn release(&self, client: u32) {
        // Another client's turn stays as it is.
        let _ = self.writer.compare_exchange(client, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

//! An event log that the engines of all processes write to, and the supervisor reads.

use dsa::device::{EventLogPlace, EventSlot};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Entries of an event log at most: a program that asks for more gets a log of this size.
pub const MOST_EVENTS: usize = 1024;

/// Registers of an event log, and its memory.
#[repr(C)]
pub struct Events {
    /// Head, tail and pending interrupt: EVLSTATUS.
    status: AtomicU64,
    /// Entries; 0 while it is off.
    entries: AtomicU32,
    /// The client that is writing an entry.
    writer: AtomicU32,
    ring: [EventSlot; MOST_EVENTS],
}

impl Events {
    /// Lets an empty log of so many entries begin, as far as there is memory; 0 switches it off.
    pub fn begin(&self, entries: usize) {
        self.status.store(0, Ordering::Relaxed);
        let entries = entries.min(MOST_EVENTS);
        self.entries.store(units::narrow::fit(entries), Ordering::Release);
    }

    /// The log for a client that has this queue, whose descriptors have this PASID; `None` while it is off.
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

    /// Lets others write if a client that is no more was writing.
    pub fn release(&self, client: u32) {
        // Another client's turn stays as it is.
        let _ = self.writer.compare_exchange(client, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

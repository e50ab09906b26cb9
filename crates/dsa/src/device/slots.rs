//! Entries of a queue that several processes share: who has which.
//!
//! Each process has a [`super::Device`] with engines of its own, and holds the descriptors that it has
//! submitted; common is only which entries are occupied. A slot of memory that all processes map says
//! that for an entry, so no lock is held across processes. The slots of a process that was killed name
//! it, and its supervisor frees them: nothing else of the queue is lost.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// How the occupied entries of a queue are counted.
#[derive(Clone, Copy, Debug)]
pub enum Entries {
    /// They are those of this process.
    Own,
    /// Processes have them together.
    Shared(EntrySlots),
}

/// The entries of a queue in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct EntrySlots {
    /// One for each entry: 0 if it is free, else the number of the client whose descriptor it holds.
    pub slots: &'static [AtomicU32],
    /// The number of this process, which no other has at the time.
    pub client: NonZeroU32,
}

impl EntrySlots {
    /// Occupied entries.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.slots.iter().filter(|slot| slot.load(Ordering::Acquire) != 0).count()
    }

    /// Frees the entries of a client that has ended; returns how many it had. Its supervisor calls this
    /// when no thread of the client runs any more.
    pub fn free_all_of(&self, client: NonZeroU32) -> usize {
        let is_freed = |slot: &&AtomicU32| {
            slot.compare_exchange(client.get(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.slots.iter().filter(is_freed).count()
    }

    /// Occupies a free one of the first `most` entries.
    pub(super) fn claim(&self, most: usize) -> Option<usize> {
        let own = self.client.get();
        self.slots.iter().take(most).position(|slot| {
            slot.load(Ordering::Relaxed) == 0
                && slot.compare_exchange(0, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Frees an entry of this client. One that a supervisor has freed meanwhile may be another's.
    pub(super) fn free(&self, slot: usize) {
        let own = self.client.get();
        let _ = self.slots[slot].compare_exchange(own, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

//! Entries of a queue that several processes share, and the process that occupies each.
//!
//! Each process has a [`super::SoftwareDevice`] with engines of its own, and keeps the descriptors that
//! it has submitted. The processes share only the information which entries are occupied: each entry has
//! a slot in memory that all processes map, so no lock is held across processes. The slots of a process
//! that was killed have its number, and its supervisor frees them: nothing else of the queue is lost.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// Scope of the occupied entries of a queue.
#[derive(Clone, Copy, Debug)]
pub enum EntryCounting {
    /// Only this process uses the queue: its own entries count.
    Own,
    /// Several processes use the queue: the entries of all of them count.
    Shared(EntrySlots),
}

/// The entries of a queue in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct EntrySlots {
    /// A slot for each entry: 0 if the entry is free, else the number of the client whose descriptor is
    /// in it.
    pub slots: &'static [AtomicU32],
    /// Number of this process, which no other process has at the time.
    pub client: NonZeroU32,
}

impl EntrySlots {
    /// Number of occupied entries.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.slots.iter().filter(|slot| slot.load(Ordering::Acquire) != 0).count()
    }

    /// Frees the entries of a client that has ended, and returns their number. Its supervisor calls this when
    /// no thread of the client runs any more.
    pub fn free_all_of(&self, client: NonZeroU32) -> usize {
        let is_freed = |slot: &&AtomicU32| {
            slot.compare_exchange(client.get(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.slots.iter().filter(is_freed).count()
    }

    /// Occupies a free entry among the first `most`, and returns its number.
    pub(super) fn claim(&self, most: usize) -> Option<usize> {
        let own = self.client.get();
        self.slots.iter().take(most).position(|slot| {
            slot.load(Ordering::Relaxed) == 0
                && slot.compare_exchange(0, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Frees an entry of this client. It does nothing if a supervisor has freed the entry meanwhile, as
    /// another client may have it.
    pub(super) fn free(&self, slot: usize) {
        let own = self.client.get();
        let _ = self.slots[slot].compare_exchange(own, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

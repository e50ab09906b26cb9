//! Drains of one queue, by which lost descriptors are found: a drain ends after all descriptors that were
//! submitted before it.
//!
//! Drains are not counted among the entries of the queue. If lost descriptors occupied all entries, a drain
//! that needed one could never be submitted; the device has room for it, since lost descriptors take none.

use crate::record_slot::RecordSlot;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a drain that has not ended is repeated, since it may be lost as well.
const PATIENCE: Duration = Duration::from_secs(1);

/// All drains of one queue.
#[derive(Default)]
pub(crate) struct Drains(Mutex<DrainState>);

#[derive(Default)]
struct DrainState {
    submitted: u64,
    /// Number of the last drain that has ended; earlier ones have ended, or were lost.
    ended: u64,
    /// Later drains, with their numbers. A device knows the addresses of their records.
    under_way: Vec<(u64, Box<RecordSlot>)>,
    last_at: Option<Instant>,
}

impl Drains {
    /// Number of drains that were submitted so far.
    pub fn submitted(&self) -> u64 {
        self.lock().submitted
    }

    /// Whether a drain has ended that was submitted after the first `before` ones.
    pub fn has_ended_behind(&self, before: u64) -> bool {
        self.lock().collect() > before
    }

    /// Submits a drain, unless one under way may still end.
    pub fn submit_if_due(&self, now: Instant, submit: impl FnOnce(&Descriptor) -> bool) {
        let mut state = self.lock();
        state.collect();
        let is_patient =
            state.last_at.is_some_and(|at| now.saturating_duration_since(at) <= PATIENCE);
        if is_patient && !state.under_way.is_empty() {
            return;
        }
        let slot = Box::<RecordSlot>::default();
        if submit(&Descriptor::of(Opcode::Drain).recording(slot.address())) {
            state.submitted += 1;
            state.last_at = Some(now);
            let number = state.submitted;
            state.under_way.push((number, slot));
        }
    }

    fn lock(&self) -> MutexGuard<'_, DrainState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DrainState {
    /// Removes drains that have ended, and those before them; returns the number of the last one.
    fn collect(&mut self) -> u64 {
        if let Some(last) = self.under_way.iter().rposition(|(_, slot)| slot.status() != 0) {
            self.ended = self.under_way[last].0;
            self.under_way.drain(..=last);
        }
        self.ended
    }
}

impl Drop for DrainState {
    /// Leaks each record that the device has not written yet, since it may still do so.
    fn drop(&mut self) {
        for (_, slot) in self.under_way.drain(..) {
            if slot.status() == 0 {
                Box::leak(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::AtomicU64;

    /// Ends the descriptor with a record at an address.
    fn end(record: u64) {
        // SAFETY: the slot belongs to the drains, and has atomic words.
        #[allow(unsafe_code)]
        unsafe { &*(record as *const AtomicU64) }.store(1, std::sync::atomic::Ordering::Release);
    }

    #[test]
    fn a_drain_that_is_lost_is_void_once_a_later_one_has_ended() {
        let (drains, start) = (Drains::default(), Instant::now());
        let records = Cell::new(Vec::new());
        let submit_at = |seconds| {
            drains.submit_if_due(start + Duration::from_secs(seconds), |drain| {
                let mut all = records.take();
                all.push(drain.record());
                records.set(all);
                true
            });
        };
        submit_at(0);
        submit_at(1);
        assert_eq!(drains.submitted(), 1, "the first may still end");
        submit_at(2);
        assert_eq!(drains.submitted(), 2);
        assert!(!drains.has_ended_behind(0));
        end(records.take()[1]);
        assert!(drains.has_ended_behind(0) && drains.has_ended_behind(1));
        assert!(!drains.has_ended_behind(2));
        assert!(drains.lock().under_way.is_empty());
    }

    #[test]
    fn what_no_queue_took_is_no_drain() {
        let drains = Drains::default();
        drains.submit_if_due(Instant::now(), |_| false);
        assert_eq!(drains.submitted(), 0);
    }
}

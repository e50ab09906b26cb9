//! Drains of one queue, which tell what it has lost: each ends after all that was submitted before it.
//!
//! They are not counted among the entries of the queue. When all of them are held by descriptors that were
//! lost, a drain that needed one would never be submitted; it has room where a lost one has none taken.

use crate::record_slot::Slot;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which a drain that has not ended is repeated, since it may be lost as well.
const PATIENCE: Duration = Duration::from_secs(1);

/// All drains of one queue.
#[derive(Default)]
pub(crate) struct Drains(Mutex<State>);

#[derive(Default)]
struct State {
    submitted: u64,
    /// The last one that has ended; those before it have ended, or never will.
    ended: u64,
    /// Those behind it, with their numbers. A device knows the addresses of their records.
    under_way: Vec<(u64, Box<Slot>)>,
    last_at: Option<Instant>,
}

impl Drains {
    /// Drains that were submitted until now.
    pub fn submitted(&self) -> u64 {
        self.lock().submitted
    }

    /// Whether one has ended that was submitted behind the first so many.
    pub fn has_ended_behind(&self, before: u64) -> bool {
        self.lock().look() > before
    }

    /// Submits a drain, unless one is under way that may still end.
    pub fn ask(&self, now: Instant, submit: impl FnOnce(&Descriptor) -> bool) {
        let mut state = self.lock();
        state.look();
        let is_patient =
            state.last_at.is_some_and(|at| now.saturating_duration_since(at) <= PATIENCE);
        if is_patient && !state.under_way.is_empty() {
            return;
        }
        let slot = Box::<Slot>::default();
        if submit(&Descriptor::of(Opcode::Drain).recording(slot.address())) {
            state.submitted += 1;
            state.last_at = Some(now);
            let number = state.submitted;
            state.under_way.push((number, slot));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out those that have ended, and those before them; the number of the last one.
    fn look(&mut self) -> u64 {
        if let Some(last) = self.under_way.iter().rposition(|(_, slot)| slot.status() != 0) {
            self.ended = self.under_way[last].0;
            self.under_way.drain(..=last);
        }
        self.ended
    }
}

impl Drop for State {
    /// What has not ended may be written still, and stays.
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
        // SAFETY: the slot is kept by the drains, and has atomic words.
        #[allow(unsafe_code)]
        unsafe { &*(record as *const AtomicU64) }.store(1, std::sync::atomic::Ordering::Release);
    }

    #[test]
    fn a_drain_that_is_lost_is_void_once_a_later_one_has_ended() {
        let (drains, start) = (Drains::default(), Instant::now());
        let records = Cell::new(Vec::new());
        let ask = |seconds| {
            drains.ask(start + Duration::from_secs(seconds), |drain| {
                let mut all = records.take();
                all.push(drain.record());
                records.set(all);
                true
            });
        };
        ask(0);
        ask(1);
        assert_eq!(drains.submitted(), 1, "the first may still end");
        ask(2);
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
        drains.ask(Instant::now(), |_| false);
        assert_eq!(drains.submitted(), 0);
    }
}

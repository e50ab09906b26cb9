//! Drains of one queue, by which lost descriptors are found: a drain ends after all descriptors that were
//! submitted before it.
//!
//! Drains are not counted among the entries of the queue. If lost descriptors occupied all entries, a drain
//! that needed one could never be submitted; the device has room for it, since lost descriptors take none.
//!
//! Nothing is allocated here, and no thread waits for another one: a call that finds the drains in use by
//! another thread, or by the code that a signal handler has interrupted, does nothing.

use crate::record_slot::RecordSlot;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, status};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most drains under way at a time: if all of them are lost, no further one is submitted.
const MOST: usize = 16;

/// All drains of one queue, numbered from 1 on. All bits zero: none was submitted.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LossDrains {
    /// Records of the drains after the last one that has ended; all others are zero. Drain n has the record
    /// n modulo [`MOST`].
    records: [RecordSlot; MOST],
    is_in_use: AtomicBool,
    submitted: AtomicU64,
    /// Number of the last drain that has ended; earlier ones have ended, or were lost.
    ended: AtomicU64,
    /// Time of the last submission, in ns of the monotonic clock.
    last_ns: AtomicU64,
}

impl LossDrains {
    /// Number of drains that were submitted so far. Drains up to this number may be older than a descriptor
    /// that was submitted before the call; all later ones are younger.
    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Whether a drain has ended that was submitted after the first `before` ones.
    pub fn has_ended_behind(&self, before: u64) -> bool {
        self.unless_in_use(|| self.collect());
        self.ended.load(Ordering::Acquire) > before
    }

    /// Submits a drain, unless one under way may still end: the last one was submitted less than `patience_ns`
    /// ago.
    pub fn submit_if_due(
        &self,
        now_ns: u64,
        patience_ns: u64,
        submit: impl FnOnce(&Descriptor) -> bool,
    ) {
        self.unless_in_use(|| {
            self.collect();
            let (ended, last) = (self.ended.load(Ordering::Acquire), self.submitted());
            let passed_ns = now_ns.saturating_sub(self.last_ns.load(Ordering::Relaxed));
            if last - ended >= MOST as u64 || last > ended && passed_ns <= patience_ns {
                return;
            }
            // It is counted first: another thread that reads the count before the drain is submitted takes it
            // for older than its own descriptor, and waits for the next one.
            self.submitted.store(last + 1, Ordering::SeqCst);
            let drain = Descriptor::of(Opcode::Drain).recording(self.record(last + 1).address());
            if submit(&drain) {
                self.last_ns.store(now_ns, Ordering::Relaxed);
            } else {
                self.submitted.store(last, Ordering::SeqCst);
            }
        });
    }

    /// Whether a device may still write to the records.
    pub fn are_under_way(&self) -> bool {
        self.unless_in_use(|| self.collect());
        self.submitted() > self.ended.load(Ordering::Acquire)
    }

    fn unless_in_use(&self, work: impl FnOnce()) {
        if !self.is_in_use.swap(true, Ordering::Acquire) {
            work();
            self.is_in_use.store(false, Ordering::Release);
        }
    }

    fn record(&self, number: u64) -> &RecordSlot {
        &self.records[units::narrow::usize_from(number) % MOST]
    }

    /// Frees the records of the last drain that has ended and of those before it. A drain that the device
    /// refused proves nothing.
    fn collect(&self) {
        let ended = self.ended.load(Ordering::Acquire);
        let under_way = ended + 1..=self.submitted();
        let has_ended = |number: &u64| self.record(*number).status() == status::SUCCESS;
        if let Some(last) = under_way.rev().find(has_ended) {
            (ended + 1..=last).for_each(|number| self.record(number).clear());
            self.ended.store(last, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const PATIENCE_NS: u64 = 10;

    /// Ends the descriptor with a record at an address.
    fn end(record: u64, status: u64) {
        // SAFETY: the slot belongs to the drains, and has atomic words.
        #[allow(unsafe_code)]
        unsafe { &*(record as *const AtomicU64) }.store(status, Ordering::Release);
    }

    /// Submits a drain at a time, if it is due; returns the address of its record.
    fn submit_at(drains: &LossDrains, now_ns: u64) -> Option<u64> {
        let record = Cell::new(None);
        drains.submit_if_due(now_ns, PATIENCE_NS, |drain| {
            record.set(Some(drain.record()));
            true
        });
        record.get()
    }

    #[test]
    fn a_drain_that_is_lost_is_void_once_a_later_one_has_ended() {
        let drains = LossDrains::default();
        assert!(submit_at(&drains, 100).is_some());
        assert_eq!(submit_at(&drains, 110), None, "the first may still end");
        let second = submit_at(&drains, 111).expect("the first is late");
        assert_eq!(drains.submitted(), 2);
        assert!(!drains.has_ended_behind(0) && drains.are_under_way());
        end(second, 1);
        assert!(drains.has_ended_behind(0) && drains.has_ended_behind(1));
        assert!(!drains.has_ended_behind(2) && !drains.are_under_way());
        assert!(submit_at(&drains, 112).is_some(), "none is under way");
    }

    #[test]
    fn what_no_queue_took_is_no_drain_and_what_a_device_refused_proves_nothing() {
        let drains = LossDrains::default();
        drains.submit_if_due(0, PATIENCE_NS, |_| false);
        assert_eq!(drains.submitted(), 0);
        end(submit_at(&drains, 0).expect("is due"), 0x10);
        assert!(!drains.has_ended_behind(0));
    }

    #[test]
    fn records_are_used_again_only_when_no_device_writes_them_any_more() {
        let drains = LossDrains::default();
        let mut records = std::collections::BTreeSet::new();
        for number in 1..=MOST as u64 {
            assert!(records.insert(submit_at(&drains, number * 100).expect("is late")));
        }
        assert_eq!(submit_at(&drains, 1 << 20), None, "all records are in use");
        end(*records.first().expect("is there"), 1);
        let again = submit_at(&drains, 1 << 20).expect("some are free");
        assert!(records.contains(&again) && !drains.has_ended_behind(MOST as u64));
    }

    #[test]
    fn drains_that_are_in_use_are_left_alone() {
        let drains = LossDrains::default();
        drains.submit_if_due(0, PATIENCE_NS, |drain| {
            end(drain.record(), 1);
            assert!(!drains.has_ended_behind(0) && submit_at(&drains, 1 << 20).is_none());
            true
        });
        assert!(drains.has_ended_behind(0));
    }
}

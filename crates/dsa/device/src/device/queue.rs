//! A work queue: its entries, and the conditions for adding one.
//!
//! Its storage is allocated at the start: a submission allocates nothing, nor does an engine while it holds
//! the lock that a submission waits for. (If reordering is injected, the engine may.)

use super::Tag;
use super::config::{EntryCounting, QueueConfig};
use crate::descriptor::Descriptor;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest number of engines of a group, each with one descriptor at a time.
const MOST_ENGINES: usize = u8::MAX as usize;

/// Reason why a queue does not accept a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Disabled,
    Full,
}

pub(super) struct Queue {
    entries: VecDeque<(Descriptor, Tag)>,
    /// The slot of each entry, if entries are counted in slots of shared memory.
    slots: VecDeque<usize>,
    counted: EntryCounting,
    enabled: bool,
    /// State of the queue for all processes; 0: disabled.
    enabled_for_all: Option<&'static AtomicU32>,
    /// Number of descriptors accepted and not ended, in memory that a supervisor can read.
    unfinished: Option<&'static AtomicU32>,
    /// Submissions, refused ones included, if an injector counts them.
    submissions: u64,
    /// Number of the next descriptor that an engine takes.
    next: u64,
    /// Numbers of the descriptors that engines have taken and not ended.
    in_flight: Vec<u64>,
    /// Number of the last descriptor whose submitter does not wait for it.
    left: Option<u64>,
}

impl Queue {
    pub fn new(config: &QueueConfig) -> Self {
        let size = usize::from(config.size);
        let slots = match config.entries {
            EntryCounting::Own => VecDeque::new(),
            EntryCounting::Shared(_) => VecDeque::with_capacity(size),
        };
        Self {
            entries: VecDeque::with_capacity(size),
            slots,
            counted: config.entries,
            enabled: true,
            enabled_for_all: config.enabled,
            unfinished: config.in_flight,
            submissions: 0,
            next: 0,
            in_flight: Vec::with_capacity(MOST_ENGINES),
            left: None,
        }
    }

    /// Counts a submission and returns its number, from 0 on.
    pub fn count_submission(&mut self) -> u64 {
        self.submissions += 1;
        self.submissions - 1
    }

    /// Accepts a descriptor, if fewer than `most` entries are occupied.
    pub fn take(&mut self, entry: (Descriptor, Tag), most: usize) -> Result<(), Refused> {
        // Counted before the look at the state: a supervisor that disables the queue and then finds a
        // count of zero has seen the last descriptor.
        if let Some(unfinished) = self.unfinished {
            unfinished.fetch_add(1, Ordering::SeqCst);
        }
        let taken = self.admit(entry, most);
        if taken.is_err() {
            self.uncount(1);
        }
        taken
    }

    fn admit(&mut self, entry: (Descriptor, Tag), most: usize) -> Result<(), Refused> {
        let is_disabled = |state: &AtomicU32| state.load(Ordering::SeqCst) == 0;
        if !self.enabled || self.enabled_for_all.is_some_and(is_disabled) {
            return Err(Refused::Disabled);
        }
        match &self.counted {
            EntryCounting::Own if self.entries.len() >= most => return Err(Refused::Full),
            EntryCounting::Own => {}
            EntryCounting::Shared(shared) => {
                self.slots.push_back(shared.claim(most).ok_or(Refused::Full)?);
            }
        }
        self.entries.push_back(entry);
        Ok(())
    }

    /// Takes the first entry out for an engine. Returns it with its number in the order of the queue.
    pub fn dispatch(&mut self) -> Option<((Descriptor, Tag), u64)> {
        let entry = self.entries.pop_front()?;
        if let EntryCounting::Shared(shared) = &self.counted
            && let Some(slot) = self.slots.pop_front()
        {
            shared.free(slot);
        }
        let order = self.next;
        self.next += 1;
        self.in_flight.push(order);
        Some((entry, order))
    }

    /// Removes a descriptor that an engine has ended.
    pub fn end(&mut self, order: u64) {
        self.in_flight.retain(|own| *own != order);
        self.uncount(1);
    }

    /// Drops all entries of the queue. Returns the number of dropped entries.
    pub fn clear(&mut self) -> usize {
        let dropped = self.entries.len();
        self.entries.clear();
        if let EntryCounting::Shared(shared) = &self.counted {
            self.slots.drain(..).for_each(|slot| shared.free(slot));
        }
        self.next += dropped as u64;
        self.uncount(units::narrow::fit(dropped as u64));
        dropped
    }

    /// Number of entries that this process has submitted and no engine has taken.
    pub fn own_entries(&self) -> usize {
        self.entries.len()
    }

    /// Number that the next accepted descriptor will have in the order of the queue.
    pub fn end_of_entries(&self) -> u64 {
        self.next + self.entries.len() as u64
    }

    /// Notes that no submitter waits for the last accepted descriptor.
    pub fn leave_last(&mut self) {
        self.left = self.end_of_entries().checked_sub(1);
    }

    /// Whether the last descriptor that no submitter waits for has not ended.
    pub fn has_left(&self) -> bool {
        self.left.is_some_and(|order| self.has(order))
    }

    /// Whether the accepted descriptor with this number has not ended.
    pub fn has(&self, order: u64) -> bool {
        self.next <= order || self.in_flight.contains(&order)
    }

    /// Whether a descriptor with a number below `end` has not ended.
    pub fn has_before(&self, end: u64) -> bool {
        self.next < end || self.engines_have_before(end)
    }

    /// Whether engines have a descriptor with a number below `end`.
    pub fn engines_have_before(&self, end: u64) -> bool {
        self.in_flight.iter().any(|&number| number < end)
    }

    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    fn uncount(&self, number: u32) {
        if let Some(unfinished) = self.unfinished {
            unfinished.fetch_sub(number, Ordering::SeqCst);
        }
    }
}

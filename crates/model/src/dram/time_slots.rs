//! A resource that serves one request per slot of time: a data bus, the column path of a bank group,
//! the activations of a rank.
//!
//! Models: exact capacity at the grain of one transfer, whatever the order in which requests come.
//! Source: occupancy simulation as in zsim and Sniper; the meter of links, with one bit per slot.
//! Simplifies: a request that is ready inside a free slot starts at once, so two neighbours may
//! overlap by less than a slot; what lies further back than the slots kept is forgotten.

use super::divisor::Divisor;
use units::Picos;

/// Slots kept, in words of 64: about 0.1 ms of a data bus.
const WORDS: u64 = 512;

/// Slots of equal length, each taken or free.
#[derive(Clone, Debug)]
pub(super) struct TimeSlots {
    slot_ps: Divisor,
    /// One bit per slot, set if it is taken; word w is at w modulo the length.
    taken: Box<[u64; WORDS as usize]>,
    /// Words at or after this one are still free.
    end: u64,
    /// A run of words without a free slot, so that a backlog is not searched again and again.
    full: (u64, u64),
}

impl TimeSlots {
    /// # Panics
    /// If slots have no length: the platform is checked before it comes here.
    pub(super) fn new(slot: Picos) -> Self {
        let taken = Box::new([0; WORDS as usize]);
        Self { slot_ps: Divisor::new(slot.0), taken, end: 0, full: (0, 0) }
    }

    /// Takes the first free slot at or after `ready`; returns when its use begins.
    #[inline]
    pub(super) fn claim(&mut self, ready: Picos) -> Picos {
        let slot = self.slot_ps.quotient(ready.0);
        let (word, from) = (slot / 64, !0 << (slot % 64));
        // Nearly always there is a free slot in the word of `ready` itself.
        let kept = self.end.wrapping_sub(word + 1) < WORDS;
        let free = !self.taken[(word % WORDS) as usize] & from;
        let slot = if kept && free != 0 { self.take(word, free) } else { self.search(word, from) };
        Picos(ready.0.max(slot * self.slot_ps.value()))
    }

    /// Takes the first of the slots `free` of a word; returns its number.
    #[inline]
    fn take(&mut self, word: u64, free: u64) -> u64 {
        // The lowest set bit of what is free.
        self.taken[(word % WORDS) as usize] |= free & free.wrapping_neg();
        word * 64 + u64::from(free.trailing_zeros())
    }

    /// Takes the first free slot of `word` within `from`, or of the words behind it.
    fn search(&mut self, mut word: u64, mut from: u64) -> u64 {
        let oldest = self.end.saturating_sub(WORDS);
        if word < oldest {
            (word, from) = (oldest, !0);
        }
        if self.full.0 <= word && word < self.full.1 {
            (word, from) = (self.full.1, !0);
        }
        loop {
            if word >= self.end {
                self.open(word);
            }
            let taken = self.taken[(word % WORDS) as usize];
            if !taken & from != 0 {
                return self.take(word, !taken & from);
            }
            if taken == !0 {
                self.note_full(word);
            }
            word += 1;
            from = !0;
        }
    }

    fn note_full(&mut self, word: u64) {
        if word == self.full.1 {
            self.full.1 += 1;
        } else if !(self.full.0..self.full.1).contains(&word) {
            self.full = (word, word + 1);
        }
    }

    /// Frees the words up to and including `word`, and forgets those that fall out behind.
    fn open(&mut self, word: u64) {
        for fresh in self.end.max(word.saturating_sub(WORDS - 1))..=word {
            self.taken[(fresh % WORDS) as usize] = 0;
        }
        self.end = word + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOT: Picos = Picos(3_000);

    #[test]
    fn a_free_slot_is_used_as_soon_as_the_request_is_ready() {
        let mut slots = TimeSlots::new(SLOT);
        assert_eq!(slots.claim(Picos(7_500)), Picos(7_500));
    }

    #[test]
    fn a_taken_slot_sends_the_next_request_to_the_slot_behind() {
        let mut slots = TimeSlots::new(SLOT);
        let ready = Picos(2 * SLOT.0 + 500);
        slots.claim(ready);
        assert_eq!(slots.claim(ready), Picos(3 * SLOT.0));
        assert_eq!(slots.claim(Picos(SLOT.0)), Picos(SLOT.0), "an earlier slot is still free");
    }

    #[test]
    fn a_backlog_is_served_at_one_per_slot() {
        let mut slots = TimeSlots::new(SLOT);
        for place in 0..10_000 {
            assert_eq!(slots.claim(Picos::ZERO), Picos(place * SLOT.0));
        }
    }

    #[test]
    fn a_request_far_ahead_does_not_hold_back_the_present() {
        let mut slots = TimeSlots::new(SLOT);
        slots.claim(Picos(20_000_000));
        assert_eq!(slots.claim(Picos(1_000)), Picos(1_000));
    }

    #[test]
    fn what_lies_further_back_than_the_slots_kept_is_moved_to_the_oldest_of_them() {
        let mut slots = TimeSlots::new(SLOT);
        let far = Picos(3 * WORDS * 64 * SLOT.0);
        slots.claim(far);
        assert_eq!(slots.claim(Picos::ZERO), Picos(far.0 - (WORDS - 1) * 64 * SLOT.0));
    }

    proptest! {
        #[test]
        fn no_slot_is_given_twice_whatever_the_order(
            ready in prop::collection::vec(0u64..3_000_000, 1..600),
        ) {
            let mut slots = TimeSlots::new(SLOT);
            let mut given: Vec<u64> = Vec::new();
            for &ready in &ready {
                let start = slots.claim(Picos(ready));
                prop_assert!(start.0 >= ready);
                given.push(start.0 / SLOT.0);
            }
            let count = given.len();
            given.sort_unstable();
            given.dedup();
            prop_assert_eq!(given.len(), count);
        }
    }
}

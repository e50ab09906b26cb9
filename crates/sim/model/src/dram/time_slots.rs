//! A resource that serves one request per slot of time: a data bus, the column path of a bank group,
//! the activations of a rank.
//!
//! Models: exact capacity at the grain of one transfer, for requests in any order.
//! Source: occupancy simulation as in zsim and Sniper; the meter of links, with one bit per slot.
//! Simplifies: a request that is ready inside a free slot starts at once, so two neighbours may overlap
//! by less than a slot; slots older than those kept are forgotten.

use crate::divisor::Divisor;
use std::hint::select_unpredictable;
use std::num::NonZero;
use units::Picos;
use units::narrow::usize_from;

/// Slots kept, in words of 64: about 0.1 ms of a data bus.
const WORDS: u64 = 512;
/// Words are freed by the host's cache line: rarely enough for its branch predictor.
const FREED: u64 = 32;
/// Words in memory: some are freed before the oldest kept word is forgotten.
const HELD: usize = usize_from(WORDS * 2);

/// Slots of equal length, each taken or free.
#[derive(Clone, Debug)]
pub(super) struct TimeSlots {
    slot_ps: Divisor,
    /// One bit per slot, set if it is free; word w is at w modulo the length. The array is part of the
    /// struct, which saves loading an address.
    free: [u64; HELD],
    /// All slots of the words from this one on are free; their bits in memory are not set yet.
    end: u64,
    /// A run of words without a free slot, so that a backlog is not searched repeatedly.
    full: (u64, u64),
}

impl TimeSlots {
    /// # Panics
    /// If slots have no length. Platforms are checked before they get here.
    pub(super) fn new(slot: Picos) -> Self {
        Self { slot_ps: Divisor::new(slot.0), free: [!0; HELD], end: 0, full: (0, 0) }
    }

    /// Takes the first free slot at or after `ready`; returns when its use begins.
    #[inline]
    pub(super) fn claim(&mut self, ready: Picos) -> Picos {
        let slot = self.slot_ps.quotient(ready.0);
        let word = &mut self.free[usize_from(slot / 64) % HELD];
        // The word of `ready` itself nearly always has a free slot.
        let kept = self.end.wrapping_sub(slot / 64 + 1) < WORDS;
        let slot = match NonZero::new(*word >> (slot % 64)) {
            Some(free) if kept => {
                let slot = slot + u64::from(free.trailing_zeros());
                *word &= !(1 << (slot % 64));
                slot
            }
            _ => self.search(slot),
        };
        let start = slot * self.slot_ps.value();
        Picos(select_unpredictable(start > ready.0, start, ready.0))
    }

    /// Takes the first `count` free slots at or after `ready`.
    pub(super) fn claim_several(&mut self, ready: Picos, count: u64) {
        let slot = self.slot_ps.quotient(ready.0);
        let kept = self.end.wrapping_sub(slot / 64 + 1) < WORDS;
        let mut left = count;
        if kept {
            let word = &mut self.free[usize_from(slot / 64) % HELD];
            let before = *word & !(!0 << (slot % 64));
            let mut rest = *word ^ before;
            while left > 0 && rest != 0 {
                // Without its lowest set bit.
                rest &= rest - 1;
                left -= 1;
            }
            *word = before | rest;
        }
        for _ in 0..left {
            self.search(slot);
        }
    }

    /// Takes the first free slot at or after `slot`; returns its number.
    #[cold]
    fn search(&mut self, slot: u64) -> u64 {
        let (mut word, mut from) = (slot / 64, !0 << (slot % 64));
        if word + WORDS < self.end {
            let oldest = self.oldest();
            if word < oldest {
                (word, from) = (oldest, !0);
            }
        }
        if self.full.0 <= word && word < self.full.1 {
            (word, from) = (self.full.1, !0);
        }
        loop {
            if word >= self.end {
                self.open(word);
            }
            let all = &mut self.free[usize_from(word) % HELD];
            let free = *all & from;
            if free != 0 {
                // The lowest set bit.
                *all ^= free & free.wrapping_neg();
                return word * 64 + u64::from(free.trailing_zeros());
            }
            if *all == 0 {
                self.note_full(word);
            }
            word += 1;
            from = !0;
        }
    }

    /// The oldest word kept: it is at a fixed distance from the last word with a taken slot.
    fn oldest(&self) -> u64 {
        let is_used = |&word: &u64| self.free[usize_from(word) % HELD] != !0;
        // Words are freed when one of their slots is taken, so it is one of the last freed.
        let newest = (self.end.saturating_sub(FREED)..self.end).rev().find(is_used);
        newest.map_or(0, |newest| (newest + 1).saturating_sub(WORDS))
    }

    fn note_full(&mut self, word: u64) {
        if word == self.full.1 {
            self.full.1 += 1;
        } else if !(self.full.0..self.full.1).contains(&word) {
            self.full = (word, word + 1);
        }
    }

    /// Frees the words up to `word` inclusive, and some after it.
    fn open(&mut self, word: u64) {
        let end = (word / FREED + 1) * FREED;
        let (blocks, _) = self.free.as_chunks_mut::<{ usize_from(FREED) }>();
        let first = self.end.max(end.saturating_sub(HELD as u64));
        for block in first / FREED..end / FREED {
            blocks[usize_from(block) % blocks.len()] = [!0; usize_from(FREED)];
        }
        self.end = end;
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
    fn several_slots_are_those_that_as_many_requests_would_take() {
        let (mut together, mut alone) = (TimeSlots::new(SLOT), TimeSlots::new(SLOT));
        for ready in [0, 50 * SLOT.0, 10 * SLOT.0, 60 * SLOT.0 + 1, 200 * SLOT.0] {
            let ready = Picos(ready);
            together.claim_several(ready, 9);
            for _ in 0..9 {
                alone.claim(ready);
            }
            assert_eq!(together.claim(ready), alone.claim(ready));
        }
        assert_eq!(together.free, alone.free);
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

    /// A reference model: a set of slot numbers, without words, early freeing and runs of full words.
    #[derive(Default)]
    struct Plain {
        taken: std::collections::BTreeSet<u64>,
        newest_word: Option<u64>,
    }

    impl Plain {
        fn claim(&mut self, ready: Picos) -> Picos {
            let oldest = self.newest_word.map_or(0, |word| (word + 1).saturating_sub(WORDS));
            let mut slot = (ready.0 / SLOT.0).max(oldest * 64);
            while !self.taken.insert(slot) {
                slot += 1;
            }
            self.newest_word = self.newest_word.max(Some(slot / 64));
            Picos(ready.0.max(slot * SLOT.0))
        }
    }

    proptest! {
        #[test]
        fn slots_in_words_are_given_like_slots_one_by_one(
            // The advance of time, the distance of requests back from there, and their number: in
            // words, around and beyond the number kept.
            steps in prop::collection::vec(
                (
                    prop_oneof![0..3u64, 0..100u64, 0..3 * WORDS],
                    prop_oneof![0..3u64, WORDS - 40..WORDS + 3, 0..2 * WORDS],
                    0..200u64,
                ),
                1..40,
            ),
            within in 0..64 * SLOT.0,
        ) {
            let (mut slots, mut plain) = (TimeSlots::new(SLOT), Plain::default());
            let mut now = 0u64;
            for (ahead, back, requests) in steps {
                now += ahead;
                for word in [now, now.saturating_sub(back)] {
                    for _ in 0..requests {
                        let ready = Picos(word * 64 * SLOT.0 + within);
                        prop_assert_eq!(slots.claim(ready), plain.claim(ready));
                    }
                }
            }
        }

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

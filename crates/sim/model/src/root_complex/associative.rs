//! A small fully associative store: the base of the IOTLB and of the root-complex buffer.
//!
//! Models: look-up, ageing and victim choice of a content-addressed memory of tens of entries.
//! Source: LRU and random as in the textbooks.
//! Simplifies: keys are compared one after another, in vector steps, so the time of a look-up grows
//! with the entries; more than a few hundred of them would slow the simulator down.

use crate::recency::Recency;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The key of no entry.
const EMPTY: u32 = u32::MAX;
/// Keys per step of a look-up; the array is padded to a multiple of it.
const CHUNK: usize = 32;

/// Victim choice of a full store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimChoice {
    /// The entry used longest ago, in the order of the calls.
    Lru,
    /// Any entry, with equal probability.
    Random {
        /// Seed of the choices.
        seed: u64,
    },
}

/// A fixed number of entries, each a key with a value.
#[derive(Clone, Debug)]
pub(super) struct Associative<T: Copy> {
    keys: Vec<u32>,
    /// Empty entries are the oldest.
    values: Recency<T>,
    entries: usize,
    /// The slot found last: lines of a burst usually need the same entry.
    recent: usize,
    rng: Option<Xoshiro256PlusPlus>,
}

impl<T: Copy> Associative<T> {
    /// An empty store; `blank` fills the values of empty entries.
    ///
    /// # Panics
    /// If there are no entries. Configurations are checked before they get here.
    pub(super) fn new(entries: u32, choice: VictimChoice, blank: T) -> Self {
        Self {
            keys: vec![EMPTY; (entries as usize).next_multiple_of(CHUNK)],
            values: Recency::new(entries, blank),
            entries: entries as usize,
            recent: 0,
            rng: match choice {
                VictimChoice::Lru => None,
                VictimChoice::Random { seed } => Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
            },
        }
    }

    /// The slot that holds `key`, if any. This is not a use.
    #[inline]
    pub(super) fn find(&self, key: u32) -> Option<usize> {
        debug_assert!(key != EMPTY);
        if self.keys[self.recent] == key { Some(self.recent) } else { self.position(key) }
    }

    /// Marks a slot as used; returns its value.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) -> &mut T {
        self.recent = slot;
        self.values.renew(slot);
        self.values.value_mut(slot)
    }

    /// The value in a slot; this is not a use.
    #[inline]
    pub(super) fn value(&self, slot: usize) -> &T {
        self.values.value(slot)
    }

    /// As [`Self::value`], for changes.
    #[inline]
    pub(super) fn value_mut(&mut self, slot: usize) -> &mut T {
        self.values.value_mut(slot)
    }

    /// Inserts a key that is not present; returns the key and value that it evicts.
    #[inline]
    pub(super) fn insert(&mut self, key: u32, value: T) -> Option<(u32, T)> {
        debug_assert!(key != EMPTY && self.position(key).is_none());
        let slot = self.slot_to_fill();
        let left = (self.keys[slot] != EMPTY).then(|| (self.keys[slot], *self.value(slot)));
        self.keys[slot] = key;
        *self.touch(slot) = value;
        left
    }

    /// Empties a slot; returns its value.
    pub(super) fn take(&mut self, slot: usize) -> T {
        self.keys[slot] = EMPTY;
        self.values.retire(slot);
        *self.value(slot)
    }

    /// All values, including those of empty entries.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.values_mut()
    }

    /// Misses are the common case: one pass without branches tests whether the key is present.
    #[inline]
    fn position(&self, key: u32) -> Option<usize> {
        let holds = |keys: &[u32]| keys.iter().fold(false, |any, &other| any | (other == key));
        let step = self.keys.chunks_exact(CHUNK).position(holds)?;
        let within = self.keys[step * CHUNK..].iter().position(|&other| other == key)?;
        Some(step * CHUNK + within)
    }

    fn slot_to_fill(&mut self) -> usize {
        let oldest = self.values.oldest();
        match &mut self.rng {
            Some(rng) if self.keys[oldest] != EMPTY => {
                (((rng.next_u64() >> 32) * self.entries as u64) >> 32) as usize
            }
            _ => oldest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn random_victims_come_from_every_slot_and_never_from_the_padding() {
        let mut store = Associative::new(5, VictimChoice::Random { seed: 3 }, ());
        let mut left = [0u32; 5];
        assert!((0..5).all(|key| store.insert(key, ()).is_none()), "there was room");
        for key in 5..20_005 {
            if let Some((victim, ())) = store.insert(key, ()) {
                assert!(victim < key);
                let slot = store.find(key).expect("it was just put in");
                left[slot] += 1;
            }
        }
        // 20,000 victims over five slots: 4,000 each, standard deviation 57.
        assert!(left.iter().all(|&count| count.abs_diff(4_000) < 300), "{left:?}");
    }

    proptest! {
        /// The reference keeps keys in order of use, the oldest first.
        #[test]
        fn lru_holds_the_keys_used_last(
            entries in 1u32..40,
            steps in prop::collection::vec((0u32..60, 0u8..8), 1..300),
        ) {
            let mut store = Associative::new(entries, VictimChoice::Lru, 0u32);
            let mut expected: Vec<u32> = Vec::new();
            for (key, what) in steps {
                let at = expected.iter().position(|&other| other == key);
                prop_assert_eq!(store.find(key).is_some(), at.is_some());
                match (store.find(key), at) {
                    (Some(slot), Some(at)) if what == 0 => {
                        prop_assert_eq!(store.take(slot), key + 1);
                        expected.remove(at);
                    }
                    (Some(slot), Some(at)) => {
                        prop_assert_eq!(*store.touch(slot), key + 1);
                        expected.remove(at);
                        expected.push(key);
                    }
                    _ => {
                        let full = expected.len() == entries as usize;
                        let oldest = full.then(|| expected.remove(0));
                        let left = store.insert(key, key + 1);
                        prop_assert_eq!(left, oldest.map(|key| (key, key + 1)));
                        expected.push(key);
                    }
                }
            }
        }
    }
}

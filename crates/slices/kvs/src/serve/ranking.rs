//! Moves the items with most requests into hot lines, and other items out of them.

use super::keyspace::Keyspace;
use super::lines::{Pool, lines_needed};

impl Keyspace<'_> {
    /// Moves the keys with most requests into hot lines, as many as fit, and halves all counts, so that
    /// old requests fade.
    pub fn rank(&mut self) {
        self.choose();
        let displaced = self.take_out();
        self.move_in();
        self.put_back(displaced);
    }

    /// Marks the hottest items whose lines fit the hot pool.
    fn choose(&mut self) {
        let mut ranked: Vec<(u16, u32)> =
            self.index.iter().map(|entry| (entry.hits, entry.item)).collect();
        // Among equals those that are hot already stay: hot lines have the lower numbers.
        ranked.sort_unstable_by_key(|&(hits, item)| (std::cmp::Reverse(hits), item));
        let mut room = self.lines.hot_count();
        let mut last = None;
        for &(hits, item) in ranked.iter().take_while(|(hits, _)| *hits > 0) {
            let (key, value) = self.lines.sizes(item);
            let Some(left) = room.checked_sub(lines_needed(key, value)) else { break };
            (room, last) = (left, Some((std::cmp::Reverse(hits), item)));
        }
        for entry in &mut self.index {
            let rank = (std::cmp::Reverse(entry.hits), entry.item);
            entry.wanted_hot = last.is_some_and(|last| rank <= last);
            entry.hits /= 2;
        }
    }

    /// Removes items that were not chosen from hot lines, and returns them.
    fn take_out(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let lines = &mut self.lines;
        let mut displaced = Vec::new();
        for entry in &mut self.index {
            if !entry.wanted_hot && lines.has_hot_line(entry.item) {
                displaced.push(lines.copy(entry.item));
                lines.remove(entry.item);
                entry.item = TAKEN_OUT;
            }
        }
        displaced
    }

    fn move_in(&mut self) {
        let lines = &mut self.lines;
        for entry in &mut self.index {
            if entry.wanted_hot && lines.has_cold_line(entry.item) {
                let (key, value) = lines.copy(entry.item);
                lines.remove(entry.item);
                entry.item = lines.store(Pool::Hot, &key, &value).expect("had as many lines");
            }
        }
    }

    /// Stores the removed items in cold lines, in the order of the index, which has not changed.
    fn put_back(&mut self, displaced: Vec<(Vec<u8>, Vec<u8>)>) {
        let lines = &mut self.lines;
        let mut displaced = displaced.into_iter();
        for entry in self.index.iter_mut().filter(|entry| entry.item == TAKEN_OUT) {
            let (key, value) = displaced.next().expect("as many were taken out");
            entry.item = lines.store(Pool::Cold, &key, &value).expect("had as many lines");
        }
    }
}

/// Number of an item's line while it is in no line.
const TAKEN_OUT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::lines::Line;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use units::narrow::low_u8;

    fn keyspace(memory: &mut [Line], hot: usize) -> Keyspace<'_> {
        let mut lines: Vec<&mut Line> = memory.iter_mut().collect();
        let cold = lines.split_off(hot);
        Keyspace::new(lines, cold)
    }

    fn value(keys: &mut Keyspace<'_>, key: &[u8]) -> Option<Vec<u8>> {
        let item = keys.look_up(key)?;
        let mut value = Vec::new();
        keys.copy_value(item, &mut value);
        Some(value)
    }

    #[test]
    fn the_keys_that_are_asked_for_most_become_hot_and_later_ones_replace_them() {
        let mut memory = vec![[0; 64]; 100];
        let mut keys = keyspace(&mut memory, 10);
        for key in 0..100u8 {
            keys.set(&[key], &[key; 20]).expect("one line each");
        }
        for favourites in [0..10u8, 50..60] {
            for _ in 0..20 {
                favourites.clone().for_each(|key| assert!(keys.look_up(&[key]).is_some()));
            }
            keys.rank();
            let before = keys.look_ups.hot;
            for key in 0..100u8 {
                assert_eq!(value(&mut keys, &[key]), Some(vec![key; 20]));
                let hot = keys.look_ups.hot - before;
                let expected = favourites.clone().filter(|favourite| *favourite <= key).count();
                assert_eq!(hot, expected as u64, "key {key}");
            }
            assert_eq!(keys.hot_keys(), 10);
        }
    }

    #[derive(Clone, Debug)]
    enum RankingStep {
        Set(u8, usize),
        Get(u8),
        Remove(u8),
        Rank,
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<RankingStep>> {
        let key = 0..40u8;
        let step = prop_oneof![
            8 => (key.clone(), 0usize..400).prop_map(|(key, size)| RankingStep::Set(key, size)),
            8 => key.clone().prop_map(RankingStep::Get),
            3 => key.prop_map(RankingStep::Remove),
            3 => Just(RankingStep::Rank),
            1 => Just(RankingStep::Clear),
        ];
        proptest::collection::vec(step, 0..300)
    }

    proptest! {
        #[test]
        fn whatever_is_set_moved_and_removed_the_values_are_those_of_a_map(
            steps in steps(),
            hot in 0usize..40,
        ) {
            let mut memory = vec![[0; 64]; 120];
            let mut keys = keyspace(&mut memory, hot);
            let mut expected: HashMap<u8, Vec<u8>> = HashMap::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    RankingStep::Set(key, size) => {
                        let new = vec![low_u8(number as u64); size];
                        if keys.set(&[key], &new).is_ok() {
                            expected.insert(key, new);
                        }
                    }
                    RankingStep::Get(key) => {
                        prop_assert_eq!(value(&mut keys, &[key]), expected.get(&key).cloned());
                    }
                    RankingStep::Remove(key) => {
                        prop_assert_eq!(keys.remove(&[key]), expected.remove(&key).is_some());
                    }
                    RankingStep::Rank => keys.rank(),
                    RankingStep::Clear => {
                        keys.clear();
                        expected.clear();
                    }
                }
                prop_assert_eq!(keys.len(), expected.len());
            }
            let used: usize = expected.values().map(|value| lines_needed(1, value.len())).sum();
            prop_assert_eq!(keys.lines().free_count(), 120 - used);
            for (key, expected) in &expected {
                prop_assert_eq!(&value(&mut keys, &[*key]), &Some(expected.clone()));
            }
        }
    }
}

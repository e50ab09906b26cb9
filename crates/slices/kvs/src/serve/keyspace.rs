//! The keys of one core; no other core accesses them.

use super::lines::{Full, Line, Lines, Pool, lines_needed};
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// Entry of the index: an item with its hash and its popularity.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyEntry {
    hash: u64,
    /// Number of the item's first line.
    pub item: u32,
    /// Number of requests for the item, halved at each ranking.
    pub hits: u16,
    /// Whether the last ranking chose the item for hot lines.
    pub wanted_hot: bool,
}

/// Numbers of look-ups by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LookUps {
    /// Number of look-ups that found the key in hot lines.
    pub hot: u64,
    /// Number of look-ups that found the key in cold lines.
    pub cold: u64,
    /// Number of look-ups that did not find the key.
    pub missed: u64,
}

/// Index and items of the keys of one core.
pub struct Keyspace<'m> {
    pub(super) index: HashTable<KeyEntry>,
    pub(super) lines: Lines<'m>,
    /// Has a random secret for each process, since clients choose the keys.
    hasher: RandomState,
    pub look_ups: LookUps,
}

impl<'m> Keyspace<'m> {
    pub fn new(hot: Vec<&'m mut Line>, cold: Vec<&'m mut Line>) -> Self {
        Self {
            index: HashTable::new(),
            lines: Lines::new(hot, cold),
            hasher: RandomState::new(),
            look_ups: LookUps::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn lines(&self) -> &Lines<'m> {
        &self.lines
    }

    /// Number of keys whose value begins in a hot line.
    pub fn hot_keys(&self) -> usize {
        self.index.iter().filter(|entry| self.lines.pool_of(entry.item) == Pool::Hot).count()
    }

    /// Finds the item of a key, for [`Self::copy_value`], and counts the look-up.
    #[inline]
    pub fn look_up(&mut self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let lines = &self.lines;
        let found =
            self.index.find_mut(hash, |entry| entry.hash == hash && lines.has_key(entry.item, key));
        let Some(entry) = found else {
            self.look_ups.missed += 1;
            return None;
        };
        entry.hits = entry.hits.saturating_add(1);
        match lines.pool_of(entry.item) {
            Pool::Hot => self.look_ups.hot += 1,
            Pool::Cold => self.look_ups.cold += 1,
        }
        Some(entry.item)
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    pub fn value_bytes(&self, item: u32) -> usize {
        self.lines.sizes(item).1
    }

    /// Appends the value of an item.
    #[inline]
    pub fn copy_value(&self, item: u32, out: &mut Vec<u8>) {
        self.lines.copy_value(item, out);
    }

    /// Sets the value of a key. New items are cold until a ranking chooses them.
    ///
    /// # Errors
    /// If there are too few free lines; the old value stays.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Full> {
        let hash = self.hasher.hash_one(key);
        let lines = &mut self.lines;
        let found =
            self.index.find_mut(hash, |entry| entry.hash == hash && lines.has_key(entry.item, key));
        let Some(entry) = found else {
            let item = lines.store(Pool::Cold, key, value)?;
            let entry = KeyEntry { hash, item, hits: 1, wanted_hot: false };
            self.index.insert_unique(hash, entry, |entry| entry.hash);
            return Ok(());
        };
        let (key_bytes, old) = lines.sizes(entry.item);
        let (had, needed) = (lines_needed(key_bytes, old), lines_needed(key_bytes, value.len()));
        if needed > had + lines.free_count() {
            return Err(Full);
        }
        entry.hits = entry.hits.saturating_add(1);
        if had == needed {
            lines.fill(entry.item, key, value);
        } else {
            let pool = lines.pool_of(entry.item);
            lines.remove(entry.item);
            entry.item = lines.store(pool, key, value)?;
        }
        Ok(())
    }

    /// Number of lines that setting the key takes beyond those that it has.
    pub fn further_lines(&self, key: &[u8], value: &[u8]) -> usize {
        let had = self.find(key).map_or(0, |entry| {
            let (key_bytes, old) = self.lines.sizes(entry.item);
            lines_needed(key_bytes, old)
        });
        lines_needed(key.len(), value.len()).saturating_sub(had)
    }

    /// Removes a key; returns whether it was present.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        let lines = &mut self.lines;
        let found = self
            .index
            .find_entry(hash, |entry| entry.hash == hash && lines.has_key(entry.item, key));
        let Ok(found) = found else { return false };
        let (entry, _) = found.remove();
        lines.remove(entry.item);
        true
    }

    pub fn clear(&mut self) {
        for entry in self.index.drain() {
            self.lines.remove(entry.item);
        }
        self.index.shrink_to(0, |entry| entry.hash);
    }

    fn find(&self, key: &[u8]) -> Option<&KeyEntry> {
        let hash = self.hasher.hash_one(key);
        self.index.find(hash, |entry| entry.hash == hash && self.lines.has_key(entry.item, key))
    }
}

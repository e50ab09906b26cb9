//! The store of one core: a hash index over lines, each with a key and its value.

use units::LINE_BYTES;
use units::narrow::{fit, usize_from};

/// A line with the key in its first bytes, and the value behind it.
pub type Item = [u8; usize_from(LINE_BYTES)];

/// Number of bytes of a value.
pub const VALUE_BYTES: usize = usize_from(LINE_BYTES) - KEY_BYTES;
const KEY_BYTES: usize = size_of::<u64>();

pub type Value = [u8; VALUE_BYTES];

/// Keys and values of one core; no other core accesses them.
pub struct ItemStore<'m> {
    items: Vec<&'m mut Item>,
    /// Open addressing: number of an item plus one, or 0; at most half full.
    index: Box<[u32]>,
}

impl<'m> ItemStore<'m> {
    /// Creates an empty store with room for this number of keys.
    pub fn with_capacity(keys: usize) -> Self {
        let slots = (2 * keys).next_power_of_two().max(2);
        Self { items: Vec::with_capacity(keys), index: vec![0; slots].into() }
    }

    /// Adds a key that the store does not contain yet, in a line of the caller's choice.
    ///
    /// # Panics
    /// If there are more keys than the store has capacity for.
    pub fn insert(&mut self, key: u64, value: &Value, line: &'m mut Item) {
        assert!(2 * (self.items.len() + 1) <= self.index.len(), "the store is full");
        line[..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
        line[KEY_BYTES..].copy_from_slice(value);
        self.items.push(line);
        let mut slot = self.first_slot(key);
        while self.index[slot] != 0 {
            slot = (slot + 1) % self.index.len();
        }
        self.index[slot] = fit(self.items.len());
    }

    /// A copy of the key's value.
    #[inline]
    pub fn get(&self, key: u64) -> Option<Value> {
        let item = &self.items[self.find(key)?];
        Some(item[KEY_BYTES..].try_into().expect("it is the rest of the line"))
    }

    /// Replaces the value of a key; returns false if the store does not contain the key.
    #[inline]
    pub fn set(&mut self, key: u64, value: &Value) -> bool {
        let Some(item) = self.find(key) else { return false };
        self.items[item][KEY_BYTES..].copy_from_slice(value);
        true
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let mut slot = self.first_slot(key);
        loop {
            let item = (self.index[slot] as usize).checked_sub(1)?;
            if self.items[item][..KEY_BYTES] == key.to_le_bytes() {
                return Some(item);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    /// Fibonacci hashing: the top bits of a product.
    #[inline]
    fn first_slot(&self, key: u64) -> usize {
        let bits = self.index.len().trailing_zeros();
        usize_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::narrow::low_u8;

    #[test]
    fn what_was_set_last_is_what_is_found_and_other_keys_are_not() {
        let mut lines = vec![[0; usize_from(LINE_BYTES)]; 1000];
        let mut store = ItemStore::with_capacity(1000);
        for (number, line) in lines.iter_mut().enumerate() {
            // Keys that differ in high bits only, and in low bits only.
            let key = if number % 2 == 0 { number as u64 } else { (number as u64) << 40 };
            store.insert(key, &[low_u8(number as u64); VALUE_BYTES], line);
        }
        assert_eq!(store.get(998), Some([low_u8(998); VALUE_BYTES]));
        assert_eq!(store.get(999 << 40), Some([low_u8(999); VALUE_BYTES]));
        assert_eq!(store.get(999), None);
        assert!(store.set(998, &[7; VALUE_BYTES]) && !store.set(999, &[7; VALUE_BYTES]));
        assert_eq!(store.get(998), Some([7; VALUE_BYTES]));
        assert_eq!(store.get(996), Some([low_u8(996); VALUE_BYTES]));
    }
}

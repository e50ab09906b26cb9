//! Items of a cache: their sizes, their memory, and which of them requests are for.
//!
//! Models: small and large items; a request is for a large one with a given probability, and for an item of
//! its class by popularity. Sizes are spread evenly over the logarithm of their range.
//! Source: ASPLOS'24, appendix B: 4.8 % of the copies in CacheBench are of 8 KiB or more and carry 96.4 % of
//! the bytes.
//! Simplifies: the paper states no sizes within the classes. The ranges here are made up so that both shares
//! come out; popular items are as large as others of their class.

use crate::app::key_value::popularity::Popularity;
use crate::host_memory::{Arena, Region};
use rand_core::RngCore;
use units::narrow::{usize_from, whole};
use units::{LINE_BYTES, LineAddr};

/// Sizes of small items: with large ones of 8 KiB to 256 KiB they carry 3.6 % of the bytes.
pub const SMALL_BYTES: (u64, u64) = (16, 490);
/// Size of the smallest large item in bytes.
pub const LEAST_LARGE_BYTES: u64 = 8 << 10;
/// Bytes of the table for each item: a pointer.
const BUCKET_BYTES: u64 = 8;

/// An item of the cache, with its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Line of the item's header, before the data.
    pub header: LineAddr,
    /// First line of the item's data.
    pub data: LineAddr,
    /// Size of the item's data in bytes.
    pub bytes: u64,
}

/// All items and the table that leads to them: the small ones, then the large ones.
#[derive(Debug)]
pub struct Items {
    items: Vec<Item>,
    table: Region,
}

/// Numbers and sizes of items.
#[derive(Clone, Copy, Debug)]
pub struct ItemMix {
    /// Number of items of both classes.
    pub items: u64,
    /// Share of requests for large items.
    pub large_percent: f64,
    /// Size of the largest item in bytes.
    pub most_bytes: u64,
    /// Exponent of Zipf's law for the popularity of items.
    pub zipf: f64,
}

impl ItemMix {
    /// Large items: as large a share as of requests, at least one.
    fn large(&self) -> u64 {
        let share = self.items as f64 * self.large_percent / 100.0;
        whole(share.round()).clamp(1, self.items - 1)
    }

    /// Size of item `number` in bytes.
    #[must_use]
    pub fn bytes_of(&self, number: u64) -> u64 {
        let small = self.items - self.large();
        let (rank, (least, most)) = match number.checked_sub(small) {
            None => (number, SMALL_BYTES),
            Some(rank) => (rank, (LEAST_LARGE_BYTES, self.most_bytes)),
        };
        // Bits reversed: whatever the number of popular items, their sizes are spread evenly.
        let place = rank.reverse_bits() as f64 / 2f64.powi(64);
        let ratio = most as f64 / least as f64;
        whole((least as f64 * ratio.powf(place)).round())
    }

    /// Bytes of memory for an item, with its header.
    fn footprint(bytes: u64) -> u64 {
        LINE_BYTES + bytes.next_multiple_of(LINE_BYTES)
    }

    /// Bytes of all items in pages of `page_bytes`, which items do not cross.
    #[must_use]
    pub fn arena_bytes(&self, page_bytes: u64) -> u64 {
        let (mut pages, mut used) = (1, 0);
        for number in 0..self.items {
            let bytes = Self::footprint(self.bytes_of(number));
            if used + bytes > page_bytes {
                (pages, used) = (pages + 1, 0);
            }
            used += bytes;
        }
        pages * page_bytes
    }

    /// Size of the hash table in bytes.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        self.items * BUCKET_BYTES
    }
}

impl Items {
    /// Items in `arena`, and their table.
    #[must_use]
    pub fn new(mix: &ItemMix, arena: &mut Arena, table: Region) -> Self {
        let item = |number| {
            let bytes = mix.bytes_of(number);
            let header = arena.place(ItemMix::footprint(bytes));
            Item { header, data: header.step(1), bytes }
        };
        Self { items: (0..mix.items).map(item).collect(), table }
    }

    /// The item with this number: small ones come first.
    #[must_use]
    pub fn item(&self, number: u64) -> Item {
        self.items[usize_from(number)]
    }

    /// All lines of items, with their headers.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.items.iter().flat_map(|item| {
            (0..=item.bytes.div_ceil(LINE_BYTES)).map(|line| item.header.step(line))
        })
    }

    /// The line of the table that leads to an item; neighbours in the table are no neighbours in popularity.
    #[must_use]
    pub fn bucket(&self, number: u64) -> LineAddr {
        let all = self.items.len() as u64;
        // An odd factor near the golden section scatters numbers.
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % all;
        self.table.line(place * BUCKET_BYTES / LINE_BYTES)
    }
}

/// Which items requests are for.
#[derive(Clone, Debug)]
pub struct ItemChoice {
    large_percent: f64,
    small: Popularity,
    large: Popularity,
}

impl ItemChoice {
    /// Choices by a mix.
    #[must_use]
    pub fn new(mix: &ItemMix) -> Self {
        let large = mix.large();
        Self {
            large_percent: mix.large_percent,
            small: Popularity::new(mix.items - large, mix.zipf),
            large: Popularity::new(large, mix.zipf),
        }
    }

    /// The number of an item.
    pub fn draw(&self, random: &mut impl RngCore) -> u64 {
        let point = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if 100.0 * point < self.large_percent {
            self.small.items() + self.large.draw(random)
        } else {
            self.small.draw(random)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn few_copies_carry_nearly_all_bytes_as_published() {
        for zipf in [0.0, 0.9] {
            let mix = ItemMix { items: 65_536, large_percent: 4.8, most_bytes: 256 << 10, zipf };
            let choice = ItemChoice::new(&mix);
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let sizes: Vec<u64> =
                (0..400_000).map(|_| mix.bytes_of(choice.draw(&mut random))).collect();
            let large = || sizes.iter().filter(|&&bytes| bytes >= 8 << 10);
            let copies = 100.0 * large().count() as f64 / sizes.len() as f64;
            let bytes = 100.0 * large().sum::<u64>() as f64 / sizes.iter().sum::<u64>() as f64;
            assert!((copies - 4.8).abs() < 0.15, "{copies} % of copies, zipf {zipf}");
            assert!((bytes - 96.4).abs() < 0.5, "{bytes} % of bytes, zipf {zipf}");
        }
    }
}

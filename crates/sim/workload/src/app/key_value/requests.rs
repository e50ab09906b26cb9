//! The items of requests, and the operations on them.
//!
//! Models: reads and one kind of write in fixed shares, of items by popularity: popular items are
//! scattered over the store or, where items are inserted, are the latest.
//! Source: YCSB: workloads A to C (updates), D (inserts, reads prefer the latest), F (read, modify,
//! write).
//! Simplifies: an inserted item replaces the oldest, so that the store keeps its size; threads insert
//! in turn.

use super::popularity::Popularity;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Operation of requests other than reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Writes replace a value, or some bytes of it.
    Update,
    /// Writes insert a new item; reads then prefer the latest.
    Insert,
    /// Writes read an item and write it back.
    ReadModifyWrite,
}

/// A request for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreRequest {
    /// Reads the value of the item with this number.
    Get(u64),
    /// Writes the value of this item, or some bytes of it.
    Update(u64),
    /// Inserts this item.
    Insert(u64),
    /// Reads the value of this item, then writes it.
    ReadModifyWrite(u64),
}

/// Parameters of the requests to one thread.
#[derive(Clone, Debug)]
pub struct RequestsConfig {
    /// Items and their popularity.
    pub popularity: Popularity,
    /// Share of reads, in percent.
    pub get_percent: u32,
    /// Operation of the other requests.
    pub writes: Writes,
    /// Number of the thread that serves the requests.
    pub thread: u64,
    /// Number of threads of the store.
    pub threads: u64,
    /// Seed of the draws.
    pub seed: u64,
}

/// A prime above every number of items, so that multiples of it visit each item once.
const SCATTER: u64 = 0x9E37_79B1;

/// The items of a store of `items`, the most popular first, if they are scattered over it.
pub fn by_popularity(items: u64) -> impl Iterator<Item = u64> {
    (0..items).map(move |place| scattered(place, items))
}

/// The item with a popularity rank.
fn scattered(place: u64, items: u64) -> u64 {
    place * SCATTER % items
}

/// Draws the requests to one thread: item, and read or write.
#[derive(Clone, Debug)]
pub struct Requests {
    config: RequestsConfig,
    random: ChaCha8Rng,
    /// Number of the item inserted last, counted beyond the end of the store.
    latest: u64,
}

impl Requests {
    /// Requests of a full store.
    ///
    /// # Panics
    /// If there are too many items. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: RequestsConfig) -> Self {
        assert!(config.popularity.items() < SCATTER);
        let random = ChaCha8Rng::seed_from_u64(config.seed);
        let latest = config.popularity.items() + config.thread;
        Self { random, latest, config }
    }

    /// Draws the next request.
    pub fn next_request(&mut self) -> StoreRequest {
        let percent = (u64::from(self.random.next_u32()) * 100) >> 32;
        if percent < u64::from(self.config.get_percent) {
            return StoreRequest::Get(self.popular_item());
        }
        match self.config.writes {
            Writes::Update => StoreRequest::Update(self.popular_item()),
            Writes::ReadModifyWrite => StoreRequest::ReadModifyWrite(self.popular_item()),
            Writes::Insert => {
                self.latest += self.config.threads;
                StoreRequest::Insert(self.latest % self.config.popularity.items())
            }
        }
    }

    fn popular_item(&mut self) -> u64 {
        let items = self.config.popularity.items();
        let place = self.config.popularity.draw(&mut self.random);
        match self.config.writes {
            Writes::Insert => (self.latest - place) % items,
            Writes::Update | Writes::ReadModifyWrite => scattered(place, items),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn requests(get_percent: u32, writes: Writes) -> Requests {
        let popularity = Popularity::new(1_000, 0.99);
        let (thread, threads, seed) = (1, 4, 7);
        Requests::new(RequestsConfig { popularity, get_percent, writes, thread, threads, seed })
    }

    #[test]
    fn reads_have_their_share() {
        let mut requests = requests(95, Writes::Update);
        let gets = (0..100_000)
            .filter(|_| matches!(requests.next_request(), StoreRequest::Get(_)))
            .count();
        // Five standard deviations.
        assert!((gets as f64 - 95_000.0).abs() < 350.0, "{gets}");
    }

    #[test]
    fn scattering_leaves_no_item_out_and_moves_neighbours_apart() {
        let places: BTreeSet<u64> = (0..1_000).map(|place| place * SCATTER % 1_000).collect();
        assert_eq!(places.len(), 1_000);
        const { assert!(SCATTER % 1_000 > 1) };
    }

    #[test]
    fn where_items_are_inserted_the_latest_is_read_most() {
        let mut requests = requests(95, Writes::Insert);
        let (mut latest, mut reads, mut of_latest) = (None, 0, 0);
        for _ in 0..100_000 {
            match requests.next_request() {
                StoreRequest::Insert(item) => latest = Some(item),
                StoreRequest::Get(item) if latest.is_some() => {
                    reads += 1;
                    of_latest += u32::from(latest == Some(item));
                }
                _ => {}
            }
        }
        // 1 / (1 + 1/2^0.99 + ... + 1/1000^0.99) of all reads.
        let share = f64::from(of_latest) / f64::from(reads);
        assert!((share - 0.13).abs() < 0.01, "{share}");
    }

    #[test]
    fn threads_insert_in_turn() {
        let mut requests = requests(0, Writes::Insert);
        let items: Vec<StoreRequest> = (0..3).map(|_| requests.next_request()).collect();
        assert_eq!(
            items,
            [StoreRequest::Insert(5), StoreRequest::Insert(9), StoreRequest::Insert(13)]
        );
    }
}

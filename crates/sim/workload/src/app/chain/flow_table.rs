//! A hash table of flows in memory.
//!
//! Models: buckets of eight signatures, a line each, and one line per flow; a flow whose first bucket
//! is full is inserted into its second one. A full table drops its oldest flow.
//! Source: DPDK's rte_hash (cuckoo hashing: 8 entries per bucket, as many slots as flows).
//! Simplifies: a flow whose buckets are both full is still inserted into the second, instead of moving
//! others.

use crate::host_memory::Region;
use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::{BTreeMap, VecDeque};
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, LineAddr};

/// Flows per bucket.
const BUCKET_FLOWS: u64 = 8;

/// Bucket and entry of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowSlot {
    entry: u32,
    in_second_bucket: bool,
}

/// Result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundFlow {
    /// The line of its entry.
    pub entry: LineAddr,
    /// Whether it was just inserted.
    pub is_new: bool,
}

/// A table of flows with its buckets and entries in memory.
#[derive(Debug)]
pub struct FlowTable {
    buckets: Region,
    entries: Region,
    capacity: u32,
    /// Flows in each bucket.
    filled: Vec<u32>,
    places: BTreeMap<u32, FlowSlot>,
    /// Flows in the order of insertion.
    by_age: VecDeque<u32>,
}

impl FlowTable {
    /// Bytes of the buckets and of the entries of a table for `capacity` flows.
    #[must_use]
    pub fn bytes(capacity: u32) -> (u64, u64) {
        (bucket_count(capacity) * LINE_BYTES, u64::from(capacity) * LINE_BYTES)
    }

    /// An empty table for `capacity` flows in memory of [`Self::bytes`].
    #[must_use]
    pub fn new(capacity: u32, buckets: Region, entries: Region) -> Self {
        Self {
            buckets,
            entries,
            capacity,
            filled: vec![0; usize_from(bucket_count(capacity))],
            places: BTreeMap::new(),
            by_age: VecDeque::new(),
        }
    }

    /// Number of flows in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has no flows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Finds the flow of `hash`, and inserts it if it is absent. Does not access its entry yet.
    pub fn find<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        hash: u32,
    ) -> FoundFlow {
        let [first, second] = self.buckets_of(hash);
        core.load(fabric, self.buckets.line(first));
        let known = self.places.get(&hash).copied();
        if known.is_none_or(|place| place.in_second_bucket) {
            core.load(fabric, self.buckets.line(second));
        }
        let place = known.unwrap_or_else(|| self.enter(core, fabric, hash));
        FoundFlow { entry: self.entries.line(u64::from(place.entry)), is_new: known.is_none() }
    }

    fn enter<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, hash: u32) -> FlowSlot {
        let entry = match self.places.len() < self.capacity as usize {
            true => fit(self.places.len()),
            false => self.forget_oldest(core, fabric),
        };
        let [first, second] = self.buckets_of(hash);
        let in_second_bucket = u64::from(self.filled[usize_from(first)]) >= BUCKET_FLOWS;
        let bucket = if in_second_bucket { second } else { first };
        self.filled[usize_from(bucket)] += 1;
        core.store(fabric, self.buckets.line(bucket));
        let place = FlowSlot { entry, in_second_bucket };
        self.places.insert(hash, place);
        self.by_age.push_back(hash);
        place
    }

    /// Removes the oldest flow; returns its entry.
    fn forget_oldest<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) -> u32 {
        let oldest = self.by_age.pop_front().expect("a full table has flows");
        let place = self.places.remove(&oldest).expect("flows by age are those of the table");
        let [first, second] = self.buckets_of(oldest);
        let bucket = if place.in_second_bucket { second } else { first };
        self.filled[usize_from(bucket)] -= 1;
        core.store(fabric, self.buckets.line(bucket));
        place.entry
    }

    /// First and second bucket of a flow.
    fn buckets_of(&self, hash: u32) -> [u64; 2] {
        let mixed = u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.filled.len() as u64 - 1;
        [mixed >> 40 & mask, mixed >> 20 & mask]
    }
}

/// As many slots as flows, in a power of two of buckets.
fn bucket_count(capacity: u32) -> u64 {
    u64::from(capacity).div_ceil(BUCKET_FLOWS).next_power_of_two()
}

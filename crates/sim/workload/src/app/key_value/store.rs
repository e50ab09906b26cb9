//! The store in memory: statistics, hash table, items.
//!
//! Models: the lines of a request: the bucket, which points to the item; the item's header (key,
//! reference count or time of use, which a read writes too); its value; statistics of the thread; the
//! list by age, which an insertion changes; popular items in separate memory, of slices near their
//! readers.
//! Source: memcached 1.6: hash table of 8-byte pointers, an item's header of 48 bytes and an 8-byte
//! number for compare-and-swap; redis is laid out likewise as far as lines go. EuroSys'19 for the slices.
//! Simplifies: items are of one size and contiguous; neither they nor the table ever move; a bucket is
//! never searched beyond its first item.

use super::requests::StoreRequest;
use crate::host_memory::Region;
use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::rc::Rc;
use units::{LINE_BYTES, LineAddr};

/// Bytes before the key of an item.
const ITEM_HEADER_BYTES: u64 = 48 + 8;
/// Pointers in a line of the hash table.
const POINTERS_PER_LINE: u64 = LINE_BYTES / 8;

/// Size and form of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreShape {
    /// Number of items in the store.
    pub items: u64,
    /// Size of a key in bytes.
    pub key_bytes: u64,
    /// Size of a value in bytes.
    pub value_bytes: u64,
    /// Bytes of a value that an update writes.
    pub update_bytes: u64,
    /// Number of threads that use the store.
    pub threads: u64,
}

impl StoreShape {
    /// Number of lines that an item takes.
    #[must_use]
    pub fn item_lines(&self) -> u64 {
        (ITEM_HEADER_BYTES + self.key_bytes + self.value_bytes).div_ceil(LINE_BYTES)
    }

    /// Lines before the hash table: those of the list by age, and the statistics of each thread.
    fn front_lines(&self) -> u64 {
        1 + self.threads
    }

    /// As many pointers as items, in a power of two of them.
    fn table_lines(&self) -> u64 {
        self.items.div_ceil(POINTERS_PER_LINE).next_power_of_two()
    }

    /// Bytes of the whole store.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let items = self.items * self.item_lines();
        (self.front_lines() + self.table_lines() + items) * LINE_BYTES
    }
}

/// Items in separate memory.
#[derive(Clone, Debug)]
pub struct ItemsApart {
    /// Item and its index there, by item.
    places: Vec<(u64, u64)>,
    memory: Region,
}

impl ItemsApart {
    /// `items` in this order in `memory`, which must be large enough.
    #[must_use]
    pub fn new(items: impl Iterator<Item = u64>, memory: Region) -> Self {
        let mut places: Vec<(u64, u64)> = items.zip(0..).collect();
        places.sort_unstable();
        Self { places, memory }
    }

    /// The lines of the separate items, in order.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.memory.lines()
    }

    fn place(&self, item: u64) -> Option<u64> {
        let found = self.places.binary_search_by_key(&item, |&(item, _)| item).ok()?;
        Some(self.places[found].1)
    }
}

/// A store as one of its threads sees it.
#[derive(Clone, Debug)]
pub struct Store {
    shape: StoreShape,
    /// Memory that all threads share, of [`StoreShape::bytes`].
    memory: Region,
    thread: u64,
    apart: Option<Rc<ItemsApart>>,
}

impl Store {
    /// The store in `memory`, as thread number `thread` uses it.
    #[must_use]
    pub fn new(shape: StoreShape, memory: Region, thread: u64) -> Self {
        Self { shape, memory, thread, apart: None }
    }

    /// The same store with some items in separate memory.
    #[must_use]
    pub fn with_items_apart(self, apart: Option<Rc<ItemsApart>>) -> Self {
        Self { apart, ..self }
    }

    /// Size and form of the store.
    #[must_use]
    pub fn shape(&self) -> &StoreShape {
        &self.shape
    }

    /// Accesses the lines of a request.
    pub fn serve<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, request: StoreRequest) {
        match request {
            StoreRequest::Get(item) => {
                self.find(core, fabric, item);
                self.read(core, fabric, item);
            }
            StoreRequest::Update(item) => {
                self.find(core, fabric, item);
                self.write(core, fabric, item);
            }
            StoreRequest::ReadModifyWrite(item) => {
                self.find(core, fabric, item);
                self.read(core, fabric, item);
                self.write(core, fabric, item);
            }
            StoreRequest::Insert(item) => self.insert(core, fabric, item),
        }
        core.store(fabric, self.statistics_line());
    }

    /// Reads the bucket, which points to the item, and the item's header with the key; marks it as
    /// used.
    fn find<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, item: u64) {
        core.load(fabric, self.bucket_line(item));
        core.load(fabric, self.item_line(item, 0));
        core.store(fabric, self.item_line(item, 0));
    }

    fn read<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, item: u64) {
        for line in 1..self.shape.item_lines() {
            core.load_independent(fabric, self.item_line(item, line));
        }
    }

    /// Writes the end of the value, `update_bytes` long.
    fn write<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, item: u64) {
        let lines = self.shape.item_lines();
        let written = self.shape.update_bytes.div_ceil(LINE_BYTES).min(lines);
        for line in lines - written..lines {
            core.store(fabric, self.item_line(item, line));
        }
    }

    /// Writes the whole item, and the pointers to it and to the item that it replaces.
    fn insert<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, item: u64) {
        core.load(fabric, self.oldest_line());
        core.store(fabric, self.oldest_line());
        for line in 0..self.shape.item_lines() {
            core.store(fabric, self.item_line(item, line));
        }
        core.load(fabric, self.bucket_line(item));
        core.store(fabric, self.bucket_line(item));
    }

    fn oldest_line(&self) -> LineAddr {
        self.memory.line(0)
    }

    fn statistics_line(&self) -> LineAddr {
        self.memory.line(1 + self.thread)
    }

    fn bucket_line(&self, item: u64) -> LineAddr {
        let mixed = item.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.memory.line(self.shape.front_lines() + mixed % self.shape.table_lines())
    }

    fn item_line(&self, item: u64, line: u64) -> LineAddr {
        if let Some(apart) = &self.apart
            && let Some(place) = apart.place(item)
        {
            return apart.memory.line(place * self.shape.item_lines() + line);
        }
        let first = self.shape.front_lines() + self.shape.table_lines();
        self.memory.line(first + item * self.shape.item_lines() + line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_memory::HostMemory;
    use units::Bytes;

    #[test]
    fn a_record_of_ycsb_is_seventeen_lines_and_a_small_item_two_or_three() {
        let shape = |key_bytes, value_bytes| StoreShape {
            items: 1,
            key_bytes,
            value_bytes,
            update_bytes: 1,
            threads: 1,
        };
        // Ten fields of 100 B, keys such as user6284781860667377211.
        assert_eq!(shape(23, 1_000).item_lines(), 17);
        assert_eq!(shape(30, 30).item_lines(), 2);
        assert_eq!(shape(30, 100).item_lines(), 3);
    }

    #[test]
    fn items_apart_leave_the_others_where_they_are() {
        let shape = StoreShape {
            items: 1_000,
            key_bytes: 8,
            value_bytes: 64,
            update_bytes: 64,
            threads: 1,
        };
        let mut memory = HostMemory::new(Bytes(2 << 20), 1);
        let plain = Store::new(shape, memory.region(shape.bytes()), 0);
        let own = memory.region(2 * shape.item_lines() * LINE_BYTES);
        let apart = Rc::new(ItemsApart::new([700, 3].into_iter(), own.clone()));
        let store = plain.clone().with_items_apart(Some(apart));
        assert_eq!(store.item_line(700, 1), own.line(1));
        assert_eq!(store.item_line(3, 0), own.line(2));
        assert_eq!(store.item_line(4, 1), plain.item_line(4, 1));
        assert_eq!(store.bucket_line(700), plain.bucket_line(700));
    }

    #[test]
    fn statistics_table_and_items_fill_the_store_without_gaps() {
        let shape = StoreShape {
            items: 1_000,
            key_bytes: 23,
            value_bytes: 1_000,
            update_bytes: 100,
            threads: 4,
        };
        // 125 lines of eight pointers are 128 as a power of two.
        assert_eq!(shape.bytes(), (1 + 4 + 128 + 1_000 * 17) * 64);
    }
}

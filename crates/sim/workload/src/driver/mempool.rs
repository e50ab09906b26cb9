//! A pool of packet buffers shared by all cores.
//!
//! Models: rte_mempool: per-core LIFO caches over one FIFO ring; each object is a header line, a
//! two-line mbuf, a private area, headroom (fixed, or chosen by CacheDirector) and data, padded to an
//! odd number of lines.
//! Source: DPDK mempool guide and rte_mempool.h (flush at 1.5 x cache size, refill to cache size plus
//! the requested number).
//! Simplifies: the ring's own head and tail words are not modelled as lines.

use super::header_slices::{HeaderPlacement, HeaderShifts};
use crate::host_memory::{HostMemory, Region};
use model::core::Core;
use model::device::nic::rings::Buffer;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{CoreId, Id, LINE_BYTES, LineAddr, SliceId};

/// Lines of the object header.
const HEADER_LINES: u64 = 1;
/// Number of lines of an mbuf.
pub const MBUF_LINES: u64 = 2;
/// Lines of headroom before packet data.
const HEADROOM_LINES: u64 = 2;
/// Pointers to objects per line of a cache or ring.
const POINTERS_PER_LINE: u64 = LINE_BYTES / 8;

/// Shape of a pool: number of buffers, and the lines of each.
#[derive(Clone, Copy, Debug)]
pub struct MempoolConfig {
    /// Number of buffers.
    pub buffers: u32,
    /// Number of pointers in a core's cache.
    pub cache: u32,
    /// Number of lines of the mbuf, the first ones, that freeing a buffer reads once its packet is
    /// sent or dropped.
    pub freed_mbuf_lines: u64,
    /// Number of lines of application data between mbuf and headroom.
    pub private_lines: u64,
    /// Bytes for packet data in a buffer.
    pub data_bytes: u64,
    /// Largest shift of data beyond the headroom, in lines.
    pub shift_lines: u64,
    /// How objects are spaced in memory.
    pub spacing: Spacing,
}

/// Spacing of a pool's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Multiples of an odd number of lines, so that objects spread over channels (DPDK).
    OddLines,
    /// Multiples of the next power of two (Onload: packet buffers of 2 KiB).
    PowerOfTwo,
}

impl MempoolConfig {
    /// Lines from one object to the next.
    #[must_use]
    pub fn object_lines(&self) -> u64 {
        let data_lines = self.data_bytes.div_ceil(LINE_BYTES);
        let lines = self.data_offset_lines() + self.shift_lines + data_lines;
        match self.spacing {
            Spacing::OddLines => lines | 1,
            Spacing::PowerOfTwo => lines.next_power_of_two(),
        }
    }

    /// Lines from the start of an object to packet data.
    #[must_use]
    pub fn data_offset_lines(&self) -> u64 {
        HEADER_LINES + MBUF_LINES + self.private_lines + HEADROOM_LINES
    }
}

/// A pool of packet buffers with the caches of its cores.
#[derive(Debug)]
pub struct Mempool {
    config: MempoolConfig,
    objects: Region,
    objects_per_page: u64,
    object_lines: u64,
    page_lines: u64,
    /// Shifts of data, if there are any.
    shifts: Option<HeaderShifts>,
    /// Free objects outside the caches; taken at the front, returned at the end.
    fifo: VecDeque<u32>,
    fifo_lines: Region,
    /// Pointers taken from and returned to the FIFO since time zero: the positions in its ring.
    taken: u64,
    given: u64,
    first_core: CoreId,
    caches: Vec<Vec<u32>>,
    cache_lines: Vec<LineAddr>,
}

impl Mempool {
    /// A pool whose buffers are all free, for `cores` cores from `first_core` on.
    ///
    /// # Panics
    /// If an object does not fit a page. Scenarios are checked before they get here.
    pub fn new(
        config: MempoolConfig,
        memory: &mut HostMemory,
        first_core: CoreId,
        cores: usize,
    ) -> Self {
        let page_lines = memory.page().0 / LINE_BYTES;
        let objects_per_page = page_lines / config.object_lines();
        assert!(objects_per_page > 0, "a buffer must fit a page");
        let pages = u64::from(config.buffers).div_ceil(objects_per_page);
        let lines = match pages {
            1 => u64::from(config.buffers) * config.object_lines(),
            _ => pages * page_lines,
        };
        let objects = memory.region(lines * LINE_BYTES);
        let fifo_lines = memory.region(u64::from(config.buffers.next_power_of_two()) * 8);
        // A cache holds up to 1.5 times its size, and briefly more.
        let cache_bytes = (u64::from(config.cache) * 3 * 8).next_multiple_of(LINE_BYTES) + 1024;
        let caches = memory.region(cache_bytes * cores as u64);
        let lines_per_cache = cache_bytes / LINE_BYTES;
        Self {
            objects,
            objects_per_page,
            object_lines: config.object_lines(),
            page_lines,
            shifts: None,
            fifo: (0..config.buffers).collect(),
            fifo_lines,
            taken: 0,
            given: 0,
            first_core,
            caches: vec![Vec::new(); cores],
            cache_lines: (0..cores as u64)
                .map(|core| caches.line(core * lines_per_cache))
                .collect(),
            config,
        }
    }

    /// Shifts data from now on so that a line of each received packet's header lies where `placement`
    /// requires.
    ///
    /// # Panics
    /// If it belongs to other cores than the pool's, or shifts beyond the reserved lines.
    pub fn place_headers(
        &mut self,
        placement: &HeaderPlacement,
        slice_of: impl Fn(LineAddr) -> SliceId,
    ) {
        assert_eq!(placement.nearest.len(), self.caches.len(), "slices for each core");
        assert!(u64::from(placement.most_lines) <= self.config.shift_lines, "room for shifts");
        let data = (0..self.config.buffers).map(|id| self.buffer(id).data);
        self.shifts = Some(HeaderShifts::new(placement, data, slice_of));
    }

    /// The mbuf line that driver and application access.
    #[must_use]
    pub fn mbuf_line(&self, id: u32) -> LineAddr {
        self.object(id).step(HEADER_LINES)
    }

    /// The mbuf's lines that freeing reads: reference count, then pool and next segment.
    pub fn freed_lines(&self, id: u32) -> impl Iterator<Item = LineAddr> + use<> {
        let first = self.mbuf_line(id);
        (0..self.config.freed_mbuf_lines).map(move |line| first.step(line))
    }

    /// The first line of a buffer's private area.
    #[must_use]
    pub fn private_line(&self, id: u32) -> LineAddr {
        self.object(id).step(HEADER_LINES + MBUF_LINES)
    }

    /// A buffer as the NIC fills it for the queue that `core` polls.
    #[must_use]
    pub fn receive_buffer(&self, core: &Core, id: u32) -> Buffer {
        let buffer = self.buffer(id);
        match &self.shifts {
            None => buffer,
            Some(shifts) => {
                let shift = shifts.shift(id, self.cache_of(core));
                Buffer { data: buffer.data.step(shift), ..buffer }
            }
        }
    }

    /// A buffer with data at the end of the headroom.
    #[must_use]
    pub fn buffer(&self, id: u32) -> Buffer {
        Buffer { id, data: self.object(id).step(self.config.data_offset_lines()) }
    }

    /// Number of free buffers, in caches or outside.
    #[must_use]
    pub fn free(&self) -> usize {
        self.fifo.len() + self.caches.iter().map(Vec::len).sum::<usize>()
    }

    /// Takes `count` buffers for `core`; takes none if the pool has fewer.
    pub fn get<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        count: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        let cache_size = self.config.cache as usize;
        // Requests larger than a cache bypass it.
        if count >= cache_size && self.draw(core, fabric, count, out) {
            return true;
        }
        let index = self.cache_of(core);
        let held = self.caches[index].len();
        if held < count {
            let mut cache = std::mem::take(&mut self.caches[index]);
            let full = count + cache_size - held.min(cache_size);
            let drawn = self.draw(core, fabric, full, &mut cache)
                || self.draw(core, fabric, count - held, &mut cache);
            let filled = cache.len() - held;
            self.caches[index] = cache;
            if !drawn {
                return false;
            }
            self.touch_cache(core, fabric, held, filled);
        }
        let left = self.caches[index].len() - count;
        self.touch_cache(core, fabric, left, count);
        out.extend(self.caches[index].drain(left..).rev());
        true
    }

    /// Moves `count` buffers from the FIFO to `out`; moves none if it has fewer.
    fn draw<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        count: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        if count > self.fifo.len() {
            return false;
        }
        self.touch_fifo(core, fabric, self.taken, count as u64);
        self.taken += count as u64;
        out.extend(self.fifo.drain(..count));
        true
    }

    /// Returns buffers from `core`.
    pub fn put<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, buffers: &[u32]) {
        let index = self.cache_of(core);
        let held = self.caches[index].len();
        self.touch_cache(core, fabric, held, buffers.len());
        self.caches[index].extend_from_slice(buffers);
        let cache = self.config.cache as usize;
        if self.caches[index].len() >= cache + cache / 2 {
            let excess = self.caches[index].len() - cache;
            self.touch_fifo(core, fabric, self.given, excess as u64);
            self.given += excess as u64;
            self.fifo.extend(self.caches[index].drain(cache..));
        }
    }

    /// All lines of the pool's pages, in the order of the virtual address space.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.objects.lines()
    }

    /// The lines that building the pool stores to: header, mbuf and private lines of every object in
    /// order. It leaves the last ones in the caches.
    pub fn built_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let lines = HEADER_LINES + MBUF_LINES + self.config.private_lines;
        let objects = (0..self.config.buffers).map(|id| self.object(id));
        objects.flat_map(move |object| (0..lines).map(move |line| object.step(line)))
    }

    fn cache_of(&self, core: &Core) -> usize {
        core.id().index() - self.first_core.index()
    }

    fn object(&self, id: u32) -> LineAddr {
        let id = u64::from(id);
        // One huge page often holds all objects, which saves several calls per packet a division.
        if id < self.objects_per_page {
            return self.objects.line(id * self.object_lines);
        }
        let (page, place) = (id / self.objects_per_page, id % self.objects_per_page);
        self.objects.line(page * self.page_lines + place * self.object_lines)
    }

    fn touch_cache<T: Tracer>(
        &self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        from: usize,
        count: usize,
    ) {
        let first = self.cache_lines[self.cache_of(core)];
        for line in lines_of_pointers(from as u64, count as u64) {
            core.store(fabric, first.step(line));
        }
    }

    fn touch_fifo<T: Tracer>(
        &self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        from: u64,
        count: u64,
    ) {
        let entries = u64::from(self.config.buffers.next_power_of_two());
        for line in lines_of_pointers(from, count) {
            core.store(fabric, self.fifo_lines.line(line % (entries / POINTERS_PER_LINE)));
        }
    }
}

/// Lines that hold the pointers `from .. from + count` of an array.
fn lines_of_pointers(from: u64, count: u64) -> std::ops::Range<u64> {
    from / POINTERS_PER_LINE..(from + count).div_ceil(POINTERS_PER_LINE)
}

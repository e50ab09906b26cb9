//! A pool of packet buffers shared by all cores.
//!
//! Models: rte_mempool: per-core LIFO caches, or none, over one FIFO ring; each object is a header line, a
//! two-line mbuf, a private area, headroom (fixed, or chosen by CacheDirector) and data, padded to an
//! odd number of lines. Data may lie apart, in buffers chosen one by one. The mbufs of a chained packet
//! name the next one in their second line.
//! Source: DPDK mempool guide and rte_mempool.h (flush at 1.5 x cache size, refill to cache size plus
//! the requested number); rte_pktmbuf_pool_create_extbuf (data apart).
//! Simplifies: a call that a cache serves costs its lines only.

mod chains;
mod ring;

use super::header_slices::{HeaderPlacement, HeaderShifts};
use crate::host_memory::{HostMemory, Region};
use chains::Chains;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet};
use model::fabric::Fabric;
use model::tracer::Tracer;
use ring::{PoolRing, lines_of_pointers};
use units::narrow::usize_from;
use units::{CoreId, Cycles, Id, LINE_BYTES, LineAddr, SliceId};

/// Lines of the object header.
const HEADER_LINES: u64 = 1;
/// Number of lines of an mbuf.
pub const MBUF_LINES: u64 = 2;

/// Shape of a pool: number of buffers, and the lines of each.
#[derive(Clone, Copy, Debug)]
pub struct MempoolConfig {
    /// Number of buffers.
    pub buffers: u32,
    /// Number of pointers in a core's cache; 0 if cores have none.
    pub cache: u32,
    /// Most buffers that a call takes or returns; `None` if a call has all that are wanted.
    pub call_buffers: Option<u32>,
    /// Work of a call on the ring, if calls cost something beside their pointers.
    pub ring_call: Option<Cycles>,
    /// Lines of headroom before packet data.
    pub headroom_lines: u64,
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
    /// Where headroom and data are.
    pub data: DataPlace,
}

/// Where the headroom and the data of a pool's buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPlace {
    /// In the object, behind its mbuf.
    InObject,
    /// In an area of its own, which [`Mempool::place_data`] states.
    Apart,
}

/// Memory for the headroom and the data of a buffer, apart from its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataArea {
    /// First line of the area.
    pub first: LineAddr,
    /// Lines of the area.
    pub lines: u64,
    /// Lines of the area before packet data.
    pub headroom_lines: u64,
}

impl DataArea {
    fn data(&self) -> LineAddr {
        self.first.step(self.headroom_lines)
    }
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
        let lines = match self.data {
            DataPlace::InObject => self.mbuf_area_lines() + self.data_area_lines(),
            DataPlace::Apart => self.mbuf_area_lines(),
        };
        match self.spacing {
            Spacing::OddLines => lines | 1,
            Spacing::PowerOfTwo => lines.next_power_of_two(),
        }
    }

    /// Lines of headroom and data.
    #[must_use]
    pub fn data_area_lines(&self) -> u64 {
        self.headroom_lines + self.shift_lines + self.data_bytes.div_ceil(LINE_BYTES)
    }

    /// Lines of header, mbuf and private area.
    fn mbuf_area_lines(&self) -> u64 {
        HEADER_LINES + MBUF_LINES + self.private_lines
    }

    /// Lines from the start of an object to packet data, if the object holds them.
    fn data_offset_lines(&self) -> u64 {
        self.mbuf_area_lines() + self.headroom_lines
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
    /// Headroom and data of each buffer, if they lie apart.
    areas: Option<Box<[DataArea]>>,
    ring: PoolRing,
    chains: Chains,
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
        let mut ring = PoolRing::new(config.buffers, memory);
        // A cache holds up to 1.5 times its size, and briefly more.
        let cache_bytes = (u64::from(config.cache) * 3 * 8).next_multiple_of(LINE_BYTES) + 1024;
        let caches = memory.region(cache_bytes * cores as u64);
        let lines_per_cache = cache_bytes / LINE_BYTES;
        if let Some(work) = config.ring_call {
            ring.count_calls(work, memory);
        }
        Self {
            objects,
            objects_per_page,
            object_lines: config.object_lines(),
            page_lines,
            shifts: None,
            areas: None,
            ring,
            chains: Chains::new(config.buffers),
            first_core,
            caches: vec![Vec::new(); cores],
            cache_lines: (0..cores as u64)
                .map(|core| caches.line(core * lines_per_cache))
                .collect(),
            config,
        }
    }

    /// Gives each buffer its area for headroom and data.
    ///
    /// # Panics
    /// If data are not apart, or there is not an area for each buffer.
    pub fn place_data(&mut self, areas: Vec<DataArea>) {
        assert_eq!(self.config.data, DataPlace::Apart, "data in objects have their place");
        assert_eq!(areas.len(), self.config.buffers as usize, "an area for each buffer");
        self.areas = Some(areas.into());
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

    /// The mbuf's line that names the next buffer of a chained packet.
    #[must_use]
    pub fn next_line(&self, id: u32) -> LineAddr {
        self.mbuf_line(id).step(MBUF_LINES - 1)
    }

    /// Chains buffer `next` behind `id`.
    pub fn chain(&mut self, id: u32, next: u32) {
        self.chains.link(id, next);
    }

    /// The buffers behind the first of a packet, in order.
    pub fn chained(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        self.chains.behind(first)
    }

    /// Takes the chain of a packet apart: `out` gets all of its buffers.
    pub fn unchain(&mut self, first: u32, out: &mut Vec<u32>) {
        self.chains.take(first, out);
    }

    /// The line of a packet's data with this number, in whichever of its buffers it is.
    #[must_use]
    pub fn data_line(&self, packet: &Packet, line: u64) -> LineAddr {
        let of_buffer = self.config.data_bytes / LINE_BYTES;
        if packet.buffers == 1 || line < of_buffer {
            return packet.buffer.data.step(line);
        }
        let behind = usize_from(line / of_buffer - 1);
        let buffer = self.chained(packet.buffer.id).nth(behind);
        let data = buffer.map_or(packet.buffer.data, |id| self.buffer(id).data);
        data.step(line % of_buffer)
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
        let data = match &self.areas {
            None => self.object(id).step(self.config.data_offset_lines()),
            Some(areas) => areas[id as usize].data(),
        };
        Buffer { id, data }
    }

    /// Number of free buffers, in caches or outside.
    #[must_use]
    pub fn free(&self) -> usize {
        self.ring.len() + self.caches.iter().map(Vec::len).sum::<usize>()
    }

    /// Takes `count` buffers for `core`, in as many calls as they need; takes none if the pool has fewer.
    pub fn get<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        count: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        let Some(most) = self.config.call_buffers.map(|most| most as usize) else {
            return self.get_in_a_call(core, fabric, count, out);
        };
        if self.caches[self.cache_of(core)].len() + self.ring.len() < count {
            return false;
        }
        let mut left = count;
        while left > 0 {
            let now = left.min(most);
            assert!(self.get_in_a_call(core, fabric, now, out), "there are enough");
            left -= now;
        }
        true
    }

    fn get_in_a_call<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        count: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        let cache_size = self.config.cache as usize;
        // Requests larger than a cache bypass it; without a cache, all do.
        if count >= cache_size && self.ring.take(core, fabric, count, out) {
            return true;
        }
        let index = self.cache_of(core);
        let held = self.caches[index].len();
        if held < count {
            let full = count + cache_size - held.min(cache_size);
            let cache = &mut self.caches[index];
            let drawn = self.ring.take(core, fabric, full, cache)
                || self.ring.take(core, fabric, count - held, cache);
            let filled = cache.len() - held;
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

    /// Returns buffers from `core`, in as many calls as they need.
    pub fn put<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, buffers: &[u32]) {
        match self.config.call_buffers {
            None => self.put_in_a_call(core, fabric, buffers),
            Some(most) => {
                for now in buffers.chunks(most as usize) {
                    self.put_in_a_call(core, fabric, now);
                }
            }
        }
    }

    fn put_in_a_call<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        buffers: &[u32],
    ) {
        let cache = self.config.cache as usize;
        if cache == 0 {
            self.ring.give(core, fabric, buffers.iter().copied());
            return;
        }
        let index = self.cache_of(core);
        let held = self.caches[index].len();
        self.touch_cache(core, fabric, held, buffers.len());
        self.caches[index].extend_from_slice(buffers);
        if self.caches[index].len() >= cache + cache / 2 {
            self.ring.give(core, fabric, self.caches[index].drain(cache..));
        }
    }

    /// All lines of the pool's pages, in the order of the virtual address space, then those of data apart.
    pub fn lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let areas = self.areas.iter().flat_map(|areas| areas.iter());
        let apart = areas.flat_map(|area| (0..area.lines).map(|line| area.first.step(line)));
        self.objects.lines().chain(apart)
    }

    /// The lines that building the pool stores to: header, mbuf and private lines of every object in
    /// order. It leaves the last ones in the caches.
    pub fn built_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let lines = self.config.mbuf_area_lines();
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
}

//! Fast path of a DMA burst: lines that only the local LLC holds are looked up and served as a batch.
//!
//! Models: the semantics of [`super::io_write`] and [`super::io_read`], for a line that hits the LLC
//! and cannot be modified in a core, and for one that misses the LLC.
//! Source: as in [`super::io_write`] and [`super::io_read`].
//!
//! Lines in different sets affect each other in two ways only: the order in which they reach memory,
//! and the random draws of replacement, which all sets share. Hits do neither, so they are served
//! first; all other lines keep their order.
//!
//! The whole burst is looked up before any line is served: conditions that its lines share are decided
//! once, and the host has no branch to predict per line. A tracer sees lines in order, so a traced
//! machine takes the general path; tests hold both paths to the same results.

use super::Fabric;
use super::io_path::{Burst, BurstSpans, DmaRequest, LineSpans};
use crate::llc::LineInfo;
use crate::root_complex::ddio::Ddio;
use crate::tracer::Tracer;
use tag_array::RUN_LINES;
use units::{LineAddr, Picos, SetIndex, SocketId, WayMask};

/// The numbers of the bits that are set, lowest first.
#[inline(always)]
fn bits(mut left: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(bit)
    })
}

impl<T: Tracer> Fabric<T> {
    /// Whether lines of a burst may be served out of order: no tracer watches, and each line has a set
    /// of its own.
    #[inline]
    fn order_is_free(&self, socket: SocketId, burst: Burst<'_>) -> bool {
        !T::WATCHING && self.sockets[socket].llc.run_is_spread(burst.first, burst.sets.len() as u64)
    }

    /// Writes the lines of a burst into the LLC; misses allocate in ways of `mask`. Lines numbered
    /// below `full_lines` in their request are full.
    #[inline]
    pub(super) fn write_plain_burst(
        &mut self,
        request: DmaRequest,
        mask: WayMask,
        burst: Burst<'_>,
        full_lines: u64,
    ) -> BurstSpans {
        let (full, partial) = burst.split_at_number(full_lines);
        if !self.order_is_free(request.socket, full) {
            return self.write_burst(request, Ddio::Ways(mask), burst, full_lines);
        }
        let mut held = self.write_plain_lines(request, mask, full);
        for (line, set) in partial.lines() {
            held.add(1, self.write_line(request, Ddio::Ways(mask), line, set, false));
        }
        held
    }

    /// Writes full lines that all lie in different sets.
    fn write_plain_lines(
        &mut self,
        request: DmaRequest,
        mask: WayMask,
        burst: Burst<'_>,
    ) -> BurstSpans {
        let part = &mut self.sockets[request.socket];
        let info = LineInfo { owner: part.device(request.port), dirty: true, consumed: false };
        let spans = LineSpans::both(
            request.now + self.ports[request.port].times.llc_write - request.arrived,
        );
        let mut ways = [0; RUN_LINES];
        let present = part.llc.find_run(burst.sets, burst.first, &mut ways);
        let mut newest = 0_u64;
        for i in bits(present) {
            let (set, way) = (burst.sets[i], u32::from(ways[i]));
            if part.holds_the_newest(way) {
                part.llc.update(set, way, info);
                newest |= 1 << i;
            }
        }
        let is_moved = |i: &usize| part.is_moved_by_write(burst.sets[*i], burst.line(*i));
        let candidates =
            if part.inclusion.device_write_moves() { burst.all() & !present } else { 0 };
        let moved: u64 = bits(candidates).filter(is_moved).map(|i| 1 << i).sum();
        let absent = burst.all() & !present & !moved;
        let (hits, misses) = (u64::from(newest.count_ones()), u64::from(absent.count_ones()));
        self.counters.pcie_write_hits += hits;
        self.counters.pcie_write_misses += misses;
        self.counters.llc_io_allocations += misses;
        let mut held = BurstSpans::default();
        held.add(hits + misses, spans);
        for i in bits(burst.all() & !newest) {
            let (line, set) = (burst.line(i), burst.sets[i]);
            if absent >> i & 1 == 1 {
                let room = self.allocate_plain_line(request, set, line, info, mask);
                held.extend(spans, room.saturating_sub(request.arrived));
            } else {
                held.add(1, self.write_line(request, Ddio::Ways(mask), line, set, true));
            }
        }
        held
    }

    /// Allocates a line that misses the LLC in one of the ways of `mask`; returns when memory has taken
    /// its victim.
    #[inline]
    fn allocate_plain_line(
        &mut self,
        request: DmaRequest,
        set: SetIndex,
        line: LineAddr,
        info: LineInfo,
        mask: WayMask,
    ) -> Picos {
        let DmaRequest { agent, socket, now, .. } = request;
        let part = &mut self.sockets[socket];
        // Where lines that a core holds are moved, this one is held by none.
        if !part.inclusion.device_write_moves() {
            part.drop_untracked_copies(set, line);
        }
        let (_, evicted) = part.llc.allocate(set, line, info, mask);
        match evicted {
            Some(evicted) => self.evict(socket, agent, set, evicted, now),
            None => now,
        }
    }

    /// Reads the lines of a burst; all stay in their caches.
    #[inline]
    pub(super) fn read_plain_burst(&mut self, request: DmaRequest, burst: Burst<'_>) -> BurstSpans {
        if self.order_is_free(request.socket, burst) {
            self.read_plain_lines(request, burst)
        } else {
            self.read_burst(request, burst)
        }
    }

    /// Reads lines that all lie in different sets.
    fn read_plain_lines(&mut self, request: DmaRequest, burst: Burst<'_>) -> BurstSpans {
        let part = &mut self.sockets[request.socket];
        let spans = LineSpans::both(
            request.now + self.ports[request.port].times.llc_read - request.arrived,
        );
        let mut ways = [0; RUN_LINES];
        let present = part.llc.find_run(burst.sets, burst.first, &mut ways);
        let mut newest = 0_u64;
        for i in bits(present) {
            let way = u32::from(ways[i]);
            if part.holds_the_newest(way) {
                part.llc.note_device_read(burst.sets[i], way);
                newest |= 1 << i;
            }
        }
        let hits = u64::from(newest.count_ones());
        self.counters.pcie_read_hits += hits;
        if self.sockets.len() > 1 {
            bits(newest).for_each(|i| self.count_remote(request.socket, burst.line(i)));
        }
        let mut held = BurstSpans::default();
        held.add(hits, spans);
        for i in bits(burst.all() & !newest) {
            let (line, set) = (burst.line(i), burst.sets[i]);
            let span = if present >> i & 1 == 1 {
                self.read_line(request, line, set)
            } else {
                self.read_absent_line(request, line, set)
            };
            held.add(1, LineSpans::both(span));
        }
        held
    }

    /// Reads a line that misses the LLC; returns how long it holds its IIO entry.
    #[inline]
    fn read_absent_line(&mut self, request: DmaRequest, line: LineAddr, set: SetIndex) -> Picos {
        let DmaRequest { port, socket, now, arrived, .. } = request;
        if self.sockets.len() > 1 || !self.sockets[socket].untracked_holders(set, line).is_empty() {
            let (found, done) = self.find_beyond_llc(request, line, set, now);
            return self.end_read(request, line, found, done);
        }
        self.counters.count_read(false);
        self.read_memory(socket, line, now) + self.ports[port].times.dram_read_extra - arrived
    }
}

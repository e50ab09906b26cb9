//! Fast path of a DMA burst: lines that only the local LLC holds are looked up and served as a batch.
//!
//! Models: the same as [`super::io_write`] and [`super::io_read`], for a line that the LLC has and no core
//! can have modified, and for one that the LLC does not have.
//! Source: as there.
//! Simplifies: nothing. With lines in sets of their own, what happens to one touches the others in two ways
//! only: the order in which they reach memory, and what replacement draws at random for all sets. Hits do
//! neither, so they come first; all other lines keep their order.
//!
//! The whole burst is looked up before any line is served: what its lines have in common is decided once,
//! and the host has no branch to predict per line. A tracer sees lines in their order, so a traced machine
//! takes the general path; tests hold both to the same results.

use super::Fabric;
use super::io_path::{Burst, BurstSpans, LineSpans, Request};
use crate::llc::LineInfo;
use crate::llc::inclusion::HoldersIn;
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
    /// Whether lines of a burst may be served out of their order: no tracer watches, and each line has a
    /// set of its own.
    #[inline]
    fn order_is_free(&self, socket: SocketId, burst: Burst<'_>) -> bool {
        !T::WATCHING && self.sockets[socket].llc.run_is_spread(burst.first, burst.sets.len() as u64)
    }

    /// Writes the lines of a burst into the LLC, into ways of `mask` where it does not have them; those
    /// numbered below `full_lines` in their request are full.
    #[inline]
    pub(super) fn write_plain_burst(
        &mut self,
        request: Request,
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
        request: Request,
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
            if part.on_device_hit(way) == HoldersIn::None {
                part.llc.update(set, way, info);
                newest |= 1 << i;
            }
        }
        let absent = burst.all() & !present;
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

    /// A line that the LLC does not have is written into one of the ways of `mask`; returns when memory has
    /// taken the line that it pushes out.
    #[inline]
    fn allocate_plain_line(
        &mut self,
        request: Request,
        set: SetIndex,
        line: LineAddr,
        info: LineInfo,
        mask: WayMask,
    ) -> Picos {
        let Request { agent, socket, now, .. } = request;
        self.sockets[socket].drop_untracked_copies(set, line);
        let (_, evicted) = self.sockets[socket].llc.allocate(set, line, info, mask);
        match evicted {
            Some(evicted) => self.evict(socket, agent, set, evicted, now),
            None => now,
        }
    }

    /// Reads the lines of a burst, which all stay where they are.
    #[inline]
    pub(super) fn read_plain_burst(&mut self, request: Request, burst: Burst<'_>) -> BurstSpans {
        if self.order_is_free(request.socket, burst) {
            self.read_plain_lines(request, burst)
        } else {
            self.read_burst(request, burst)
        }
    }

    /// Reads lines that all lie in different sets.
    fn read_plain_lines(&mut self, request: Request, burst: Burst<'_>) -> BurstSpans {
        let part = &mut self.sockets[request.socket];
        let spans = LineSpans::both(
            request.now + self.ports[request.port].times.llc_read - request.arrived,
        );
        let mut ways = [0; RUN_LINES];
        let present = part.llc.find_run(burst.sets, burst.first, &mut ways);
        let mut newest = 0_u64;
        for i in bits(present) {
            let way = u32::from(ways[i]);
            if part.on_device_hit(way) == HoldersIn::None {
                part.llc.note_use(burst.sets[i], way);
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
                let (found, done) = self.find_beyond_llc(request, line, set, request.now);
                self.end_read(request, line, found, done)
            };
            held.add(1, LineSpans::both(span));
        }
        held
    }
}

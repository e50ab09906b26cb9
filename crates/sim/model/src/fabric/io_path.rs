//! A device's request on its path to the caches: device, link, root complex, lines.
//!
//! Models: DMA writes (ItoM and partial) and DMA reads (PCIRdCur) that cross the link, are translated,
//! take IIO entries and are served line by line ([`super::io_write`], [`super::io_read`]).
//! Source: SIGCOMM'24 "host network" for the entries; pcie-bench for link and translation.
//! Simplifies: a burst's lines reach the LLC as if in address order.

use super::extent::{Extent, total};
use super::placed_io::PlacedPacket;
use super::root_port::{LineReader, LineWriter};
use super::{DmaDirection, Fabric};
use crate::attribution::AgentId;
use crate::occupancy::Entries;
use crate::root_complex::ddio::DmaKind;
use crate::root_complex::iommu::PageFault;
use crate::tracer::{ResourceSpan, SpanPlace, Tracer};
use tag_array::RUN_LINES;
use units::narrow::usize_from;
use units::{CoreId, LINE_BYTES, LineAddr, Picos, RootPortId, SetIndex, SocketId};

/// Progress of a DMA write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaDone {
    /// Time at which the last line has an IIO entry: the device may send further requests.
    pub accepted: Picos,
    /// Time from which every line is visible to cores.
    pub visible: Picos,
}

/// Lines of a burst.
const BURST_LINES: usize = RUN_LINES;

/// Lines of a request that are served together: neighbours, at most [`BURST_LINES`].
#[derive(Clone, Copy)]
pub(super) struct Burst<'a> {
    /// Number of the first line in its request.
    pub number: u64,
    pub first: LineAddr,
    /// Set of each line.
    pub sets: &'a [SetIndex],
}

impl<'a> Burst<'a> {
    /// The `i`-th line.
    #[inline]
    pub fn line(self, i: usize) -> LineAddr {
        self.first.step(i as u64)
    }

    /// A bit for each line.
    #[inline]
    pub fn all(self) -> u64 {
        match self.sets.len() {
            0 => 0,
            lines => u64::MAX >> (u64::BITS as usize - lines),
        }
    }

    /// Lines with their sets.
    #[inline]
    pub fn lines(self) -> impl Iterator<Item = (LineAddr, SetIndex)> + 'a {
        self.sets.iter().enumerate().map(move |(i, &set)| (self.line(i), set))
    }

    /// The lines whose number in the request is below `end`, and the others.
    #[inline]
    pub fn split_at_number(self, end: u64) -> (Self, Self) {
        let below = usize_from(end.saturating_sub(self.number)).min(self.sets.len());
        let (sets, others) = self.sets.split_at(below);
        let number = self.number + below as u64;
        (Self { sets, ..self }, Self { number, first: self.line(below), sets: others })
    }
}

/// Spans over all lines of a burst, from their arrival at the root complex.
#[derive(Clone, Copy, Default)]
pub(super) struct BurstSpans {
    /// Sum of the times for which they hold their IIO entries.
    entry_time: Picos,
    /// When the last line is visible: a write to cores, data of a read to the root complex.
    seen: Picos,
}

impl BurstSpans {
    /// Adds `lines` lines that all take the same time.
    #[inline]
    pub fn add(&mut self, lines: u64, spans: LineSpans) {
        if lines > 0 {
            self.entry_time += Picos(spans.entry.0 * lines);
            self.seen = self.seen.max(spans.seen);
        }
    }

    /// Extends the time of a line that was added with `spans` to `span` after its arrival, if that is
    /// longer.
    #[inline]
    pub fn extend(&mut self, spans: LineSpans, span: Picos) {
        self.entry_time += span.saturating_sub(spans.entry);
        self.seen = self.seen.max(span);
    }
}

/// Spans of a request, from its arrival at the root complex.
#[derive(Clone, Copy, Default)]
struct RequestSpans {
    /// When its last line has an IIO entry.
    entered: Picos,
    /// When its last line is visible.
    seen: Picos,
}

impl RequestSpans {
    fn join(&mut self, others: Self) {
        self.entered = self.entered.max(others.entered);
        self.seen = self.seen.max(others.seen);
    }
}

/// Spans of one line of a burst, from its arrival at the root complex.
#[derive(Clone, Copy)]
pub(super) struct LineSpans {
    /// Time from the arrival of the line until its IIO entry is free again.
    pub entry: Picos,
    /// Time from the arrival of the line until it is visible to cores.
    pub seen: Picos,
}

impl LineSpans {
    /// A line that becomes visible when its entry is freed.
    pub(super) fn both(span: Picos) -> Self {
        Self { entry: span, seen: span }
    }
}

/// The properties of a request that its lines share.
#[derive(Clone, Copy)]
pub(super) struct DmaRequest {
    pub port: RootPortId,
    pub agent: AgentId,
    pub socket: SocketId,
    pub first: LineAddr,
    pub lines: u64,
    /// Time at which the request has crossed the link and, for a burst, its first line has an IIO entry.
    /// Memory is asked from then on: an earlier request would still find the lines ahead that the entries
    /// wait for.
    pub arrived: Picos,
    /// Time at which the addresses of the request are translated.
    pub now: Picos,
    /// Whether its lines may be in the buffer of another root port.
    pub snoops_buffers: bool,
}

/// The result of a request to memory that its driver keeps present.
///
/// # Panics
/// If a page is not present, which is a bug of the caller.
#[inline]
fn pinned<D>(result: Result<D, PageFault>) -> D {
    result.unwrap_or_else(|fault| panic!("{fault:?} in memory that is never taken away"))
}

impl<T: Tracer> Fabric<T> {
    /// The device at `port` writes `bytes` from the start of `first` on, to memory that is present.
    pub fn dma_write(
        &mut self,
        port: RootPortId,
        first: LineAddr,
        bytes: u64,
        kind: DmaKind,
        now: Picos,
    ) -> DmaDone {
        self.dma_write_for(port, None, first, bytes, kind, now)
    }

    /// As [`Self::dma_write`] with a steering tag: `reader` is the core that will read the lines.
    pub fn dma_write_for(
        &mut self,
        port: RootPortId,
        reader: Option<CoreId>,
        first: LineAddr,
        bytes: u64,
        kind: DmaKind,
        now: Picos,
    ) -> DmaDone {
        pinned(self.write_all(port, reader, &[Extent { first, bytes }], kind, now))
    }

    /// The device at `port` begins to send a write of `bytes`; returns when its last TLP has arrived at the
    /// root complex. A device that may send more than the link takes for long calls
    /// [`Self::dma_write_sent`] then: what is still on its way takes nothing that devices share.
    pub fn send_write(&mut self, port: RootPortId, bytes: u64, now: Picos) -> Picos {
        let attachment = &mut self.ports[port].attachment;
        attachment.send_up(now, attachment.write_bytes(bytes))
    }

    /// The write that the device at `port` began to send at `sent` has arrived; its memory is present.
    pub fn dma_write_sent(
        &mut self,
        port: RootPortId,
        extent: Extent,
        kind: DmaKind,
        (sent, arrived): (Picos, Picos),
    ) -> DmaDone {
        pinned(self.write_arrived(port, None, &[extent], kind, (sent, arrived)))
    }

    /// The device at `port` writes all `extents` with one request.
    ///
    /// # Errors
    /// If a page of them is not present; then no line is written.
    pub fn dma_write_extents(
        &mut self,
        port: RootPortId,
        extents: &[Extent],
        kind: DmaKind,
        now: Picos,
    ) -> Result<DmaDone, PageFault> {
        self.prefetch_extents(port, DmaDirection::Write, extents);
        self.write_all(port, None, extents, kind, now)
    }

    /// The device at `port` reads `bytes` from the start of `first` on, from memory that is present;
    /// returns when the last completion has arrived.
    pub fn dma_read(&mut self, port: RootPortId, first: LineAddr, bytes: u64, now: Picos) -> Picos {
        pinned(self.read_all(port, &[Extent { first, bytes }], now))
    }

    /// The device at `port` reads all `extents` with one request; returns when all data has arrived.
    ///
    /// # Errors
    /// If a page of them is not present; then no line is read.
    pub fn dma_read_extents(
        &mut self,
        port: RootPortId,
        extents: &[Extent],
        now: Picos,
    ) -> Result<Picos, PageFault> {
        self.prefetch_extents(port, DmaDirection::Read, extents);
        self.read_all(port, extents, now)
    }

    /// The device at `port` requests translations of all pages of `extents` before it accesses them
    /// (PCIe address translation services); returns when they arrive.
    ///
    /// # Errors
    /// The first page that is not present.
    pub fn translate(
        &mut self,
        port: RootPortId,
        extents: &[Extent],
        now: Picos,
    ) -> Result<Picos, PageFault> {
        self.ports[port].translate(extents, now)
    }

    /// One extent is the common case, known when this is inlined.
    #[inline(always)]
    fn write_all(
        &mut self,
        port: RootPortId,
        reader: Option<CoreId>,
        extents: &[Extent],
        kind: DmaKind,
        now: Picos,
    ) -> Result<DmaDone, PageFault> {
        let attachment = &mut self.ports[port].attachment;
        let bytes = total(extents, |bytes| attachment.write_bytes(bytes));
        let arrived = attachment.send_up(now, bytes);
        self.write_arrived(port, reader, extents, kind, (now, arrived))
    }

    /// Does what follows when the last TLP has arrived.
    #[inline(always)]
    fn write_arrived(
        &mut self,
        port: RootPortId,
        reader: Option<CoreId>,
        extents: &[Extent],
        kind: DmaKind,
        (sent, arrived): (Picos, Picos),
    ) -> Result<DmaDone, PageFault> {
        if T::WATCHING {
            let attachment = &self.ports[port].attachment;
            let bytes = total(extents, |bytes| attachment.write_bytes(bytes));
            self.trace_span(SpanPlace::TowardsMemory(port), extents, bytes, (sent, arrived));
        }
        let translated = self.ports[port].translate_request(extents, arrived)?;
        let before = (self.counters.pcie_write_hits, self.counters.pcie_write_misses);
        let mut spans = RequestSpans::default();
        for &extent in extents {
            let request = self.request(port, extent, arrived, translated);
            spans.join(self.write_extent(request, extent.full_lines(), kind, reader));
        }
        let counters = &mut self.ports[port].counters;
        counters.write_hits += self.counters.pcie_write_hits - before.0;
        counters.write_misses += self.counters.pcie_write_misses - before.1;
        // Lines that wait for entries block the link, so the device waits as long.
        Ok(DmaDone { accepted: sent + spans.entered, visible: arrived + spans.seen })
    }

    #[inline(always)]
    fn write_extent(
        &mut self,
        request: DmaRequest,
        full: u64,
        kind: DmaKind,
        reader: Option<CoreId>,
    ) -> RequestSpans {
        let writer = self.ports[request.port].writer(kind);
        self.each_burst(request, DmaDirection::Write, |fabric, request, burst| match writer {
            LineWriter::Plain(ways) => fabric.write_plain_burst(request, ways, burst, full),
            LineWriter::General(ddio) => fabric.write_burst(request, ddio, burst, full),
            LineWriter::Placed(placement, ddio) => {
                let packet = PlacedPacket { placement, ddio, full_lines: full, reader };
                fabric.write_placed_burst(request, packet, burst)
            }
            LineWriter::Buffered => fabric.write_burst_through_buffer(request, burst, full),
        })
    }

    #[inline(always)]
    fn read_all(
        &mut self,
        port: RootPortId,
        extents: &[Extent],
        now: Picos,
    ) -> Result<Picos, PageFault> {
        let attachment = &mut self.ports[port].attachment;
        let requests = total(extents, |bytes| attachment.read_request_bytes(bytes));
        let arrived = attachment.request_up(now, requests);
        self.trace_span(SpanPlace::ReadRequests(port), extents, requests, (now, arrived));
        let translated = self.ports[port].translate_request(extents, arrived)?;
        let before = (self.counters.pcie_read_hits, self.counters.pcie_read_misses);
        let mut spans = RequestSpans::default();
        for &extent in extents {
            let request = self.request(port, extent, arrived, translated);
            spans.join(self.read_extent(request));
        }
        let counters = &mut self.ports[port].counters;
        counters.read_hits += self.counters.pcie_read_hits - before.0;
        counters.read_misses += self.counters.pcie_read_misses - before.1;
        let data = arrived + spans.seen;
        let attachment = &mut self.ports[port].attachment;
        let bytes = total(extents, |bytes| attachment.completion_bytes(bytes));
        let done = attachment.send_down(data, bytes);
        self.trace_span(SpanPlace::TowardsDevice(port), extents, bytes, (data, done));
        Ok(done)
    }

    /// Records a span of a resource that a request for `extents` uses.
    #[inline(always)]
    fn trace_span(
        &mut self,
        place: SpanPlace,
        extents: &[Extent],
        bytes: u64,
        (start, end): (Picos, Picos),
    ) {
        if T::WATCHING
            && let Some(&Extent { first, .. }) = extents.first()
        {
            self.tracer.span(ResourceSpan { place, first, bytes, start, end });
        }
    }

    #[inline(always)]
    fn read_extent(&mut self, request: DmaRequest) -> RequestSpans {
        let reader = self.ports[request.port].reader;
        self.each_burst(request, DmaDirection::Read, |fabric, request, burst| match reader {
            LineReader::Plain => fabric.read_plain_burst(request, burst),
            LineReader::General => fabric.read_burst(request, burst),
            LineReader::Evicting => fabric.read_and_evict_burst(request, burst),
            LineReader::Buffered => fabric.read_burst_through_buffer(request, burst),
        })
    }

    /// The IIO entries that a device's lines take: its own, or those shared in its socket.
    #[inline]
    fn entries_mut(&mut self, port: RootPortId, direction: DmaDirection) -> &mut Entries {
        let port = &mut self.ports[port];
        let iio = port.own_iio.as_mut().unwrap_or(&mut self.sockets[port.socket].iio);
        match direction {
            DmaDirection::Write => &mut iio.writes,
            DmaDirection::Read => &mut iio.reads,
        }
    }

    #[inline]
    fn request(
        &mut self,
        port: RootPortId,
        extent: Extent,
        arrived: Picos,
        now: Picos,
    ) -> DmaRequest {
        let lines = extent.lines();
        self.count_line_ops(lines);
        let (agent, root_port) = (self.device_agent(port), &self.ports[port]);
        DmaRequest {
            port,
            agent,
            socket: root_port.socket,
            first: extent.first,
            lines,
            arrived,
            now,
            snoops_buffers: root_port.snoops_buffers(),
        }
    }

    /// Prefetches the sets of the first lines of all extents into the host's cache before the first
    /// look-up.
    fn prefetch_extents(&mut self, port: RootPortId, direction: DmaDirection, extents: &[Extent]) {
        if let &[Extent { first, bytes }] = extents {
            return self.expect_dma(port, direction, first, bytes);
        }
        let part = &self.sockets[self.ports[port].socket];
        let lines = extents.iter().flat_map(|extent| {
            (0..extent.lines().min(BURST_LINES as u64)).map(|line| extent.first.step(line))
        });
        for line in lines.take(BURST_LINES) {
            part.prefetch_for_device(part.llc.set_of(line));
        }
    }

    /// Calls `serve` for each burst of a request as soon as IIO entries are free for it; returns when
    /// the last burst has its entries.
    ///
    /// The sets of up to [`BURST_LINES`] lines are computed and prefetched before the first look-up, or
    /// when the device announces them. The host's cache misses then overlap instead of following one
    /// another.
    #[inline(always)]
    fn each_burst(
        &mut self,
        request: DmaRequest,
        direction: DmaDirection,
        mut serve: impl FnMut(&mut Self, DmaRequest, Burst<'_>) -> BurstSpans,
    ) -> RequestSpans {
        let DmaRequest { port, socket, first, lines, arrived, .. } = request;
        let mut spans = RequestSpans::default();
        let mut sets = [SetIndex(0); BURST_LINES];
        let mut served = 0;
        while served < lines {
            let burst = &mut sets[..usize_from(lines - served).min(BURST_LINES)];
            let expected = &self.ports[port].expected[direction as usize];
            if let Some(sets) = expected.sets_of(first.step(served), burst.len()) {
                burst.copy_from_slice(sets);
            } else {
                let part = &self.sockets[socket];
                part.llc.sets_of_run(first.step(served), burst);
                for &set in &*burst {
                    part.prefetch_for_device(set);
                }
            }
            let burst = Burst { number: served, first: first.step(served), sets: burst };
            let from = self.entries_mut(port, direction).free_from(arrived);
            let request = DmaRequest { arrived: from, now: request.now.max(from), ..request };
            let held = serve(self, request, burst);
            let entries = self.entries_mut(port, direction);
            let entered = from - arrived + entries.admit(from, held.entry_time);
            if T::WATCHING {
                let place = match direction {
                    DmaDirection::Write => SpanPlace::WriteEntries(port),
                    DmaDirection::Read => SpanPlace::ReadEntries(port),
                };
                let bytes = burst.sets.len() as u64 * LINE_BYTES;
                let end = arrived + entered + held.seen;
                self.tracer.span(ResourceSpan {
                    place,
                    first: burst.first,
                    bytes,
                    start: from,
                    end,
                });
            }
            spans.join(RequestSpans { entered, seen: entered + held.seen });
            served += burst.sets.len() as u64;
        }
        spans
    }
}

//! The controller of an SSD: commands from submission queues, blocks by DMA, completions.
//!
//! Models: fetch of submission entries and PRP lists, queues in round robin, data in bursts of one
//! 4 KiB page, a buffer in each direction, a completion written after its data.
//! Source: NVM Express base specification; PCIe keeps posted writes in order.
//! Simplifies: submission entries are fetched one by one; interrupts are not moderated.

use super::media::{Media, PageJob};
use super::rings::{
    COMPLETION_BYTES, Command, NvmeCompletion, NvmeQueuePair, Opcode, PAGE_BYTES, SUBMISSION_BYTES,
    phase_of,
};
use super::{NvmeConfig, NvmeCounters};
use crate::fabric::{Extent, Fabric};
use crate::root_complex::ddio::DmaKind;
use crate::tracer::Tracer;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::narrow::{fit, usize_from};
use units::{Picos, RootPortId};

/// Events of the controller. Ties go by the order of scheduling, then by this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ControllerEvent {
    /// A command is decoded.
    Decoded { slot: u32 },
    /// A unit has read or written its page.
    PageDone { unit: u32 },
    /// The bus has moved the next piece of a unit's page.
    PieceMoved { unit: u32 },
    /// A piece that was sent to the host has arrived at the root complex.
    PieceSent { slot: u32, piece: u32, sent: Picos },
    /// A piece has left the buffer.
    PieceLeft,
    /// The completion of a command has arrived at the root complex.
    CompletionSent { slot: u32, sent: Picos },
    /// The next piece of a write can be requested.
    Ask,
    /// A piece of a write has arrived.
    PieceArrived { slot: u32, piece: u32 },
}

/// A command in progress.
#[derive(Debug)]
struct InWork {
    queue: usize,
    command: Command,
    /// Pieces that have not been moved.
    left: u32,
    /// For writes: pieces of each media page that have not arrived.
    missing: Vec<u32>,
    /// When its latest data becomes visible.
    visible: Picos,
}

/// The controller with its media.
#[derive(Debug)]
pub struct NvmeController {
    port: RootPortId,
    config: NvmeConfig,
    media: Media,
    events: BinaryHeap<Reverse<(Picos, u64, ControllerEvent)>>,
    scheduled: u64,
    slots: Vec<Option<InWork>>,
    free_slots: Vec<u32>,
    /// The next queue in round robin.
    next_queue: usize,
    /// Completions written into each queue.
    completions: Vec<u64>,
    /// Pieces on their way from the media to the host: each takes a page of the buffer.
    leaving: u64,
    /// Units whose next piece waits for space in the buffer, in the order in which they asked.
    held_up: VecDeque<u32>,
    /// Pieces of writes in the buffer or requested; below, those only requested.
    buffered: u64,
    asked: u32,
    /// Pieces of writes to be requested.
    wanted: VecDeque<(u32, u32)>,
    /// The SSD's counters.
    pub counters: NvmeCounters,
}

impl NvmeController {
    /// An idle SSD at root port `port` with `queues` queue pairs.
    #[must_use]
    pub fn new(port: RootPortId, config: NvmeConfig, queues: usize, seed: u64) -> Self {
        Self {
            port,
            media: Media::new(config.media.clone(), seed),
            events: BinaryHeap::new(),
            scheduled: 0,
            slots: (0..config.commands).map(|_| None).collect(),
            free_slots: (0..config.commands).rev().collect(),
            next_queue: 0,
            completions: vec![0; queues],
            leaving: 0,
            held_up: VecDeque::new(),
            buffered: 0,
            asked: 0,
            wanted: VecDeque::new(),
            counters: NvmeCounters::default(),
            config,
        }
    }

    /// The root port that it is attached to.
    #[must_use]
    pub fn port(&self) -> RootPortId {
        self.port
    }

    /// Number of queue pairs.
    pub(super) fn queue_pairs(&self) -> usize {
        self.completions.len()
    }

    /// Commands fetched and not completed.
    #[must_use]
    pub fn commands_in_work(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// When the controller acts next, given what drivers have posted.
    pub(super) fn wake(&self, queues: &[NvmeQueuePair], now: Picos) -> Picos {
        let event = self.events.peek().map_or(Picos::NEVER, |Reverse((time, ..))| *time);
        if self.free_slots.is_empty() {
            return event.max(now);
        }
        let heads = queues.iter().filter_map(|queue| queue.posted.front());
        heads.map(|submission| submission.visible).fold(event, Picos::min).max(now)
    }

    /// Fetches a command, or handles the next event. Returns the queue whose driver has a new
    /// completion, and when it becomes visible.
    pub(super) fn act<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        queues: &mut [NvmeQueuePair],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        let due = self.events.peek().is_some_and(|Reverse((time, ..))| *time <= now);
        if !due {
            self.fetch(fabric, queues, now);
            return None;
        }
        let Reverse((_, _, event)) = self.events.pop()?;
        match event {
            ControllerEvent::Decoded { slot } => self.start(slot, now),
            ControllerEvent::PageDone { unit } => self.page_done(fabric, unit, now),
            ControllerEvent::PieceMoved { unit } => self.piece_moved(fabric, unit, now),
            ControllerEvent::PieceSent { slot, piece, sent } => {
                self.piece_sent(fabric, (slot, piece), (sent, now));
            }
            ControllerEvent::CompletionSent { slot, sent } => {
                return Some(self.complete(fabric, queues, slot, (sent, now)));
            }
            ControllerEvent::PieceLeft => self.piece_left(now),
            ControllerEvent::Ask => self.ask(fabric, now),
            ControllerEvent::PieceArrived { slot, piece } => self.piece_arrived(slot, piece, now),
        }
        None
    }

    fn schedule(&mut self, time: Picos, event: ControllerEvent) {
        self.events.push(Reverse((time, self.scheduled, event)));
        self.scheduled += 1;
    }

    /// Fetches the first posted command, beginning with the next queue in round robin.
    fn fetch<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        queues: &mut [NvmeQueuePair],
        now: Picos,
    ) {
        let count = queues.len();
        let seen = |queue: &NvmeQueuePair| queue.posted.front().is_some_and(|s| s.visible <= now);
        let turn = (0..count).map(|i| (self.next_queue + i) % count).find(|&i| seen(&queues[i]));
        let Some(queue) = turn else { return };
        let Some(slot) = self.free_slots.pop() else { return };
        let Some(submission) = queues[queue].posted.pop_front() else { return };
        self.next_queue = (queue + 1) % count;
        let line = queues[queue].submissions.line_of(submission.entry);
        let mut there = fabric.dma_read(self.port, line, SUBMISSION_BYTES, now);
        let command = submission.command;
        let pieces = command.pages.len();
        let list = Command::prp_list_bytes(pieces as u64);
        if list > 0 {
            there = fabric.dma_read(self.port, command.prp_list, list, there);
        }
        let visible = Picos::ZERO;
        let left = fit(pieces);
        self.slots[slot as usize] =
            Some(InWork { queue, command, left, missing: Vec::new(), visible });
        self.counters.fetched += 1;
        self.schedule(there + self.config.command, ControllerEvent::Decoded { slot });
    }

    fn in_work(&mut self, slot: u32) -> &mut InWork {
        self.slots[slot as usize].as_mut().expect("a slot in use has a command")
    }

    /// Splits a command at the pages of the media.
    fn start(&mut self, slot: u32, now: Picos) {
        let work = self.in_work(slot);
        let (first, left) = (work.command.first_page, work.left);
        let pieces = u64::from(left);
        let write = work.command.opcode == Opcode::Write;
        for page in self.media.page_of(first)..=self.media.page_of(first + pieces - 1) {
            let job = self.media.part(slot, write, first, pieces, page);
            if write {
                self.in_work(slot).missing.push(job.pieces);
            } else {
                self.queue_page(page, job, now);
            }
        }
        if write {
            self.wanted.extend((0..left).map(|piece| (slot, piece)));
            self.schedule(now, ControllerEvent::Ask);
        }
    }

    fn queue_page(&mut self, media_page: u64, job: PageJob, now: Picos) {
        let unit = self.media.unit_of(media_page);
        if let Some(done) = self.media.queue(unit, job, now) {
            self.schedule(done, ControllerEvent::PageDone { unit });
        }
    }

    fn unit_free(&mut self, unit: u32, now: Picos) {
        if let Some(done) = self.media.finish(unit, now) {
            self.schedule(done, ControllerEvent::PageDone { unit });
        }
    }

    /// Handles the end of a page access: pieces of a read page cross the bus; a written page is done.
    fn page_done<T: Tracer>(&mut self, fabric: &mut Fabric<T>, unit: u32, now: Picos) {
        let job = *self.media.current(unit);
        if !job.write {
            self.move_piece(unit, now);
            return;
        }
        self.unit_free(unit, now);
        self.buffered -= u64::from(job.pieces) * PAGE_BYTES;
        self.schedule(now, ControllerEvent::Ask);
        self.pieces_done(fabric, job.slot, job.pieces, now);
    }

    /// Sends the completion of a command behind the last of its pieces.
    fn pieces_done<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        slot: u32,
        pieces: u32,
        now: Picos,
    ) {
        let work = self.in_work(slot);
        work.left -= pieces;
        if work.left == 0 {
            let arrived = fabric.send_write(self.port, COMPLETION_BYTES, now);
            self.schedule(arrived, ControllerEvent::CompletionSent { slot, sent: now });
        }
    }

    /// Lets the next piece of a unit cross the bus, or wait until the buffer has space for it.
    fn move_piece(&mut self, unit: u32, now: Picos) {
        if (self.leaving + 1) * PAGE_BYTES > self.config.buffer_bytes {
            self.held_up.push_back(unit);
            return;
        }
        self.leaving += 1;
        let moved = self.media.move_read(PAGE_BYTES, now);
        self.schedule(moved, ControllerEvent::PieceMoved { unit });
    }

    fn piece_left(&mut self, now: Picos) {
        self.leaving -= 1;
        if let Some(unit) = self.held_up.pop_front() {
            self.move_piece(unit, now);
        }
    }

    /// Sends a piece to the host. The link may be shared, and may be slower than the SSDs behind it.
    fn piece_moved<T: Tracer>(&mut self, fabric: &mut Fabric<T>, unit: u32, now: Picos) {
        let job = self.media.current(unit);
        let (slot, piece) = (job.slot, job.first_piece);
        job.first_piece += 1;
        job.pieces -= 1;
        if job.pieces > 0 {
            self.move_piece(unit, now);
        } else {
            self.unit_free(unit, now);
        }
        let arrived = fabric.send_write(self.port, PAGE_BYTES, now);
        self.schedule(arrived, ControllerEvent::PieceSent { slot, piece, sent: now });
    }

    /// Writes a piece into host memory.
    fn piece_sent<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        (slot, piece): (u32, u32),
        (sent, arrived): (Picos, Picos),
    ) {
        let first = self.in_work(slot).command.pages[piece as usize];
        let extent = Extent { first, bytes: PAGE_BYTES };
        let done = fabric.dma_write_sent(self.port, extent, DmaKind::Payload, (sent, arrived));
        self.schedule(done.visible, ControllerEvent::PieceLeft);
        self.counters.bytes_to_host += PAGE_BYTES;
        let work = self.in_work(slot);
        work.visible = work.visible.max(done.visible);
        self.pieces_done(fabric, slot, 1, done.accepted);
    }

    /// Requests a piece from the host if the buffer has space.
    fn ask<T: Tracer>(&mut self, fabric: &mut Fabric<T>, now: Picos) {
        let full = self.buffered + PAGE_BYTES > self.config.buffer_bytes;
        if full || self.asked >= self.config.data_reads {
            return;
        }
        let Some((slot, piece)) = self.wanted.pop_front() else { return };
        let line = self.in_work(slot).command.pages[piece as usize];
        let arrived = fabric.dma_read(self.port, line, PAGE_BYTES, now);
        self.counters.bytes_from_host += PAGE_BYTES;
        self.buffered += PAGE_BYTES;
        self.asked += 1;
        self.schedule(arrived, ControllerEvent::PieceArrived { slot, piece });
        self.schedule(now, ControllerEvent::Ask);
    }

    /// Starts the write of a media page when all its pieces have arrived.
    fn piece_arrived(&mut self, slot: u32, piece: u32, now: Picos) {
        self.asked -= 1;
        self.schedule(now, ControllerEvent::Ask);
        let work = self.in_work(slot);
        let (first, pieces) = (work.command.first_page, work.command.pages.len() as u64);
        let page = self.media.page_of(first + u64::from(piece));
        let place = usize_from(page - self.media.page_of(first));
        let missing = &mut self.in_work(slot).missing[place];
        *missing -= 1;
        if *missing == 0 {
            let job = self.media.part(slot, true, first, pieces, page);
            self.queue_page(page, job, now);
        }
    }

    /// Writes the completion of a command, which was sent after its data.
    fn complete<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        queues: &mut [NvmeQueuePair],
        slot: u32,
        (sent, arrived): (Picos, Picos),
    ) -> (usize, Picos) {
        let work = self.slots[slot as usize].take().expect("a slot in use has a command");
        self.free_slots.push(slot);
        self.counters.completed += 1;
        let pair = &mut queues[work.queue];
        let entry = self.completions[work.queue];
        self.completions[work.queue] += 1;
        let line = pair.completions.line_of(entry);
        let extent = Extent { first: line, bytes: COMPLETION_BYTES };
        let kind = DmaKind::Descriptor;
        let done = fabric.dma_write_sent(self.port, extent, kind, (sent, arrived));
        let visible = done.visible.max(work.visible);
        let phase = phase_of(&pair.completions, entry);
        pair.completed.push_back(NvmeCompletion { visible, line, phase, id: work.command.id });
        (work.queue, visible)
    }
}

//! The steps of an engine between a descriptor's translation and its completion: pieces of data are moved.
//!
//! Models: a descriptor's way from its dispatch to its completion record, each step at a time of its own, so
//! that what agents share is asked in the order of time.
//! Source: Intel DSA specification, sections 3.7 to 3.13.
//! Simplifies: an engine asks for the lines of the oldest descriptor whose pages are translated; a flushed line
//! takes as much of the stop on the mesh as a written one.

use super::descriptor::{DESCRIPTOR_BYTES, Destination};
use super::instance::{Dsa, InstanceEvent};
use super::job::{JobId, Origin, Piece};
use super::portal::Portal;
use crate::fabric::Fabric;
use crate::root_complex::ddio::DmaKind;
use crate::root_complex::iommu::PageFault;
use crate::tracer::{DescriptorPhase, Tracer};
use units::Picos;
use units::narrow::fit;

/// Why an engine does not ask for a piece now.
enum IssueDelay {
    /// A translation arrives then.
    Until(Picos),
    /// A page is not present.
    Fault(PageFault),
}

impl Dsa {
    /// Does what is due. Returns a portal whose client can see something new, and when.
    pub(super) fn act<T: Tracer>(
        &mut self,
        event: InstanceEvent,
        fabric: &mut Fabric<T>,
        portals: &mut [Portal],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        match event {
            InstanceEvent::Dispatch(engine) => self.dispatch(engine, now),
            InstanceEvent::Translate(job) => self.translate(job, fabric, now),
            InstanceEvent::Ready(job) => self.ready(job, fabric, now),
            InstanceEvent::Issue(engine) => self.issue(engine, fabric, now),
            InstanceEvent::Arrived(piece) => self.arrived(piece, fabric, now),
            InstanceEvent::Handed(piece) => self.handed(piece, fabric, now),
            InstanceEvent::Listed(job) => self.listed(job, now),
            InstanceEvent::Finish(job) => self.finish(job, fabric, now),
            InstanceEvent::Record(job) => return self.record(job, fabric, portals, now),
        }
        None
    }

    /// All translations of a descriptor's first pages have arrived.
    fn ready<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        let job = &mut self.jobs[id];
        job.phases.ready = now;
        if matches!(job.origin, Origin::Queue { .. }) {
            let record = job.descriptor.record;
            fabric.tracer.descriptor_phase(record, DescriptorPhase::Translated, now);
        }
        if let Some(members) = &job.members {
            let bytes = members.waiting.len() as u64 * DESCRIPTOR_BYTES;
            let arrived = fabric.dma_read(self.config.port, job.descriptor.source, bytes, now);
            self.counters_mut().list_bytes += bytes;
            return self.at(arrived, InstanceEvent::Listed(id));
        }
        if job.lines == 0 {
            return self.at(now, InstanceEvent::Finish(id));
        }
        let engine = job.engine;
        self.engines[engine].active.push_back(id);
        self.issue(engine, fabric, now);
    }

    /// The members of a batch may begin.
    fn listed(&mut self, id: JobId, now: Picos) {
        let Some(members) = &mut self.jobs[id].members else { return };
        members.fetched = members.waiting.len();
        let fetched = members.fetched as u64;
        self.counters_mut().members_fetched += fetched;
        let engine = self.jobs[id].engine;
        self.engines[engine].batches.push_back(id);
        if fetched == 0 {
            return self.end_of_batch(id, now);
        }
        self.dispatch(engine, now);
    }

    /// Asks for lines until buffers, translations or descriptors run out.
    fn issue<T: Tracer>(&mut self, engine: usize, fabric: &mut Fabric<T>, now: Picos) {
        let (mut turn, mut translated_at) = (0, Picos::NEVER);
        while let Some(&id) = self.engines[engine].active.get(turn) {
            if now < self.engines[engine].blocked_until {
                return;
            }
            match self.translated(id, fabric, now) {
                Ok(()) => {}
                Err(IssueDelay::Until(ready)) => {
                    translated_at = translated_at.min(ready);
                    turn += 1;
                    continue;
                }
                Err(IssueDelay::Fault(fault)) if self.jobs[id].descriptor.block_on_fault => {
                    return self.wait_for_page(id, fault, fabric, InstanceEvent::Issue(engine));
                }
                Err(IssueDelay::Fault(_)) => {
                    self.cut(id);
                    self.engines[engine].active.remove(turn);
                    self.end_if_handed(id, now);
                    continue;
                }
            }
            if !self.issue_piece(id, fabric, now) {
                return;
            }
            if self.jobs[id].issued == self.jobs[id].lines {
                self.engines[engine].active.remove(turn);
            }
        }
        self.issue_again(engine, translated_at, now);
    }

    /// Asks for lines again when a translation has arrived, unless that is due anyway.
    fn issue_again(&mut self, engine: usize, translated_at: Picos, now: Picos) {
        let due = &mut self.engines[engine].issue_at;
        let is_due = due.is_some_and(|due| now < due && due <= translated_at);
        if translated_at != Picos::NEVER && !is_due {
            *due = Some(translated_at);
            self.at(translated_at, InstanceEvent::Issue(engine));
        }
    }

    /// Whether the pages of a descriptor's next lines are translated.
    fn translated<T: Tracer>(
        &mut self,
        id: JobId,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<(), IssueDelay> {
        let job = &self.jobs[id];
        if job.issued < job.translated_to {
            return Ok(());
        }
        let operands = job.operands;
        let mut ready = now;
        for (number, operand) in operands.all().enumerate() {
            let at = self.page_of(id, number, operand, fabric, now).map_err(IssueDelay::Fault)?;
            ready = ready.max(at);
        }
        if ready > now {
            return Err(IssueDelay::Until(ready));
        }
        let job = &mut self.jobs[id];
        job.translated_to = job.page_end(self.config.page_lines);
        Ok(())
    }

    /// Asks for the next piece of a descriptor, if there are buffers for it.
    fn issue_piece<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) -> bool {
        let job = &self.jobs[id];
        let (engine, from) = (job.engine, job.issued);
        let group = self.engines[engine].group;
        let sources = job.sources;
        let most = u64::from(self.buffers.most(group)) / sources;
        let to = job.piece_end().min(from + most.max(1));
        let buffers = fit(sources * (to - from));
        if !self.buffers.take(group, buffers) {
            let short = &mut self.engines[engine].short_of_buffers;
            *short = short.or(Some(now));
            return false;
        }
        if let Some(since) = self.engines[engine].short_of_buffers.take() {
            self.counters_mut().buffer_wait += now - since;
        }
        if T::WATCHING && from == 0 {
            self.trace_start(id, fabric, now);
        }
        let job = &self.jobs[id];
        let reads = job.extents(job.operands.reads, from, to);
        let arrived = if reads.is_empty() {
            now
        } else {
            self.counters_mut().bytes_read += reads.bytes();
            self.request(fabric.dma_read_extents(self.config.port, &reads, now))
        };
        self.jobs[id].issued = to;
        let piece = self.pieces.insert(Piece { job: id, from, to, buffers });
        self.at(arrived, InstanceEvent::Arrived(piece));
        true
    }

    /// The device has translated what it asks for.
    fn request<D>(&self, result: Result<D, PageFault>) -> D {
        result.unwrap_or_else(|fault| panic!("{fault:?} at a stop that does not translate"))
    }

    /// A piece's data is written, or its lines are flushed.
    fn arrived<T: Tracer>(&mut self, piece: usize, fabric: &mut Fabric<T>, now: Picos) {
        let Piece { job: id, from, to, .. } = self.pieces[piece];
        let (port, job) = (self.config.port, &self.jobs[id]);
        let kind = match job.descriptor.destination {
            Destination::Cache => DmaKind::Payload,
            Destination::Memory => DmaKind::PayloadForMemory,
        };
        let writes = job.extents(job.operands.writes, from, to);
        let (mut accepted, mut visible) = (now, now);
        if !writes.is_empty() {
            self.counters_mut().bytes_written += writes.bytes();
            let done = self.request(fabric.dma_write_extents(port, &writes, kind, now));
            (accepted, visible) = (done.accepted, done.visible);
        }
        if let Some(operand) = self.jobs[id].operands.flushes {
            let part = self.jobs[id].part(operand, from, to);
            accepted = fabric.send_write(port, part.bytes, now);
            let lines = (0..part.lines()).map(|line| part.first.step(line));
            visible = lines.fold(accepted, |last, line| last.max(fabric.flush(line, now)));
            self.counters_mut().lines_flushed += part.lines();
        }
        if T::WATCHING {
            self.trace_piece(id, fabric, (now, visible));
        }
        let moved = &mut self.jobs[id].phases.moved;
        *moved = (*moved).max(visible);
        self.at(accepted.max(now), InstanceEvent::Handed(piece));
    }

    /// A piece's buffers are free.
    fn handed<T: Tracer>(&mut self, piece: usize, fabric: &mut Fabric<T>, now: Picos) {
        let piece = self.pieces.remove(piece);
        let group = self.engines[self.jobs[piece.job].engine].group;
        self.buffers.release(group, piece.buffers);
        self.jobs[piece.job].handed += piece.to - piece.from;
        self.end_if_handed(piece.job, now);
        for engine in 0..self.engines.len() {
            self.issue(engine, fabric, now);
        }
    }

    /// Ends a descriptor of which every line that is asked for has been handed on.
    fn end_if_handed(&mut self, id: JobId, now: Picos) {
        let job = &self.jobs[id];
        if job.handed == job.lines && job.issued == job.lines {
            let moved = job.phases.moved.max(now);
            self.at(moved, InstanceEvent::Finish(id));
        }
    }
}

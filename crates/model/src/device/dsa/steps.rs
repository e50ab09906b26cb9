//! What an engine does with a descriptor: translations, pieces of data, completion.
//!
//! Models: a descriptor's way from its dispatch to its completion record, each step at a time of its own, so
//! that what agents share is asked in the order of time.
//! Source: Intel DSA specification, sections 3.7 to 3.13.
//! Simplifies: an engine asks for the lines of one descriptor after the other; a flushed line takes as much
//! of the stop on the mesh as a written one.

use super::descriptor::{
    DESCRIPTOR_BYTES, Descriptor, Destination, Operand, RECORD_BYTES, RECORD_FIELD,
};
use super::instance::{Dsa, Event};
use super::job::{JobId, Origin, Piece, Translated};
use super::portal::{Completion, Portal, Status};
use crate::fabric::{Extent, Fabric};
use crate::root_complex::ddio::DmaKind;
use crate::root_complex::iommu::PageFault;
use crate::tracer::Tracer;
use units::narrow::fit;
use units::{LINE_BYTES, LineAddr, Picos};

/// Why an engine does not ask for a piece now.
enum Held {
    /// A translation arrives then.
    Until(Picos),
    /// A page is not present.
    Fault(PageFault),
}

impl Dsa {
    /// Does what is due. Returns a portal whose client can see something new, and when.
    pub(super) fn act<T: Tracer>(
        &mut self,
        event: Event,
        fabric: &mut Fabric<T>,
        portals: &mut [Portal],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        match event {
            Event::Dispatch(engine) => self.dispatch(engine, now),
            Event::Translate(job) => self.translate(job, fabric, now),
            Event::Ready(job) => self.ready(job, fabric, now),
            Event::Issue(engine) => self.issue(engine, fabric, now),
            Event::Arrived(piece) => self.arrived(piece, fabric, now),
            Event::Handed(piece) => self.handed(piece, fabric, now),
            Event::Listed(job) => self.listed(job, now),
            Event::Finish(job) => self.finish(job, fabric, now),
            Event::Record(job) => return self.record(job, fabric, portals, now),
        }
        None
    }

    /// Asks for the translation of `line`, unless the engine has its page for this field.
    fn look_up<T: Tracer>(
        &mut self,
        engine: usize,
        field: usize,
        line: LineAddr,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<Translated, PageFault> {
        let page = line.0 / self.config.page_lines;
        let kept = self.engines[engine].translations[field];
        if let Some(kept) = kept.filter(|kept| kept.page == page) {
            return Ok(kept);
        }
        let translated = Translated { page, ready: self.ask(line, fabric, now)? };
        self.engines[engine].translations[field] = Some(translated);
        Ok(translated)
    }

    /// Asks for a translation that no engine keeps. Physical addresses need none.
    fn ask<T: Tracer>(
        &mut self,
        line: LineAddr,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<Picos, PageFault> {
        if fabric.root_port(self.config.port).iommu().is_off() {
            return Ok(now);
        }
        self.counters_mut().translations += 1;
        let extent = Extent { first: line, bytes: LINE_BYTES };
        let walked = fabric.translate(self.config.port, &[extent], now);
        self.counters_mut().page_faults += u64::from(walked.is_err());
        Ok(walked? + self.config.timing.translation)
    }

    /// Begins the fetch of a batch's list, or the translation of the first page of each operand.
    fn translate<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        if self.jobs[id].members.is_some() {
            // List and record together: a batch neither uses nor replaces what the engine keeps.
            let Descriptor { source: list, record, .. } = self.jobs[id].descriptor;
            let list = self.ask(list, fabric, now);
            match list.and_then(|list| Ok(list.max(self.ask(record, fabric, now)?))) {
                Ok(ready) => self.at(ready, Event::Ready(id)),
                Err(fault) => self.wait_for_page(id, fault, fabric, Event::Translate(id)),
            }
            return;
        }
        let mut ready = now;
        let operands = self.jobs[id].operands;
        for (number, operand) in operands.all().enumerate() {
            match self.page_of(id, number, operand, fabric, now) {
                Ok(at) => ready = ready.max(at),
                Err(fault) if self.jobs[id].descriptor.block_on_fault => {
                    return self.wait_for_page(id, fault, fabric, Event::Translate(id));
                }
                Err(fault) => {
                    self.cut(id);
                    return self.at(fault.at.max(now), Event::Finish(id));
                }
            }
        }
        self.at(ready, Event::Ready(id));
    }

    /// When the page of an operand's next line is translated. The page behind it is asked for as soon as
    /// the operand enters one.
    fn page_of<T: Tracer>(
        &mut self,
        id: JobId,
        number: usize,
        operand: Operand,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<Picos, PageFault> {
        let job = &self.jobs[id];
        let (engine, line) = (job.engine, job.line_of(operand, job.issued));
        let page = line.0 / self.config.page_lines;
        let [current, ahead] = job.pages[number];
        if let Some(current) = current.filter(|current| current.page == page) {
            return Ok(current.ready);
        }
        let current = match ahead.filter(|ahead| ahead.page == page) {
            Some(ahead) => ahead,
            None => self.look_up(engine, operand.field, line, fabric, now)?,
        };
        let next = LineAddr((page + 1) * self.config.page_lines);
        let end = operand.first.0 + operand.bytes.div_ceil(LINE_BYTES);
        // An absent page is a fault when its turn comes, not ahead of it.
        let ahead = if next.0 < end {
            self.look_up(engine, operand.field, next, fabric, now).ok()
        } else {
            None
        };
        self.jobs[id].pages[number] = [Some(current), ahead];
        Ok(current.ready)
    }

    /// Blocks the engine until the operating system has made a page present, then goes on.
    fn wait_for_page<T: Tracer>(
        &mut self,
        id: JobId,
        fault: PageFault,
        fabric: &mut Fabric<T>,
        then: Event,
    ) {
        fabric.iommu_mut(self.config.port).map(fault.page);
        let present = fault.at + self.config.timing.page_request;
        let engine = self.jobs[id].engine;
        self.engines[engine].blocked_until = present;
        self.at(present, then);
        self.at(present, Event::Dispatch(engine));
        self.at(present, Event::Issue(engine));
    }

    /// Ends a descriptor at an absent page: what has not been asked for is left out.
    fn cut(&mut self, id: JobId) {
        let job = &mut self.jobs[id];
        job.lines = job.issued;
        job.status = Status::PageFault;
    }

    /// All translations of a descriptor's first pages have arrived.
    fn ready<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        let job = &mut self.jobs[id];
        job.phases.ready = now;
        if let Some(members) = &job.members {
            let bytes = members.waiting.len() as u64 * DESCRIPTOR_BYTES;
            let arrived = fabric.dma_read(self.config.port, job.descriptor.source, bytes, now);
            self.counters_mut().list_bytes += bytes;
            return self.at(arrived, Event::Listed(id));
        }
        if job.lines == 0 {
            return self.at(now, Event::Finish(id));
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
        while let Some(&id) = self.engines[engine].active.front() {
            if now < self.engines[engine].blocked_until {
                return;
            }
            match self.translated(id, fabric, now) {
                Ok(()) => {}
                Err(Held::Until(ready)) => {
                    if self.engines[engine].issue_at.replace(ready) != Some(ready) {
                        self.at(ready, Event::Issue(engine));
                    }
                    return;
                }
                Err(Held::Fault(fault)) if self.jobs[id].descriptor.block_on_fault => {
                    return self.wait_for_page(id, fault, fabric, Event::Issue(engine));
                }
                Err(Held::Fault(_)) => {
                    self.cut(id);
                    self.engines[engine].active.pop_front();
                    self.end_if_handed(id, now);
                    continue;
                }
            }
            if !self.issue_piece(id, fabric, now) {
                return;
            }
            if self.jobs[id].issued == self.jobs[id].lines {
                self.engines[engine].active.pop_front();
            }
        }
    }

    /// Whether the pages of a descriptor's next lines are translated.
    fn translated<T: Tracer>(
        &mut self,
        id: JobId,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) -> Result<(), Held> {
        let operands = self.jobs[id].operands;
        let mut ready = now;
        for (number, operand) in operands.all().enumerate() {
            let at = self.page_of(id, number, operand, fabric, now).map_err(Held::Fault)?;
            ready = ready.max(at);
        }
        if ready > now { Err(Held::Until(ready)) } else { Ok(()) }
    }

    /// Asks for the next piece of a descriptor, if there are buffers for it.
    fn issue_piece<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) -> bool {
        let job = &self.jobs[id];
        let (engine, from) = (job.engine, job.issued);
        let group = self.engines[engine].group;
        let sources = job.sources;
        let most = u64::from(self.buffers.most(group)) / sources;
        let to = job.piece_end(self.config.page_lines).min(from + most.max(1));
        let buffers = fit(sources * (to - from));
        if !self.buffers.take(group, buffers) {
            let short = &mut self.engines[engine].short_of_buffers;
            *short = short.or(Some(now));
            return false;
        }
        if let Some(since) = self.engines[engine].short_of_buffers.take() {
            self.counters_mut().buffer_wait += now - since;
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
        self.at(arrived, Event::Arrived(Piece { job: id, from, to, buffers }));
        true
    }

    /// The device has translated what it asks for.
    fn request<D>(&self, result: Result<D, PageFault>) -> D {
        result.unwrap_or_else(|fault| panic!("{fault:?} at a stop that does not translate"))
    }

    /// A piece's data is written, or its lines are flushed.
    fn arrived<T: Tracer>(&mut self, piece: Piece, fabric: &mut Fabric<T>, now: Picos) {
        let Piece { job: id, from, to, .. } = piece;
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
        let moved = &mut self.jobs[id].phases.moved;
        *moved = (*moved).max(visible);
        self.at(accepted.max(now), Event::Handed(piece));
    }

    /// A piece's buffers are free.
    fn handed<T: Tracer>(&mut self, piece: Piece, fabric: &mut Fabric<T>, now: Picos) {
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
            self.at(moved, Event::Finish(id));
        }
    }

    /// The data of a descriptor is visible: its completion record follows.
    fn finish<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        let job = &mut self.jobs[id];
        job.phases.moved = now;
        let (engine, record) = (job.engine, job.descriptor.record);
        let silent = !job.descriptor.wants_record && job.status == Status::Success;
        let written = now + self.config.timing.finish;
        if silent || job.members.is_some() {
            return self.at(written, Event::Record(id));
        }
        match self.look_up(engine, RECORD_FIELD, record, fabric, now) {
            Ok(translated) => self.at(translated.ready.max(written), Event::Record(id)),
            Err(fault) => self.wait_for_page(id, fault, fabric, Event::Finish(id)),
        }
    }

    /// The completion record is written, and the descriptor leaves.
    fn record<T: Tracer>(
        &mut self,
        id: JobId,
        fabric: &mut Fabric<T>,
        portals: &mut [Portal],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        let mut job = self.jobs.remove(id);
        let silent = !job.descriptor.wants_record && job.status == Status::Success;
        job.phases.recorded = now;
        if !silent {
            let (port, line) = (self.config.port, job.descriptor.record);
            let done = fabric.dma_write(port, line, RECORD_BYTES, DmaKind::Descriptor, now);
            job.phases.recorded = done.visible;
        }
        if job.members.is_none() {
            self.engines[job.engine].in_work -= 1;
        }
        let state = &mut self.engines[job.engine];
        let idle = state.in_work == 0 && state.batches.is_empty();
        if let Some(since) = state.busy_since.take_if(|_| idle) {
            self.counters_mut().engine_busy += now - since;
        }
        let told = match job.origin {
            Origin::Batch(batch) => {
                self.end_of_member(batch, job.status, now);
                None
            }
            Origin::Queue { portal, group, queue, number } => {
                self.counters_mut().completed += 1;
                self.queues[group][queue].outstanding.remove(&number);
                self.release_drains(group, queue, now);
                let completed = match &job.members {
                    Some(members) => members.ended,
                    None => job.bytes_done(),
                };
                portals[portal].completed.push_back(Completion {
                    id: job.descriptor.id,
                    status: job.status,
                    completed,
                    phases: job.phases,
                });
                Some((portal, job.phases.recorded))
            }
        };
        self.dispatch(job.engine, now);
        told
    }

    fn end_of_member(&mut self, batch: JobId, status: Status, now: Picos) {
        let Some(members) = &mut self.jobs[batch].members else { return };
        members.in_work -= 1;
        members.ended += 1;
        members.failed |= status != Status::Success;
        self.counters_mut().members_completed += 1;
        self.end_of_batch(batch, now);
    }

    /// Abandons what a failed fence keeps from beginning; ends the batch if nothing is left of it.
    fn end_of_batch(&mut self, batch: JobId, now: Picos) {
        let job = &mut self.jobs[batch];
        let Some(members) = &mut job.members else { return };
        let fenced = members.waiting.front().is_some_and(|next| next.fence);
        if fenced && members.failed && members.in_work == 0 {
            let abandoned = members.waiting.len() as u64;
            members.waiting.clear();
            members.fetched = 0;
            self.counters_mut().members_abandoned += abandoned;
        }
        let job = &mut self.jobs[batch];
        let Some(members) = &job.members else { return };
        if members.in_work > 0 || !members.waiting.is_empty() {
            return;
        }
        if members.failed {
            job.status = Status::BatchFailed;
        }
        let engine = job.engine;
        self.engines[engine].batches.retain(|&other| other != batch);
        self.at(now, Event::Finish(batch));
    }
}

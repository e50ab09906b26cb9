//! The steps of a channel for its descriptors: they are fetched, data is moved, a completion is written.
//!
//! Models: each channel's descriptors in order; the next one asks for lines when the one before has asked
//! for all of its own; each step at a time of its own, so that what channels share is asked in the order
//! of time.
//! Source: Linux drivers/dma/ioat; SPDK's ioat driver.
//! Simplifies: a descriptor fetched ahead takes no line of a channel's data; a fill takes as many lines as
//! a copy.

use super::channel::Channel;
use super::engine::{Cbdma, ChannelEvent};
use super::job::{CopyJob, CopyPiece};
use super::{DESCRIPTOR_BYTES, PIECE_LINES, STATUS_BYTES};
use crate::device::dsa::portal::{Completion, Phases, Status};
use crate::fabric::Fabric;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::{DescriptorPhase, Tracer};
use units::{Picos, narrow};

impl Cbdma {
    /// Asks for the next descriptors, if a channel knows of any and has room. One request is under way
    /// at a time, and ends at the end of the ring.
    pub(super) fn fetch<T: Tracer>(
        &mut self,
        number: usize,
        fabric: &mut Fabric<T>,
        channel: &Channel,
        now: Picos,
    ) {
        let work = &mut self.channels[number];
        let is_asking = work.asked > work.done + work.jobs.len() as u64;
        let ahead = work.asked - work.done;
        let room = u64::from(self.config.fetched_descriptors).saturating_sub(ahead);
        let to_end = u64::from(channel.ring.entries) - work.asked % u64::from(channel.ring.entries);
        let count = (work.known - work.asked).min(room).min(to_end);
        if is_asking || count == 0 {
            return;
        }
        let first = channel.ring.line_of(work.asked);
        work.asked += count;
        let bytes = count * DESCRIPTOR_BYTES;
        self.counters.descriptor_bytes += bytes;
        let arrived = fabric.dma_read(self.config.port, first, bytes, now);
        self.at(arrived, ChannelEvent::Fetched(number, count));
    }

    /// Descriptors have arrived: each may begin in its turn.
    pub(super) fn fetched<T: Tracer>(
        &mut self,
        number: usize,
        count: u64,
        fabric: &mut Fabric<T>,
        channel: &mut Channel,
        now: Picos,
    ) {
        let work = &mut self.channels[number];
        let first = work.done + work.jobs.len() as u64;
        for (turn, descriptor) in (first..).zip(channel.written.drain(..narrow::usize_from(count)))
        {
            while work.seen.front().is_some_and(|&(up_to, _)| up_to <= turn) {
                work.seen.pop_front();
            }
            let seen = work.seen.front().map_or(now, |&(_, seen)| seen);
            let begin = work.next_begin.max(now);
            work.next_begin = begin + self.config.timing.descriptor_interval;
            self.counters.front_busy += self.config.timing.descriptor_interval;
            let ready = begin + self.config.timing.dispatch;
            let entry = channel.ring.line_of(turn);
            fabric.tracer.descriptor_phase(entry, DescriptorPhase::Seen, seen);
            fabric.tracer.descriptor_phase(entry, DescriptorPhase::Dispatched, begin);
            let phases = Phases { seen, dispatched: begin, ..Phases::default() };
            work.jobs.push_back(CopyJob { descriptor, entry, ready, issued: 0, handed: 0, phases });
        }
        self.counters.fetched += count;
        self.issue(number, fabric, now);
        self.fetch(number, fabric, channel, now);
    }

    /// Asks for lines until those of a channel are all under way, or its descriptors run out.
    pub(super) fn issue<T: Tracer>(&mut self, number: usize, fabric: &mut Fabric<T>, now: Picos) {
        loop {
            let port = self.config.port;
            let most = u64::from(self.config.lines_per_channel);
            let work = &mut self.channels[number];
            let index = narrow::usize_from(work.issuing - work.done);
            let Some(job) = work.jobs.get_mut(index) else { return };
            if job.ready > now {
                let ready = job.ready;
                return self.at(ready, ChannelEvent::Issue(number));
            }
            if job.issued == 0 {
                job.phases.ready = now;
                fabric.tracer.descriptor_phase(job.entry, DescriptorPhase::Started, now);
            }
            let (from, to) = (job.issued, job.lines().min(job.issued + PIECE_LINES));
            if work.lines + (to - from) > most {
                work.short_since = work.short_since.or(Some(now));
                return;
            }
            let waited = work.short_since.take().map_or(Picos::ZERO, |since| now - since);
            self.counters.line_wait += waited;
            work.lines += to - from;
            job.issued = to;
            let piece = CopyPiece { channel: number, number: work.issuing, from, to };
            work.issuing += u64::from(to == job.lines());
            let arrived = match job.descriptor.source {
                None => now,
                Some(source) => {
                    let part = job.part(source, from, to);
                    self.counters.bytes_read += part.bytes;
                    fabric.dma_read(port, part.first, part.bytes, now)
                }
            };
            self.at(arrived, ChannelEvent::Arrived(piece));
        }
    }

    fn job(&mut self, piece: CopyPiece) -> &mut CopyJob {
        let work = &mut self.channels[piece.channel];
        let index = narrow::usize_from(piece.number - work.done);
        &mut work.jobs[index]
    }

    /// A piece's data is written.
    pub(super) fn arrived<T: Tracer>(
        &mut self,
        piece: CopyPiece,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) {
        let job = *self.job(piece);
        let part = job.part(job.descriptor.destination, piece.from, piece.to);
        self.counters.bytes_written += part.bytes;
        let port = self.config.port;
        let done = fabric.dma_write(port, part.first, part.bytes, DmaKind::Payload, now);
        if job.descriptor.source.is_some() {
            fabric.tracer.descriptor_phase(job.entry, DescriptorPhase::Read, now);
        }
        fabric.tracer.descriptor_phase(job.entry, DescriptorPhase::Written, done.visible);
        let moved = &mut self.job(piece).phases.moved;
        *moved = (*moved).max(done.visible);
        self.at(done.accepted.max(now), ChannelEvent::Handed(piece));
    }

    /// A piece's lines are free for others.
    pub(super) fn handed<T: Tracer>(
        &mut self,
        piece: CopyPiece,
        fabric: &mut Fabric<T>,
        now: Picos,
    ) {
        self.job(piece).handed += piece.to - piece.from;
        self.channels[piece.channel].lines -= piece.to - piece.from;
        self.complete_oldest(piece.channel, now);
        self.issue(piece.channel, fabric, now);
    }

    /// Lets the completion of a channel's oldest descriptor follow its last data.
    fn complete_oldest(&mut self, number: usize, now: Picos) {
        let work = &mut self.channels[number];
        let Some(oldest) = work.jobs.front().filter(|job| job.is_moved()) else { return };
        if !std::mem::replace(&mut work.is_completing, true) {
            let at = oldest.phases.moved.max(now) + self.config.timing.finish;
            self.at(at, ChannelEvent::Complete(number));
        }
    }

    /// A channel's oldest descriptor leaves.
    pub(super) fn complete<T: Tracer>(
        &mut self,
        number: usize,
        fabric: &mut Fabric<T>,
        channel: &mut Channel,
        now: Picos,
    ) -> Option<(usize, Picos)> {
        let work = &mut self.channels[number];
        work.is_completing = false;
        let mut job = work.jobs.pop_front()?;
        work.done += 1;
        self.counters.completed += 1;
        if work.done == work.known {
            let busy = work.busy_since.take().map_or(Picos::ZERO, |since| now - since);
            self.counters.channel_busy += busy;
        }
        let mut told = None;
        job.phases.recorded = now;
        if job.descriptor.wants_completion {
            self.counters.completions_written += 1;
            let (port, kind) = (self.config.port, DmaKind::Descriptor);
            let done = fabric.dma_write(port, channel.status, STATUS_BYTES, kind, now);
            let recorded = done.visible.max(self.channels[number].recorded);
            self.channels[number].recorded = recorded;
            job.phases.recorded = recorded;
            fabric.tracer.descriptor_phase(job.entry, DescriptorPhase::Recorded, recorded);
            let (id, phases) = (job.descriptor.id, job.phases);
            let status = Status::Success;
            channel.completed.push_back(Completion { id, status, completed: 0, phases });
            told = Some((number, recorded));
        }
        self.complete_oldest(number, now);
        self.fetch(number, fabric, channel, now);
        told
    }
}

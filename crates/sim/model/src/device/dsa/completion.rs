//! The end of a descriptor: its completion record, and what it means for its batch and its queue.
//!
//! Models: the record written behind all data; batches that end behind their members; members abandoned
//! behind a fence that failed.
//! Source: Intel DSA specification, sections 3.8, 3.9 and 8.2.
//! Simplifies: an interrupt is a delay of the client's.

use super::descriptor::{RECORD_BYTES, RECORD_FIELD};
use super::instance::{Dsa, InstanceEvent};
use super::job::{JobId, Origin};
use super::portal::{Completion, Portal, Status};
use crate::fabric::Fabric;
use crate::root_complex::ddio::DmaKind;
use crate::tracer::{DescriptorPhase, Tracer};
use units::{LineAddr, Picos};

impl Dsa {
    /// The completion record that names a descriptor in a trace: a member of a batch is part of the
    /// batch.
    fn traced_record(&self, id: JobId) -> LineAddr {
        let job = &self.jobs[id];
        match job.origin {
            Origin::Batch(batch) => self.jobs[batch].descriptor.record,
            Origin::Queue { .. } => job.descriptor.record,
        }
    }

    /// Tells a trace when the first lines of a descriptor of a queue are asked for.
    pub(super) fn trace_start<T: Tracer>(&self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        let job = &self.jobs[id];
        if matches!(job.origin, Origin::Queue { .. }) {
            let record = job.descriptor.record;
            fabric.tracer.descriptor_phase(record, DescriptorPhase::Started, now);
        }
    }

    /// Tells a trace when a piece's data had arrived, and when it is visible.
    pub(super) fn trace_piece<T: Tracer>(
        &self,
        id: JobId,
        fabric: &mut Fabric<T>,
        (read, written): (Picos, Picos),
    ) {
        let (key, operands) = (self.traced_record(id), self.jobs[id].operands);
        if operands.reads[0].is_some() {
            fabric.tracer.descriptor_phase(key, DescriptorPhase::Read, read);
        }
        if operands.writes[0].or(operands.flushes).is_some() {
            fabric.tracer.descriptor_phase(key, DescriptorPhase::Written, written);
        }
    }

    /// Tells a trace when the device saw a descriptor of a queue and an engine took it.
    pub(super) fn trace_dispatch<T: Tracer>(&self, id: JobId, fabric: &mut Fabric<T>) {
        let job = &self.jobs[id];
        if matches!(job.origin, Origin::Queue { .. }) {
            let record = job.descriptor.record;
            fabric.tracer.descriptor_phase(record, DescriptorPhase::Seen, job.phases.seen);
            let dispatched = job.phases.dispatched;
            fabric.tracer.descriptor_phase(record, DescriptorPhase::Dispatched, dispatched);
        }
    }

    /// The data of a descriptor is visible: its completion record follows.
    pub(super) fn finish<T: Tracer>(&mut self, id: JobId, fabric: &mut Fabric<T>, now: Picos) {
        self.trace_dispatch(id, fabric);
        let job = &mut self.jobs[id];
        job.phases.moved = now;
        let (engine, record) = (job.engine, job.descriptor.record);
        let silent = !job.descriptor.wants_record && job.status == Status::Success;
        let timing = &self.config.timing;
        let checksum = match job.descriptor.operation.has_checksum() {
            true if job.lines > 0 => timing.checksum,
            _ => Picos::ZERO,
        };
        let written = now + timing.finish + checksum;
        if silent || job.members.is_some() {
            return self.at(written, InstanceEvent::Record(id));
        }
        match self.look_up(engine, RECORD_FIELD, record, fabric, now) {
            Ok(translated) => self.at(translated.ready.max(written), InstanceEvent::Record(id)),
            Err(fault) => self.wait_for_page(id, fault, fabric, InstanceEvent::Finish(id)),
        }
    }

    /// The completion record is written, and the descriptor leaves.
    pub(super) fn record<T: Tracer>(
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
                let (record, at) = (job.descriptor.record, job.phases.recorded);
                fabric.tracer.descriptor_phase(record, DescriptorPhase::Recorded, at);
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
    pub(super) fn end_of_batch(&mut self, batch: JobId, now: Picos) {
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
        self.at(now, InstanceEvent::Finish(batch));
    }
}

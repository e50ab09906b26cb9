//! A batch under way: divided into lists that queues take, and repaired member by member.

use crate::cpu;
use crate::error::Error;
use crate::lost_descriptor::{LossDetector, Refusals};
use crate::operation::OffloadOperation;
use crate::operation_run::OperationRun;
use crate::outcome::OffloadOutcome;
use crate::record_slot::RecordSlot;
use crate::resume::{OperationProgress, PieceResult};
use crate::shared::{SharedState, SubmissionResult};
use crate::statistics::Reason;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, flags};
use std::collections::VecDeque;
use std::sync::Arc;
use units::narrow::fit;

/// A step of a batch; steps run one after the other.
enum BatchStep {
    /// Members from `first` on, as one descriptor.
    List {
        first: usize,
        list: Vec<(OffloadOperation, bool)>,
        under_way: Option<Box<SubmittedList>>,
    },
    /// A single member, by its number.
    Alone(usize, Box<OperationRun>),
}

/// A list of descriptors that a queue has taken.
struct SubmittedList {
    descriptors: Vec<Descriptor>,
    records: Vec<RecordSlot>,
    batch_record: Box<RecordSlot>,
    portal: usize,
    loss: LossDetector,
}

/// A batch under way.
pub struct BatchJob {
    shared: Arc<SharedState>,
    ends: Vec<Option<Result<OffloadOutcome, Error>>>,
    insists: bool,
    refusals: Refusals,
    steps: VecDeque<BatchStep>,
}

impl BatchJob {
    /// Begins a batch; runs it on the CPU if there is a reason for that.
    pub(super) fn begun(
        shared: &Arc<SharedState>,
        members: &[(OffloadOperation, bool)],
        why: Option<Reason>,
        insists: bool,
    ) -> Self {
        let ends = members.iter().map(|_| None).collect();
        let (shared, refusals) = (Arc::clone(shared), Refusals::default());
        let mut job = Self { shared, ends, insists, refusals, steps: VecDeque::new() };
        match why {
            Some(why) => job.do_by_cpu(members, why),
            None => job.plan(members),
        }
        job.advance();
        job
    }

    /// The results of all operations, in the order of the batch; `None` until the last one has ended.
    /// Results can be taken once.
    pub fn poll(&mut self) -> Option<Vec<Result<OffloadOutcome, Error>>> {
        self.advance();
        if !self.steps.is_empty() {
            return None;
        }
        let ends = std::mem::take(&mut self.ends);
        Some(ends.into_iter().map(|end| end.unwrap_or(Err(Error::Forked))).collect())
    }

    fn do_by_cpu(&mut self, members: &[(OffloadOperation, bool)], why: Reason) {
        for (end, (operation, _)) in self.ends.iter_mut().zip(members) {
            *end = Some(cpu::run(operation, self.shared.counters(), why));
        }
    }

    /// Divides the batch into lists that queues take as one descriptor, and single members.
    fn plan(&mut self, members: &[(OffloadOperation, bool)]) {
        let most = self.shared.portals().most_batch() as usize;
        let mut list: Vec<(OffloadOperation, bool)> = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let opcode = member.0.opcode();
            let is_small = member.0.bytes() <= self.shared.portals().most_transfer_bytes(opcode);
            if most > 1 && is_small && opcode != Opcode::Drain {
                list.push(*member);
            }
            let is_last = number + 1 == members.len();
            let fits = is_small && most > 1 && opcode != Opcode::Drain;
            if !fits || is_last || list.len() == most {
                let first = number + usize::from(fits) - list.len();
                self.plan_list(first, std::mem::take(&mut list));
            }
            if !fits {
                self.steps.push_back(single(number, member.0, self.insists));
            }
        }
    }

    fn plan_list(&mut self, first: usize, list: Vec<(OffloadOperation, bool)>) {
        match list.len() {
            0 => {}
            // A batch has two members or more.
            1 => self.steps.push_back(single(first, list[0].0, self.insists)),
            _ => self.steps.push_back(BatchStep::List { first, list, under_way: None }),
        }
    }

    /// Runs steps until one is under way and has not ended.
    fn advance(&mut self) {
        if self.shared.is_forked() {
            self.steps.clear();
            return;
        }
        while let Some(mut step) = self.steps.pop_front() {
            if !self.advance_step(&mut step) {
                self.steps.push_front(step);
                return;
            }
        }
    }

    /// Begins or continues a step, and returns whether it has ended.
    fn advance_step(&mut self, step: &mut BatchStep) -> bool {
        match step {
            BatchStep::Alone(member, work) => {
                let Some(end) = work.poll(&self.shared) else { return false };
                self.ends[*member] = Some(end);
                true
            }
            BatchStep::List { first, list, under_way } => match under_way.take() {
                None => match self.begin(list) {
                    Ok(begun) => {
                        *under_way = Some(begun);
                        false
                    }
                    Err(Reason::Full)
                        if self.insists
                            && !self.refusals.are_final(|| {
                                self.shared.portals().are_disabled(Opcode::Batch)
                            }) =>
                    {
                        false
                    }
                    Err(why) => {
                        let why = if self.insists { Reason::Lost } else { why };
                        let ends = self.ends[*first..].iter_mut();
                        for (end, (operation, _)) in ends.zip(list.iter()) {
                            *end = Some(cpu::run(operation, self.shared.counters(), why));
                        }
                        true
                    }
                },
                Some(mut running) => {
                    if !running.is_over(&self.shared) {
                        *under_way = Some(running);
                        return false;
                    }
                    self.shared.portals().get(running.portal).ended();
                    self.end(*first, list, &running);
                    true
                }
            },
        }
    }

    fn begin(&self, list: &[(OffloadOperation, bool)]) -> Result<Box<SubmittedList>, Reason> {
        let records: Vec<RecordSlot> = list.iter().map(|_| RecordSlot::default()).collect();
        let descriptor =
            |((operation, is_fenced), slot): (&(OffloadOperation, bool), &RecordSlot)| {
                let fence = if *is_fenced { flags::FENCE } else { 0 };
                let it = operation.piece(0, operation.bytes()).recording(slot.address());
                it.with_flags(it.flags() | fence)
            };
        let mut list = Box::new(SubmittedList {
            descriptors: list.iter().zip(&records).map(descriptor).collect(),
            records,
            batch_record: Box::default(),
            portal: 0,
            loss: LossDetector::default(),
        });
        let batch = Descriptor::of(Opcode::Batch)
            .with_first(list.descriptors.as_ptr() as u64)
            .with_size(fit(list.descriptors.len()))
            .recording(list.batch_record.address());
        match self.shared.send(&batch, Opcode::Batch) {
            SubmissionResult::Taken(portal) => {
                list.portal = portal;
                Ok(list)
            }
            SubmissionResult::NotTaken(why) => Err(why),
        }
    }

    /// Takes the results of the members of a list. Members without a record, or with bytes left, become
    /// the next steps, one after the other.
    fn end(&mut self, first: usize, list: &[(OffloadOperation, bool)], ended: &SubmittedList) {
        let members = list.iter().zip(&ended.records).enumerate();
        let mut rest = VecDeque::new();
        for (number, ((operation, _), slot)) in members {
            let mut progress = OperationProgress::new(*operation);
            let Some((at, descriptor)) = progress.next_piece(u64::MAX) else {
                continue;
            };
            if slot.status() == 0 {
                rest.push_back(rest_of(first + number, progress, (at, descriptor), self.insists));
                continue;
            }
            let record = slot.record();
            let by_device = (true, &mut 0, self.shared.counters());
            let bytes = operation.bytes();
            match progress.evaluate((at, &descriptor), &record, by_device) {
                Ok(PieceResult::Done) => {
                    self.shared.counters().device(operation.opcode(), bytes);
                    progress.count_device(bytes);
                    self.ends[first + number] = Some(Ok(progress.outcome()));
                }
                Ok(PieceResult::Resume(at, left)) => {
                    progress.count_device(bytes - u64::from(left.size()));
                    rest.push_back(rest_of(first + number, progress, (at, left), self.insists));
                }
                Ok(PieceResult::Redo(why)) => {
                    let piece = (at, descriptor);
                    let done = cpu::finish(&mut progress, piece, self.shared.counters(), why);
                    self.ends[first + number] = Some(done.map(|()| progress.outcome()));
                }
                Err(error) => self.ends[first + number] = Some(Err(error)),
            }
        }
        while let Some(step) = rest.pop_back() {
            self.steps.push_front(step);
        }
    }
}

fn single(member: usize, operation: OffloadOperation, insists: bool) -> BatchStep {
    BatchStep::Alone(member, Box::new(OperationRun::new(operation, insists)))
}

fn rest_of(
    member: usize,
    progress: OperationProgress,
    piece: (u64, Descriptor),
    insists: bool,
) -> BatchStep {
    BatchStep::Alone(member, Box::new(OperationRun::resume(progress, piece, insists)))
}

impl SubmittedList {
    /// Whether the list has ended, or was lost.
    fn is_over(&mut self, shared: &SharedState) -> bool {
        let record = &self.batch_record;
        let (portal, has_ended) = (shared.portals().get(self.portal), || record.status() != 0);
        has_ended() || self.loss.find_loss(portal, has_ended).is_some()
    }
}

impl Drop for BatchJob {
    fn drop(&mut self) {
        self.advance();
        for step in self.steps.drain(..) {
            match step {
                _ if self.shared.is_forked() => {}
                BatchStep::List { under_way: Some(mut list), .. } => {
                    self.shared.counters().abandon();
                    self.shared
                        .abandoned()
                        .keep(list.portal, std::mem::take(&mut list.batch_record));
                    Box::leak(list);
                }
                BatchStep::List { .. } => {}
                BatchStep::Alone(_, mut work) => work.abandon(&self.shared),
            }
        }
    }
}

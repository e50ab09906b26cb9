//! A list that was begun: divided into what queues take, and repaired member by member.

use crate::cpu;
use crate::error::Error;
use crate::lost_descriptor::{LossDetector, Refusals};
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::record_slot::Slot;
use crate::resume::{Absorbed, Progress};
use crate::shared::{Sent, Shared};
use crate::statistics::Reason;
use crate::work::Work;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, flags};
use std::collections::VecDeque;
use std::sync::Arc;
use units::narrow::fit;

/// What a list is done in, one after the other.
enum Step {
    /// Members from this one on, as one descriptor.
    List { first: usize, list: Vec<(Operation, bool)>, under_way: Option<Box<List>> },
    /// One member.
    Alone(usize, Box<Work>),
}

/// A list under way.
struct List {
    descriptors: Vec<Descriptor>,
    records: Vec<Slot>,
    own: Box<Slot>,
    portal: usize,
    loss: LossDetector,
}

/// A list that was begun.
pub struct BatchJob {
    shared: Arc<Shared>,
    ends: Vec<Option<Result<Outcome, Error>>>,
    insists: bool,
    refusals: Refusals,
    steps: VecDeque<Step>,
}

impl BatchJob {
    /// A list that has not begun, and goes to the CPU if there is a reason.
    pub(super) fn begun(
        shared: &Arc<Shared>,
        members: &[(Operation, bool)],
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

    /// The ends of all members, in the order of the list, once the last has ended.
    pub fn poll(&mut self) -> Option<Vec<Result<Outcome, Error>>> {
        self.advance();
        if !self.steps.is_empty() {
            return None;
        }
        let ends = std::mem::take(&mut self.ends);
        Some(ends.into_iter().map(|end| end.unwrap_or(Err(Error::Forked))).collect())
    }

    fn do_by_cpu(&mut self, members: &[(Operation, bool)], why: Reason) {
        for (end, (operation, _)) in self.ends.iter_mut().zip(members) {
            *end = Some(cpu::run(operation, self.shared.counters(), why));
        }
    }

    /// Divides the list into what queues take as one descriptor, and members that they do not.
    fn plan(&mut self, members: &[(Operation, bool)]) {
        let most = self.shared.portals().most_batch() as usize;
        let mut list: Vec<(Operation, bool)> = Vec::new();
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
                self.steps.push_back(alone(number, member.0, self.insists));
            }
        }
    }

    fn plan_list(&mut self, first: usize, list: Vec<(Operation, bool)>) {
        match list.len() {
            0 => {}
            // A batch has two members or more.
            1 => self.steps.push_back(alone(first, list[0].0, self.insists)),
            _ => self.steps.push_back(Step::List { first, list, under_way: None }),
        }
    }

    /// Goes on until something is under way.
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

    /// Whether a step has ended.
    fn advance_step(&mut self, step: &mut Step) -> bool {
        match step {
            Step::Alone(member, work) => {
                let Some(end) = work.poll(&self.shared) else { return false };
                self.ends[*member] = Some(end);
                true
            }
            Step::List { first, list, under_way } => match under_way.take() {
                None => match self.begin(list) {
                    Ok(begun) => {
                        *under_way = Some(begun);
                        false
                    }
                    Err(Reason::Full)
                        if self.insists
                            && !self.refusals.are_final(self.shared.portals(), Opcode::Batch) =>
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

    fn begin(&self, list: &[(Operation, bool)]) -> Result<Box<List>, Reason> {
        let records: Vec<Slot> = list.iter().map(|_| Slot::default()).collect();
        let descriptor = |((operation, is_fenced), slot): (&(Operation, bool), &Slot)| {
            let fence = if *is_fenced { flags::FENCE } else { 0 };
            let it = operation.part(0, operation.bytes()).recording(slot.address());
            it.with_flags(it.flags() | fence)
        };
        let mut list = Box::new(List {
            descriptors: list.iter().zip(&records).map(descriptor).collect(),
            records,
            own: Box::default(),
            portal: 0,
            loss: LossDetector::default(),
        });
        let batch = Descriptor::of(Opcode::Batch)
            .with_first(list.descriptors.as_ptr() as u64)
            .with_size(fit(list.descriptors.len()))
            .recording(list.own.address());
        match self.shared.send(&batch, Opcode::Batch) {
            Sent::To(portal) => {
                list.portal = portal;
                Ok(list)
            }
            Sent::Not(why) => Err(why),
        }
    }

    /// Takes the ends of members; what has none, or not all of it, comes next, one after the other.
    fn end(&mut self, first: usize, list: &[(Operation, bool)], ended: &List) {
        let members = list.iter().zip(&ended.records).enumerate();
        let mut rest = VecDeque::new();
        for (number, ((operation, _), slot)) in members {
            let mut progress = Progress::new(*operation);
            let Some((at, descriptor)) = progress.next_part(u64::MAX) else {
                continue;
            };
            if slot.status() == 0 {
                rest.push_back(again(first + number, progress, (at, descriptor), self.insists));
                continue;
            }
            let record = slot.record();
            let given = (true, &mut 0, self.shared.counters());
            let bytes = operation.bytes();
            match progress.absorb((at, &descriptor), &record, given) {
                Ok(Absorbed::Done) => {
                    self.shared.counters().device(operation.opcode(), bytes);
                    progress.count_device(bytes);
                    self.ends[first + number] = Some(Ok(progress.outcome()));
                }
                Ok(Absorbed::Resume(at, left)) => {
                    progress.count_device(bytes - u64::from(left.size()));
                    rest.push_back(again(first + number, progress, (at, left), self.insists));
                }
                Ok(Absorbed::Redo(why)) => {
                    let part = (at, descriptor);
                    let done = cpu::finish(&mut progress, part, self.shared.counters(), why);
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

fn alone(member: usize, operation: Operation, insists: bool) -> Step {
    Step::Alone(member, Box::new(Work::new(operation, insists)))
}

fn again(member: usize, progress: Progress, part: (u64, Descriptor), insists: bool) -> Step {
    Step::Alone(member, Box::new(Work::resuming(progress, part, insists)))
}

impl List {
    /// Whether it has ended, or never will.
    fn is_over(&mut self, shared: &Shared) -> bool {
        let own = &self.own;
        own.status() != 0
            || self.loss.is_confirmed(shared.portals(), self.portal, || own.status() != 0)
    }
}

impl Drop for BatchJob {
    fn drop(&mut self) {
        self.advance();
        for step in self.steps.drain(..) {
            match step {
                _ if self.shared.is_forked() => {}
                Step::List { under_way: Some(mut list), .. } => {
                    self.shared.counters().abandon();
                    self.shared.abandoned().keep(list.portal, std::mem::take(&mut list.own));
                    Box::leak(list);
                }
                Step::List { .. } => {}
                Step::Alone(_, mut work) => work.abandon(&self.shared),
            }
        }
    }
}

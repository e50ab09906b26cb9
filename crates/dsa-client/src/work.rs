//! An operation that a device does: its parts under way, and what becomes of those that fail.
//!
//! A part that meets an absent page goes on behind it; one that meets a hardware error, or is lost, is
//! done by the CPU.

use crate::cpu;
use crate::error::Error;
use crate::lost_descriptor::{LossDetector, Refusals};
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::record_slot::Slot;
use crate::resume::{Absorbed, Progress};
use crate::shared::{Sent, Shared};
use crate::statistics::Reason;
use crate::wait::Waiter;
use dsa::descriptor::Descriptor;

/// Parts of an operation that are under way at a time, if their order does not matter.
const MOST_PARTS: usize = 8;
/// A descriptor under way.
struct Part {
    at: u64,
    descriptor: Descriptor,
    slot: Box<Slot>,
    portal: usize,
    stuck: u8,
    loss: LossDetector,
}

/// One operation, from its first part to its outcome.
pub(crate) struct Work {
    progress: Progress,
    parts: Vec<Part>,
    /// Parts that no queue had room for.
    waiting: Vec<(u64, Descriptor)>,
    /// Whether a full queue is waited for.
    insists: bool,
    refusals: Refusals,
    failed: Option<Error>,
}

impl Work {
    /// An operation that has not begun. One that insists waits for room in a queue; others go to the CPU.
    pub fn new(operation: Operation, insists: bool) -> Self {
        Self::of(Progress::new(operation), Vec::new(), insists)
    }

    /// What is left of an operation that was a member of a batch.
    pub fn resuming(progress: Progress, rest: (u64, Descriptor), insists: bool) -> Self {
        Self::of(progress, vec![rest], insists)
    }

    fn of(progress: Progress, waiting: Vec<(u64, Descriptor)>, insists: bool) -> Self {
        let refusals = Refusals::default();
        Self { progress, parts: Vec::new(), waiting, insists, refusals, failed: None }
    }

    /// Goes on; `None` as long as something is under way.
    pub fn poll(&mut self, shared: &Shared) -> Option<Result<Outcome, Error>> {
        if shared.is_forked() {
            self.parts.clear();
            return Some(Err(Error::Forked));
        }
        let mut number = 0;
        while number < self.parts.len() {
            if self.parts[number].has_ended() {
                let part = self.parts.swap_remove(number);
                shared.portals().get(part.portal).ended();
                self.end(shared, part);
            } else if self.parts[number].is_lost(shared) {
                let part = self.parts.swap_remove(number);
                shared.portals().get(part.portal).ended();
                self.lose(shared, &part);
            } else {
                number += 1;
            }
        }
        if self.failed.is_none() {
            self.begin_parts(shared);
        }
        if !self.parts.is_empty() || (!self.waiting.is_empty() && self.failed.is_none()) {
            return None;
        }
        Some(self.failed.take().map_or_else(|| Ok(self.progress.outcome()), Err))
    }

    /// Waits for the end.
    pub fn wait(&mut self, shared: &Shared) -> Result<Outcome, Error> {
        let mut waiter = Waiter::new(shared.wait());
        loop {
            if let Some(ended) = self.poll(shared) {
                return ended;
            }
            waiter.pause(self.parts.first().map(|part| &*part.slot));
        }
    }

    /// Leaves what has not ended to the device: it may write records still, which therefore stay.
    pub fn abandon(&mut self, shared: &Shared) {
        for part in self.parts.drain(..) {
            if shared.is_forked() {
                continue;
            }
            shared.counters().abandon();
            shared.abandoned().keep(part.portal, part.slot);
        }
    }

    /// Begins parts, as many as may be under way.
    fn begin_parts(&mut self, shared: &Shared) {
        let most = if self.progress.operation().is_divisible_at_will() { MOST_PARTS } else { 1 };
        while self.parts.len() < most && self.failed.is_none() {
            let bytes = shared.portals().most_transfer_bytes(self.progress.opcode());
            let part = self.waiting.pop().or_else(|| self.progress.next_part(bytes));
            let Some((at, descriptor)) = part else { return };
            if !self.begin(shared, (at, descriptor), 0) {
                return;
            }
        }
    }

    /// Submits a part; false if no queue has room and the part waits for it.
    fn begin(&mut self, shared: &Shared, (at, descriptor): (u64, Descriptor), stuck: u8) -> bool {
        let slot = Box::<Slot>::default();
        let recording = descriptor.recording(slot.address());
        match shared.send(&recording, self.progress.opcode()) {
            Sent::To(portal) => {
                let loss = LossDetector::default();
                self.parts.push(Part { at, descriptor, slot, portal, stuck, loss });
                true
            }
            Sent::Not(Reason::Full) if self.insists => {
                let is_final = self.refusals.are_final(shared.portals(), self.progress.opcode());
                if is_final {
                    self.do_by_cpu(shared, (at, descriptor), Reason::Lost);
                } else {
                    self.waiting.push((at, descriptor));
                }
                is_final
            }
            Sent::Not(why) => {
                self.do_by_cpu(shared, (at, descriptor), why);
                true
            }
        }
    }

    fn end(&mut self, shared: &Shared, mut part: Part) {
        let record = part.slot.record();
        let whole = (part.at, &part.descriptor);
        let bytes = u64::from(part.descriptor.size());
        let absorbed =
            self.progress.absorb(whole, &record, (true, &mut part.stuck, shared.counters()));
        match absorbed {
            Ok(Absorbed::Done) => {
                shared.counters().device(self.progress.opcode(), bytes);
                self.progress.count_device(bytes);
            }
            Ok(Absorbed::Resume(at, rest)) => {
                self.progress.count_device(bytes - u64::from(rest.size()));
                self.begin(shared, (at, rest), part.stuck);
            }
            Ok(Absorbed::Redo(why)) => self.do_by_cpu(shared, (part.at, part.descriptor), why),
            Err(error) => self.failed = Some(error),
        }
    }

    fn lose(&mut self, shared: &Shared, part: &Part) {
        match self.progress.may_be_repeated("its queue lost the descriptor") {
            Ok(()) => self.do_by_cpu(shared, (part.at, part.descriptor), Reason::Lost),
            Err(error) => self.failed = Some(error),
        }
    }

    fn do_by_cpu(&mut self, shared: &Shared, part: (u64, Descriptor), why: Reason) {
        if let Err(error) = cpu::finish(&mut self.progress, part, shared.counters(), why) {
            self.failed = Some(error);
        }
    }
}

impl Part {
    fn has_ended(&self) -> bool {
        self.slot.status() != 0
    }

    fn is_lost(&mut self, shared: &Shared) -> bool {
        let slot = &self.slot;
        self.loss.is_confirmed(shared.portals(), self.portal, || slot.status() != 0)
    }
}

//! The execution of one operation by devices: its pieces under way, and the repair of those that fail.
//!
//! A piece that meets an absent page is resumed; a piece that meets a hardware error, or is lost, is executed
//! by the CPU.

use crate::cpu;
use crate::error::Error;
use crate::lost_descriptor::{LossDetector, Refusals};
use crate::operation::OffloadOperation;
use crate::outcome::OffloadOutcome;
use crate::record_slot::RecordSlot;
use crate::resume::{OperationProgress, PieceResult};
use crate::shared::{SharedState, SubmissionResult};
use crate::statistics::Reason;
use crate::wait::Waiter;
use dsa::descriptor::Descriptor;

/// Most pieces of an operation under way at a time, if their order does not matter.
const MOST_PIECES: usize = 8;

/// A piece whose descriptor is under way.
struct SubmittedPiece {
    at: u64,
    descriptor: Descriptor,
    slot: Box<RecordSlot>,
    portal: usize,
    stuck: u8,
    loss: LossDetector,
}

/// One operation, from its first piece to its outcome.
pub(crate) struct OperationRun {
    progress: OperationProgress,
    pieces: Vec<SubmittedPiece>,
    /// Pieces that no queue had room for.
    waiting: Vec<(u64, Descriptor)>,
    /// Whether the operation waits for room in a queue, rather than go to the CPU.
    insists: bool,
    refusals: Refusals,
    failed: Option<Error>,
}

impl OperationRun {
    /// An operation that has not begun. If it insists, it waits for room in a queue; else it goes to the CPU.
    pub fn new(operation: OffloadOperation, insists: bool) -> Self {
        Self::with_waiting(OperationProgress::new(operation), Vec::new(), insists)
    }

    /// The rest of an operation that was a member of a batch.
    pub fn resume(progress: OperationProgress, rest: (u64, Descriptor), insists: bool) -> Self {
        Self::with_waiting(progress, vec![rest], insists)
    }

    fn with_waiting(
        progress: OperationProgress,
        waiting: Vec<(u64, Descriptor)>,
        insists: bool,
    ) -> Self {
        let refusals = Refusals::default();
        Self { progress, pieces: Vec::new(), waiting, insists, refusals, failed: None }
    }

    /// Advances the operation, and returns its result at the end; `None` while pieces are under way.
    pub fn poll(&mut self, shared: &SharedState) -> Option<Result<OffloadOutcome, Error>> {
        if shared.is_forked() {
            self.pieces.clear();
            return Some(Err(Error::Forked));
        }
        let mut number = 0;
        while number < self.pieces.len() {
            if self.pieces[number].has_ended() {
                let piece = self.pieces.swap_remove(number);
                shared.portals().get(piece.portal).ended();
                self.end(shared, piece);
            } else if self.pieces[number].is_lost(shared) {
                let piece = self.pieces.swap_remove(number);
                shared.portals().get(piece.portal).ended();
                self.handle_loss(shared, &piece);
            } else {
                number += 1;
            }
        }
        if self.failed.is_none() {
            self.begin_pieces(shared);
        }
        if !self.pieces.is_empty() || (!self.waiting.is_empty() && self.failed.is_none()) {
            return None;
        }
        Some(self.failed.take().map_or_else(|| Ok(self.progress.outcome()), Err))
    }

    /// Waits for the end of the operation.
    pub fn wait(&mut self, shared: &SharedState) -> Result<OffloadOutcome, Error> {
        let mut waiter = Waiter::new(shared.wait());
        loop {
            if let Some(ended) = self.poll(shared) {
                return ended;
            }
            waiter.pause(self.pieces.first().map(|piece| &*piece.slot));
        }
    }

    /// Leaves the records of pieces under way to the device, which may still write them.
    pub fn abandon(&mut self, shared: &SharedState) {
        for piece in self.pieces.drain(..) {
            if shared.is_forked() {
                continue;
            }
            shared.counters().abandon();
            shared.abandoned().keep(piece.portal, piece.slot);
        }
    }

    /// Begins pieces, as many as may be under way.
    fn begin_pieces(&mut self, shared: &SharedState) {
        let most = if self.progress.operation().is_divisible_at_will() { MOST_PIECES } else { 1 };
        while self.pieces.len() < most && self.failed.is_none() {
            let bytes = shared.portals().most_transfer_bytes(self.progress.opcode());
            let piece = self.waiting.pop().or_else(|| self.progress.next_piece(bytes));
            let Some((at, descriptor)) = piece else { return };
            if !self.begin(shared, (at, descriptor), 0) {
                return;
            }
        }
    }

    /// Submits a piece; false if no queue has room and the piece waits for it.
    fn begin(
        &mut self,
        shared: &SharedState,
        (at, descriptor): (u64, Descriptor),
        stuck: u8,
    ) -> bool {
        let slot = Box::<RecordSlot>::default();
        let recording = descriptor.recording(slot.address());
        match shared.send(&recording, self.progress.opcode()) {
            SubmissionResult::Taken(portal) => {
                let loss = LossDetector::default();
                self.pieces.push(SubmittedPiece { at, descriptor, slot, portal, stuck, loss });
                true
            }
            SubmissionResult::NotTaken(Reason::Full) if self.insists => {
                let opcode = self.progress.opcode();
                let is_final = self.refusals.are_final(|| shared.portals().are_disabled(opcode));
                if is_final {
                    self.do_by_cpu(shared, (at, descriptor), Reason::Lost);
                } else {
                    self.waiting.push((at, descriptor));
                }
                is_final
            }
            SubmissionResult::NotTaken(why) => {
                self.do_by_cpu(shared, (at, descriptor), why);
                true
            }
        }
    }

    fn end(&mut self, shared: &SharedState, mut piece: SubmittedPiece) {
        let record = piece.slot.record();
        let whole = (piece.at, &piece.descriptor);
        let bytes = u64::from(piece.descriptor.size());
        let result =
            self.progress.evaluate(whole, &record, (true, &mut piece.stuck, shared.counters()));
        match result {
            Ok(PieceResult::Done) => {
                shared.counters().device(self.progress.opcode(), bytes);
                self.progress.count_device(bytes);
            }
            Ok(PieceResult::Resume(at, rest)) => {
                self.progress.count_device(bytes - u64::from(rest.size()));
                self.begin(shared, (at, rest), piece.stuck);
            }
            Ok(PieceResult::Redo(why)) => self.do_by_cpu(shared, (piece.at, piece.descriptor), why),
            Err(error) => self.failed = Some(error),
        }
    }

    fn handle_loss(&mut self, shared: &SharedState, piece: &SubmittedPiece) {
        match self.progress.may_be_repeated("its queue lost the descriptor") {
            Ok(()) => self.do_by_cpu(shared, (piece.at, piece.descriptor), Reason::Lost),
            Err(error) => self.failed = Some(error),
        }
    }

    fn do_by_cpu(&mut self, shared: &SharedState, piece: (u64, Descriptor), why: Reason) {
        if let Err(error) = cpu::finish(&mut self.progress, piece, shared.counters(), why) {
            self.failed = Some(error);
        }
    }
}

impl SubmittedPiece {
    fn has_ended(&self) -> bool {
        self.slot.status() != 0
    }

    fn is_lost(&mut self, shared: &SharedState) -> bool {
        let slot = &self.slot;
        let portal = shared.portals().get(self.portal);
        self.loss.find_loss(portal, || slot.status() != 0).is_some()
    }
}

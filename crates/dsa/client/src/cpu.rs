//! Execution of operations on the CPU, by the vectorised software engine, with the results of a device.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::operation::OffloadOperation;
use crate::outcome::OffloadOutcome;
use crate::resume::{OperationProgress, PieceResult};
use crate::statistics::{ClientCounters, Reason};
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;
use dsa::record::Record;

/// Most bytes of a piece: one descriptor can have as many.
const MOST_BYTES: u64 = 1 << 30;
/// Capabilities of the CPU: those of the newest device.
const CAPABILITIES: Capabilities = Capabilities::VERSION_2;

/// Executes a descriptor on the CPU and returns its completion record.
pub(crate) fn execute(descriptor: &Descriptor) -> Record {
    let limits =
        QueueLimits { most_transfer_bytes: u32::MAX.into(), ..QueueLimits::of(&CAPABILITIES) };
    let mut slot = Record::default();
    let recording = descriptor.recording((&raw mut slot) as u64);
    // SAFETY: the caller of an operation answers for its memory; the record is on this stack.
    unsafe { SoftwareEngine::new(CAPABILITIES) }.execute(&recording, &limits).record()
}

/// Executes a whole operation on the CPU, and counts it under a reason.
#[inline]
pub(crate) fn run(
    operation: &OffloadOperation,
    counters: &ClientCounters,
    why: Reason,
) -> Result<OffloadOutcome, Error> {
    if operation.opcode() == Opcode::Move {
        let (from, to) = operation.operands();
        if dsa::memory::copy(from, to, operation.bytes()) {
            counters.cpu(Opcode::Move, operation.bytes(), why);
            return Ok(OffloadOutcome::copied_by_cpu(operation.bytes()));
        }
    }
    run_in_pieces(OperationProgress::new(*operation), counters, why)
}

fn run_in_pieces(
    mut progress: OperationProgress,
    counters: &ClientCounters,
    why: Reason,
) -> Result<OffloadOutcome, Error> {
    while let Some(piece) = progress.next_piece(MOST_BYTES) {
        finish(&mut progress, piece, counters, why)?;
    }
    Ok(progress.outcome())
}

/// Executes a piece of an operation; continues it after each page that had to be brought in.
pub(crate) fn finish(
    progress: &mut OperationProgress,
    (mut at, mut descriptor): (u64, Descriptor),
    counters: &ClientCounters,
    why: Reason,
) -> Result<(), Error> {
    let mut stuck = 0;
    loop {
        let record = execute(&descriptor);
        let bytes = u64::from(descriptor.size());
        let result =
            progress.evaluate((at, &descriptor), &record, (false, &mut stuck, counters))?;
        match result {
            PieceResult::Done => {
                counters.cpu(progress.opcode(), bytes, why);
                progress.count_cpu(bytes);
                return Ok(());
            }
            PieceResult::Resume(next_at, next) => {
                let done = next_at - at;
                progress.count_cpu(done);
                (at, descriptor) = (next_at, next);
            }
            // A piece is to be redone only after a page fault: the CPU cannot do it either.
            PieceResult::Redo(_) => return Err(progress.fault(&record)),
        }
    }
}

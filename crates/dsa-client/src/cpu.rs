//! The CPU's way of an operation: the software engine, vectorised, with the same results.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::resume::{Absorbed, Progress};
use crate::statistics::{Counters, Reason};
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;
use dsa::record::Record;

/// Bytes of a part, which one descriptor can have.
const MOST_BYTES: u64 = 1 << 30;
/// All that any part can do.
const CAPABILITIES: Capabilities = Capabilities::VERSION_2;

/// What the CPU made of a descriptor, whose record is put where it asks for it.
pub(crate) fn execute(descriptor: &Descriptor) -> Record {
    let limits =
        QueueLimits { most_transfer_bytes: u32::MAX.into(), ..QueueLimits::of(&CAPABILITIES) };
    let mut slot = Record::default();
    let recording = descriptor.recording((&raw mut slot) as u64);
    // SAFETY: who runs an operation answers for its memory; the record is on this stack.
    unsafe { SoftwareEngine::new(CAPABILITIES) }.execute(&recording, &limits).record()
}

/// Does a whole operation.
#[inline]
pub(crate) fn run(
    operation: &Operation,
    counters: &Counters,
    why: Reason,
) -> Result<Outcome, Error> {
    if operation.opcode() == Opcode::Move {
        let (from, to) = operation.operands();
        if dsa::memory::copy(from, to, operation.bytes()) {
            counters.cpu(Opcode::Move, operation.bytes(), why);
            return Ok(Outcome::of_cpu(operation.bytes()));
        }
    }
    run_in_parts(Progress::new(*operation), counters, why)
}

fn run_in_parts(
    mut progress: Progress,
    counters: &Counters,
    why: Reason,
) -> Result<Outcome, Error> {
    while let Some(part) = progress.next_part(MOST_BYTES) {
        finish(&mut progress, part, counters, why)?;
    }
    Ok(progress.outcome())
}

/// Does a part, and what is left of it behind pages that had to be brought in.
pub(crate) fn finish(
    progress: &mut Progress,
    (mut at, mut descriptor): (u64, Descriptor),
    counters: &Counters,
    why: Reason,
) -> Result<(), Error> {
    let mut stuck = 0;
    loop {
        let record = execute(&descriptor);
        let bytes = u64::from(descriptor.size());
        let absorbed =
            progress.absorb((at, &descriptor), &record, (false, &mut stuck, counters))?;
        match absorbed {
            Absorbed::Done => {
                counters.cpu(progress.opcode(), bytes, why);
                progress.count_cpu(bytes);
                return Ok(());
            }
            Absorbed::Resume(next_at, next) => {
                let done = next_at - at;
                progress.count_cpu(done);
                (at, descriptor) = (next_at, next);
            }
            // It asks for that behind a page only: the CPU has no other way.
            Absorbed::Redo(_) => return Err(progress.fault(&record)),
        }
    }
}

//! One descriptor, from its submission to its end.

use crate::counts::Reason;
use crate::lost_descriptor::SignalSafeLossDetector;
use crate::portals::{self, Taken};
use crate::process::{Claimed, Process};
use crate::settings::{Settings, Wait};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::instructions::{self, Instructions};
use dsa_client::record_slot::Slot;

/// Looks at a record before the CPU is offered to others: about as long as a device takes for 4 KiB.
const SPINS: u32 = 512;
/// Looks between two at the clock.
const LOOKS: u32 = 1024;
/// Cycles that a wait for a line takes at most: what the kernel allows by default.
const CYCLES: u64 = 100_000;

/// A descriptor under way.
pub struct UnderWay {
    process: &'static Process,
    claimed: Claimed,
    taken: Taken,
}

/// What a record says.
#[derive(Clone, Copy)]
pub struct Ended {
    pub status: u8,
    pub result: u8,
    pub completed: u32,
}

/// Submits a descriptor.
pub fn begin(
    process: &'static Process,
    descriptor: &Descriptor,
    opcode: Opcode,
    settings: &Settings,
) -> Option<UnderWay> {
    let claimed = process.claim()?;
    let recording = descriptor.recording(claimed.slot().address());
    match portals::submit(process, &recording, opcode.bit(), settings.retries) {
        Some(taken) => Some(UnderWay { process, claimed, taken }),
        None => {
            claimed.release();
            None
        }
    }
}

impl UnderWay {
    pub fn has_ended(&self) -> bool {
        self.claimed.slot().status() != 0
    }

    /// Waits for its end.
    pub fn wait(self, wait: Wait) -> Result<Ended, Reason> {
        let slot = self.claimed.slot();
        let mut loss = SignalSafeLossDetector::default();
        let mut looks = 0_u32;
        while slot.status() == 0 {
            looks = looks.wrapping_add(1);
            pause(wait, slot, looks);
            if looks.is_multiple_of(LOOKS) && loss.is_confirmed(self.process, self.taken, slot) {
                self.taken.ended(self.process);
                loss.abandon();
                self.claimed.abandon();
                return Err(Reason::Lost);
            }
        }
        let record = slot.record();
        self.taken.ended(self.process);
        loss.settle();
        self.claimed.release();
        let (status, result) = (record.status(), record.result());
        Ok(Ended { status, result, completed: record.completed() })
    }
}

/// Waits a little for a record; `looks` says how often the caller has looked at it.
pub fn pause(wait: Wait, slot: &Slot, looks: u32) {
    match wait {
        Wait::Line if Instructions::here().waits_for_lines => {
            instructions::wait_for_line(slot.line(), CYCLES, || slot.status() != 0);
        }
        Wait::Line | Wait::Poll if looks < SPINS => std::hint::spin_loop(),
        // SAFETY: a system call without arguments.
        _ => unsafe {
            libc::sched_yield();
        },
    }
}

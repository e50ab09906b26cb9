//! One descriptor, from its submission to its end.

use crate::counts::CpuReason;
use crate::lost_descriptor::SignalSafeLossDetector;
use crate::portals::{self, QueueEntry};
use crate::process::{ClaimedRecord, Process};
use crate::settings::{CallWait, PreloadSettings};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::instructions::{self, Instructions};
use dsa_client::record_slot::RecordSlot;

/// Polls of a record before the CPU is yielded: about as long as a device takes for 4 KiB.
const SPINS: u32 = 512;
/// Polls of a record between two checks whether the descriptor was lost.
const LOOKS: u32 = 1024;
/// Most cycles of a wait for a line: the limit that the kernel sets by default.
const CYCLES: u64 = 100_000;

/// A descriptor under way.
pub struct DescriptorUnderWay {
    process: &'static Process,
    claimed: ClaimedRecord,
    taken: QueueEntry,
}

/// The fields of a completion record that a call needs.
#[derive(Clone, Copy)]
pub struct DescriptorEnd {
    pub status: u8,
    pub result: u8,
    pub completed: u32,
}

/// Submits a descriptor; `None` if no record is free or no queue takes it.
pub fn begin(
    process: &'static Process,
    descriptor: &Descriptor,
    opcode: Opcode,
    settings: &PreloadSettings,
) -> Option<DescriptorUnderWay> {
    let claimed = process.claim()?;
    let recording = descriptor.recording(claimed.slot().address());
    match portals::submit(process, &recording, opcode.bit(), settings.retries) {
        Some(taken) => Some(DescriptorUnderWay { process, claimed, taken }),
        None => {
            claimed.release();
            None
        }
    }
}

impl DescriptorUnderWay {
    /// Whether the descriptor has ended.
    pub fn has_ended(&self) -> bool {
        self.claimed.slot().status() != 0
    }

    /// Waits for the end of the descriptor; [`CpuReason::Lost`] if it was lost.
    pub fn wait(self, wait: CallWait) -> Result<DescriptorEnd, CpuReason> {
        let slot = self.claimed.slot();
        let mut loss = SignalSafeLossDetector::default();
        let mut looks = 0_u32;
        while slot.status() == 0 {
            looks = looks.wrapping_add(1);
            pause(wait, slot, looks);
            if looks.is_multiple_of(LOOKS) && loss.is_confirmed(self.process, self.taken, slot) {
                self.taken.release(self.process);
                loss.settle();
                self.claimed.abandon();
                return Err(CpuReason::Lost);
            }
        }
        let record = slot.record();
        self.taken.release(self.process);
        loss.settle();
        self.claimed.release();
        let (status, result) = (record.status(), record.result());
        Ok(DescriptorEnd { status, result, completed: record.completed() })
    }
}

/// Waits a little for a record, which the caller has polled `looks` times.
pub fn pause(wait: CallWait, slot: &RecordSlot, looks: u32) {
    match wait {
        CallWait::Line if Instructions::detect().waits_for_lines => {
            instructions::wait_for_line(slot.line(), CYCLES, || slot.status() != 0);
        }
        CallWait::Line | CallWait::Poll if looks < SPINS => std::hint::spin_loop(),
        // SAFETY: a system call without arguments.
        _ => unsafe {
            libc::sched_yield();
        },
    }
}

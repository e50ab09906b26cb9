//! One descriptor, from its submission to its end.

use crate::counts::CpuReason;
use crate::known_queues::{self, QueueEntry};
use crate::process::{ClaimedRecord, Process};
use crate::settings::PreloadSettings;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::lost_descriptor::LossDetector;
use dsa_client::wait::{WaitMethod, Waiter};

/// A descriptor under way.
pub struct DescriptorUnderWay {
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
    match known_queues::submit(process, &recording, opcode.bit(), settings.retries) {
        Some(taken) => Some(DescriptorUnderWay { claimed, taken }),
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
    pub fn wait(self, wait: WaitMethod) -> Result<DescriptorEnd, CpuReason> {
        let slot = self.claimed.slot();
        let (mut waiter, mut loss) = (Waiter::new(wait), LossDetector::default());
        while slot.status() == 0 {
            waiter.pause(Some(slot));
            if loss.find_loss(&self.taken, || slot.status() != 0).is_some() {
                self.taken.release();
                self.claimed.abandon();
                return Err(CpuReason::Lost);
            }
        }
        let record = slot.record();
        self.taken.release();
        self.claimed.release();
        let (status, result) = (record.status(), record.result());
        Ok(DescriptorEnd { status, result, completed: record.completed() })
    }
}

//! `skd_drain`: waits for the end of all descriptors that a process has submitted.
#![allow(unsafe_code)]

use crate::boundary::{SkdFailure, guarded};
use crate::client::{ClientHandle, with_client};
use crate::job::{limit, pause};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::client::OffloadClient;
use dsa_client::error::Error;
use dsa_client::lost_descriptor::LossDetector;
use dsa_client::portal::QueuePortal;
use dsa_client::record_slot::RecordSlot;
use libc::c_int;
use std::time::Instant;

/// A drain of one queue.
struct QueueDrain<'a> {
    portal: &'a QueuePortal,
    slot: Box<RecordSlot>,
    is_submitted: bool,
    loss: LossDetector,
}

impl<'a> QueueDrain<'a> {
    fn new(portal: &'a QueuePortal) -> Self {
        let loss = LossDetector::default();
        Self { portal, slot: Box::default(), is_submitted: false, loss }
    }

    /// Whether all earlier descriptors of the queue have ended, or were lost as this drain.
    fn has_ended(&mut self) -> bool {
        if !self.is_submitted {
            let drain = Descriptor::of(Opcode::Drain).recording(self.slot.address());
            // SAFETY: the drain names its record alone, which is kept until it is written, or for ever.
            self.is_submitted = unsafe { self.portal.submit(&drain) };
        }
        let (slot, portal) = (&self.slot, self.portal);
        let has_ended = || slot.status() != 0;
        has_ended() || self.loss.find_loss(portal, has_ended).is_some()
    }
}

impl Drop for QueueDrain<'_> {
    fn drop(&mut self) {
        if self.is_submitted {
            self.portal.ended();
            if self.slot.status() == 0 {
                Box::leak(std::mem::take(&mut self.slot));
            }
        }
    }
}

fn drain(client: &OffloadClient, nanoseconds: u64) -> Result<c_int, SkdFailure> {
    if client.is_forked() {
        return Err(Error::Forked.into());
    }
    let (begun, most) = (Instant::now(), limit(nanoseconds));
    let able = client.portals().iter().filter(|portal| portal.queue().takes(Opcode::Drain));
    let mut left: Vec<QueueDrain> = able.map(QueueDrain::new).collect();
    let mut looks = 0_u32;
    loop {
        left.retain_mut(|drain| !drain.has_ended());
        if left.is_empty() {
            return Ok(0);
        }
        if most.is_some_and(|most| begun.elapsed() >= most) {
            let names: Vec<&str> = left.iter().map(|it| it.portal.queue().name.as_str()).collect();
            let text = format!("{} not drained after {nanoseconds} ns", names.join(", "));
            return Err(SkdFailure::new(libc::ETIMEDOUT, text));
        }
        pause(looks);
        looks = looks.wrapping_add(1);
    }
}

/// Waits until all descriptors have ended that this process has submitted to any queue of a client
/// before, but not longer than so many nanoseconds (SKD_FOREVER: without a limit). Jobs that were
/// divided, or met absent pages, may still have pieces to begin: wait for them with skd_job_wait().
///
/// -ETIMEDOUT if descriptors are still under way; -ECHILD in a child of the process that opened the
/// client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_drain(client: *const ClientHandle, nanoseconds: u64) -> c_int {
    guarded(|| with_client(client, |client| drain(client, nanoseconds)))
}

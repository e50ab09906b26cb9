//! `skd_drain`: the end of all that a process has submitted.
#![allow(unsafe_code)]

use crate::boundary::{Failure, guarded};
use crate::client::{ClientHandle, with_client};
use crate::job::{limit, pause};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::client::Client;
use dsa_client::error::Error;
use dsa_client::portal::Portal;
use dsa_client::record_slot::Slot;
use libc::c_int;
use std::time::Instant;

/// A drain of one queue.
struct Drain<'a> {
    portal: &'a Portal,
    slot: Box<Slot>,
    is_submitted: bool,
}

impl<'a> Drain<'a> {
    fn new(portal: &'a Portal) -> Self {
        Self { portal, slot: Box::default(), is_submitted: false }
    }

    /// Whether the queue has nothing any more of what it had; a queue that is disabled has nothing.
    fn has_ended(&mut self, asks: bool) -> bool {
        if !self.is_submitted {
            let drain = Descriptor::of(Opcode::Drain).recording(self.slot.address());
            // SAFETY: it names the record alone, which is kept until it is written, or for ever.
            self.is_submitted = unsafe { self.portal.submit(&drain) };
        }
        self.slot.status() != 0 || asks && !self.portal.queue().is_enabled()
    }
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        if self.is_submitted {
            self.portal.ended();
            if self.slot.status() == 0 {
                Box::leak(std::mem::take(&mut self.slot));
            }
        }
    }
}

/// Looks at records between two at whether the queues are enabled.
const LOOKS: u32 = 4096;

fn drain(client: &Client, nanoseconds: u64) -> Result<c_int, Failure> {
    if client.is_forked() {
        return Err(Error::Forked.into());
    }
    let (begun, most) = (Instant::now(), limit(nanoseconds));
    let able = client.portals().iter().filter(|portal| portal.queue().takes(Opcode::Drain));
    let mut left: Vec<Drain> = able.map(Drain::new).collect();
    let mut looks = 0_u32;
    loop {
        let asks = looks % LOOKS == LOOKS - 1;
        left.retain_mut(|drain| !drain.has_ended(asks));
        if left.is_empty() {
            return Ok(0);
        }
        if most.is_some_and(|most| begun.elapsed() >= most) {
            let names: Vec<&str> = left.iter().map(|it| it.portal.queue().name.as_str()).collect();
            let text = format!("{} not drained after {nanoseconds} ns", names.join(", "));
            return Err(Failure::new(libc::ETIMEDOUT, text));
        }
        pause(looks);
        looks = looks.wrapping_add(1);
    }
}

/// Waits until devices have ended all descriptors that this process has submitted to any queue of a
/// client before, but not longer than so many nanoseconds (SKD_FOREVER: without a limit). What is
/// left of jobs that were divided, or met absent pages, may still have to be begun: jobs are waited
/// for with skd_job_wait().
///
/// -ETIMEDOUT, -ECHILD in a child of the process that opened the client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_drain(client: *const ClientHandle, nanoseconds: u64) -> c_int {
    guarded(|| with_client(client, |client| drain(client, nanoseconds)))
}

//! Opening the queues of a process: each is mapped, and has to answer before it is used.

use crate::clock::now_ns;
use crate::descriptors::pause;
use crate::portals;
use crate::process::Process;
use crate::settings::CallWait;
use crate::thread_state::{self, Inside};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::queues::UserQueue;
use std::sync::atomic::Ordering;

/// Time in which a new queue has to answer; otherwise it is not used.
const ANSWER_NS: u64 = 10_000_000_000;

/// Opens the queues of a process. A device in software starts its engines, which are threads and allocate:
/// so the caller holds no lock, and each queue has answered before it is used.
pub fn open_all(process: &'static Process) {
    let Some(_inside) = Inside::enter() else { return };
    thread_state::without_cancellation(|| {
        for (number, (known, open)) in portals::known().iter().zip(&process.queues).enumerate() {
            let page = portals::map(known);
            open.set_page(page);
            if page.is_null() {
                continue;
            }
            if answers(process, number, &known.queue) {
                process.is_open.store(true, Ordering::Release);
            } else {
                open.close();
            }
        }
    });
}

/// Whether a queue executes a no-op in time; true for a queue that does not take no-ops.
fn answers(process: &'static Process, number: usize, queue: &UserQueue) -> bool {
    if !queue.takes(Opcode::NoOp) {
        return true;
    }
    let begun = now_ns();
    let is_late = || now_ns().saturating_sub(begun) > ANSWER_NS;
    let Some(claimed) = process.claim() else { return false };
    let no_op = Descriptor::of(Opcode::NoOp).recording(claimed.slot().address());
    let taken = loop {
        match portals::submit_to(process, number, &no_op) {
            Some(taken) => break taken,
            None if is_late() => {
                claimed.release();
                return false;
            }
            None => pause(CallWait::Yield, claimed.slot(), 0),
        }
    };
    while claimed.slot().status() == 0 {
        if is_late() {
            taken.release(process);
            claimed.abandon();
            return false;
        }
        pause(CallWait::Yield, claimed.slot(), 0);
    }
    taken.release(process);
    claimed.release();
    true
}

//! Opening the queues of a process: each is mapped, and has to answer before it is used.

use crate::known_queues;
use crate::process::Process;
use crate::thread_state::Inside;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::clock::now_ns;
use dsa_client::queue_state::without_cancellation;
use dsa_client::queues::UserQueue;
use std::sync::atomic::Ordering;

/// Time in which a new queue has to answer; otherwise it is not used.
const ANSWER_NS: u64 = 10_000_000_000;

/// Opens the queues of a process. A device in software starts its engines, which are threads and allocate:
/// so the caller holds no lock, and each queue has answered before it is used.
pub fn open_all(process: &'static Process) {
    let Some(_inside) = Inside::enter() else { return };
    without_cancellation(|| {
        for (number, (known, open)) in known_queues::known().iter().zip(&process.queues).enumerate()
        {
            if !known_queues::map(known, &open.page) {
                continue;
            }
            if answers(process, number, &known.queue) {
                process.is_open.store(true, Ordering::Release);
            } else {
                // The page stays mapped: the device may still hold a descriptor.
                open.page.forget();
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
        match known_queues::submit_to(process, number, &no_op) {
            Some(taken) => break taken,
            None if is_late() => {
                claimed.release();
                return false;
            }
            None => std::thread::yield_now(),
        }
    };
    while claimed.slot().status() == 0 {
        if is_late() {
            taken.release();
            claimed.abandon();
            return false;
        }
        std::thread::yield_now();
    }
    taken.release();
    claimed.release();
    true
}

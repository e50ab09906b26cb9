//! Do processes that share the registers see each other's changes whole?

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use dsa_run::registers::{RunRegisters, SharedRegisters, place_of};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

const VALID: u64 = 1;
const OVERFLOW: u64 = 2;

fn registers() -> &'static RunRegisters {
    let place = tempfile::tempdir().expect("can be created");
    SharedRegisters::create(&place.path().join("registers")).expect("can be created").forever()
}

/// Looks until something is there; the other thread may need this core.
fn until<R>(look: impl Fn() -> Option<R>) -> R {
    let mut looks = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        looks += 1;
        if looks % 100 == 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn an_error_that_is_valid_has_all_of_its_words() {
    const ROUNDS: u64 = 20_000;
    let device = &registers().device[0];
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                // It looks all the time, so that it sees the words as they come.
                let is_next = |own: &[u64; 4]| own[0] == VALID | round << 8;
                let words = until(|| Some(device.error_words()).filter(is_next));
                let is_whole = words[1..] == [round; 3];
                seen.store(if is_whole { round } else { u64::MAX }, Ordering::Release);
                // The other thread says so.
                if !is_whole {
                    return;
                }
            }
        });
        for round in 1..=ROUNDS {
            device.note_error([VALID | round << 8, round, round, round]);
            let is_new = |own: &u64| *own != round - 1;
            let answer = until(|| Some(seen.load(Ordering::Acquire)).filter(is_new));
            assert_eq!(answer, round, "words of another error");
            device.clear_error();
        }
    });
    assert_eq!(device.error_words(), [0; 4]);
}

#[test]
fn the_first_error_stays_and_a_further_one_is_an_overflow() {
    let device = &registers().device[1];
    device.note_error([VALID | 3 << 8, 4, 5, 6]);
    device.note_error([VALID | 7 << 8, 8, 9, 10]);
    assert_eq!(device.error_words(), [VALID | OVERFLOW | 3 << 8, 4, 5, 6]);
    device.clear_error();
    device.note_error([VALID, 1, 2, 3]);
    assert_eq!(device.error_words(), [VALID, 1, 2, 3]);
}

#[test]
fn what_a_process_has_of_a_queue_is_released_and_nothing_else() {
    let registers = registers();
    let device = &registers.device[0];
    let queue = &device.queue[3];
    device.events.begin(64);
    let log =
        device.events.log_for(NonZeroU32::new(5).expect("is not 0"), 3, None).expect("it is on");
    log.writer.store(5, Ordering::Relaxed);
    registers.places.store(3, Ordering::Relaxed);
    // Two processes with the queue, the first with another one as well.
    let clients = [(5, 100, (0, 3)), (6, 200, (0, 3)), (7, 100, (1, 3))];
    for (slot, (number, process, (device, own))) in clients.into_iter().enumerate() {
        let client = &registers.clients[slot];
        client.number.store(number, Ordering::Relaxed);
        client.process.store(process, Ordering::Relaxed);
        client.queue.store(place_of(device, own), Ordering::Relaxed);
        client.in_flight.store(3, Ordering::Relaxed);
        registers.device[device].queue[own].entries[slot].store(number, Ordering::Relaxed);
    }
    let held = |device: usize| {
        (registers.in_flight(device, 3), registers.device[device].queue[3].occupancy())
    };
    registers.release_process(300);
    assert_eq!((held(0), held(1)), ((6, 2), (3, 1)));
    assert_eq!(log.writer.load(Ordering::Relaxed), 5);
    registers.release_process(100);
    assert_eq!(log.writer.load(Ordering::Relaxed), 0, "others write again");
    assert_eq!((held(0), held(1)), ((3, 1), (0, 0)));
    assert_eq!(queue.entries[1].load(Ordering::Relaxed), 6);
}

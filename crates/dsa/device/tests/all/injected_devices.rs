//! Do queues, engines and registers meet the trouble that a plan says?

use crate::injection::plan;
use crate::queues::{PART, Records, queue};
use dsa::descriptor::Descriptor;
use dsa::device::{
    DeviceConfig, EngineGroupConfig, EnqueueAnswer, Hooks, Mode, QueueConfig, SoftwareDevice,
    Watcher,
};
use dsa::hardware::{Opcode, flags, status};
use dsa::inject::Injector;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn device(engines: u8, queues: Vec<QueueConfig>, hooks: Hooks) -> SoftwareDevice {
    let config =
        DeviceConfig { capabilities: PART, groups: vec![EngineGroupConfig { engines, queues }] };
    // SAFETY: the tests submit what names buffers of their own, which live until it has ended.
    unsafe { SoftwareDevice::start(&config, hooks) }.expect("the part has all of it")
}

fn with_plan(text: &str) -> Hooks {
    Hooks { injector: Some(Injector::new(&plan(text))), ..Hooks::default() }
}

#[test]
fn a_full_queue_refuses_or_loses() {
    let queues = || vec![queue(8, Mode::Dedicated, 1), queue(8, Mode::Shared { threshold: 8 }, 1)];
    let no_op = Descriptor::of(Opcode::NoOp);
    let always = device(1, queues(), with_plan("seed = 1\nqueue_full.rate = 1"));
    let [dedicated, shared] = [always.queues()[0], always.queues()[1]];
    assert!((0..50).all(|_| always.enqueue(shared, &no_op) == EnqueueAnswer::Retry));
    always.post(dedicated, &no_op);
    assert_eq!(always.software_error().code(), status::QUEUE_OVERFLOW);
    assert_eq!([always.occupancy(dedicated), always.occupancy(shared)], [0, 0]);
    let answers = || {
        let sometimes = device(1, queues(), with_plan("seed = 1\nqueue_full.rate = 0.25"));
        let own = sometimes.queues()[1];
        let answer = |_| {
            let answer = sometimes.enqueue(own, &no_op);
            sometimes.drain(own);
            answer
        };
        (0..200).map(answer).collect::<Vec<_>>()
    };
    let first = answers();
    assert_eq!(first, answers(), "the same submissions are refused");
    let refused = first.iter().filter(|answer| **answer == EnqueueAnswer::Retry).count();
    assert!((20..85).contains(&refused), "a quarter of 200: {refused}");
}

#[test]
fn a_delay_is_at_least_as_long() {
    let text = "seed = 1\n[delays]\nrate = 1\nnanoseconds = ";
    for nanoseconds in [20_000, 300_000] {
        let hooks = with_plan(&format!("{text}{nanoseconds}"));
        let own = device(1, vec![queue(8, Mode::Dedicated, 1)], hooks);
        let begun = std::time::Instant::now();
        for _ in 0..10 {
            own.post(own.queues()[0], &Descriptor::of(Opcode::NoOp));
            own.drain(own.queues()[0]);
        }
        assert!(begun.elapsed().as_nanos() >= 10 * nanoseconds);
    }
}

/// In which order no-ops end that are told apart by their number, if engines begin when all are there.
/// `submit` says the queue and number of each; number 0 is a drain.
fn order(engines: u8, text: &str, queues: usize, submit: &[(usize, u32)]) -> Vec<(usize, u64)> {
    let gate = Arc::new(Mutex::new(()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (held, told) = (Arc::clone(&gate), Arc::clone(&seen));
    let waiting = Arc::new(AtomicU32::new(0));
    let waits = Arc::clone(&waiting);
    let watcher: Watcher = Arc::new(move |_, ended| {
        waits.fetch_add(1, Ordering::SeqCst);
        drop(held.lock());
        let number = ended.outcome.record().status();
        assert_eq!(number, status::SUCCESS);
        told.lock().expect("no thread panicked").push(ended.descriptor.record());
    });
    let hooks = Hooks { watcher: Some(watcher), ..with_plan(text) };
    let own = device(engines, vec![queue(30, Mode::Dedicated, 1); queues], hooks);
    let mut records = Records::new(256);
    let locked = gate.lock().expect("no thread panicked");
    // Each engine waits with one of these.
    for engine in 0..u32::from(engines) {
        own.post(own.queues()[0], &Descriptor::of(Opcode::NoOp));
        while waiting.load(Ordering::SeqCst) <= engine {
            std::thread::yield_now();
        }
    }
    let base = records.address(0);
    for &(queue, number) in submit {
        let opcode = if number == 0 { Opcode::Drain } else { Opcode::NoOp };
        let record = records.address(queue * 64 + number as usize);
        own.post(own.queues()[queue], &Descriptor::of(opcode).recording(record));
    }
    drop(locked);
    for queue in own.queues() {
        own.drain(*queue);
    }
    let seen = seen.lock().expect("no thread panicked");
    let place = |record: &u64| ((record - base) / 32 / 64, (record - base) / 32 % 64);
    let ours = seen.iter().filter(|record| **record != 0).map(place);
    ours.map(|(queue, number)| (queue as usize, number)).collect()
}

const REORDERED: &str = "seed = 3\n[reordering]\nrate = 0.5\nbehind = 3";

#[test]
fn one_engine_keeps_the_order_of_each_queue() {
    let submit: Vec<_> = (1..25).flat_map(|number| [(0, number), (1, number)]).collect();
    let with = order(1, REORDERED, 2, &submit);
    assert_eq!(with, order(1, REORDERED, 2, &submit), "one engine repeats itself");
    for queue in [0, 1] {
        let own: Vec<_> = with.iter().filter(|(of, _)| *of == queue).map(|(_, n)| *n).collect();
        assert_eq!(own, (1..25).collect::<Vec<u64>>());
    }
    let without = order(1, "seed = 3", 2, &submit);
    assert_ne!(with, without, "but the queues change places");
    assert_eq!(with.len(), without.len());
}

#[test]
fn several_engines_change_the_order_and_a_drain_stays_behind() {
    let mut submit: Vec<_> = (1..20).map(|number| (0, number)).collect();
    submit.push((0, 0));
    submit.extend((20..29).map(|number| (0, number)));
    let seen = order(2, "seed = 3\n[reordering]\nrate = 0.9\nbehind = 9", 1, &submit);
    let drain = seen.iter().position(|(_, number)| *number == 0).expect("it ends");
    assert_eq!(seen.len(), submit.len());
    assert!((1..20).all(|number| seen[..drain].contains(&(0, number))), "{seen:?}");
    let furthest = seen.iter().enumerate().map(|(at, (_, number))| number.abs_diff(at as u64 + 1));
    assert!(furthest.max() > Some(4), "further than two engines alone: {seen:?}");
}

#[test]
fn a_reset_disables_the_device_and_says_so() {
    let shared = queue(8, Mode::Shared { threshold: 8 }, 1);
    let hooks = with_plan("seed = 1\nreset.after_descriptors = 5");
    let own = device(1, vec![queue(8, Mode::Dedicated, 1), shared], hooks);
    let [dedicated, shared] = [own.queues()[0], own.queues()[1]];
    let mut records = Records::new(8);
    for number in 0..5 {
        assert!(!own.is_reset());
        own.post(dedicated, &Descriptor::of(Opcode::NoOp).recording(records.address(number)));
        own.drain(dedicated);
        assert_eq!(records.status(number), status::SUCCESS);
    }
    while !own.is_reset() {
        std::thread::yield_now();
    }
    // The state is said before the queues change: what waits for their locks has seen it.
    while own.enqueue(shared, &Descriptor::of(Opcode::NoOp)) == EnqueueAnswer::Accepted {
        std::thread::yield_now();
    }
    own.post(dedicated, &Descriptor::of(Opcode::NoOp).recording(records.address(6)));
    own.drain(dedicated);
    assert_eq!(records.status(6), 0, "it is lost");
    assert!(!own.software_error().is_valid(), "silently");
    own.enable(dedicated);
    assert!(!own.is_reset());
    own.post(dedicated, &Descriptor::of(Opcode::NoOp).recording(records.address(7)));
    own.drain(dedicated);
    assert_eq!(records.status(7), status::SUCCESS, "enabled again it goes on; a reset comes once");
    own.reset();
    assert!(own.is_reset());
    assert_eq!(own.enqueue(shared, &Descriptor::of(Opcode::NoOp)), EnqueueAnswer::Retry);
}

/// How many interrupts come of 64 copies by handle 1, half of them in batches.
fn interrupts_of_copies(text: &str) -> usize {
    let (sender, heard) = std::sync::mpsc::channel();
    let on_interrupt: dsa::device::InterruptHook = Arc::new(move |_, handle| {
        sender.send(handle).expect("the test listens");
    });
    let hooks = Hooks { on_interrupt: Some(on_interrupt), ..with_plan(text) };
    let mut queue = queue(64, Mode::Dedicated, 1);
    queue.limits.user_interrupts = true;
    queue.limits.interrupt_handles = 2;
    let device = device(1, vec![queue], hooks);
    let id = device.queues()[0];
    let (source, mut target) = (5_u64, 0_u64);
    let mut copy = |handle: u16| {
        let copy = Descriptor::of(Opcode::Move).with_first((&raw const source) as u64);
        let copy = copy.with_second((&raw mut target) as u64).with_size(8);
        copy.with_flags(flags::REQUEST_INTERRUPT).with_interrupt(handle)
    };
    let (own, refused) = (copy(1), copy(2));
    let members = [own; 8];
    let batch = Descriptor::of(Opcode::Batch).with_first(members.as_ptr() as u64).with_size(8);
    for _ in 0..4 {
        device.post(id, &batch);
        for _ in 0..8 {
            device.post(id, &own);
        }
        device.post(id, &refused);
        device.drain(id);
    }
    drop(device);
    let handles: Vec<u16> = heard.iter().collect();
    assert!(handles.iter().all(|handle| *handle == 1), "{handles:?}");
    handles.len()
}

#[test]
fn descriptors_interrupt_if_they_request_it() {
    assert_eq!(interrupts_of_copies("seed = 1"), 64);
    assert_eq!(interrupts_of_copies("seed = 1\nlost_interrupts.rate = 1"), 0);
    let some = interrupts_of_copies("seed = 1\nlost_interrupts.rate = 0.5");
    assert!((8..56).contains(&some), "{some} of 64");
}

#[test]
fn a_lost_interrupt_leaves_the_error_in_the_register() {
    let told = |text: &str| {
        let calls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&calls);
        let on_error: dsa::device::ErrorHook = Arc::new(move |error| {
            assert!(error.is_valid());
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let hooks = Hooks { on_error: Some(on_error), ..with_plan(text) };
        let own = device(1, vec![queue(8, Mode::Dedicated, 1)], hooks);
        for _ in 0..100 {
            // Two errors, of which the register has the first.
            for _ in 0..2 {
                own.post(own.queues()[0], &Descriptor::of(Opcode::NoOp).recording(1));
                own.drain(own.queues()[0]);
            }
            assert!(own.software_error().has_overflowed());
            own.clear_software_error();
        }
        calls.load(Ordering::SeqCst)
    };
    assert_eq!(told("seed = 1"), 100, "one for each that makes the register valid");
    assert_eq!(told("seed = 1\nlost_interrupts.rate = 1"), 0);
    let some = told("seed = 1\nlost_interrupts.rate = 0.5");
    assert!((20..80).contains(&some), "{some}");
    assert_eq!(some, told("seed = 1\nlost_interrupts.rate = 0.5"));
}

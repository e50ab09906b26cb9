//! Is a queue of several processes one queue, and does a killed process take nothing along?
//!
//! Devices of one process stand for those of several: all that they share is in the atomics.

use crate::queues::{Records, queue, start};
use dsa::descriptor::Descriptor;
use dsa::device::{
    ConfigError, DeviceConfig, EngineGroupConfig, EnqueueAnswer, EntryCounting, EntrySlots, Mode,
    QueueConfig, SoftwareDevice, Watcher,
};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, status};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PART: Capabilities = Capabilities::VERSION_1;

/// Memory that all processes map.
struct Common {
    slots: &'static [AtomicU32],
    enabled: &'static AtomicU32,
}

/// The state of one process in that memory.
struct Client {
    device: SoftwareDevice,
    number: NonZeroU32,
    in_flight: &'static AtomicU32,
}

fn word(value: u32) -> &'static AtomicU32 {
    Box::leak(Box::new(AtomicU32::new(value)))
}

impl Common {
    fn new(size: u16) -> Self {
        let slots = (0..size).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
        Self { slots: slots.leak(), enabled: word(1) }
    }

    fn client(&self, number: u32, mode: Mode, watcher: Option<Watcher>) -> Client {
        let number = NonZeroU32::new(number).expect("clients count from 1");
        let in_flight = word(0);
        let size = u16::try_from(self.slots.len()).expect("a few");
        let config = QueueConfig {
            entries: EntryCounting::Shared(EntrySlots { slots: self.slots, client: number }),
            enabled: Some(self.enabled),
            in_flight: Some(in_flight),
            ..queue(size, mode, 1)
        };
        let groups = vec![EngineGroupConfig { engines: 1, queues: vec![config] }];
        let device = start(&DeviceConfig { capabilities: PART, groups }, watcher);
        Client { device, number, in_flight }
    }

    fn occupied(&self) -> usize {
        self.slots.iter().filter(|slot| slot.load(Ordering::Acquire) != 0).count()
    }
}

impl Client {
    fn enqueue(&self, descriptor: &Descriptor) -> EnqueueAnswer {
        self.device.enqueue(self.device.queues()[0], descriptor)
    }

    fn occupancy(&self) -> usize {
        self.device.occupancy(self.device.queues()[0])
    }

    /// Submits a descriptor, and waits until the engine has taken it.
    fn occupy_engine(&self) {
        assert_eq!(self.enqueue(&Descriptor::of(Opcode::NoOp)), EnqueueAnswer::Accepted);
        while self.occupancy() > 0 {
            std::thread::yield_now();
        }
    }
}

/// A watcher that waits for the lock, and the lock.
fn gate() -> (Arc<Mutex<()>>, Watcher) {
    let gate = Arc::new(Mutex::new(()));
    let held = Arc::clone(&gate);
    (gate, Arc::new(move |_, _| drop(held.lock())))
}

#[test]
fn the_threshold_counts_the_entries_of_all() {
    let common = Common::new(8);
    let (gate, watcher) = gate();
    let mode = Mode::Shared { threshold: 6 };
    let [one, two] = [1, 2].map(|number| common.client(number, mode, Some(Arc::clone(&watcher))));
    let locked = gate.lock().expect("no thread panicked");
    one.occupy_engine();
    two.occupy_engine();
    let no_op = Descriptor::of(Opcode::NoOp);
    for _ in 0..4 {
        assert_eq!(one.enqueue(&no_op), EnqueueAnswer::Accepted);
    }
    for _ in 0..2 {
        assert_eq!(two.enqueue(&no_op), EnqueueAnswer::Accepted);
    }
    assert_eq!([one.enqueue(&no_op), two.enqueue(&no_op)], [EnqueueAnswer::Retry; 2]);
    assert_eq!([one.occupancy(), two.occupancy()], [6, 6]);
    assert_eq!([&one, &two].map(|own| own.in_flight.load(Ordering::SeqCst)), [5, 3]);
    // Entries that one process drops are free for the other, and only those.
    assert_eq!(two.device.discard(two.device.queues()[0]), 2);
    assert_eq!((one.occupancy(), two.in_flight.load(Ordering::SeqCst)), (4, 1));
    assert_eq!([one.enqueue(&no_op), one.enqueue(&no_op)], [EnqueueAnswer::Accepted; 2]);
    assert_eq!(two.enqueue(&no_op), EnqueueAnswer::Retry);
    drop(locked);
    for own in [&one, &two] {
        own.device.drain(own.device.queues()[0]);
    }
    assert_eq!(common.occupied(), 0);
}

#[test]
fn a_killed_client_takes_nothing_along() {
    let common = Common::new(8);
    let (gate, watcher) = gate();
    let mode = Mode::Shared { threshold: 8 };
    // A process that is killed never comes back to its slots: its device is left as it is.
    let killed = common.client(1, mode, Some(watcher));
    let other = common.client(2, mode, None);
    let locked = gate.lock().expect("no thread panicked");
    killed.occupy_engine();
    while killed.enqueue(&Descriptor::of(Opcode::NoOp)) == EnqueueAnswer::Accepted {}
    assert_eq!(common.occupied(), 8);
    let mut records = Records::new(1);
    let copy = Descriptor::of(Opcode::NoOp).recording(records.address(0));
    assert_eq!(other.enqueue(&copy), EnqueueAnswer::Retry);
    let entries = EntrySlots { slots: common.slots, client: other.number };
    assert_eq!(entries.free_all_of(killed.number), 8);
    killed.in_flight.store(0, Ordering::SeqCst);
    for _ in 0..100 {
        assert_eq!(other.enqueue(&copy), EnqueueAnswer::Accepted);
        other.device.drain(other.device.queues()[0]);
        assert_eq!(records.status(0), status::SUCCESS);
    }
    assert_eq!((common.occupied(), other.in_flight.load(Ordering::SeqCst)), (0, 0));
    // Should it go on after all, it frees no entry of another.
    common.slots.iter().for_each(|slot| slot.store(2, Ordering::SeqCst));
    drop(locked);
    killed.device.drain(killed.device.queues()[0]);
    assert_eq!(common.occupied(), 8);
}

#[test]
fn processes_lose_nothing_of_a_small_queue() {
    const CLIENTS: u32 = 3;
    let each = soak::amount(2_000, 200_000);
    let common = Common::new(4);
    let ended = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 1..=CLIENTS {
            let counted = Arc::clone(&ended);
            let watcher: Watcher = Arc::new(move |_, _| {
                counted.fetch_add(1, Ordering::Relaxed);
            });
            let client = common.client(number, Mode::Shared { threshold: 3 }, Some(watcher));
            let common = &common;
            scope.spawn(move || {
                for _ in 0..each {
                    while client.enqueue(&Descriptor::of(Opcode::NoOp)) == EnqueueAnswer::Retry {
                        std::thread::yield_now();
                    }
                    assert!(common.occupied() <= 3, "the threshold holds for all");
                }
                client.device.drain(client.device.queues()[0]);
                assert_eq!(client.in_flight.load(Ordering::SeqCst), 0);
            });
        }
    });
    assert_eq!(ended.load(Ordering::Relaxed), u64::from(CLIENTS) * each);
    assert_eq!(common.occupied(), 0);
}

#[test]
fn a_supervisor_disables_a_queue_for_all_and_sees_it_drained() {
    for mode in [Mode::Shared { threshold: 4 }, Mode::Dedicated] {
        let common = Common::new(4);
        let (gate, watcher) = gate();
        let client = common.client(1, mode, Some(watcher));
        let number = client.device.queues()[0];
        let submit = || match mode {
            Mode::Dedicated => client.device.post(number, &Descriptor::of(Opcode::NoOp)),
            Mode::Shared { .. } => drop(client.enqueue(&Descriptor::of(Opcode::NoOp))),
        };
        let locked = gate.lock().expect("no thread panicked");
        submit();
        submit();
        common.enabled.store(0, Ordering::SeqCst);
        submit();
        assert_eq!(client.in_flight.load(Ordering::SeqCst), 2, "the third is not taken");
        drop(locked);
        while client.in_flight.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        assert_eq!(common.occupied(), 0);
        assert!(!client.device.software_error().is_valid(), "and it is lost silently");
        common.enabled.store(1, Ordering::SeqCst);
        submit();
        client.device.drain(number);
        // Each of the two states can disable it.
        client.device.disable(number);
        assert_eq!(client.enqueue(&Descriptor::of(Opcode::NoOp)), EnqueueAnswer::Retry);
    }
}

#[test]
fn too_few_slots_are_refused() {
    let slots = Common::new(4).slots;
    let client = NonZeroU32::MIN;
    let entries = EntryCounting::Shared(EntrySlots { slots, client });
    let config = QueueConfig { entries, ..queue(5, Mode::Dedicated, 1) };
    let groups = vec![EngineGroupConfig { engines: 1, queues: vec![config] }];
    let refused = DeviceConfig { capabilities: PART, groups }.check();
    assert_eq!(refused, Err(ConfigError::TooFewSlots { group: 0, queue: 0, size: 5, slots: 4 }));
}

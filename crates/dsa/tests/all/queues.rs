//! Do queues, engines and the arbiter lose nothing, in the order that they promise?

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{ConfigError, Device, DeviceConfig, GroupConfig, Mode, QueueConfig, Submitted};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, status};
use dsa::record::Record;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PART: Capabilities = Capabilities::VERSION_1;

/// Records that engines write while a test looks at them.
struct Records(Vec<Record>);

impl Records {
    fn new(number: usize) -> Self {
        Self(vec![Record::default(); number])
    }

    fn address(&mut self, number: usize) -> u64 {
        (&raw mut self.0[number]) as u64
    }

    fn status(&mut self, number: usize) -> u8 {
        let place = (&raw mut self.0[number]).cast::<u8>();
        // SAFETY: a record's first byte, which an engine stores atomically too.
        unsafe { AtomicU8::from_ptr(place) }.load(Ordering::Acquire)
    }
}

fn queue(size: u16, mode: Mode, priority: u8) -> QueueConfig {
    QueueConfig { size, mode, priority, limits: QueueLimits::of(&PART) }
}

fn device(engines: u8, queues: Vec<QueueConfig>) -> Device {
    let config = DeviceConfig { capabilities: PART, groups: vec![GroupConfig { engines, queues }] };
    Device::start(&config, None).expect("the part has all of it")
}

#[test]
fn every_accepted_descriptor_ends_exactly_once() {
    const SUBMITTERS: usize = 4;
    let each = soak::amount(2_000, 200_000);
    let ended = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ended);
    let config = DeviceConfig {
        capabilities: PART,
        groups: vec![GroupConfig {
            engines: 3,
            queues: vec![
                queue(16, Mode::Shared { threshold: 12 }, 3),
                queue(8, Mode::Dedicated, 1),
            ],
        }],
    };
    let watcher: dsa::device::Watcher = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let device = Device::start(&config, Some(watcher)).expect("the part has all of it");
    let shared = device.queues()[0];
    std::thread::scope(|scope| {
        for submitter in 0..SUBMITTERS {
            let device = &device;
            scope.spawn(move || {
                let from: Vec<u8> = (0..200).map(|byte| (byte ^ submitter) as u8).collect();
                let mut to = vec![0_u8; 200];
                let mut records = Records::new(1);
                for _ in 0..each {
                    to.fill(0);
                    records.0[0] = Record::default();
                    let copy = Descriptor::of(Opcode::Move)
                        .with_first(from.as_ptr() as u64)
                        .with_second(to.as_mut_ptr() as u64)
                        .with_size(200)
                        .recording(records.address(0));
                    while device.enqueue(shared, &copy) == Submitted::Retry {
                        std::thread::yield_now();
                    }
                    while records.status(0) == 0 {
                        std::thread::yield_now();
                    }
                    assert_eq!(records.status(0), status::SUCCESS);
                    assert_eq!(from, to);
                }
            });
        }
    });
    device.drain(shared);
    assert_eq!(ended.load(Ordering::Relaxed), SUBMITTERS as u64 * each);
    assert!(!device.software_error().is_valid());
}

#[test]
fn a_drain_ends_behind_all_before_it() {
    let device = device(4, vec![queue(128, Mode::Dedicated, 1)]);
    let number = device.queues()[0];
    let from = vec![7_u8; 1 << 20];
    for _ in 0..soak::amount(20, 500) {
        let mut to = vec![vec![0_u8; 1 << 20]; 12];
        let mut records = Records::new(13);
        for (copy, to) in to.iter_mut().enumerate() {
            let copy = Descriptor::of(Opcode::Move)
                .with_first(from.as_ptr() as u64)
                .with_second(to.as_mut_ptr() as u64)
                .with_size(1 << 20)
                .recording(records.address(copy));
            device.post(number, &copy);
        }
        device.post(number, &Descriptor::of(Opcode::Drain).recording(records.address(12)));
        while records.status(12) == 0 {
            std::thread::yield_now();
        }
        assert!((0..12).all(|copy| records.status(copy) == status::SUCCESS));
    }
}

#[test]
fn a_full_dedicated_queue_loses_and_a_shared_one_says_retry() {
    // Nothing is taken out: the only engine waits in a watcher.
    let gate = Arc::new(Mutex::new(()));
    let held = Arc::clone(&gate);
    let watcher: dsa::device::Watcher = Arc::new(move |_| drop(held.lock()));
    let config = DeviceConfig {
        capabilities: PART,
        groups: vec![GroupConfig {
            engines: 1,
            queues: vec![queue(4, Mode::Dedicated, 1), queue(4, Mode::Shared { threshold: 3 }, 1)],
        }],
    };
    let device = Device::start(&config, Some(watcher)).expect("the part has all of it");
    let (dedicated, shared) = (device.queues()[0], device.queues()[1]);
    let nothing = Descriptor::of(Opcode::NoOp);
    let locked = gate.lock().expect("nobody panicked");
    device.post(dedicated, &nothing);
    while device.occupancy(dedicated) > 0 {
        std::thread::yield_now();
    }
    for _ in 0..4 {
        device.post(dedicated, &nothing);
    }
    assert!(!device.software_error().is_valid());
    device.post(dedicated, &nothing);
    let error = device.software_error();
    assert_eq!((error.is_valid(), error.code()), (true, status::QUEUE_OVERFLOW));
    assert!(!error.has_overflowed());
    device.post(dedicated, &nothing);
    assert!(device.software_error().has_overflowed());
    let answers: Vec<_> = (0..4).map(|_| device.enqueue(shared, &nothing)).collect();
    assert_eq!(answers[..3], [Submitted::Accepted; 3]);
    assert_eq!(answers[3], Submitted::Retry);
    // Each kind of write is for its kind of queue.
    assert_eq!(device.enqueue(dedicated, &nothing), Submitted::Retry);
    device.post(shared, &nothing);
    assert_eq!(device.occupancy(shared), 3);
    assert_eq!(device.discard(shared), 3);
    drop(locked);
    device.drain(dedicated);
    device.disable(shared);
    assert_eq!(device.enqueue(shared, &nothing), Submitted::Retry);
    device.enable(shared);
    assert_eq!(device.enqueue(shared, &nothing), Submitted::Accepted);
}

#[test]
fn errors_without_a_record_are_in_the_register() {
    let device = device(1, vec![queue(8, Mode::Dedicated, 1)]);
    let number = device.queues()[0];
    let unaligned = Descriptor::of(Opcode::NoOp).recording(0x1010_1010);
    device.post(number, &unaligned.with_record(0x1001));
    device.drain(number);
    assert_eq!(device.software_error().code(), status::RECORD_ALIGNMENT);
    device.clear_software_error();
    device.post(number, &unaligned.with_record(64));
    device.drain(number);
    assert_eq!(device.software_error().code(), status::RECORD_FAULT);
    assert_eq!(device.software_error().0[2], 0);
}

#[test]
fn what_the_part_does_not_have_is_refused_with_its_code() {
    let one = |queues| DeviceConfig {
        capabilities: PART,
        groups: vec![GroupConfig { engines: 1, queues }],
    };
    let codes = [
        (one(vec![queue(129, Mode::Dedicated, 1)]), 0x14),
        (one(vec![]), 0x15),
        (one(vec![queue(0, Mode::Dedicated, 1)]), 0x22),
        (one(vec![queue(1, Mode::Dedicated, 0)]), 0x23),
        (one(vec![queue(1, Mode::Dedicated, 1); 9]), 0x11),
    ];
    for (config, code) in codes {
        let refused = config.check().map_err(|error| error.command_status());
        assert_eq!(refused, Err(code), "{config:?}");
    }
    let error = ConfigError::TooManyEntries { asked: 129, there: 128 };
    assert_eq!(error.to_string(), "the queues have 129 entries together, the device 128");
}

//! Do queues, engines and the arbiter lose nothing, in the order that they promise?

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{
    ConfigError, DeviceConfig, EngineGroupConfig, EnqueueAnswer, Mode, QueueConfig, SoftwareDevice,
};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, status};
use dsa::record::Record;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub const PART: Capabilities = Capabilities::VERSION_1;

/// Records that engines write while a test looks at them.
pub struct Records(Vec<Record>);

impl Records {
    pub fn new(number: usize) -> Self {
        Self(vec![Record::default(); number])
    }

    pub fn address(&mut self, number: usize) -> u64 {
        (&raw mut self.0[number]) as u64
    }

    pub fn status(&mut self, number: usize) -> u8 {
        let place = (&raw mut self.0[number]).cast::<u8>();
        // SAFETY: a record's first byte, which an engine stores atomically too.
        unsafe { AtomicU8::from_ptr(place) }.load(Ordering::Acquire)
    }
}

pub fn queue(size: u16, mode: Mode, priority: u8) -> QueueConfig {
    QueueConfig::own(size, mode, priority, QueueLimits::of(&PART))
}

pub fn start(config: &DeviceConfig, watcher: Option<dsa::device::Watcher>) -> SoftwareDevice {
    // SAFETY: the tests submit what names buffers of their own, which live until it has ended.
    unsafe { SoftwareDevice::start(config, watcher) }.expect("the part has all of it")
}

pub fn device(engines: u8, queues: Vec<QueueConfig>) -> SoftwareDevice {
    let config =
        DeviceConfig { capabilities: PART, groups: vec![EngineGroupConfig { engines, queues }] };
    start(&config, None)
}

#[test]
fn every_accepted_descriptor_ends_exactly_once() {
    const SUBMITTERS: usize = 4;
    let each = soak::amount(2_000, 200_000);
    let ended = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ended);
    let config = DeviceConfig {
        capabilities: PART,
        groups: vec![EngineGroupConfig {
            engines: 3,
            queues: vec![
                queue(16, Mode::Shared { threshold: 12 }, 3),
                queue(8, Mode::Dedicated, 1),
            ],
        }],
    };
    let watcher: dsa::device::Watcher = Arc::new(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let device = start(&config, Some(watcher));
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
                    while device.enqueue(shared, &copy) == EnqueueAnswer::Retry {
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
    let watcher: dsa::device::Watcher = Arc::new(move |_, _| drop(held.lock()));
    let config = DeviceConfig {
        capabilities: PART,
        groups: vec![EngineGroupConfig {
            engines: 1,
            queues: vec![queue(4, Mode::Dedicated, 1), queue(4, Mode::Shared { threshold: 3 }, 1)],
        }],
    };
    let device = start(&config, Some(watcher));
    let (dedicated, shared) = (device.queues()[0], device.queues()[1]);
    let nothing = Descriptor::of(Opcode::NoOp);
    let locked = gate.lock().expect("no thread panicked");
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
    assert_eq!(answers[..3], [EnqueueAnswer::Accepted; 3]);
    assert_eq!(answers[3], EnqueueAnswer::Retry);
    // Each kind of write is for its kind of queue.
    assert_eq!(device.enqueue(dedicated, &nothing), EnqueueAnswer::Retry);
    device.post(shared, &nothing);
    assert_eq!(device.occupancy(shared), 3);
    assert_eq!(device.discard(shared), 3);
    drop(locked);
    device.drain(dedicated);
    device.disable(shared);
    assert_eq!(device.enqueue(shared, &nothing), EnqueueAnswer::Retry);
    device.enable(shared);
    assert_eq!(device.enqueue(shared, &nothing), EnqueueAnswer::Accepted);
}

#[test]
fn errors_without_a_record_are_in_the_register() {
    let device = device(1, vec![queue(8, Mode::Dedicated, 1)]);
    let number = device.queues()[0];
    let unaligned = Descriptor::of(Opcode::NoOp).recording(0x1010_1010);
    device.post(number, &unaligned.with_record(0x1001));
    device.drain(number);
    assert_eq!(device.software_error().code(), status::RECORD_ALIGNMENT);
    assert_eq!(device.software_error().0[2], 0x1001, "the record's address");
    device.clear_software_error();
    // Beyond what a process can have.
    device.post(number, &unaligned.with_record(0x00f0_0000_5000_0040));
    device.drain(number);
    assert_eq!(device.software_error().code(), status::RECORD_FAULT);
    assert_eq!(device.software_error().0[2], 0x00f0_0000_5000_0000);
    device.clear_software_error();
    device.post(number, &Descriptor::of(Opcode::NoOp).with_flags(1 << 7));
    device.drain(number);
    let error = device.software_error();
    assert_eq!((error.code(), error.0[1] >> 32), (status::BAD_FLAGS, 1 << 7));
}

#[test]
fn an_error_names_the_queue_of_the_device() {
    let group = || EngineGroupConfig { engines: 1, queues: vec![queue(8, Mode::Dedicated, 1)] };
    let config = DeviceConfig { capabilities: PART, groups: vec![group(), group()] };
    let device = start(&config, None);
    let second = device.queues()[1];
    device.post(second, &Descriptor::of(Opcode::NoOp).recording(0x1001));
    device.drain(second);
    assert_eq!(device.software_error().0[0] >> 16 & 0xff, 1);
}

#[test]
fn a_dedicated_queue_ignores_pasid_and_privilege() {
    let shared = queue(8, Mode::Shared { threshold: 8 }, 1);
    let device = device(1, vec![queue(8, Mode::Dedicated, 1), shared]);
    let [dedicated, shared] = [device.queues()[0], device.queues()[1]];
    let mut records = Records::new(2);
    // Privilege, and a reserved bit between it and the PASID.
    for (word, code) in [(1 << 31, None), (1 << 20, Some(status::RESERVED_FIELD))] {
        records.0 = vec![Record::default(); 2];
        let own = Descriptor::of(Opcode::NoOp).with_pasid_word(word);
        device.post(dedicated, &own.recording(records.address(0)));
        device.drain(dedicated);
        assert_eq!(records.status(0), status::SUCCESS, "{word:#x}");
        let _ = device.enqueue(shared, &own.recording(records.address(1)));
        device.drain(shared);
        assert_eq!(records.status(1), code.unwrap_or(0), "{word:#x}");
    }
    assert_eq!(device.software_error().code(), status::BAD_PRIVILEGE);
}

#[test]
fn a_drain_beside_a_discard_ends() {
    let device = device(1, vec![queue(8, Mode::Dedicated, 1)]);
    let number = device.queues()[0];
    let rounds = soak::amount(2_000, 100_000);
    std::thread::scope(|scope| {
        let drains = scope.spawn(|| (0..rounds).for_each(|_| device.drain(number)));
        while !drains.is_finished() {
            device.post(number, &Descriptor::of(Opcode::NoOp));
            device.discard(number);
        }
    });
    device.drain(number);
    assert_eq!(device.occupancy(number), 0);
}

#[test]
fn a_watcher_that_panics_ends_no_engine() {
    let watcher: dsa::device::Watcher = Arc::new(|_, ended| {
        assert!(ended.descriptor.code() != Opcode::Drain as u8, "this panic is expected");
    });
    let config = DeviceConfig {
        capabilities: PART,
        groups: vec![EngineGroupConfig { engines: 1, queues: vec![queue(8, Mode::Dedicated, 1)] }],
    };
    let device = start(&config, Some(watcher));
    let number = device.queues()[0];
    let mut records = Records::new(2);
    device.post(number, &Descriptor::of(Opcode::Drain).recording(records.address(0)));
    device.drain(number);
    device.post(number, &Descriptor::of(Opcode::NoOp).recording(records.address(1)));
    device.drain(number);
    assert_eq!(records.status(1), status::SUCCESS);
}

#[test]
fn what_the_part_does_not_have_is_refused_with_its_code() {
    let one = |queues| DeviceConfig {
        capabilities: PART,
        groups: vec![EngineGroupConfig { engines: 1, queues }],
    };
    let beyond = |change: fn(&mut QueueLimits)| {
        let mut config = queue(1, Mode::Dedicated, 1);
        change(&mut config.limits);
        config
    };
    let codes = [
        (one(vec![queue(129, Mode::Dedicated, 1)]), 0x14),
        (one(vec![]), 0x15),
        (one(vec![queue(0, Mode::Dedicated, 1)]), 0x22),
        (one(vec![queue(1, Mode::Dedicated, 0)]), 0x23),
        (one(vec![queue(1, Mode::Dedicated, 1); 9]), 0x11),
        (one(vec![beyond(|limits| limits.most_batch = 1 << 20)]), 0x27),
        (one(vec![beyond(|limits| limits.most_transfer_bytes = 1 << 40)]), 0x28),
    ];
    for (config, code) in codes {
        let refused = config.check().map_err(|error| error.command_status());
        assert_eq!(refused, Err(code), "{config:?}");
    }
    let error = ConfigError::TooManyEntries { asked: 129, available: 128 };
    assert_eq!(error.to_string(), "the queues ask for 129 entries in all; the device has 128");
}

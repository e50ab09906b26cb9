//! Does the event log hold what no record can, in order, and whole, and does the error register keep what
//! the log cannot?

use crate::arena::{Arena, PAGE};
use crate::queues::Records;
use crate::reference::Rights;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{
    BadEventLog, ConfigError, DeviceConfig, EngineGroupConfig, EventLog, EventLogPlace, EventSlot,
    Hooks, LEAST_EVENTS, LoggedEvent, Mode, QueueConfig, SoftwareDevice, Watcher,
};
use dsa::hardware::capabilities::{Capabilities, gencap};
use dsa::hardware::{Opcode, flags, status};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PART: Capabilities = Capabilities::VERSION_2;
/// The same, but a full log blocks.
const BLOCKING: Capabilities =
    Capabilities { gen_cap: PART.gen_cap & !gencap::EVENT_LOG_OVERFLOW, ..PART };
/// An opcode that no part has.
const NO_OPCODE: u8 = 0x7f;

/// A log of its own, which lives as long as the tests.
fn place(entries: usize) -> EventLogPlace {
    let ring: Vec<EventSlot> = (0..entries).map(|_| Default::default()).collect();
    EventLogPlace {
        ring: Box::leak(ring.into_boxed_slice()),
        status: Box::leak(Box::new(AtomicU64::new(0))),
        writer: Box::leak(Box::new(AtomicU32::new(0))),
        client: NonZeroU32::MIN,
        first_queue: 0,
        pasid: None,
    }
}

fn log(place: EventLogPlace) -> Option<Arc<EventLog>> {
    Some(Arc::new(EventLog::new(place).expect("it has as many entries as a log may have")))
}

/// One dedicated queue of 128 entries with so many engines.
fn config(capabilities: Capabilities, engines: u8) -> DeviceConfig {
    let limits = QueueLimits::of(&capabilities);
    let queues = vec![QueueConfig::own(128, Mode::Dedicated, 1, limits)];
    DeviceConfig { capabilities, groups: vec![EngineGroupConfig { engines, queues }] }
}

fn start(config: &DeviceConfig, hooks: Hooks) -> SoftwareDevice {
    // SAFETY: the tests submit what names buffers of their own, which live until it has ended.
    unsafe { SoftwareDevice::start(config, hooks) }.expect("the part has all of it")
}

fn with_log(capabilities: Capabilities) -> SoftwareDevice {
    let hooks = Hooks { event_log: log(place(LEAST_EVENTS)), ..Hooks::default() };
    start(&config(capabilities, 1), hooks)
}

fn submit(device: &SoftwareDevice, descriptor: &Descriptor) {
    device.post(device.queues()[0], descriptor);
}

fn drain(device: &SoftwareDevice) {
    device.drain(device.queues()[0]);
}

/// A descriptor that is refused and has no record, told from others by a field that is not checked then.
fn refused(number: u64) -> Descriptor {
    let mut descriptor = Descriptor::of(Opcode::NoOp).with_first(number);
    descriptor.0[7] = NO_OPCODE;
    descriptor
}

fn events(device: &SoftwareDevice) -> Vec<LoggedEvent> {
    let log = device.event_log().expect("it is enabled");
    std::iter::from_fn(|| log.take()).collect()
}

fn code(event: &LoggedEvent) -> u8 {
    event.code()
}

#[test]
fn what_no_record_can_say_is_in_the_log_and_not_in_the_register() {
    let device = with_log(PART);
    submit(&device, &refused(0));
    let flagged = Descriptor::of(Opcode::NoOp).with_flags(1 << 15);
    submit(&device, &flagged);
    drain(&device);
    assert!(!device.software_error().is_valid());
    let log = device.event_log().expect("it is enabled");
    assert_eq!((log.head(), log.tail()), (0, 2));
    let found = events(&device);
    assert_eq!((log.head(), log.tail()), (2, 2));
    assert_eq!(found.iter().map(code).collect::<Vec<_>>(), [status::BAD_OPCODE, status::BAD_FLAGS]);
    // Descriptor and queue valid, code, queue 0, opcode; no valid bit of the register.
    let head = 0b1100 | u64::from(status::BAD_OPCODE) << 8 | u64::from(NO_OPCODE) << 32;
    assert_eq!(found[0].0, [head, 0, 0, 0, 0, 0, 0, 0]);
    // Bit 7: there is information, the flags that are reserved.
    assert_ne!(found[1].0[0] & 1 << 7, 0);
    assert_eq!(found[1].0[1] >> 32, 1 << 15);
    assert_eq!(found[1].record(), [0; 32]);
}

#[test]
fn without_a_log_the_register_has_it() {
    let device = start(&config(PART, 1), Hooks::default());
    assert!(device.event_log().is_none());
    submit(&device, &refused(0));
    drain(&device);
    assert_eq!(device.software_error().code(), status::BAD_OPCODE);
}

#[test]
fn an_interrupt_comes_once_until_the_log_is_read() {
    let told = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&told);
    let on_event: dsa::device::EventHook = Arc::new(move |event| {
        assert_eq!(event.code(), status::BAD_OPCODE);
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let event_log = log(place(LEAST_EVENTS));
    let hooks = Hooks { event_log, on_event: Some(on_event), ..Hooks::default() };
    let device = start(&config(PART, 1), hooks);
    for round in 1..=3 {
        submit(&device, &refused(0));
        submit(&device, &refused(1));
        drain(&device);
        assert_eq!(told.load(Ordering::Relaxed), round);
        assert_eq!(events(&device).len(), 2);
    }
}

#[test]
fn an_operation_whose_record_has_no_page_is_done_and_its_record_is_in_the_log() {
    let mut arena = Arena::new(3);
    arena.set(2, Rights::None);
    let [destination, record] = [1, 2].map(|page| arena.base + page * PAGE as u64);
    let copy = Descriptor::of(Opcode::Fill)
        .with_first(0x0123_4567_89ab_cdef)
        .with_second(destination)
        .with_size(64)
        .recording(record + 64);
    // Without a log nothing is done for a record that cannot be written.
    for (has_log, filled) in [(false, 0), (true, 0x0123_4567_89ab_cdef_u64)] {
        let event_log = has_log.then(|| log(place(LEAST_EVENTS))).flatten();
        let device = start(&config(PART, 1), Hooks { event_log, ..Hooks::default() });
        submit(&device, &copy);
        drain(&device);
        // SAFETY: a page of the arena that may be read.
        let word = unsafe { (destination as *const u64).read_volatile() };
        assert_eq!(word, filled);
        if !has_log {
            assert_eq!(device.software_error().code(), status::RECORD_FAULT);
            continue;
        }
        let [event] = events(&device)[..] else { panic!("one entry") };
        assert_eq!(event.code(), status::RECORD_FAULT);
        assert_ne!(event.0[0] & 1 << 5, 0, "the access was a write");
        // Bit 7: there is information; a record was requested, and is the operand that faulted (5).
        assert_ne!(event.0[0] & 1 << 7, 0);
        assert_eq!(event.0[1] >> 32, 1 << 18 | 5 << 29);
        assert_eq!(event.address(), record + 64, "the driver writes it there");
        assert_eq!(event.record()[0], status::SUCCESS);
    }
}

#[test]
fn the_record_of_a_batch_follows_that_of_a_member_into_the_log() {
    let mut arena = Arena::new(3);
    arena.set(2, Rights::None);
    let (list, records, nowhere) =
        (arena.base, arena.base + PAGE as u64, arena.base + 2 * PAGE as u64);
    let members = [records + 64, nowhere, records + 128, nowhere + 32];
    for (number, record) in (0..).zip(members) {
        let member = Descriptor::of(Opcode::NoOp).recording(record);
        let at = (list + 64 * number) as *mut [u8; 64];
        // SAFETY: a page of the arena that may be written, aligned to 64 bytes.
        unsafe { at.write(member.0) };
    }
    let batch = Descriptor::of(Opcode::Batch).with_first(list).with_size(4).recording(records);
    for engines in [1, 4] {
        let hooks = Hooks { event_log: log(place(LEAST_EVENTS)), ..Hooks::default() };
        let device = start(&config(PART, engines), hooks);
        submit(&device, &batch);
        drain(&device);
        let found = events(&device);
        let codes: Vec<u8> = found.iter().map(code).collect();
        let (fault, held) = (status::RECORD_FAULT, status::BATCH_HELD);
        assert_eq!(codes, [fault, fault, held], "{engines} engines");
        let mut numbers: Vec<u64> = found[..2].iter().map(|event| event.0[1] & 0xffff).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 3]);
        assert!(found[..2].iter().all(LoggedEvent::is_member));
        assert!(found.iter().all(|event| event.batch() == found[2].batch()));
        assert!(!found[2].is_member());
        assert_eq!(found[2].address(), records);
        let record = found[2].record();
        assert_eq!((record[0], record[4]), (status::SUCCESS, 4));
        // SAFETY: a page of the arena that may be read.
        let written = |at: u64| unsafe { (at as *const u8).read_volatile() };
        assert_eq!(written(records), 0, "the record of the batch waits");
        assert_eq!((written(members[0]), written(members[2])), (1, 1));
    }
}

#[test]
fn a_batch_without_such_a_member_has_its_record_at_once() {
    let mut records = Records::new(1);
    let mut list = Box::new(Aligned([[0; 64]; 2]));
    list.0 = [refused(0).0, Descriptor::of(Opcode::NoOp).0];
    let batch = Descriptor::of(Opcode::Batch)
        .with_first((&raw mut *list) as u64)
        .with_size(2)
        .recording(records.address(0));
    let device = with_log(PART);
    submit(&device, &batch);
    drain(&device);
    assert_eq!(records.status(0), status::BATCH_MEMBER_FAILED);
    assert_eq!(events(&device).iter().map(code).collect::<Vec<_>>(), [status::BAD_OPCODE]);
}

#[repr(align(64))]
struct Aligned([[u8; 64]; 2]);

#[test]
fn a_full_log_drops_entries_and_the_register_says_so() {
    let device = with_log(PART);
    for number in 0..70 {
        submit(&device, &refused(number));
    }
    drain(&device);
    assert_eq!(device.software_error().code(), status::LOG_FULL);
    assert!(device.software_error().has_overflowed(), "seven were lost");
    assert_eq!(events(&device).len(), LEAST_EVENTS - 1, "one entry stays free");
    submit(&device, &refused(0));
    drain(&device);
    assert_eq!(events(&device).len(), 1, "there is room again, behind the end of the ring");
}

#[test]
fn a_full_log_that_may_not_drop_holds_the_engine_until_it_is_read() {
    let ended = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ended);
    let watcher: Watcher = Arc::new(move |_, _| {
        counted.fetch_add(1, Ordering::Release);
    });
    let event_log = log(place(LEAST_EVENTS));
    let hooks = Hooks { event_log, watcher: Some(watcher), ..Hooks::default() };
    let device = start(&config(BLOCKING, 1), hooks);
    let log = device.event_log().expect("it is enabled");
    for number in 0..100 {
        submit(&device, &refused(number));
    }
    while usize::from(log.tail()) < LEAST_EVENTS - 1 {
        std::thread::yield_now();
    }
    assert!(ended.load(Ordering::Acquire) < LEAST_EVENTS as u64, "it waits for the driver");
    let mut taken = 0;
    while taken < 100 {
        match log.take() {
            Some(_) => taken += 1,
            None => std::thread::yield_now(),
        }
    }
    drain(&device);
    assert_eq!(ended.load(Ordering::Acquire), 100);
    assert!(!device.software_error().is_valid());
    assert!(log.take().is_none());
}

#[test]
fn a_full_log_that_nothing_reads_stops_no_device_from_ending_or_being_reset() {
    for resets in [false, true] {
        let device = with_log(BLOCKING);
        for number in 0..100 {
            submit(&device, &refused(number));
        }
        if resets {
            device.reset();
            let log = device.event_log().expect("it is enabled");
            assert_eq!((log.head(), log.tail()), (0, 0));
        }
    }
}

#[test]
fn a_descriptor_that_a_full_queue_loses_is_in_the_register() {
    let hooks = Hooks { event_log: log(place(LEAST_EVENTS)), ..Hooks::default() };
    let mut config = config(BLOCKING, 1);
    config.groups[0].queues[0].size = 4;
    let device = start(&config, hooks);
    // Its engine waits behind a full log, so that the queue fills.
    while !device.software_error().is_valid() {
        submit(&device, &refused(0));
    }
    assert_eq!(device.software_error().code(), status::QUEUE_OVERFLOW);
    assert!(events(&device).iter().all(|event| event.code() == status::BAD_OPCODE));
}

#[test]
fn a_log_that_a_device_cannot_have_is_refused() {
    for entries in [0, 1, LEAST_EVENTS - 1, 0x1_0000] {
        let refused = EventLog::new(place(entries)).map(drop);
        assert_eq!(refused, Err(BadEventLog { asked: entries }));
    }
    assert!(EventLog::new(place(0xffff)).is_ok());
    let hooks = Hooks { event_log: log(place(LEAST_EVENTS)), ..Hooks::default() };
    // SAFETY: it does not start.
    let refused = unsafe { SoftwareDevice::start(&config(Capabilities::VERSION_1, 1), hooks) };
    let refused = refused.map(drop).expect_err("version 1 has none");
    assert_eq!(refused, ConfigError::NoEventLog);
    assert_eq!(refused.command_status(), 0x19);
}

/// A device whose only queue is that of another number in the device of the log.
fn of_client(number: u32, shared: EventLogPlace) -> SoftwareDevice {
    let client = NonZeroU32::new(number + 1).expect("not zero");
    let (first_queue, pasid) = (number as usize, Some(number + 100));
    let place = EventLogPlace { client, first_queue, pasid, ..shared };
    let hooks = Hooks { event_log: log(place), ..Hooks::default() };
    start(&config(BLOCKING, 2), hooks)
}

/// As processes do that have engines of their own for queues of one device.
#[test]
fn devices_that_share_a_log_lose_and_tear_no_entry() {
    let each = soak::amount(2_000_u64, 200_000);
    let shared = place(LEAST_EVENTS);
    let devices = [0, 1].map(|number| of_client(number, shared));
    let reader = EventLog::new(shared).expect("it has as many entries as a log may have");
    let mut taken = [0_u64; 2];
    std::thread::scope(|scope| {
        for device in &devices {
            scope.spawn(move || {
                for number in 0..each {
                    while device.occupancy(device.queues()[0]) > 100 {
                        std::thread::yield_now();
                    }
                    submit(device, &refused(number));
                }
                drain(device);
            });
        }
        while taken != [each, each] {
            let Some(event) = reader.take() else {
                std::thread::yield_now();
                continue;
            };
            assert_eq!((event.code(), event.0[0] >> 32 & 0xff), (status::BAD_OPCODE, 0x7f));
            assert_eq!(event.pasid(), u32::from(event.queue()) + 100);
            taken[usize::from(event.queue())] += 1;
        }
    });
    assert!(reader.take().is_none());
    assert!(devices.iter().all(|device| !device.software_error().is_valid()));
}

#[test]
fn a_record_that_can_be_written_needs_no_entry() {
    let mut records = Records::new(1);
    let device = with_log(PART);
    let asked = Descriptor::of(Opcode::NoOp).recording(records.address(0));
    assert!(asked.has(flags::REQUEST_RECORD));
    submit(&device, &asked);
    drain(&device);
    assert_eq!(records.status(0), status::SUCCESS);
    assert!(events(&device).is_empty());
}

//! Does a submission allocate? The handler of a signal submits, and may have interrupted an allocation.

use crate::queues::{PART, queue, start};
use dsa::descriptor::Descriptor;
use dsa::device::{
    DeviceConfig, EngineGroupConfig, EnqueueAnswer, EntryCounting, EntrySlots, Mode, Watcher,
};
use dsa::hardware::Opcode;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[test]
fn a_submission_allocates_and_frees_nothing() {
    const SIZE: u16 = 32;
    let slots: &'static [AtomicU32] =
        (0..SIZE).map(|_| AtomicU32::new(0)).collect::<Vec<_>>().leak();
    let client = NonZeroU32::new(7).expect("7 is not 0");
    let mut in_slots = queue(SIZE, Mode::Shared { threshold: SIZE }, 1);
    in_slots.entries = EntryCounting::Shared(EntrySlots { slots, client });
    let shared = queue(SIZE, Mode::Shared { threshold: SIZE }, 1);
    let queues = vec![queue(SIZE, Mode::Dedicated, 1), shared, in_slots];
    let gate = Arc::new(Mutex::new(()));
    let held = Arc::clone(&gate);
    let watcher: Watcher = Arc::new(move |_, _| drop(held.lock()));
    let groups = vec![EngineGroupConfig { engines: 1, queues }];
    let device = start(&DeviceConfig { capabilities: PART, groups }, Some(watcher));
    let [dedicated, shared, in_slots] = [0, 1, 2].map(|number| device.queues()[number]);
    let no_op = Descriptor::of(Opcode::NoOp);
    let mut locked = Some(gate.lock().expect("no thread panicked"));
    let before = CALLS.get();
    assert!(before > 0, "the tests count");
    for round in 0..20_000_u32 {
        device.post(dedicated, &no_op);
        let answers = [shared, in_slots].map(|queue| device.enqueue(queue, &no_op));
        if round == 100 {
            assert_eq!(answers, [EnqueueAnswer::Retry; 2], "full queues are among them");
            assert!(device.software_error().is_valid());
            locked = None;
        }
        if round % 1_000 == 999 {
            device.discard(dedicated);
            device.discard(in_slots);
        }
    }
    assert_eq!(CALLS.get(), before);
    drop(locked);
}

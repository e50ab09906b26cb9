//! Does the core allocate nothing, also when descriptors fail and get lost? Allocators and signal handlers
//! call it.

use crate::inside::{inside, plan};
use dsa_client::copy_ring::{CopyRing, RingCopy};
use dsa_client::portal::SubmissionMethod;
use dsa_client::queues;
use dsa_client::record_slot::RecordSlot;
use dsa_client::wait::{WaitMethod, Waiter};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

/// The system's allocator, which counts the allocations of each thread.
struct CountingAllocator;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller promises the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises the same.
        unsafe { System.dealloc(at, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Runs work, and returns how often this thread has allocated meanwhile.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn bursts_of_a_ring_allocate_nothing_also_if_some_are_lost() {
    let plan = plan("seed = 7\n[hardware_errors]\nread_rate = 0.02\n[queue_full]\nrate = 0.05\n");
    let plan = plan.path().to_str().expect("is text");
    inside!(bursts_of_a_ring_allocate_nothing_also_if_some_are_lost, "--inject", plan);
    for queue in queues::find(Path::new(queues::SYSFS)).expect("is readable") {
        let (from, mut to) = ([[0x5a_u8; 600]; 8], [[0_u8; 600]; 8]);
        let (devices, how) = (Path::new(queues::DEVICES), SubmissionMethod::Automatic);
        let mut ring = CopyRing::open(queue, devices, how, (4, 8)).expect("can be opened");
        let (mut ended, mut failed) = (0, 0);
        let count = allocations(|| {
            for _ in 0..200 {
                let copies = from.iter().zip(&mut to).map(|(from, to)| RingCopy {
                    from: from.as_ptr() as u64,
                    to: to.as_mut_ptr() as u64,
                    bytes: 600,
                    tag: 0,
                });
                // SAFETY: the loop below waits for the end of the copies.
                let is_taken = unsafe { ring.submit(copies) }.expect("is a burst");
                let (mut left, mut waiter) = (8, Waiter::new(WaitMethod::Yield));
                while is_taken && left > 0 {
                    left -= ring.poll(8, |_, has_failed| failed += u64::from(has_failed));
                    waiter.pause(None::<&RecordSlot>);
                }
                ended += u64::from(is_taken) * 8;
            }
        });
        let counts = ring.counts();
        assert_eq!(count, 0, "{}", ring.queue().name);
        assert!(ended == counts.copies && failed == counts.failed + counts.lost && failed > 0);
        let is_dedicated = ring.queue().mode == queues::SharingMode::Dedicated;
        assert!(!is_dedicated || counts.lost > 0 && ring.drains() > 0, "{counts:?}");
    }
}

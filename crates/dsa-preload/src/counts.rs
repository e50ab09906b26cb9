//! Where calls were done: by function and size, and why by the CPU. Counted if statistics are asked for.

use crate::functions::Function;
use crate::size_classes::{CLASSES, class};
use std::sync::atomic::{AtomicU64, Ordering};

/// Why the CPU did a call, or what was left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Reason {
    /// Smaller than the size from which a device pays.
    Small,
    /// No queue could be opened.
    NoQueue,
    /// The ranges overlap.
    Overlap,
    /// It came from a large call of the same thread, or from an engine in software.
    Inside,
    /// No queue had room.
    Full,
    /// The device met a page that it could not access.
    Fault,
    /// The device failed.
    Hardware,
    /// The descriptor was lost.
    Lost,
    /// The CPU's share, done while the device works.
    Share,
    /// Tuning has found the CPU faster at this size.
    Tuned,
    /// The first bytes differ already.
    Differs,
}

impl Reason {
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Small, "small"),
        (Self::NoQueue, "no queue"),
        (Self::Overlap, "overlap"),
        (Self::Inside, "inside another"),
        (Self::Full, "queues full"),
        (Self::Fault, "page fault"),
        (Self::Hardware, "device error"),
        (Self::Lost, "descriptor lost"),
        (Self::Share, "share"),
        (Self::Tuned, "tuned"),
        (Self::Differs, "differs at once"),
    ];
}

/// Calls, bytes, and the time that the calls took.
#[derive(Default)]
pub struct Sum {
    pub calls: AtomicU64,
    pub bytes: AtomicU64,
    pub cycles: AtomicU64,
}

impl Sum {
    fn add(&self, calls: u64, bytes: u64, cycles: u64) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.cycles.fetch_add(cycles, Ordering::Relaxed);
    }

    /// All three, if there is anything.
    pub fn read(&self) -> Option<(u64, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let all = (read(&self.calls), read(&self.bytes), read(&self.cycles));
        (all.0 + all.1 > 0).then_some(all)
    }
}

/// Counters of a process; all bits zero at first.
pub struct Counts {
    /// By function and class: calls of which a device did something.
    pub device: [[Sum; CLASSES]; 4],
    /// Likewise: calls of which it did nothing, and what it left of others.
    pub cpu: [[Sum; CLASSES]; 4],
    /// By function and reason: what the CPU did.
    pub reasons: [[Sum; Reason::ALL.len()]; 4],
}

/// A call that has ended.
pub struct Ended {
    pub function: Function,
    pub bytes: u64,
    pub device_bytes: u64,
    pub cycles: u64,
    /// Why the CPU did what it did.
    pub reason: Reason,
}

impl Counts {
    pub fn add(&self, ended: &Ended) {
        let (function, class) = (ended.function as usize, class(ended.bytes));
        let cpu_bytes = ended.bytes - ended.device_bytes;
        let is_offloaded = ended.device_bytes > 0;
        if is_offloaded {
            self.device[function][class].add(1, ended.device_bytes, ended.cycles);
        }
        let (calls, cycles) = if is_offloaded { (0, 0) } else { (1, ended.cycles) };
        if calls + cpu_bytes > 0 {
            self.cpu[function][class].add(calls, cpu_bytes, cycles);
            self.reasons[function][ended.reason as usize].add(1, cpu_bytes, 0);
        }
    }
}

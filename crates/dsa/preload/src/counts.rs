//! Counts of calls, by function, size and reason for the CPU. Calls are counted only if statistics are
//! requested.

use crate::functions::MemoryFunction;
use crate::size_classes::{CLASSES, class};
use std::sync::atomic::{AtomicU64, Ordering};

/// Why the CPU processed a call, or the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum CpuReason {
    /// The call is smaller than the size from which on a device is used.
    Small,
    /// No queue could be opened.
    NoQueue,
    /// The ranges overlap.
    Overlap,
    /// The call was made inside a large call of the same thread: by a handler of a signal.
    Inside,
    /// No queue had room.
    Full,
    /// The device met a page that it could not access.
    Fault,
    /// The device failed.
    Hardware,
    /// The descriptor was lost.
    Lost,
    /// The bytes are the share of the CPU, processed while the device works.
    Share,
    /// Tuning has found the CPU faster at this size.
    Tuned,
    /// The first bytes differ already.
    Differs,
}

impl CpuReason {
    /// All reasons, with their names in reports.
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

/// A number of calls, their bytes, and their time in cycles of the time-stamp counter.
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

    /// Calls, bytes and cycles; `None` if nothing was counted.
    pub fn read(&self) -> Option<(u64, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let all = (read(&self.calls), read(&self.bytes), read(&self.cycles));
        (all.0 + all.1 > 0).then_some(all)
    }
}

/// The counters of a process. All bits zero: nothing was counted.
pub struct CallCounts {
    /// Calls of which a device processed bytes, by function and class of sizes.
    pub device: [[Sum; CLASSES]; 4],
    /// Calls that the CPU processed alone, and the bytes that devices left of others, by function and class.
    pub cpu: [[Sum; CLASSES]; 4],
    /// Bytes that the CPU processed, by function and reason.
    pub reasons: [[Sum; CpuReason::ALL.len()]; 4],
}

/// A call that has ended, for counting.
pub struct CountedCall {
    pub function: MemoryFunction,
    pub bytes: u64,
    pub device_bytes: u64,
    pub cycles: u64,
    /// Why the CPU processed the bytes that the device did not.
    pub reason: CpuReason,
}

impl CallCounts {
    /// Counts a call that has ended.
    pub fn add(&self, ended: &CountedCall) {
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

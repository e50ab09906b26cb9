//! Sizes and shares that follow the times of calls.
//!
//! For each function and class of sizes the time of a call on a device, and on the CPU, is kept as a moving
//! average, and calls go where it is lower. Each 64th call goes to the other one, so that a changed load is
//! noticed. The share of the CPU grows by 1/256 when the device ends later, and shrinks when it ends sooner.

use crate::functions::MemoryFunction;
use crate::size_classes::CLASSES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Size in bytes of the smallest calls that are tried on a device.
pub const LEAST_BYTES: u64 = 1024;
/// One of so many calls goes where the average is higher.
const TRIES: u64 = 64;
/// A new value has the weight 1 / `WEIGHT` in an average.
const WEIGHT: u64 = 8;

struct Class {
    device_cycles: AtomicU64,
    cpu_cycles: AtomicU64,
}

static CLASS: [[Class; CLASSES]; 4] = [const {
    [const { Class { device_cycles: AtomicU64::new(0), cpu_cycles: AtomicU64::new(0) } }; CLASSES]
}; 4];

/// Largest share of the CPU in a call that a device does too, in 256ths.
pub const MOST_CPU_SHARE: u32 = 192;

static CPU_SHARE: AtomicU32 = AtomicU32::new(0);

/// Sets the share of a call's bytes that the CPU does at first, in 256ths.
pub fn begin(cpu_share: u32) {
    CPU_SHARE.store(cpu_share, Ordering::Relaxed);
}

/// The share of a call's bytes that the CPU does, in 256ths.
#[inline]
pub fn cpu_share() -> u32 {
    CPU_SHARE.load(Ordering::Relaxed)
}

/// Whether a call goes to a device; `turn` is the number of the call.
pub fn is_for_device(function: MemoryFunction, class: usize, turn: u64) -> bool {
    let class = &CLASS[function as usize][class];
    let device = class.device_cycles.load(Ordering::Relaxed);
    let cpu = class.cpu_cycles.load(Ordering::Relaxed);
    decide(device, cpu, turn)
}

fn decide(device: u64, cpu: u64, turn: u64) -> bool {
    let tries_slower = turn.is_multiple_of(TRIES);
    match (device, cpu) {
        (0, _) => true,
        (_, 0) => false,
        _ => (device < cpu) != tries_slower,
    }
}

/// Adds the time of a call, in cycles, to an average.
pub fn learn(function: MemoryFunction, class: usize, by_device: bool, cycles: u64) {
    let class = &CLASS[function as usize][class];
    let average = if by_device { &class.device_cycles } else { &class.cpu_cycles };
    let before = average.load(Ordering::Relaxed);
    // If two threads store at the same time, one value is lost.
    average.store(moved(before, cycles), Ordering::Relaxed);
}

/// The average with a new value. A value is limited to four times the average, for calls that were
/// interrupted.
fn moved(average: u64, cycles: u64) -> u64 {
    if average == 0 {
        return cycles.max(1);
    }
    let cycles = cycles.min(4 * average);
    ((average * (WEIGHT - 1) + cycles) / WEIGHT).max(1)
}

/// Adapts the share of the CPU to whether the device had ended before the CPU.
pub fn learn_share(device_was_ahead: bool) {
    let share = CPU_SHARE.load(Ordering::Relaxed);
    let share =
        if device_was_ahead { share.saturating_sub(1) } else { (share + 1).min(MOST_CPU_SHARE) };
    CPU_SHARE.store(share, Ordering::Relaxed);
}

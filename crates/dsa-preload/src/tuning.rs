//! Sizes and shares that follow what calls take.
//!
//! For each function and class of sizes the time of a call by a device, and by the CPU, is kept as a
//! moving average; the lower one decides. Each 64th call goes the other way, so that a load that changes
//! is followed. The CPU's share grows by 1/256 when the device is behind, and shrinks when it is ahead.

use crate::functions::Function;
use crate::size_classes::CLASSES;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The smallest calls that are tried on a device.
pub const LEAST_BYTES: u64 = 1024;
/// One of so many calls goes the way that seems to be slower.
const TRIES: u64 = 64;
/// Parts of an average that a new value is.
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

/// Begins with a share.
pub fn begin(cpu_share: u32) {
    CPU_SHARE.store(cpu_share, Ordering::Relaxed);
}

/// The CPU's share, in parts of 256.
#[inline]
pub fn cpu_share() -> u32 {
    CPU_SHARE.load(Ordering::Relaxed)
}

/// Whether a call goes to a device; `turn` counts calls.
pub fn is_for_device(function: Function, class: usize, turn: u64) -> bool {
    let class = &CLASS[function as usize][class];
    let device = class.device_cycles.load(Ordering::Relaxed);
    let cpu = class.cpu_cycles.load(Ordering::Relaxed);
    decide(device, cpu, turn)
}

fn decide(device: u64, cpu: u64, turn: u64) -> bool {
    let is_other = turn.is_multiple_of(TRIES);
    match (device, cpu) {
        (0, _) => true,
        (_, 0) => false,
        _ => (device < cpu) != is_other,
    }
}

/// Takes the time of a call.
pub fn learn(function: Function, class: usize, by_device: bool, cycles: u64) {
    let class = &CLASS[function as usize][class];
    let average = if by_device { &class.device_cycles } else { &class.cpu_cycles };
    let before = average.load(Ordering::Relaxed);
    // Of two threads that learn at a time one is forgotten.
    average.store(moved(before, cycles), Ordering::Relaxed);
}

/// An average with a new value. One call that was interrupted for long counts as four times the usual.
fn moved(average: u64, cycles: u64) -> u64 {
    if average == 0 {
        return cycles.max(1);
    }
    let cycles = cycles.min(4 * average);
    ((average * (WEIGHT - 1) + cycles) / WEIGHT).max(1)
}

/// Takes whether the device had ended when the CPU had done its share.
pub fn learn_share(device_was_ahead: bool) {
    let share = CPU_SHARE.load(Ordering::Relaxed);
    let share =
        if device_was_ahead { share.saturating_sub(1) } else { (share + 1).min(MOST_CPU_SHARE) };
    CPU_SHARE.store(share, Ordering::Relaxed);
}

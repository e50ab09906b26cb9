//! A large call: the bytes that the device processes, and those of the CPU.
//!
//! The device processes the call from its first byte on, in descriptors one after the other; the CPU
//! meanwhile processes its share at the end, if it has one. The C library processes all bytes that the
//! device leaves, for whatever reason, after this library has left the call: so a bad address raises its
//! signal as without this library.

use crate::counts::{self, CpuReason};
use crate::descriptors::{self, DescriptorEnd, DescriptorUnderWay};
use crate::excluded_callers;
use crate::functions::MemoryFunction;
use crate::known_queues;
use crate::next_functions;
use crate::process::{self, Process};
use crate::report;
use crate::settings::{self, PreloadSettings};
use crate::size_classes::class;
use crate::thread_state::{self, Inside};
use crate::tuning;
use dsa::descriptor::Descriptor;
use dsa::hardware::status::{self, FAULT_ON_WRITE};
use std::arch::x86_64::_rdtsc;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use units::narrow::{low_u32, usize_from};

/// Bytes that the CPU compares first: most ranges that differ do so in these.
const FIRST_LOOK: usize = 256;
/// Alignment of the CPU's share: a line.
const LINE: u64 = 64;

/// Executes memcpy, memmove and their checked forms. `caller` is the return address, `entry` the number
/// of the entry point.
///
/// # Safety
/// As for the functions of the C library.
pub unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> *mut c_void {
    let call = LargeCall::new(next_functions::function(entry), (from as u64, to as u64), bytes);
    // SAFETY: the caller's arguments.
    let by_cpu = |at: u64, end: u64| unsafe {
        let at_bytes = usize_from(at);
        let (to, from) = (to.wrapping_byte_add(at_bytes), from.wrapping_byte_add(at_bytes));
        next_functions::copy(call.function, to, from, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    to
}

/// Executes mempcpy and its checked form, whose result is the end of the destination.
///
/// # Safety
/// As for the functions of the C library.
pub unsafe extern "C" fn copy_to_end(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { copy(to, from, bytes, caller, entry) }.wrapping_byte_add(bytes)
}

/// Executes memset and its checked form.
///
/// # Safety
/// As for the functions of the C library.
pub unsafe extern "C" fn fill(
    to: *mut c_void,
    byte: c_int,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> *mut c_void {
    let pattern = u64::from_le_bytes([byte.to_le_bytes()[0]; 8]);
    let call = LargeCall::new(next_functions::function(entry), (pattern, to as u64), bytes);
    // SAFETY: the caller's arguments.
    let by_cpu = |at: u64, end: u64| unsafe {
        next_functions::fill(to.wrapping_byte_add(usize_from(at)), byte, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    to
}

/// Executes memcmp and bcmp. The result comes from the C library, for the first bytes that differ.
///
/// # Safety
/// As for the functions of the C library.
pub unsafe extern "C" fn compare(
    first: *const c_void,
    second: *const c_void,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> c_int {
    let call =
        LargeCall::new(next_functions::function(entry), (first as u64, second as u64), bytes);
    // SAFETY: the caller's arguments.
    let looked = unsafe { next_functions::compare(first, second, bytes.min(FIRST_LOOK)) };
    if looked != 0 {
        if excluded_callers::is_of_device(caller) {
            return looked;
        }
        call.account(&CallResult::by_cpu(CpuReason::Differs), 0);
        return looked;
    }
    let mut result = 0;
    // SAFETY: as above.
    let by_cpu = |at: u64, end: u64| unsafe {
        let at_bytes = usize_from(at);
        let (first, second) =
            (first.wrapping_byte_add(at_bytes), second.wrapping_byte_add(at_bytes));
        result = next_functions::compare(first, second, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    result
}

/// A large call, with its operands in the order of a descriptor.
struct LargeCall {
    function: MemoryFunction,
    first: u64,
    second: u64,
    bytes: u64,
}

/// The result of a call, before the C library processes the rest.
struct CallResult {
    /// Bytes from the first on that the device has processed, or found equal.
    device_bytes: u64,
    /// Offset of the share that the CPU has processed.
    share_at: Option<u64>,
    /// Why the CPU processes the rest.
    reason: CpuReason,
    /// Whether the call went to a device.
    is_tried: bool,
}

impl CallResult {
    fn by_cpu(reason: CpuReason) -> Self {
        Self { device_bytes: 0, share_at: None, reason, is_tried: false }
    }
}

impl LargeCall {
    fn new(function: MemoryFunction, (first, second): (u64, u64), bytes: usize) -> Self {
        Self { function, first, second, bytes: bytes as u64 }
    }

    /// Runs the call. `by_cpu` processes the bytes from an offset up to another one.
    fn run(&self, caller: u64, mut by_cpu: impl FnMut(u64, u64)) {
        if excluded_callers::is_of_device(caller) {
            return by_cpu(0, self.bytes);
        }
        let begun = now();
        let done = match self.begin() {
            Ok(turn) => turn.run(self, &mut by_cpu),
            Err(reason) => CallResult::by_cpu(reason),
        };
        // The thread has left the call here: the C library may fault, and a handler may not return.
        let end = done.share_at.unwrap_or(self.bytes);
        if done.device_bytes < end || self.bytes == 0 {
            by_cpu(done.device_bytes, end);
        }
        self.account(&done, now().wrapping_sub(begun));
    }

    /// Decides whether the call goes to a device; if not, returns why.
    fn begin(&self) -> Result<DeviceTurn, CpuReason> {
        let settings = settings::current().ok_or(CpuReason::NoQueue)?;
        if self.bytes < settings.least_bytes_tried(self.function) {
            return Err(CpuReason::Small);
        }
        if self.overlaps() || self.passes_the_end() {
            return Err(CpuReason::Overlap);
        }
        let class = class(self.bytes);
        if settings.tunes && !tuning::is_for_device(self.function, class, thread_state::next_turn())
        {
            return Err(CpuReason::Tuned);
        }
        let process = process::current().ok_or(CpuReason::NoQueue)?;
        if !process.is_open.load(Ordering::Acquire) {
            return Err(CpuReason::NoQueue);
        }
        let inside = Inside::enter().ok_or(CpuReason::Inside)?;
        Ok(DeviceTurn { settings, process, _inside: inside })
    }

    /// Whether source and destination overlap: a copy that was done in part cannot be repeated.
    fn overlaps(&self) -> bool {
        let copies = matches!(self.function, MemoryFunction::Copy | MemoryFunction::Move);
        copies && self.first.abs_diff(self.second) < self.bytes
    }

    /// Whether a range passes the end of the address space.
    fn passes_the_end(&self) -> bool {
        let passes = |address: u64| address.checked_add(self.bytes).is_none();
        passes(self.second) || self.function != MemoryFunction::Fill && passes(self.first)
    }

    /// The descriptor of a piece of the call.
    fn piece(&self, at: u64, bytes: u64) -> Descriptor {
        let first = match self.function {
            MemoryFunction::Fill => self.first,
            _ => self.first.wrapping_add(at),
        };
        Descriptor::of(self.function.opcode())
            .with_first(first)
            .with_second(self.second.wrapping_add(at))
            .with_size(low_u32(bytes))
    }

    /// Gives the time of the call to tuning, and counts the call, if that is wanted.
    fn account(&self, done: &CallResult, cycles: u64) {
        let Some(settings) = settings::current() else { return };
        if settings.tunes && (done.is_tried || done.reason == CpuReason::Tuned) {
            tuning::learn(self.function, class(self.bytes), done.is_tried, cycles);
        }
        if report::is_wanted()
            && let Some(process) = process::current()
        {
            process.counts.add(&counts::CountedCall {
                function: self.function,
                bytes: self.bytes,
                device_bytes: done.device_bytes,
                cycles,
                reason: done.reason,
            });
        }
    }
}

/// The turn of the device in a call.
struct DeviceTurn {
    settings: &'static PreloadSettings,
    process: &'static Process,
    _inside: Inside,
}

impl DeviceTurn {
    fn run(self, call: &LargeCall, by_cpu: &mut impl FnMut(u64, u64)) -> CallResult {
        let most = known_queues::most_transfer_bytes().clamp(1, u32::MAX.into());
        let mut end = call.bytes;
        let mut done = CallResult {
            device_bytes: 0,
            share_at: None,
            reason: CpuReason::Share,
            is_tried: true,
        };
        while done.device_bytes < end {
            let at = done.device_bytes;
            let share_at = if at == 0 { self.share_at(call) } else { end };
            let bytes = (share_at - at).min(most);
            let Some(under_way) = self.submit(call, at, bytes) else {
                done.reason = CpuReason::Full;
                break;
            };
            if share_at < end {
                by_cpu(share_at, end);
                done.share_at = Some(share_at);
                end = share_at;
                if self.settings.tunes {
                    tuning::learn_share(under_way.has_ended());
                }
            }
            let ended = under_way.wait(self.settings.wait).map_err(PartialResult::from);
            match ended.and_then(|ended| judge(call.function, &ended, bytes)) {
                Ok(part) if part == bytes => done.device_bytes += bytes,
                // The ranges differ: the C library computes the sign of the result.
                Ok(part) => {
                    done.device_bytes += part;
                    done.reason = CpuReason::Differs;
                    break;
                }
                Err(PartialResult { bytes, reason }) => {
                    done.device_bytes += bytes;
                    done.reason = reason;
                    break;
                }
            }
        }
        done
    }

    /// Offset of the CPU's share; the end of the call if the CPU has none.
    fn share_at(&self, call: &LargeCall) -> u64 {
        // A program may rely on memcmp not to read beyond the first difference.
        if call.function == MemoryFunction::Compare {
            return call.bytes;
        }
        let share = if self.settings.tunes { tuning::cpu_share() } else { self.settings.cpu_share };
        let share_bytes = call.bytes / 256 * u64::from(share) / LINE * LINE;
        (call.bytes - share_bytes).max(1)
    }

    fn submit(&self, call: &LargeCall, at: u64, bytes: u64) -> Option<DescriptorUnderWay> {
        let descriptor = call.piece(at, bytes);
        descriptors::begin(self.process, &descriptor, call.function.opcode(), self.settings)
    }
}

/// The bytes that a device has processed of a piece that it did not finish, and why it stopped.
struct PartialResult {
    bytes: u64,
    reason: CpuReason,
}

impl From<CpuReason> for PartialResult {
    fn from(reason: CpuReason) -> Self {
        Self { bytes: 0, reason }
    }
}

/// Bytes of a part that are done, or equal: all of them, or those before a difference.
fn judge(
    function: MemoryFunction,
    ended: &DescriptorEnd,
    bytes: u64,
) -> Result<u64, PartialResult> {
    let completed = u64::from(ended.completed).min(bytes);
    match ended.status & !FAULT_ON_WRITE {
        status::SUCCESS if function == MemoryFunction::Compare && ended.result != 0 => {
            Ok(completed.min(bytes - 1))
        }
        status::SUCCESS => Ok(bytes),
        status::PAGE_FAULT | status::PAGE_REQUEST_INVALID => {
            // A move that went backwards has done its last bytes, and not its first ones.
            let is_backwards = function != MemoryFunction::Compare && ended.result != 0;
            let bytes = if is_backwards { 0 } else { completed };
            Err(PartialResult { bytes, reason: CpuReason::Fault })
        }
        _ => Err(PartialResult { bytes: 0, reason: CpuReason::Hardware }),
    }
}

/// The time-stamp counter, if anything is timed.
fn now() -> u64 {
    let is_timed = report::is_wanted() || settings::current().is_some_and(|it| it.tunes);
    // SAFETY: it reads a counter.
    if is_timed { unsafe { _rdtsc() } } else { 0 }
}

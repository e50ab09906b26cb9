//! A call of a size that may pay: what the device does of it, what the CPU does.
//!
//! The device does the call from its first byte on, in descriptors one after the other; the CPU its share
//! at the end meanwhile, if it has one. What the device leaves, for whatever reason, the C library does
//! when this library is done with the call, so that a bad address raises its signal as without it.

use crate::callers;
use crate::counts::{self, Reason};
use crate::descriptors::{self, Ended, UnderWay};
use crate::functions::Function;
use crate::local::{self, Inside};
use crate::next;
use crate::portals;
use crate::process::{self, Process};
use crate::report;
use crate::settings::{self, Settings};
use crate::size_classes::class;
use crate::tuning;
use dsa::descriptor::Descriptor;
use dsa::hardware::status::{self, FAULT_ON_WRITE};
use std::arch::x86_64::_rdtsc;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use units::narrow::{low_u32, usize_from};

/// Bytes that the CPU compares first: most ranges that differ do so here.
const FIRST_LOOK: usize = 256;
/// The CPU's share begins at a line.
const LINE: u64 = 64;

/// memcpy, memmove and their checked forms. `caller` is where the call returns to, `entry` its number.
///
/// # Safety
/// As the C library's functions.
pub unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> *mut c_void {
    let call = Call::new(next::function(entry), (from as u64, to as u64), bytes);
    // SAFETY: the caller's arguments.
    let by_cpu = |at: u64, end: u64| unsafe {
        let at_bytes = usize_from(at);
        let (to, from) = (to.wrapping_byte_add(at_bytes), from.wrapping_byte_add(at_bytes));
        next::copy(call.function, to, from, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    to
}

/// mempcpy and its checked form: the result is the end of the destination.
///
/// # Safety
/// As the C library's functions.
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

/// memset and its checked form.
///
/// # Safety
/// As the C library's functions.
pub unsafe extern "C" fn fill(
    to: *mut c_void,
    byte: c_int,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> *mut c_void {
    let pattern = u64::from_le_bytes([byte.to_le_bytes()[0]; 8]);
    let call = Call::new(next::function(entry), (pattern, to as u64), bytes);
    // SAFETY: the caller's arguments.
    let by_cpu = |at: u64, end: u64| unsafe {
        next::fill(to.wrapping_byte_add(usize_from(at)), byte, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    to
}

/// memcmp and bcmp. The result is the C library's own, of the first bytes that differ.
///
/// # Safety
/// As the C library's functions.
pub unsafe extern "C" fn compare(
    first: *const c_void,
    second: *const c_void,
    bytes: usize,
    caller: u64,
    entry: u32,
) -> c_int {
    let call = Call::new(next::function(entry), (first as u64, second as u64), bytes);
    // SAFETY: the caller's arguments.
    let looked = unsafe { next::compare(first, second, bytes.min(FIRST_LOOK)) };
    if looked != 0 {
        call.account(&Done::by_cpu(Reason::Differs), 0);
        return looked;
    }
    let mut result = 0;
    // SAFETY: as above.
    let by_cpu = |at: u64, end: u64| unsafe {
        let at_bytes = usize_from(at);
        let (first, second) =
            (first.wrapping_byte_add(at_bytes), second.wrapping_byte_add(at_bytes));
        result = next::compare(first, second, usize_from(end - at));
    };
    call.run(caller, by_cpu);
    result
}

/// A large call: operands as descriptors have them.
struct Call {
    function: Function,
    first: u64,
    second: u64,
    bytes: u64,
}

/// What became of it while this library had it.
struct Done {
    /// Bytes from the first on that the device has done, or found equal.
    device_bytes: u64,
    /// Where the CPU's share begins, which is done.
    share_at: Option<u64>,
    /// Why the rest is the CPU's.
    reason: Reason,
    /// Whether a device was tried.
    is_tried: bool,
}

impl Done {
    fn by_cpu(reason: Reason) -> Self {
        Self { device_bytes: 0, share_at: None, reason, is_tried: false }
    }
}

impl Call {
    fn new(function: Function, (first, second): (u64, u64), bytes: usize) -> Self {
        Self { function, first, second, bytes: bytes as u64 }
    }

    /// Runs it. `by_cpu` does the bytes from an offset up to another one.
    fn run(&self, caller: u64, mut by_cpu: impl FnMut(u64, u64)) {
        let begun = now();
        let done = match self.begin(caller) {
            Ok(turn) => turn.run(self, &mut by_cpu),
            Err(reason) => Done::by_cpu(reason),
        };
        // From here on the thread is outside: the C library may fault, and a handler may not return.
        let end = done.share_at.unwrap_or(self.bytes);
        if done.device_bytes < end || self.bytes == 0 {
            by_cpu(done.device_bytes, end);
        }
        self.account(&done, now().wrapping_sub(begun));
    }

    /// Whether a device is to be tried; if not, why.
    fn begin(&self, caller: u64) -> Result<Turn, Reason> {
        let settings = settings::current().ok_or(Reason::NoQueue)?;
        if self.bytes < settings.least_bytes_tried(self.function) {
            return Err(Reason::Small);
        }
        if self.overlaps() || self.passes_the_end() {
            return Err(Reason::Overlap);
        }
        if callers::is_inside(caller) {
            return Err(Reason::Inside);
        }
        let class = class(self.bytes);
        if settings.tunes && !tuning::is_for_device(self.function, class, local::turn()) {
            return Err(Reason::Tuned);
        }
        let process = process::current().ok_or(Reason::NoQueue)?;
        if !process.is_open.load(Ordering::Acquire) {
            return Err(Reason::NoQueue);
        }
        let inside = Inside::enter().ok_or(Reason::Inside)?;
        Ok(Turn { settings, process, _inside: inside })
    }

    /// Whether bytes of the destination are bytes of the source: what is half done cannot be done again.
    fn overlaps(&self) -> bool {
        let copies = matches!(self.function, Function::Copy | Function::Move);
        copies && self.first.abs_diff(self.second) < self.bytes
    }

    fn passes_the_end(&self) -> bool {
        let passes = |address: u64| address.checked_add(self.bytes).is_none();
        passes(self.second) || self.function != Function::Fill && passes(self.first)
    }

    /// The descriptor of a part.
    fn part(&self, at: u64, bytes: u64) -> Descriptor {
        let first = match self.function {
            Function::Fill => self.first,
            _ => self.first.wrapping_add(at),
        };
        Descriptor::of(self.function.opcode())
            .with_first(first)
            .with_second(self.second.wrapping_add(at))
            .with_size(low_u32(bytes))
    }

    fn account(&self, done: &Done, cycles: u64) {
        let Some(settings) = settings::current() else { return };
        if settings.tunes && (done.is_tried || done.reason == Reason::Tuned) {
            tuning::learn(self.function, class(self.bytes), done.is_tried, cycles);
        }
        if report::is_wanted()
            && let Some(process) = process::current()
        {
            process.counts.add(&counts::Ended {
                function: self.function,
                bytes: self.bytes,
                device_bytes: done.device_bytes,
                cycles,
                reason: done.reason,
            });
        }
    }
}

/// A call that a device is tried for.
struct Turn {
    settings: &'static Settings,
    process: &'static Process,
    _inside: Inside,
}

impl Turn {
    fn run(self, call: &Call, by_cpu: &mut impl FnMut(u64, u64)) -> Done {
        let most = portals::most_transfer_bytes().clamp(1, u32::MAX.into());
        let mut end = call.bytes;
        let mut done =
            Done { device_bytes: 0, share_at: None, reason: Reason::Share, is_tried: true };
        while done.device_bytes < end {
            let at = done.device_bytes;
            let share_at = if at == 0 { self.share_at(call) } else { end };
            let bytes = (share_at - at).min(most);
            let Some(under_way) = self.submit(call, at, bytes) else {
                done.reason = Reason::Full;
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
            let ended = under_way.wait(self.settings.wait).map_err(Partly::from);
            match ended.and_then(|ended| judge(call.function, &ended, bytes)) {
                Ok(part) if part == bytes => done.device_bytes += bytes,
                // The first difference: the C library says which way.
                Ok(part) => {
                    done.device_bytes += part;
                    done.reason = Reason::Differs;
                    break;
                }
                Err(Partly { bytes, reason }) => {
                    done.device_bytes += bytes;
                    done.reason = reason;
                    break;
                }
            }
        }
        done
    }

    /// Where the CPU's share begins; the end of the call if it has none.
    fn share_at(&self, call: &Call) -> u64 {
        // Ranges that are compared may end for the program where they differ.
        if call.function == Function::Compare {
            return call.bytes;
        }
        let share = if self.settings.tunes { tuning::cpu_share() } else { self.settings.cpu_share };
        let share_bytes = call.bytes / 256 * u64::from(share) / LINE * LINE;
        (call.bytes - share_bytes).max(1)
    }

    fn submit(&self, call: &Call, at: u64, bytes: u64) -> Option<UnderWay> {
        let descriptor = call.part(at, bytes);
        descriptors::begin(self.process, &descriptor, call.function.opcode(), self.settings)
    }
}

/// What a device has done of a part that it has not ended.
struct Partly {
    bytes: u64,
    reason: Reason,
}

impl From<Reason> for Partly {
    fn from(reason: Reason) -> Self {
        Self { bytes: 0, reason }
    }
}

/// Bytes of a part that are done, or equal: all of them, or those before a difference.
fn judge(function: Function, ended: &Ended, bytes: u64) -> Result<u64, Partly> {
    let completed = u64::from(ended.completed).min(bytes);
    match ended.status & !FAULT_ON_WRITE {
        status::SUCCESS if function == Function::Compare && ended.result != 0 => {
            Ok(completed.min(bytes - 1))
        }
        status::SUCCESS => Ok(bytes),
        status::PAGE_FAULT | status::PAGE_REQUEST_INVALID => {
            // A move that went backwards has done its last bytes, and not its first ones.
            let is_backwards = function != Function::Compare && ended.result != 0;
            let bytes = if is_backwards { 0 } else { completed };
            Err(Partly { bytes, reason: Reason::Fault })
        }
        _ => Err(Partly { bytes: 0, reason: Reason::Hardware }),
    }
}

/// The time-stamp counter, if anything is timed.
fn now() -> u64 {
    let is_timed = report::is_wanted() || settings::current().is_some_and(|it| it.tunes);
    // SAFETY: it reads a counter.
    if is_timed { unsafe { _rdtsc() } } else { 0 }
}

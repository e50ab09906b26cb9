//! The report: statistics that are written at the end of the program or on a signal, if they are
//! requested.
//!
//! A report may be written by a signal handler: so it is formatted into static memory, and written by one
//! system call, so that reports of several processes do not mix.

use crate::counts::{CpuReason, Sum};
use crate::functions::MemoryFunction;
use crate::known_queues;
use crate::process::{self, Process};
use crate::settings::{self, PreloadSettings, ReportDestination};
use crate::size_classes::CLASSES;
use dsa_client::clock::now_ns;
use dsa_client::queues::SharingMode;
use std::arch::x86_64::_rdtsc;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static IS_WANTED: AtomicBool = AtomicBool::new(false);
/// Whether a thread is writing a report, which no other one does meanwhile.
static IS_WRITING: AtomicBool = AtomicBool::new(false);
/// Time-stamp counter and clock when counting began.
static BEGUN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Problems with queues that the settings name.
static TROUBLES: OnceLock<Vec<String>> = OnceLock::new();

/// Whether calls are counted.
#[inline]
pub fn is_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

/// Begins to count, if the settings request statistics.
pub fn begin(settings: &PreloadSettings, troubles: Vec<String>) {
    let _ = TROUBLES.set(troubles);
    if settings.statistics.is_none() && settings.signal.is_none() {
        return;
    }
    BEGUN[0].store(cycles(), Ordering::Relaxed);
    BEGUN[1].store(now_ns(), Ordering::Relaxed);
    IS_WANTED.store(true, Ordering::Release);
    let Some(signal) = settings.signal else { return };
    // SAFETY: a zeroed action is valid; its fields are set before use.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Writes a report at the end of the program, if the settings name a destination.
pub extern "C" fn at_exit() {
    if settings::current().is_some_and(|settings| settings.statistics.is_some()) {
        write();
    }
}

unsafe extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: each thread has its own errno.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        write();
        *errno = kept;
    }
}

fn cycles() -> u64 {
    // SAFETY: it reads a counter.
    unsafe { _rdtsc() }
}

/// A text of at most N bytes, which is cut if it has no room.
struct ReportText<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> ReportText<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Write for ReportText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let part = text.len().min(room.len());
        room[..part].copy_from_slice(&text.as_bytes()[..part]);
        self.length += part;
        Ok(())
    }
}

static mut REPORT: ReportText<{ 32 << 10 }> = ReportText::new();

fn write() {
    let (Some(settings), Some(process)) = (settings::current(), process::current()) else { return };
    if !is_wanted() || IS_WRITING.swap(true, Ordering::Acquire) {
        return;
    }
    let report = &raw mut REPORT;
    // SAFETY: one thread at a time writes.
    let text = unsafe { &mut *report };
    text.length = 0;
    // A text that is cut is not an error.
    let _ = describe(text, settings, process);
    send(settings.statistics.as_ref().unwrap_or(&ReportDestination::StandardError), text);
    IS_WRITING.store(false, Ordering::Release);
}

fn send<const N: usize>(destination: &ReportDestination, text: &ReportText<N>) {
    let all = |file: c_int| {
        // SAFETY: the bytes of the text.
        unsafe { libc::write(file, text.bytes.as_ptr().cast(), text.length) };
    };
    let ReportDestination::File(name) = destination else { return all(libc::STDERR_FILENO) };
    let mut path = ReportText::<4096>::new();
    let mut parts = name.split("%p");
    let _ = path.write_str(parts.next().unwrap_or_default());
    for part in parts {
        let _ = write!(path, "{}{part}", std::process::id());
    }
    let Ok(path) = CStr::from_bytes_until_nul(&path.bytes) else { return };
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
    // SAFETY: the name ends with zero; this function owns the file.
    unsafe {
        let file = libc::open(path.as_ptr(), flags, 0o600);
        if file >= 0 {
            all(file);
            libc::close(file);
        }
    }
}

fn describe(out: &mut impl Write, settings: &PreloadSettings, process: &Process) -> fmt::Result {
    writeln!(out, "skipline-dsa-preload: process {} ({})", std::process::id(), program())?;
    let known = known_queues::known();
    write!(out, "queues:")?;
    for queue in known.iter().map(|known| &known.queue) {
        let mode = if queue.mode == SharingMode::Shared { "shared" } else { "dedicated" };
        write!(out, " {} ({mode})", queue.name)?;
    }
    writeln!(out, "{}", if known.is_empty() { " none" } else { "" })?;
    writeln!(out, "function by least_bytes calls bytes ns_per_call")?;
    let cycles_per_ns = cycles_per_ns();
    for function in MemoryFunction::ALL {
        for class in 0..CLASSES {
            let number = function as usize;
            let sums = [("device", &process.counts.device), ("cpu", &process.counts.cpu)];
            for (by, sums) in sums {
                row(out, (function.name(), by), class, &sums[number][class], cycles_per_ns)?;
            }
        }
    }
    for function in MemoryFunction::ALL {
        for ((_, words), sum) in
            CpuReason::ALL.iter().zip(&process.counts.reasons[function as usize])
        {
            if let Some((calls, bytes, _)) = sum.read() {
                writeln!(out, "{} by cpu, {words}: {calls} calls, {bytes} bytes", function.name())?;
            }
        }
    }
    let troubles = settings.troubles.iter().chain(TROUBLES.get().into_iter().flatten());
    troubles.into_iter().try_for_each(|trouble| writeln!(out, "note: {trouble}"))
}

fn row(
    out: &mut impl Write,
    (function, by): (&str, &str),
    class: usize,
    sum: &Sum,
    cycles_per_ns: f64,
) -> fmt::Result {
    let Some((calls, bytes, cycles)) = sum.read() else { return Ok(()) };
    #[expect(clippy::cast_precision_loss, reason = "digits beyond the eighth do not matter")]
    let ns = cycles as f64 / cycles_per_ns / calls.max(1) as f64;
    writeln!(out, "{function} {by} {} {calls} {bytes} {ns:.0}", 1_u64 << class)
}

fn cycles_per_ns() -> f64 {
    let passed = |now: u64, begun: &AtomicU64| now.saturating_sub(begun.load(Ordering::Relaxed));
    let (cycles, ns) = (passed(cycles(), &BEGUN[0]), passed(now_ns(), &BEGUN[1]));
    #[expect(clippy::cast_precision_loss, reason = "digits beyond the eighth do not matter")]
    let ratio = cycles.max(1) as f64 / ns.max(1) as f64;
    ratio
}

/// The name of the program.
fn program() -> &'static str {
    unsafe extern "C" {
        static program_invocation_short_name: *const c_char;
    }
    // SAFETY: the C library's variable is a text that ends with zero, or null before it is set.
    let name = unsafe {
        match program_invocation_short_name.is_null() {
            true => c"",
            false => CStr::from_ptr(program_invocation_short_name),
        }
    };
    name.to_str().unwrap_or("?")
}

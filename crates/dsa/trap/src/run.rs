//! The run that this process belongs to.

use dsa_run::registers::{RunRegisters, SharedRegisters, process_namespace};
use dsa_run::requests::SOCKET;
use dsa_run::{REGISTERS_FILE, RUN_DIRECTORY};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The run of this process.
pub struct CurrentRun {
    /// Registers of the devices of the run.
    pub registers: &'static RunRegisters,
    /// Directory of the run.
    pub directory: PathBuf,
    /// Path of the socket for requests to the supervisor, if the run has no namespaces.
    pub requests: Option<PathBuf>,
}

static RUN: OnceLock<CurrentRun> = OnceLock::new();

/// Progress of the start of this library: [`NOT_STARTED`], [`STARTED`], or the thread that starts it.
static PROGRESS: AtomicU64 = AtomicU64::new(NOT_STARTED);
const NOT_STARTED: u64 = 0;
const STARTED: u64 = 1;

unsafe extern "C" {
    /// Starts this library. The function is above all others, which is why its symbol names it here.
    fn skipline_dsa_trap_start();
}

/// The run of this process; `None` outside of one. The first call joins the run: constructors of libraries
/// run in any order, and one that comes before that of this library may open a queue.
#[inline]
pub fn current() -> Option<&'static CurrentRun> {
    if PROGRESS.load(Ordering::Acquire) != STARTED {
        start();
    }
    RUN.get()
}

/// Whether the constructor of this library has begun.
static IS_CONSTRUCTED: AtomicBool = AtomicBool::new(false);

/// Starts this library, if that is not done yet: to be called by its constructor.
pub fn construct() -> Option<&'static CurrentRun> {
    IS_CONSTRUCTED.store(true, Ordering::Release);
    current()
}

/// Starts this library, once. A call that finds no run begins again while other libraries are constructed: a
/// sanitizer makes calls before the C library has an environment.
#[cold]
fn start() {
    let own = crate::context::thread_pointer();
    match PROGRESS.compare_exchange(NOT_STARTED, own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: a function of this library without arguments.
            unsafe { skipline_dsa_trap_start() };
            let is_final = RUN.get().is_some() || IS_CONSTRUCTED.load(Ordering::Acquire);
            PROGRESS.store(if is_final { STARTED } else { NOT_STARTED }, Ordering::Release);
        }
        // A call that the start itself makes.
        Err(thread) if thread == own => {}
        Err(_) => {
            while ![NOT_STARTED, STARTED].contains(&PROGRESS.load(Ordering::Acquire)) {
                std::thread::yield_now();
            }
        }
    }
}

/// Joins the run that the environment names. Returns false if there is none, or it cannot be joined.
pub fn join() -> bool {
    let Some(directory) = std::env::var_os(RUN_DIRECTORY).map(PathBuf::from) else { return false };
    match SharedRegisters::open(&directory.join(REGISTERS_FILE)) {
        Ok(registers) => {
            let registers = registers.forever();
            release_previous_program(registers);
            let requests = Some(directory.join(SOCKET)).filter(|path| path.exists());
            RUN.set(CurrentRun { registers, directory, requests }).is_ok()
        }
        // A library of another release, or a run that has ended: this program has no device.
        Err(_) => false,
    }
}

/// Releases the queue entries of the program that this process was before `exec`. Its engines have ended, and
/// its entries would otherwise stay occupied until the process ends, so that the queue would not drain.
fn release_previous_program(registers: &RunRegisters) {
    if registers.process_namespace.load(Ordering::Acquire) != process_namespace() {
        return;
    }
    registers.release_process(std::process::id());
}

//! Functions of the C library that programs call for the file of a queue: `mmap`, `munmap`, `write`.

use crate::engines;
use crate::handler;
use crate::identities::identify;
use crate::libc_functions::{errno, next, set_errno};
use crate::portals;
use crate::private_libc;
use crate::run;
use crate::signals::{self, masks, stacks};
use crate::thread_locals::local;
use dsa::descriptor::Descriptor;
use dsa::device::EnqueueAnswer;
use dsa::hardware::{DESCRIPTOR_BYTES, Opcode, PORTAL_BYTES, RECORD_BYTES};
use dsa_run::{Identity, WRITE_IN_PROCESS};
use libc::{c_int, off_t, size_t, ssize_t};
use std::ffi::c_void;

/// `mmap` of the C library. It adds a portal if the file is that of a queue.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { map(address, bytes, protection, flags, file, offset) }
}

/// Maps memory for the program; a portal, if the file is that of a queue.
unsafe fn map(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let is_shared = flags & (libc::MAP_SHARED | libc::MAP_PRIVATE) != libc::MAP_PRIVATE;
    let is_portal = file >= 0 && is_shared && flags & libc::MAP_ANONYMOUS == 0;
    let identity = if is_portal { identify(file) } else { None };
    let refusal = identity.and_then(|identity| {
        // SAFETY: a system call without arguments.
        let process = unsafe { libc::getpid() }.cast_unsigned();
        (bytes > PORTAL_BYTES)
            .then_some(libc::EINVAL)
            .or_else(|| (identity.process != process).then_some(libc::EPERM))
    });
    if let Some(error) = refusal {
        set_errno(error);
        return libc::MAP_FAILED;
    }
    let mapped = next!(c"mmap"
        as fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;
        address, bytes, protection, flags, file, offset);
    if mapped == libc::MAP_FAILED {
        return mapped;
    }
    if flags & libc::MAP_FIXED != 0 {
        portals::remove(mapped as u64, bytes as u64);
    }
    let Some(identity) = identity else { return mapped };
    handler::install();
    // SAFETY: the page has just been mapped.
    unsafe { libc::madvise(mapped, bytes, libc::MADV_DONTFORK) };
    if let Err(error) = portals::add(mapped as u64, identity) {
        // SAFETY: as above.
        unsafe { private_libc::munmap(mapped, bytes) };
        set_errno(error);
        return libc::MAP_FAILED;
    }
    mapped
}

/// `mmap64` of the C library, which is the same function as [`mmap`] on this machine.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    bytes: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments; both are one function on this machine.
    unsafe { map(address, bytes, protection, flags, file, offset) }
}

/// `munmap` of the C library. It removes the portals in the range.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, bytes: size_t) -> c_int {
    if run::current().is_some() {
        portals::remove(address as u64, bytes as u64);
    }
    next!(c"munmap" as fn(*mut c_void, size_t) -> c_int; address, bytes)
}

/// `write` of the C library. It executes the descriptors that are written to a queue's file.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, from: *const c_void, bytes: size_t) -> ssize_t {
    let written = next!(c"write" as fn(c_int, *const c_void, size_t) -> ssize_t; file, from, bytes);
    if written >= 0 {
        return written;
    }
    let error = errno();
    // The supervisor returns this error only for a queue's file, whose descriptors this process executes. A
    // file in memory that may not grow returns EPERM.
    let has_no_namespaces = run::current().is_some_and(|run| run.requests.is_some());
    if error != if has_no_namespaces { libc::EPERM } else { WRITE_IN_PROCESS } {
        return written;
    }
    match identify(file) {
        Some(identity) => submit(&identity, from as u64, bytes / DESCRIPTOR_BYTES),
        None => {
            set_errno(error);
            written
        }
    }
}

/// Submits descriptors as the driver's `write` does. Returns the number of bytes taken; -1 with the first
/// error in `errno` if none was taken.
fn submit(identity: &Identity, from: u64, count: usize) -> ssize_t {
    // SAFETY: a system call without arguments.
    if unsafe { libc::getpid() }.cast_unsigned() != identity.process {
        set_errno(libc::EPERM);
        return -1;
    }
    // A handler of the program may write on the alternate stack.
    let is_on_alternate = stacks::current().ss_flags & libc::SS_ONSTACK != 0;
    let outer = local().handles_on_alternate.replace(is_on_alternate.into());
    let mut taken = 0;
    let error = loop {
        if taken == count {
            break 0;
        }
        let at = from + (taken * DESCRIPTOR_BYTES) as u64;
        // A signal handler that submits must not wait for a lock that its own thread holds.
        match masks::without_signals(|| submit_one(identity, at)) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    local().handles_on_alternate.set(outer);
    signals::raise_postponed();
    if taken == 0 && error != 0 {
        set_errno(error);
        return -1;
    }
    (taken * DESCRIPTOR_BYTES).cast_signed()
}

fn submit_one(identity: &Identity, from: u64) -> Result<(), c_int> {
    /// Device version for which the driver refuses batches in `write`.
    const VERSION_1: u32 = 0x100;
    let mut bytes: [u8; DESCRIPTOR_BYTES] = dsa::memory::load(from).ok_or(libc::EFAULT)?;
    bytes[..4].copy_from_slice(&identity.pasid.to_le_bytes());
    let descriptor = Descriptor(bytes);
    let queue = engines::serve(identity)?;
    let is_batch = descriptor.opcode() == Some(Opcode::Batch);
    let is_refused = is_batch && queue.capabilities().version == VERSION_1;
    if is_refused || !descriptor.record().is_multiple_of(RECORD_BYTES as u64) {
        return Err(libc::EINVAL);
    }
    if queue.is_dedicated() {
        queue.post(&descriptor);
        return Ok(());
    }
    /// Number of tries, the driver's default of `enqcmds_retries`.
    const TRIES: u32 = 32;
    for _ in 0..TRIES {
        if queue.enqueue(&descriptor) == EnqueueAnswer::Accepted {
            return Ok(());
        }
        std::thread::yield_now();
    }
    Err(libc::EAGAIN)
}

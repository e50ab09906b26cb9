//! Alternate signal stacks that are too small for the handler of this library.
//!
//! The kernel accepts stacks of 2 KiB, enough for a handler of a few lines. The handler of this library
//! and the registers that the kernel saves need more, and would write below the stack. The program still
//! sees the stack that it has set, and the kernel gets a larger one, on which the program's handlers run
//! too.

use super::masks;
use crate::libc_functions::next;
use crate::private_libc;
use crate::run;
use crate::thread_locals::local;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Stack of the handler in bytes, without the frames of the kernel: until a descriptor is executed, which
/// has a stack of its own, a build without optimisation takes more than 12 KiB.
const HANDLER_BYTES: usize = 16 << 10;
/// Bytes of a stack of this library, without the frames of the kernel: enough for a program's handler as
/// well.
const OWN_BYTES: usize = 64 << 10;
/// Bytes of the largest frame without tile registers: registers of AVX-512, legacy registers, the kernel's
/// information on the signal, and red zone.
const FRAME_BYTES_WITHOUT_TILES: usize = 3584;

/// Least size of a stack in bytes: the frame of the trapped instruction, and one more, as its operand may
/// fault. Tile registers, which only some programs have requested from the kernel, are far larger than
/// all others.
fn least_bytes() -> usize {
    /// The request of `arch_prctl`, and the bit of tile data [kernel: Documentation/arch/x86/xstate.rst].
    const ARCH_GET_XCOMP_PERM: libc::c_long = 0x1022;
    const TILE_DATA: u64 = 1 << 18;
    let mut permitted = 0_u64;
    // SAFETY: the request fills a number in, and fails on kernels that do not know it.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &raw mut permitted) };
    let has_tiles = permitted & TILE_DATA != 0;
    let most = if has_tiles { usize::MAX } else { FRAME_BYTES_WITHOUT_TILES };
    HANDLER_BYTES + 2 * frame_bytes().unwrap_or(FRAME_BYTES_WITHOUT_TILES).min(most)
}

/// Bytes of the largest frame that the kernel writes for a signal on this CPU; `None` if it does not
/// report it.
fn frame_bytes() -> Option<usize> {
    // SAFETY: a look at what the kernel has given to this process.
    let bytes = units::narrow::usize_from(unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) });
    (bytes != 0).then_some(bytes)
}

fn own_bytes() -> usize {
    OWN_BYTES + 2 * frame_bytes().unwrap_or(0)
}

/// The C library's `sigaltstack`.
unsafe fn set(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    next!(c"sigaltstack" as fn(*const libc::stack_t, *mut libc::stack_t) -> c_int; new, old)
}

/// The alternate stack that the kernel has for this thread.
pub fn current() -> libc::stack_t {
    let mut stack = MaybeUninit::uninit();
    // SAFETY: the call fills the stack in.
    unsafe {
        private_libc::sigaltstack(std::ptr::null(), stack.as_mut_ptr());
        stack.assume_init()
    }
}

/// `sigaltstack` of the C library. It sets a larger stack in place of one that is too small.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if run::current().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { set(new, old) };
    }
    // SAFETY: the caller's pointers are null or valid; the two may be one.
    unsafe {
        let before = program_stack(current());
        if let Some(new) = new.as_ref() {
            // A handler may not interrupt this half-way: it may set a stack itself.
            let result = masks::without_signals(|| replace(new));
            if result != 0 {
                return result;
            }
        }
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    0
}

/// Converts the stack that the kernel has to the one that the program has set.
fn program_stack(mut stack: libc::stack_t) -> libc::stack_t {
    let local = local();
    if local.stack_bytes.get() != 0 {
        let address = units::narrow::usize_from(local.stack.get());
        stack.ss_sp = std::ptr::with_exposed_provenance_mut(address);
        stack.ss_size = units::narrow::usize_from(local.stack_bytes.get());
    }
    stack
}

/// Sets an alternate stack. If it is too small, sets a larger one in its place.
fn replace(new: &libc::stack_t) -> c_int {
    let is_small = new.ss_flags & libc::SS_DISABLE == 0
        && (libc::MINSIGSTKSZ..least_bytes()).contains(&new.ss_size);
    if !is_small {
        // SAFETY: the caller's stack.
        let result = unsafe { set(new, std::ptr::null_mut()) };
        if result == 0 {
            local().stack_bytes.set(0);
            free_own_stack();
        }
        return result;
    }
    let Some(own) = own_stack() else { return -1 };
    let larger = libc::stack_t { ss_sp: own, ss_flags: new.ss_flags, ss_size: own_bytes() };
    // SAFETY: the stack is this thread's until it sets another one.
    let result = unsafe { set(&raw const larger, std::ptr::null_mut()) };
    if result == 0 {
        local().stack.set(new.ss_sp as u64);
        local().stack_bytes.set(new.ss_size as u64);
    }
    result
}

/// The stack that this library has for the thread, allocated at the first call. A thread that ends without
/// disabling its alternate stack leaks it.
fn own_stack() -> Option<*mut libc::c_void> {
    let known = local().own_stack.get();
    if known != 0 {
        return Some(std::ptr::with_exposed_provenance_mut(units::narrow::usize_from(known)));
    }
    // SAFETY: a new mapping, where the kernel likes.
    let mapped = unsafe {
        private_libc::mmap(
            std::ptr::null_mut(),
            own_bytes(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    local().own_stack.set(mapped as u64);
    Some(mapped)
}

/// Unmaps the stack that this library has for the thread, if any. The kernel does not use it any more.
fn free_own_stack() {
    let own = local().own_stack.replace(0);
    if own != 0 {
        let address = std::ptr::with_exposed_provenance_mut(units::narrow::usize_from(own));
        // SAFETY: the mapping of `own_stack`.
        unsafe { private_libc::munmap(address, own_bytes()) };
    }
}

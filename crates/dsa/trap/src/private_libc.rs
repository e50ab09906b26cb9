//! The C library's own functions, which no library of the program can take the place of.
//!
//! A library of the program may define `memcpy`, `malloc` or `write` itself and submit to a queue in them,
//! whose engine is in this process: the engine would wait for itself. So all calls of this library, those
//! of Rust's standard library included, are linked (`--wrap`, see the build script) to stubs, which jump
//! through a table. [`fill`] finds the functions in the tables of symbols of the loaded libraries, as the
//! dynamic loader does, but in the C library alone.
//!
//! The functions that this library defines for the program have such names too: nothing here may call them, as
//! the call would be linked to the C library's function.
//!
//! Source: System V ABI, "Dynamic Section"; GNU hash table (binutils, `bfd/elflink.c`); glibc's `link.h`.

mod symbols;

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names of the libraries of the C library and of the compiler, as their paths end.
static LIBRARIES: [&CStr; 6] = [
    c"libc.so.6",
    c"libgcc_s.so.1",
    c"libpthread.so.0",
    c"libdl.so.2",
    c"librt.so.1",
    c"ld-linux-x86-64.so.2",
];

std::arch::global_asm!(
    // Before the table is filled, each entry leads to `private_first_call`, which fills it.
    ".macro private_function name, number",
    ".pushsection .data.rel.skipline_private, \"aw\", @progbits",
    ".quad skipline_dsa_private_first_call",
    ".popsection",
    ".pushsection .text.skipline_private, \"ax\", @progbits",
    ".globl __wrap_\\name",
    ".hidden __wrap_\\name",
    ".type __wrap_\\name, @function",
    "__wrap_\\name:",
    // R11 belongs to no argument and is not kept by calls.
    "lea r11, [rip + skipline_dsa_private_table + 8 * \\number]",
    "jmp qword ptr [r11]",
    ".size __wrap_\\name, . - __wrap_\\name",
    ".popsection",
    ".endm",
    ".pushsection .data.rel.skipline_private, \"aw\", @progbits",
    ".p2align 3",
    ".globl skipline_dsa_private_table",
    ".hidden skipline_dsa_private_table",
    "skipline_dsa_private_table:",
    ".popsection",
    ".pushsection .text.skipline_private, \"ax\", @progbits",
    "skipline_dsa_private_first_call:",
    "push rbp",
    "mov rbp, rsp",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push rax",
    "push r11",
    "sub rsp, 128",
    "and rsp, -16",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "call {fill}",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "lea rsp, [rbp - 64]",
    "pop r11",
    "pop rax",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rbp",
    "jmp qword ptr [r11]",
    ".popsection",
    fill = sym fill,
);

// Registers no destructor of a thread's variables: the C library's function allocates by the program's `calloc`.
// Engines live as long as the process; of other threads some bytes leak where Rust describes a thread.
std::arch::global_asm!(
    ".globl __wrap___cxa_thread_atexit_impl",
    ".hidden __wrap___cxa_thread_atexit_impl",
    ".type __wrap___cxa_thread_atexit_impl, @function",
    "__wrap___cxa_thread_atexit_impl:",
    "xor eax, eax",
    "ret",
);

include!(concat!(env!("OUT_DIR"), "/private_functions.rs"));

unsafe extern "C" {
    #[link_name = "skipline_dsa_private_table"]
    static TABLE: [AtomicUsize; NAMES.len()];
}

/// Fills the table. It calls no function of the C library, not even those that the compiler adds.
///
/// A function that no library has ends the program at its first call: an old C library lacks it.
extern "C" fn fill() {
    for (number, name) in NAMES.iter().enumerate() {
        let found = LIBRARIES.iter().find_map(|library| symbols::find(library, name));
        let address = found.unwrap_or(missing as *const () as usize);
        // SAFETY: the table has an entry for each name.
        unsafe { TABLE[number].store(address, Ordering::Release) };
    }
}

/// Stands for a function that no library has.
extern "C" fn missing() -> ! {
    // SAFETY: an undefined instruction ends the program.
    unsafe { std::arch::asm!("ud2", options(noreturn)) }
}

/// The C library's functions that this library defines as well, under their private names.
mod functions {
    use libc::{c_int, c_void, off_t, size_t, ssize_t};

    unsafe extern "C" {
        #[link_name = "__wrap_mmap"]
        pub fn mmap(
            address: *mut c_void,
            bytes: size_t,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: off_t,
        ) -> *mut c_void;
        #[link_name = "__wrap_open"]
        pub fn open(path: *const libc::c_char, flags: c_int, mode: libc::mode_t) -> c_int;
        #[link_name = "__wrap_munmap"]
        pub fn munmap(address: *mut c_void, bytes: size_t) -> c_int;
        #[link_name = "__wrap_write"]
        pub fn write(file: c_int, from: *const c_void, bytes: size_t) -> ssize_t;
        #[link_name = "__wrap_pthread_sigmask"]
        pub fn pthread_sigmask(
            how: c_int,
            new: *const libc::sigset_t,
            old: *mut libc::sigset_t,
        ) -> c_int;
        #[link_name = "__wrap_sigaction"]
        pub fn sigaction(
            signal: c_int,
            new: *const libc::sigaction,
            old: *mut libc::sigaction,
        ) -> c_int;
        #[link_name = "__wrap_sigaltstack"]
        pub fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int;
    }
}
pub use functions::*;

//! The entry points: the functions that programs call.
//!
//! Each compares the size with a limit, and jumps to the C library's function below it. All limits are 0
//! until the functions are resolved, so that the first calls, which may come before this library is
//! relocated, take loops of this library ([`next_functions::resolve`](crate::next_functions::resolve)).
//!
//! A call from the limit on goes to [`calls`], with its return address.

use crate::calls;
use crate::next_functions::{LIMITS, NEXT};
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

/// Defines entry points: name, arguments and result, number in [`NEXT`], the function for large calls,
/// and the loop.
macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $number:literal, $large:path, $plain:path;)+) => { $(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            naked_asm!(
                "endbr64",
                "cmp rdx, qword ptr [rip + {limits} + {at}]",
                "jae 2f",
                "jmp qword ptr [rip + {next} + {at}]",
                "2:",
                "cmp qword ptr [rip + {next} + {at}], 0",
                "je {plain}",
                "mov rcx, qword ptr [rsp]",
                "mov r8d, {number}",
                "jmp {large}",
                limits = sym LIMITS,
                next = sym NEXT,
                at = const 8 * $number,
                number = const $number,
                plain = sym $plain,
                large = sym $large,
            )
        }
    )+ };
}

/// Defines entry points of the checked forms, which get the size of the destination: if it is too small, the
/// C library handles the call.
macro_rules! checked_entries {
    ($($name:ident($middle:ty) = $number:literal, $large:path, $plain:path;)+) => { $(
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            to: *mut c_void,
            middle: $middle,
            bytes: usize,
            room: usize,
        ) -> *mut c_void {
            naked_asm!(
                "endbr64",
                "cmp rdx, qword ptr [rip + {limits} + {at}]",
                "jae 2f",
                "3:",
                "jmp qword ptr [rip + {next} + {at}]",
                "2:",
                "cmp rcx, rdx",
                "jb 3b",
                "cmp qword ptr [rip + {next} + {at}], 0",
                "je {plain}",
                "mov rcx, qword ptr [rsp]",
                "mov r8d, {number}",
                "jmp {large}",
                limits = sym LIMITS,
                next = sym NEXT,
                at = const 8 * $number,
                number = const $number,
                plain = sym $plain,
                large = sym $large,
            )
        }
    )+ };
}

entries! {
    memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void
        = 0, calls::copy, copy_plainly;
    memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void
        = 1, calls::copy, copy_plainly;
    memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void
        = 2, calls::fill, fill_plainly;
    memcmp(first: *const c_void, second: *const c_void, bytes: usize) -> c_int
        = 3, calls::compare, compare_plainly;
    bcmp(first: *const c_void, second: *const c_void, bytes: usize) -> c_int
        = 4, calls::compare, compare_plainly;
    mempcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void
        = 5, calls::copy_to_end, copy_to_end_plainly;
    __mempcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void
        = 6, calls::copy_to_end, copy_to_end_plainly;
}

checked_entries! {
    __memcpy_chk(*const c_void) = 7, calls::copy, copy_plainly;
    __memmove_chk(*const c_void) = 8, calls::copy, copy_plainly;
    __memset_chk(c_int) = 9, calls::fill, fill_plainly;
    __mempcpy_chk(*const c_void) = 10, calls::copy_to_end, copy_to_end_plainly;
}

/// The loop of memcpy and memmove: returns the destination.
#[unsafe(naked)]
unsafe extern "C" fn copy_plainly(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    naked_asm!("mov rax, rdi", "jmp {move}", move = sym move_plainly)
}

/// The loop of mempcpy: returns the end of the destination.
#[unsafe(naked)]
unsafe extern "C" fn copy_to_end_plainly(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    naked_asm!("lea rax, [rdi + rdx]", "jmp {move}", move = sym move_plainly)
}

/// Copies, backwards if the destination begins inside the source. Keeps RAX.
#[unsafe(naked)]
unsafe extern "C" fn move_plainly() {
    naked_asm!(
        "mov rcx, rdi",
        "sub rcx, rsi",
        "cmp rcx, rdx",
        "mov rcx, rdx",
        "jb 2f",
        "rep movsb",
        "ret",
        "2:",
        "lea rdi, [rdi + rdx - 1]",
        "lea rsi, [rsi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
    )
}

#[unsafe(naked)]
unsafe extern "C" fn fill_plainly(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void {
    naked_asm!("mov r8, rdi", "mov eax, esi", "mov rcx, rdx", "rep stosb", "mov rax, r8", "ret",)
}

#[unsafe(naked)]
unsafe extern "C" fn compare_plainly(
    first: *const c_void,
    second: *const c_void,
    bytes: usize,
) -> c_int {
    naked_asm!(
        "xor eax, eax",
        "2:",
        "test rdx, rdx",
        "je 3f",
        "movzx eax, byte ptr [rdi]",
        "movzx ecx, byte ptr [rsi]",
        "inc rdi",
        "inc rsi",
        "dec rdx",
        "sub eax, ecx",
        "je 2b",
        "3:",
        "ret",
    )
}

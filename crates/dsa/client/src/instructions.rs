//! The instructions that submit descriptors and wait for lines, by their encodings, so that neither
//! assembler nor compiler needs to know them [SDM vol. 2].

#![allow(unsafe_code)]

use dsa::descriptor::Descriptor;
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::LazyLock;

/// Instructions that the processor has [SDM vol. 2, CPUID leaf 7, ECX].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Whether it has UMONITOR, UMWAIT and TPAUSE (bit 5).
    pub waits_for_lines: bool,
    /// Whether it has MOVDIR64B (bit 28), or a handler emulates it.
    pub posts: bool,
    /// Whether it has ENQCMD (bit 29), or a handler emulates it.
    pub enqueues: bool,
}

impl Instructions {
    /// The instructions of this processor, read from CPUID once.
    #[must_use]
    pub fn detect() -> Self {
        static DETECTED: LazyLock<Instructions> = LazyLock::new(|| {
            // Leaf 0 reports the highest leaf of the processor.
            let ecx = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ecx } else { 0 };
            let are_emulated = has_emulating_handler();
            Instructions {
                waits_for_lines: ecx & 1 << 5 != 0,
                posts: are_emulated || ecx & 1 << 28 != 0,
                enqueues: are_emulated || ecx & 1 << 29 != 0,
            }
        });
        *DETECTED
    }
}

/// Whether this process has the library of `skipline-dsa run`, whose signal handlers emulate instructions
/// that the processor lacks. CPUID does not report them on machines where it cannot be made to fault.
fn has_emulating_handler() -> bool {
    // SAFETY: a look-up by a name that ends in a zero.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"skipline_dsa_does_instructions".as_ptr()) }
        .is_null()
}

/// Submits a descriptor by ENQCMD, and returns whether the queue has taken it.
///
/// # Safety
/// `portal` is an address in a mapped portal, aligned to 64 bytes. The caller answers for the memory that
/// the descriptor names until its record is written.
#[must_use]
pub unsafe fn enqueue(portal: *mut u8, descriptor: &Descriptor) -> bool {
    let refused: u8;
    // SAFETY: see above. SFENCE: the instruction is not ordered after earlier stores.
    unsafe {
        asm!(
            "sfence",
            ".byte 0xf2, 0x0f, 0x38, 0xf8, 0x01", // enqcmd rax, [rcx]
            "setz {refused}",
            in("rax") portal,
            in("rcx") descriptor.0.as_ptr(),
            refused = out(reg_byte) refused,
        );
    }
    refused == 0
}

/// Submits a descriptor by MOVDIR64B, a posted write without an answer.
///
/// # Safety
/// As for [`enqueue`].
pub unsafe fn post(portal: *mut u8, descriptor: &Descriptor) {
    // SAFETY: as above.
    unsafe {
        asm!(
            "sfence",
            ".byte 0x66, 0x0f, 0x38, 0xf8, 0x01", // movdir64b rax, [rcx]
            in("rax") portal,
            in("rcx") descriptor.0.as_ptr(),
        );
    }
}

/// Sleeps by UMONITOR and UMWAIT (state C0.1) until the line changes or `cycles` of the time-stamp counter
/// have passed; it may return sooner. `is_due` is called between the two instructions, since UMONITOR does
/// not see an earlier change. Only for processors with [`Instructions::waits_for_lines`].
pub fn wait_for_line(line: *const u8, cycles: u64, is_due: impl FnOnce() -> bool) {
    // SAFETY: it names an address and accesses nothing.
    unsafe { asm!(".byte 0xf3, 0x0f, 0xae, 0xf0", in("rax") line) }; // umonitor rax
    if is_due() {
        return;
    }
    // SAFETY: it reads a counter.
    let deadline = unsafe { std::arch::x86_64::_rdtsc() }.wrapping_add(cycles);
    // SAFETY: it waits.
    unsafe {
        asm!(
            ".byte 0xf2, 0x0f, 0xae, 0xf1", // umwait ecx
            in("ecx") 1,
            in("edx") deadline >> 32,
            in("eax") deadline & 0xffff_ffff,
        );
    }
}

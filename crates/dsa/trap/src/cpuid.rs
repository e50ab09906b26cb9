//! CPUID that reports the instructions, for programs that test for them before they use them.
//!
//! If the CPU can fault on CPUID and the kernel lets a process request that (`arch_prctl`, ARCH_SET_CPUID),
//! each CPUID of the program raises SIGSEGV, and the result of leaf 7 gets the bits. Otherwise such programs
//! see the CPU as it is, which `skipline-dsa doctor` reports.

use crate::context::TrapContext;
use iced_x86::Register;
use std::arch::x86_64::{__cpuid_count, CpuidResult};
use std::ffi::c_long;

/// The request of `arch_prctl` [kernel: arch/x86/include/uapi/asm/prctl.h].
const ARCH_SET_CPUID: c_long = 0x1012;
/// Leaf 7, subleaf 0, ECX: WAITPKG, MOVDIR64B, ENQCMD [SDM vol. 2, CPUID].
const WAITPKG: u32 = 1 << 5;
const MOVDIR64B: u32 = 1 << 28;
const ENQCMD: u32 = 1 << 29;
const ALL: u32 = WAITPKG | MOVDIR64B | ENQCMD;

/// Makes CPUID fault in this process from now on, if the CPU lacks one of the instructions.
pub fn trap() {
    let lacks = features(7, 0).ecx & ALL != ALL;
    let is_wanted = std::env::var_os("SKIPLINE_DSA_CPUID").is_none_or(|value| value != "real");
    if lacks && is_wanted {
        enable(false);
    }
}

/// Symbol that tells other libraries that MOVDIR64B and ENQCMD work in this process, even if CPUID cannot
/// report it. They look the name up, and do not call it.
#[unsafe(no_mangle)]
pub extern "C" fn skipline_dsa_does_instructions() {}

/// Writes the result of a CPUID that faulted to its registers, with the bits of the instructions set.
/// Returns false if its leaf and subleaf cannot be read.
#[must_use]
pub fn answer(context: &mut TrapContext) -> bool {
    let (Some(leaf), Some(subleaf)) = (context.get(Register::EAX), context.get(Register::ECX))
    else {
        return false;
    };
    enable(true);
    let mut result = features(units::narrow::fit(leaf), units::narrow::fit(subleaf));
    enable(false);
    if (leaf, subleaf) == (7, 0) {
        result.ecx |= ALL;
    }
    let registers = [
        (Register::EAX, result.eax),
        (Register::EBX, result.ebx),
        (Register::ECX, result.ecx),
        (Register::EDX, result.edx),
    ];
    for (register, value) in registers {
        context.set(register, value.into());
    }
    true
}

fn features(leaf: u32, subleaf: u32) -> CpuidResult {
    __cpuid_count(leaf, subleaf)
}

/// Lets this thread execute CPUID, or makes CPUID fault in it.
fn enable(is_executed: bool) {
    // SAFETY: the request takes a number, and fails where it is not known.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SET_CPUID, c_long::from(is_executed)) };
}

//! The instructions by their encodings, so that neither assembler nor CPU needs to know them [SDM vol. 2].

use dsa::descriptor::Descriptor;
use std::arch::asm;

/// Zero flag, as LAHF gives it; bit 1 is always set.
pub const ZERO: u8 = 0x40;
/// The status flags when none is set.
pub const NONE: u8 = 0x02;
/// Carry flag.
pub const CARRY: u8 = 0x01;

/// ENQCMD: the status flags after it. Before it all of them are set.
pub fn enqcmd(portal: *mut u8, descriptor: &Descriptor) -> (u8, bool) {
    let (flags, overflow): (u64, u8);
    // SAFETY: the kernel or its stand-in takes the 64 bytes, whatever they say; SFENCE is what software
    // does before it.
    unsafe {
        asm!(
            "sfence",
            // 0x7f + 1 overflows; SAHF then sets the other five.
            "mov dl, 0x7f",
            "add dl, 1",
            "mov r8, rax",
            "mov ah, 0xd7",
            "sahf",
            "mov rax, r8",
            ".byte 0xf2, 0x0f, 0x38, 0xf8, 0x01", // enqcmd rax, [rcx]
            "seto dl",
            "lahf",
            inout("rax") portal as u64 => flags,
            in("rcx") descriptor.0.as_ptr(),
            out("r8") _,
            out("dl") overflow,
        );
    }
    (flags.to_le_bytes()[1], overflow != 0)
}

/// MOVDIR64B.
pub fn movdir64b(portal: *mut u8, descriptor: &Descriptor) {
    // SAFETY: as `enqcmd`.
    unsafe { dsa_client::instructions::post(portal, descriptor) };
}

/// UMONITOR.
pub fn umonitor(line: *const u8) {
    // SAFETY: it names an address and accesses nothing.
    unsafe { asm!(".byte 0xf3, 0x0f, 0xae, 0xf0", in("rax") line) }; // umonitor rax
}

/// UMWAIT in the state C0.2: the status flags after it.
pub fn umwait(deadline: u64) -> u8 {
    let flags: u64;
    // SAFETY: it waits.
    unsafe {
        asm!(
            ".byte 0xf2, 0x0f, 0xae, 0xf1", // umwait ecx
            "lahf",
            in("ecx") 0,
            in("edx") deadline >> 32,
            inout("rax") deadline & 0xffff_ffff => flags,
        );
    }
    flags.to_le_bytes()[1]
}

/// TPAUSE in the state C0.1: the status flags after it.
pub fn tpause(deadline: u64) -> u8 {
    let flags: u64;
    // SAFETY: it waits.
    unsafe {
        asm!(
            ".byte 0x66, 0x0f, 0xae, 0xf1", // tpause ecx
            "lahf",
            in("ecx") 1,
            in("edx") deadline >> 32,
            inout("rax") deadline & 0xffff_ffff => flags,
        );
    }
    flags.to_le_bytes()[1]
}

/// A store of a 512-bit register: of 0, whose parts have a history, or of 17, which is AVX-512's alone.
#[target_feature(enable = "avx512f")]
pub fn store_512(portal: *mut u8, descriptor: &Descriptor, is_upper: bool) {
    let from = descriptor.0.as_ptr();
    // SAFETY: the source has 64 bytes; the destination is a portal.
    unsafe {
        if is_upper {
            asm!("vmovdqu64 zmm17, [{from}]", "vmovdqa64 [{to}], zmm17",
                from = in(reg) from, to = in(reg) portal, out("zmm17") _);
        } else {
            asm!("vmovdqu64 zmm0, [{from}]", "vmovdqa64 [{to}], zmm0",
                from = in(reg) from, to = in(reg) portal, out("zmm0") _);
        }
    }
}

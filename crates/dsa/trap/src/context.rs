//! The registers of the instruction that trapped.

use iced_x86::{Instruction, Register};
use std::ffi::c_int;

/// Flags that instructions set: CF, PF, AF, ZF, SF, OF [SDM vol. 1, 3.4.3].
const STATUS_FLAGS: i64 = 0x8d5;
const ZERO_FLAG: i64 = 1 << 6;
const DIRECTION_FLAG: i64 = 1 << 10;
/// Bit of a page fault's error code: the access was a write.
const WRITE: i64 = 1 << 1;

/// Offsets of the parts of a 512-bit register in the signal frame, which has the standard format of XSAVE.
/// Legacy registers and header have the same offset on all CPUs [SDM vol. 1, 13.4]. CPUID leaf 0xD has the
/// offsets of all others, which differ between vendors.
mod xsave {
    use std::arch::x86_64::__cpuid_count;
    use std::sync::atomic::{AtomicU32, Ordering};

    pub const XMM: usize = 160;
    pub const HEADER: usize = 512;
    /// Components of the header: SSE, AVX, upper halves of 0 to 15, registers 16 to 31.
    pub const SSE: u32 = 1;
    pub const AVX: u32 = 2;
    pub const UPPER_HALVES: u32 = 6;
    pub const UPPER_REGISTERS: u32 = 7;

    static OFFSETS: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

    /// Reads the offsets of the components by CPUID. It has to be called once before any signal: CPUID is
    /// slow in virtual machines, and may be trapped.
    pub fn learn() {
        if __cpuid_count(0, 0).eax < 0xd {
            return;
        }
        for component in [AVX, UPPER_HALVES, UPPER_REGISTERS] {
            let offset = __cpuid_count(0xd, component).ebx;
            OFFSETS[component as usize].store(offset, Ordering::Relaxed);
        }
    }

    /// Offset of a component in bytes from the start of the frame; `None` if the CPU does not have it.
    pub fn offset(component: u32) -> Option<usize> {
        let offset = OFFSETS[component as usize].load(Ordering::Relaxed);
        (offset != 0).then_some(offset as usize)
    }
}

/// Reads the layout of signal frames from the CPU. It has to be called before any signal is handled.
pub fn learn_layout() {
    xsave::learn();
}

/// The registers of an interrupted thread, in its signal frame.
pub struct TrapContext(*mut libc::ucontext_t);

impl TrapContext {
    /// The registers of the thread that a signal has interrupted.
    ///
    /// # Safety
    /// `context` is the argument of a signal handler, and outlives this value.
    pub unsafe fn new(context: *mut libc::ucontext_t) -> Self {
        Self(context)
    }

    /// Whether the handler runs on the alternate stack of the thread.
    pub fn is_on_alternate_stack(&self) -> bool {
        // SAFETY: the context is that of this handler.
        let stack = unsafe { (*self.0).uc_stack };
        let start = stack.ss_sp as u64;
        stack.ss_flags & libc::SS_DISABLE == 0
            && (start..start + stack.ss_size as u64).contains(&(self.0 as u64))
    }

    fn slot(&mut self, number: c_int) -> &mut i64 {
        let number = usize::try_from(number).unwrap_or_default();
        // SAFETY: the context is that of this handler.
        unsafe { &mut (*self.0).uc_mcontext.gregs[number] }
    }

    /// Address of the instruction that trapped.
    pub fn instruction_address(&mut self) -> u64 {
        self.slot(libc::REG_RIP).cast_unsigned()
    }

    /// Sets the thread to resume behind the instruction.
    pub fn skip(&mut self, instruction: &Instruction) {
        *self.slot(libc::REG_RIP) = instruction.next_ip().cast_signed();
    }

    /// Whether a write raised the page fault.
    pub fn faulted_on_write(&mut self) -> bool {
        *self.slot(libc::REG_ERR) & WRITE != 0
    }

    /// Sets ZF, and clears the other status flags.
    pub fn set_zero_flag_alone(&mut self, value: bool) {
        let flags = self.slot(libc::REG_EFL);
        *flags = *flags & !STATUS_FLAGS | if value { ZERO_FLAG } else { 0 };
    }

    /// Sets CF, and clears the other status flags.
    pub fn set_carry_flag_alone(&mut self, value: bool) {
        let flags = self.slot(libc::REG_EFL);
        *flags = *flags & !STATUS_FLAGS | i64::from(value);
    }

    /// Whether string instructions count down.
    pub fn counts_down(&mut self) -> bool {
        *self.slot(libc::REG_EFL) & DIRECTION_FLAG != 0
    }

    /// Value of a general register of 64 or 32 bits; `None` for other registers.
    pub fn get(&mut self, register: Register) -> Option<u64> {
        let value = self.slot(number_of(register.full_register())?).cast_unsigned();
        match register.size() {
            8 => Some(value),
            4 => Some(value & 0xffff_ffff),
            _ => None,
        }
    }

    /// Sets a general register. A register narrower than 32 bits keeps the other bits of its full register.
    pub fn set(&mut self, register: Register, value: u64) {
        let Some(number) = number_of(register.full_register()) else { return };
        let slot = self.slot(number);
        let before = slot.cast_unsigned();
        let new = match register.size() {
            8 => value,
            4 => value & 0xffff_ffff,
            2 => before & !0xffff | value & 0xffff,
            _ => before & !0xff | value & 0xff,
        };
        *slot = new.cast_signed();
    }

    /// Address of memory operand number `operand`; `None` if a register of it cannot be read.
    pub fn address(&mut self, instruction: &Instruction, operand: u32) -> Option<u64> {
        instruction.virtual_address(operand, 0, |register, _, _| match register {
            Register::FS => Some(thread_pointer()),
            // Flat in 64-bit mode; no program has a portal behind GS.
            Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
            register => self.get(register),
        })
    }

    /// The 64 bytes of a 512-bit register.
    pub fn wide(&self, register: Register) -> Option<[u8; 64]> {
        if !register.is_zmm() {
            return None;
        }
        let number = register.number();
        // SAFETY: the context is that of this handler; a thread that has such registers has a frame with
        // all of its components, in the standard format.
        let frame = unsafe { (*self.0).uc_mcontext.fpregs.cast::<u8>() };
        if frame.is_null() {
            return None;
        }
        // SAFETY: as above.
        let present = unsafe { frame.add(xsave::HEADER).cast::<u64>().read_unaligned() };
        let mut bytes = [0; 64];
        let mut take = |component: u32, offset: usize, to: std::ops::Range<usize>| {
            // A component that is not present has its initial state, which is zero.
            if present >> component & 1 != 0 {
                let length = to.len();
                // SAFETY: as above.
                let part = unsafe { std::slice::from_raw_parts(frame.add(offset), length) };
                bytes[to].copy_from_slice(part);
            }
        };
        if number >= 16 {
            let registers = xsave::offset(xsave::UPPER_REGISTERS)?;
            take(xsave::UPPER_REGISTERS, registers + (number - 16) * 64, 0..64);
        } else {
            let (second, upper) = (xsave::offset(xsave::AVX)?, xsave::offset(xsave::UPPER_HALVES)?);
            take(xsave::SSE, xsave::XMM + number * 16, 0..16);
            take(xsave::AVX, second + number * 16, 16..32);
            take(xsave::UPPER_HALVES, upper + number * 32, 32..64);
        }
        Some(bytes)
    }
}

/// The base of FS, read from the thread control block, which begins with its own address.
pub fn thread_pointer() -> u64 {
    let pointer: usize;
    // SAFETY: the C library's thread pointer is there in each thread.
    unsafe {
        std::arch::asm!("mov {0}, qword ptr fs:[0]", out(reg) pointer, options(nostack, pure, readonly));
    };
    pointer as u64
}

fn number_of(register: Register) -> Option<c_int> {
    let numbers = [
        (Register::RAX, libc::REG_RAX),
        (Register::RCX, libc::REG_RCX),
        (Register::RDX, libc::REG_RDX),
        (Register::RBX, libc::REG_RBX),
        (Register::RSP, libc::REG_RSP),
        (Register::RBP, libc::REG_RBP),
        (Register::RSI, libc::REG_RSI),
        (Register::RDI, libc::REG_RDI),
        (Register::R8, libc::REG_R8),
        (Register::R9, libc::REG_R9),
        (Register::R10, libc::REG_R10),
        (Register::R11, libc::REG_R11),
        (Register::R12, libc::REG_R12),
        (Register::R13, libc::REG_R13),
        (Register::R14, libc::REG_R14),
        (Register::R15, libc::REG_R15),
    ];
    numbers.into_iter().find(|(own, _)| *own == register).map(|(_, number)| number)
}

/// Reads up to 15 bytes of code at an address. Returns the bytes and the number of them that could be read: a
/// jump may have led to an unmapped page, or close to the end of a page.
pub fn code_at(address: u64) -> ([u8; 15], usize) {
    if let Some(code) = dsa::memory::load(address) {
        return (code, 15);
    }
    let mut code = [0; 15];
    for (place, at) in code.iter_mut().zip(address..) {
        match dsa::memory::load::<1>(at) {
            Some([byte]) => *place = byte,
            None => return (code, units::narrow::usize_from(at - address)),
        }
    }
    (code, 15)
}

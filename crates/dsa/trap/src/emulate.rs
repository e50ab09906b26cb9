//! Emulation of an instruction that trapped [SDM vol. 2: ENQCMD, MOVDIR64B, UMONITOR, UMWAIT, TPAUSE].

use crate::context::{TrapContext, code_at};
use crate::cpuid;
use crate::found_portals;
use crate::thread_locals::local;
use dsa::descriptor::Descriptor;
use dsa::device::EnqueueAnswer;
use dsa::hardware::DESCRIPTOR_BYTES;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::arch::x86_64::_rdtsc;
use std::ffi::c_int;

/// Result of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulation {
    /// The instruction was emulated.
    Done,
    /// The signal has nothing to do with a portal or these instructions: it goes to the program.
    NotOurs,
    /// The CPU would raise a general protection fault.
    Protection,
    /// The CPU would raise a page fault at this address.
    PageFault(u64),
}

/// Cycles that UMWAIT and TPAUSE wait at most: the kernel's default of `umwait_control/max_time`.
const LONGEST_WAIT_CYCLES: u64 = 100_000;
/// Bytes of an enqueue command that the CPU fills in: PASID, reserved bits and privilege.
const PRIVILEGE_AND_PASID: std::ops::Range<usize> = 0..4;

/// Makes the decoder build its tables, which allocates, before any signal.
pub fn prepare() {
    let _ = decode(&[0x90], 0);
}

/// Emulates the instruction that raised `signal`.
pub fn instruction(signal: c_int, context: &mut TrapContext) -> Emulation {
    let address = context.instruction_address();
    let (code, length) = code_at(address);
    let instruction = decode(&code[..length], address);
    let done = match instruction.mnemonic() {
        Mnemonic::Movdir64b => move_directly(context, &instruction),
        Mnemonic::Enqcmd => enqueue(context, &instruction),
        Mnemonic::Umonitor if signal == libc::SIGILL => {
            let address = context.get(instruction.op0_register());
            local().monitored.set(address.unwrap_or_default());
            Emulation::Done
        }
        Mnemonic::Umwait if signal == libc::SIGILL => match local().monitored.take() {
            // Without a monitored line it goes on at once.
            0 => wait_until(context, 0, None),
            line => wait(context, Some(line)),
        },
        Mnemonic::Tpause if signal == libc::SIGILL => wait(context, None),
        Mnemonic::Cpuid if signal == libc::SIGSEGV && cpuid::answer(context) => Emulation::Done,
        _ if signal == libc::SIGBUS => access(context, &instruction),
        _ => Emulation::NotOurs,
    };
    if done == Emulation::Done {
        context.skip(&instruction);
    }
    done
}

fn decode(code: &[u8], address: u64) -> Instruction {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode()
}

/// Addresses of destination (a register) and source (memory) of MOVDIR64B and ENQCMD.
fn operands(context: &mut TrapContext, instruction: &Instruction) -> Option<(u64, u64)> {
    Some((context.get(instruction.op0_register())?, context.address(instruction, 1)?))
}

fn move_directly(context: &mut TrapContext, instruction: &Instruction) -> Emulation {
    let Some((to, from)) = operands(context, instruction) else { return Emulation::NotOurs };
    if to % DESCRIPTOR_BYTES as u64 != 0 {
        return Emulation::Protection;
    }
    let Some(bytes) = dsa::memory::load(from) else { return Emulation::PageFault(from) };
    if let Some(portal) = found_portals::at(to) {
        portal.post(&Descriptor(bytes));
        return Emulation::Done;
    }
    // A CPU with the instruction executes it on any memory, not only on portals.
    if dsa::memory::store(to, &bytes) { Emulation::Done } else { Emulation::PageFault(to) }
}

fn enqueue(context: &mut TrapContext, instruction: &Instruction) -> Emulation {
    let Some((to, from)) = operands(context, instruction) else { return Emulation::NotOurs };
    let Some(mut bytes) = dsa::memory::load::<DESCRIPTOR_BYTES>(from) else {
        return Emulation::PageFault(from);
    };
    if to % DESCRIPTOR_BYTES as u64 != 0 || bytes[PRIVILEGE_AND_PASID] != [0; 4] {
        return Emulation::Protection;
    }
    let answer = match found_portals::at(to) {
        Some(portal) => {
            bytes[PRIVILEGE_AND_PASID].copy_from_slice(&portal.pasid().to_le_bytes());
            portal.enqueue(&Descriptor(bytes))
        }
        // Memory that is not a portal does not accept a command.
        None => EnqueueAnswer::Retry,
    };
    context.set_zero_flag_alone(answer == EnqueueAnswer::Retry);
    Emulation::Done
}

/// Waits until a line changes, the deadline in EDX:EAX, or the system's limit, whichever is first.
fn wait(context: &mut TrapContext, monitored: Option<u64>) -> Emulation {
    let low = context.get(Register::EAX).unwrap_or_default();
    let high = context.get(Register::EDX).unwrap_or_default();
    wait_until(context, high << 32 | low, monitored)
}

fn wait_until(context: &mut TrapContext, deadline: u64, monitored: Option<u64>) -> Emulation {
    // SAFETY: the time stamp counter can be read everywhere.
    let now = || unsafe { _rdtsc() };
    let limit = now().saturating_add(LONGEST_WAIT_CYCLES);
    let end = deadline.min(limit);
    let line = |address: u64| dsa::memory::load::<64>(address & !63);
    let before = monitored.map(|address| (address, line(address)));
    while now() < end && before.is_none_or(|(address, before)| line(address) == before) {
        // Engines may need this core.
        // SAFETY: a system call without arguments.
        unsafe { libc::sched_yield() };
    }
    // A thread that was not scheduled for long may be past the limit, which its deadline came before.
    context.set_carry_flag_alone(deadline > limit && now() >= limit);
    Emulation::Done
}

/// Emulates an ordinary access to a portal's page. A write of 64 bytes at once is a posted write, all other
/// writes are lost. A read returns ones.
fn access(context: &mut TrapContext, instruction: &Instruction) -> Emulation {
    let operand = (0..instruction.op_count()).find(|&number| is_memory(instruction, number));
    let Some(operand) = operand else { return Emulation::NotOurs };
    let portal = context.address(instruction, operand).and_then(found_portals::at);
    let Some(portal) = portal else { return Emulation::NotOurs };
    if !context.faulted_on_write() {
        return read_ones(context, instruction);
    }
    let address = context.address(instruction, operand).unwrap_or_default();
    let is_whole = address.is_multiple_of(DESCRIPTOR_BYTES as u64)
        && instruction.memory_size().size() == DESCRIPTOR_BYTES
        && !instruction.has_op_mask();
    if is_whole && let Some(bytes) = context.wide(instruction.op1_register()) {
        portal.post(&Descriptor(bytes));
    }
    if instruction.is_string_instruction() {
        skip_string(context, instruction);
    }
    Emulation::Done
}

/// Emulates a load into a general register. Any other read of a portal is passed to the program as its fault.
fn read_ones(context: &mut TrapContext, instruction: &Instruction) -> Emulation {
    let to = instruction.op0_register();
    let value = match instruction.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movsx | Mnemonic::Movsxd => u64::MAX,
        Mnemonic::Movzx => (1 << (8 * instruction.memory_size().size())) - 1,
        _ => return Emulation::NotOurs,
    };
    context.set(to, value);
    Emulation::Done
}

/// Sets the registers of a string instruction to its end. The bytes that it would have stored are lost.
fn skip_string(context: &mut TrapContext, instruction: &Instruction) {
    let is_repeated = instruction.has_rep_prefix();
    let count = if is_repeated { context.get(Register::RCX).unwrap_or_default() } else { 1 };
    let bytes = count.wrapping_mul(instruction.memory_size().size() as u64);
    let moves = matches!(
        instruction.mnemonic(),
        Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq
    );
    let registers = [Some(Register::RDI), moves.then_some(Register::RSI)];
    for register in registers.into_iter().flatten() {
        let before = context.get(register).unwrap_or_default();
        let down = context.counts_down();
        let after = if down { before.wrapping_sub(bytes) } else { before.wrapping_add(bytes) };
        context.set(register, after);
    }
    if is_repeated {
        context.set(Register::RCX, 0);
    }
}

fn is_memory(instruction: &Instruction, operand: u32) -> bool {
    matches!(
        instruction.op_kind(operand),
        OpKind::Memory | OpKind::MemoryESRDI | OpKind::MemorySegRSI
    )
}

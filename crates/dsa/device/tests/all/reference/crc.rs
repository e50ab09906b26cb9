//! CRCs: section 7.

use super::descriptor::*;
use super::faults::*;
use super::memory::Memory;
use super::operations::copy_byte;
use super::records::{Completion, SUCCESS};

/// Shifts one byte, highest bit first, through a register of `width` bits.
pub fn shift_in(mut register: u64, byte: u8, polynomial: u64, width: u32) -> u64 {
    for position in (0..8).rev() {
        let data_bit = u64::from(byte >> position & 1);
        let top_bit = register >> (width - 1) & 1;
        register = register << 1 & all_ones(width);
        if data_bit != top_bit {
            register ^= polynomial;
        }
    }
    register
}

fn all_ones(width: u32) -> u64 {
    let mut ones = 0;
    for position in 0..width {
        ones |= 1 << position;
    }
    ones
}

fn bits_reversed(value: u64, width: u32) -> u64 {
    let mut reversed = 0;
    for position in 0..width {
        reversed |= (value >> position & 1) << (width - 1 - position);
    }
    reversed
}

/// A CRC under way, as flags 17, 18 and 19 want it.
struct Checksum {
    register: u64,
    polynomial: u64,
    width: u32,
    bypass_seed_reflection: bool,
    bypass_data_reflection: bool,
}

impl Checksum {
    fn new(descriptor: &Descriptor, seed: u64) -> Checksum {
        let (polynomial, width) =
            if descriptor.has(CRC_64) { (0xAD93_D235_94C9_3659, 64) } else { (0x1EDC_6F41, 32) };
        let bypass_seed_reflection = descriptor.has(BYPASS_SEED_REFLECTION);
        let inverted = !seed & all_ones(width);
        let register = if bypass_seed_reflection { seed } else { bits_reversed(inverted, width) };
        let bypass_data_reflection = descriptor.has(BYPASS_DATA_REFLECTION);
        Checksum { register, polynomial, width, bypass_seed_reflection, bypass_data_reflection }
    }

    fn add(&mut self, byte: u8) {
        let reversed = bits_reversed(u64::from(byte), 8) as u8;
        let byte = if self.bypass_data_reflection { byte } else { reversed };
        self.register = shift_in(self.register, byte, self.polynomial, self.width);
    }

    /// The result so far, which is also the seed of a continuation.
    fn value(&self) -> u64 {
        if self.bypass_seed_reflection {
            return self.register;
        }
        !bits_reversed(self.register, self.width) & all_ones(self.width)
    }
}

/// CRC, and copy with CRC.
pub fn crc(memory: &mut Memory, call: &Call, copies: bool) -> Completion {
    let descriptor = &call.descriptor;
    let (source, destination) = (descriptor.address_1(), descriptor.address_2());
    // OPEN: the seed is read before the first byte, so its fault is the one reported if both would fault.
    let mut checksum = match crc_seed(memory, descriptor) {
        Ok(seed) => Checksum::new(descriptor, seed),
        Err(fault) => return partial(call, &fault, 0),
    };
    for offset in 0..u64::from(descriptor.size()) {
        let byte = if copies {
            copy_byte(memory, source, destination, offset)
        } else {
            read_byte(memory, source, offset, SOURCE)
        };
        match byte {
            Ok(byte) => checksum.add(byte),
            Err(fault) => {
                let mut completion = partial(call, &fault, offset);
                // Undefined if nothing was done: the seed, so that who continues needs no other case.
                completion.put(16, 8, checksum.value());
                return completion;
            }
        }
    }
    let mut completion = Completion::with_status(SUCCESS);
    completion.put(16, 8, checksum.value());
    completion
}

fn crc_seed(memory: &Memory, descriptor: &Descriptor) -> Result<u64, Fault> {
    let length = if descriptor.has(CRC_64) { 8 } else { 4 };
    if !descriptor.has(SEED_FROM_MEMORY) {
        return Ok(descriptor.little_endian(40, length));
    }
    let mut seed = 0;
    for (index, byte) in
        read_unit(memory, descriptor.u64(48), 0, length as u64, SEED)?.iter().enumerate()
    {
        seed |= u64::from(*byte) << (8 * index);
    }
    Ok(seed)
}

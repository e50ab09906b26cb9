//! CRC generation, with or without a copy [S 8.3.12, 8.3.13, appendix A].
//!
//! The specification's register has its highest power in its highest bit, and takes each byte reflected.
//! The same register reflected, which takes bytes as they are, is what processors and libraries have.

use super::compare::slice;
use super::{Manner, UnitOperation, UnitsOutcome, fault_record, low};
use crate::descriptor::Descriptor;
use crate::hardware::flags;
use crate::hardware::status::{self, FaultOperand};
use crate::memory::{self, Fault, Span, copy_bytes};
use crate::record::Record;
use crc_fast::{CrcParams, Digest};
use std::sync::LazyLock;

/// CRC-32C, as iSCSI and NVMe/TCP have it.
const POLYNOMIAL_32: u64 = 0x1edc_6f41;
/// CRC-64 of NVMe.
const POLYNOMIAL_64: u64 = 0xad93_d235_94c9_3659;
/// Bytes that are copied, and read again while they are in the cache.
const CHUNK: u64 = 16 << 10;

/// Polynomials by width and by whether data is reflected. Making one takes longer than most operations.
static KINDS: LazyLock<[CrcParams; 4]> = LazyLock::new(|| {
    let kind = |width, polynomial, reflected| {
        let made = CrcParams::new("DSA", width, polynomial, 0, reflected, 0, 0);
        // The library chooses its code by the processor's features here, outside of any guard.
        Digest::new_with_params(made).update(&[0; 1024]);
        made
    };
    [
        kind(32, POLYNOMIAL_32, false),
        kind(32, POLYNOMIAL_32, true),
        kind(64, POLYNOMIAL_64, false),
        kind(64, POLYNOMIAL_64, true),
    ]
});

/// Makes the polynomials.
pub(super) fn prepare() {
    LazyLock::force(&KINDS);
}

/// Variant of the CRC that a descriptor selects by its flags.
#[derive(Clone, Copy)]
struct CrcVariant {
    is_wide: bool,
    /// Whether seed and result are the register itself, neither inverted nor reflected.
    bypasses_inversion: bool,
    /// Whether each byte enters with its lowest bit first.
    reflects_data: bool,
}

impl CrcVariant {
    fn from_flags(descriptor: &Descriptor) -> Self {
        Self {
            is_wide: descriptor.has(flags::CRC_64),
            bypasses_inversion: descriptor.has(flags::CRC_BYPASS_INVERSION),
            reflects_data: !descriptor.has(flags::CRC_BYPASS_REFLECTION),
        }
    }

    fn reversed(self, value: u64) -> u64 {
        if self.is_wide { value.reverse_bits() } else { value.reverse_bits() >> 32 }
    }

    fn inverted(self, value: u64) -> u64 {
        if self.is_wide { !value } else { !value & 0xffff_ffff }
    }

    /// The library's state for a seed: the register, reflected if data is.
    fn begin(self, seed: u64) -> Digest {
        let register =
            if self.bypasses_inversion { seed } else { self.reversed(self.inverted(seed)) };
        let state = if self.reflects_data { self.reversed(register) } else { register };
        let number = 2 * usize::from(self.is_wide) + usize::from(self.reflects_data);
        Digest::new_with_params(CrcParams { init_algorithm: state, ..KINDS[number] })
    }

    /// The result for a state of the library. It is also the seed for an operation that continues this one.
    fn end(self, state: u64) -> u64 {
        let register = if self.reflects_data { self.reversed(state) } else { state };
        if self.bypasses_inversion { register } else { self.inverted(self.reversed(register)) }
    }
}

/// Computes the CRC of a range, and copies the range `to` a destination, if there is one.
pub(super) fn compute_crc(descriptor: &Descriptor, to: Option<u64>, manner: Manner) -> Record {
    let kind = CrcVariant::from_flags(descriptor);
    let from = descriptor.first();
    let seed = match seed(descriptor, kind) {
        Ok(seed) => seed,
        Err(fault) => {
            return fault_record(descriptor.has(flags::BLOCK_ON_FAULT), fault, manner);
        }
    };
    let begun = kind.begin(seed);
    let read = Span::read(FaultOperand::First, from, 1);
    let written = to.map(|to| Span::written(FaultOperand::Destination, to, 1));
    let spans = [read, written.unwrap_or(read)];
    let spans = &spans[..1 + usize::from(to.is_some())];
    UnitOperation::new(descriptor, u64::from(descriptor.size()), spans, manner).run(
        |units| UnitsOutcome::Done(digest(begun, from, to, units)),
        |state| Record::with_status(status::SUCCESS).with_u64(16, kind.end(state)),
        // The seed of the operation that continues: before the first byte that of this one, which the
        // specification leaves open.
        |record, state, units| record.with_completed(low(units)).with_u64(16, kind.end(state)),
    )
}

/// The state of the library behind `length` bytes. Called inside a guard.
fn digest(mut digest: Digest, from: u64, to: Option<u64>, length: u64) -> u64 {
    let Some(to) = to else {
        digest.update(slice(from, length));
        return digest.get_state();
    };
    let mut done = 0;
    while done < length {
        let chunk = CHUNK.min(length - done);
        copy_bytes(from + done, to + done, chunk);
        digest.update(slice(from + done, chunk));
        done += chunk;
    }
    digest.get_state()
}

/// The seed, from the descriptor or from memory.
fn seed(descriptor: &Descriptor, kind: CrcVariant) -> Result<u64, Fault> {
    if !descriptor.has(flags::CRC_SEED_IN_MEMORY) {
        let narrow = u64::from(descriptor.crc_seed());
        return Ok(if kind.is_wide { descriptor.crc_seed_64() } else { narrow });
    }
    let address = descriptor.crc_seed_address();
    let read = if kind.is_wide {
        memory::read::<8>(address).map(u64::from_le_bytes)
    } else {
        memory::read::<4>(address).map(|bytes| u64::from(u32::from_le_bytes(bytes)))
    };
    read.ok_or_else(|| Span::read(FaultOperand::Second, address, 1).fault_at(address))
}

//! An operation for a device or the CPU: a descriptor without a completion record, of any size.
//!
//! Addresses are numbers here, as in descriptors: the caller of an operation answers for its memory.

mod advance;

pub(crate) use advance::advanced;

use crate::error::Error;
use dsa::descriptor::Descriptor;
use dsa::hardware::{MOST_DELTA_BYTES, Opcode, PROTECTION_BYTES, flags};
use units::narrow::fit;

/// The kind of a CRC. Default: the CRC-32C of iSCSI and NVMe/TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrcKind {
    /// Whether the CRC has 64 bits and the polynomial of NVMe (version 2 of the hardware).
    pub is_wide: bool,
    /// Whether seed and result are neither inverted nor reflected.
    pub bypasses_inversion: bool,
    /// Whether data is not reflected.
    pub bypasses_reflection: bool,
}

impl CrcKind {
    fn flags(self) -> u32 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(self.is_wide, flags::CRC_64)
            | flag(self.bypasses_inversion, flags::CRC_BYPASS_INVERSION)
            | flag(self.bypasses_reflection, flags::CRC_BYPASS_REFLECTION)
    }
}

/// Tags of protection information (T10 DIF) of a source or a destination [dsa contract 8].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtectionTags {
    /// Flags of the descriptor: the tags that are fixed, checked, or passed through.
    pub flags: u8,
    /// Reference tag of the first block.
    pub reference: u32,
    /// Application tag of the first block.
    pub application: u16,
    /// Bits of the application tag that are not compared.
    pub mask: u16,
}

/// An operation with its operands and their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadOperation {
    /// The descriptor, without size and record.
    descriptor: Descriptor,
    opcode: Opcode,
    bytes: u64,
}

impl OffloadOperation {
    fn new(opcode: Opcode, first: u64, second: u64, bytes: u64) -> Self {
        let descriptor = Descriptor::of(opcode).with_first(first).with_second(second);
        Self { descriptor, opcode, bytes }
    }

    fn with(self, change: impl FnOnce(Descriptor) -> Descriptor) -> Self {
        Self { descriptor: change(self.descriptor), ..self }
    }

    /// Does nothing: its time is that of a submission.
    #[must_use]
    pub fn no_op() -> Self {
        Self::new(Opcode::NoOp, 0, 0, 0)
    }

    /// Drain: ends after all descriptors that the program has submitted to the same queue before.
    #[must_use]
    pub fn drain() -> Self {
        Self::new(Opcode::Drain, 0, 0, 0)
    }

    /// Copies `bytes` from `from` to `to`. The ranges may overlap.
    #[must_use]
    pub fn copy(from: u64, to: u64, bytes: u64) -> Self {
        Self::new(Opcode::Move, from, to, bytes)
    }

    /// Fills `bytes` at `to` with a pattern of eight bytes, the least significant first.
    #[must_use]
    pub fn fill(to: u64, pattern: u64, bytes: u64) -> Self {
        Self::new(Opcode::Fill, pattern, to, bytes)
    }

    /// Fills `bytes` at `to` with a pattern of 16 bytes, the least significant first (version 2).
    #[must_use]
    pub fn fill_wide(to: u64, pattern: u128, bytes: u64) -> Self {
        let [low, high] = halves(pattern);
        Self::fill(to, low, bytes)
            .with(|it| it.with_pattern_high(high).with_flags(it.flags() | flags::PATTERN_16))
    }

    /// Finds the first byte in which two ranges differ.
    #[must_use]
    pub fn compare(first: u64, second: u64, bytes: u64) -> Self {
        Self::new(Opcode::Compare, first, second, bytes)
    }

    /// Finds the first byte in which a range differs from a pattern of eight bytes.
    #[must_use]
    pub fn compare_pattern(from: u64, pattern: u64, bytes: u64) -> Self {
        Self::new(Opcode::ComparePattern, from, pattern, bytes)
    }

    /// Copies to two destinations, which are equal in bits 11:0 of their addresses.
    #[must_use]
    pub fn dualcast(from: u64, to: u64, also_to: u64, bytes: u64) -> Self {
        Self::new(Opcode::Dualcast, from, to, bytes).with(|it| it.with_second_destination(also_to))
    }

    /// Writes a delta record at `record`: the units of eight bytes in which `changed` differs from
    /// `original`.
    #[must_use]
    pub fn create_delta(
        (original, changed): (u64, u64),
        bytes: u64,
        (record, most_record_bytes): (u64, u32),
    ) -> Self {
        Self::new(Opcode::CreateDelta, original, changed, bytes)
            .with(|it| it.with_delta_record(record).with_most_delta_bytes(most_record_bytes))
    }

    /// Writes the differences of a delta record over the original at `to`.
    #[must_use]
    pub fn apply_delta((record, record_bytes): (u64, u32), to: u64, bytes: u64) -> Self {
        Self::new(Opcode::ApplyDelta, record, to, bytes)
            .with(|it| it.with_delta_bytes(record_bytes))
    }

    /// Computes a CRC. With the result of an earlier operation as its seed, it continues that CRC.
    #[must_use]
    pub fn crc(kind: CrcKind, seed: u64, from: u64, bytes: u64) -> Self {
        Self::new(Opcode::Crc, from, 0, bytes).with_crc(kind, seed)
    }

    /// Copies, and computes the CRC of the copied bytes.
    #[must_use]
    pub fn copy_crc(kind: CrcKind, seed: u64, (from, to): (u64, u64), bytes: u64) -> Self {
        Self::new(Opcode::CopyCrc, from, to, bytes).with_crc(kind, seed)
    }

    fn with_crc(self, kind: CrcKind, seed: u64) -> Self {
        self.with(|it| {
            let it = it.with_flags(it.flags() | kind.flags());
            if kind.is_wide { it.with_crc_seed_64(seed) } else { it.with_crc_seed(low(seed)) }
        })
    }

    /// Checks protection information. `format` has block size, seed and inversion of the guard, as in
    /// descriptors.
    #[must_use]
    pub fn dif_check(from: u64, bytes: u64, format: u8, source: ProtectionTags) -> Self {
        Self::new(Opcode::DifCheck, from, 0, bytes).with(|it| with_source_tags(it, format, source))
    }

    /// Copies blocks and adds protection information to each.
    #[must_use]
    pub fn dif_insert(
        (from, to): (u64, u64),
        bytes: u64,
        format: u8,
        destination: ProtectionTags,
    ) -> Self {
        Self::new(Opcode::DifInsert, from, to, bytes)
            .with(|it| with_destination_tags(it, format, destination))
    }

    /// Checks protection information and copies blocks without it.
    #[must_use]
    pub fn dif_strip(
        (from, to): (u64, u64),
        bytes: u64,
        format: u8,
        source: ProtectionTags,
    ) -> Self {
        Self::new(Opcode::DifStrip, from, to, bytes).with(|it| with_source_tags(it, format, source))
    }

    /// Checks protection information, and copies blocks with new protection information.
    #[must_use]
    pub fn dif_update(
        (from, to): (u64, u64),
        bytes: u64,
        format: u8,
        (source, destination): (ProtectionTags, ProtectionTags),
    ) -> Self {
        Self::new(Opcode::DifUpdate, from, to, bytes).with(|it| {
            with_destination_tags(with_source_tags(it, format, source), format, destination)
        })
    }

    /// Writes the protection information of blocks to a separate range (version 2).
    #[must_use]
    pub fn dix_generate(
        (from, to): (u64, u64),
        bytes: u64,
        format: u8,
        tags: ProtectionTags,
    ) -> Self {
        Self::new(Opcode::DixGenerate, from, to, bytes)
            .with(|it| with_destination_tags(it, format, tags))
    }

    /// Writes the lines of a range back to memory and removes them from all caches.
    #[must_use]
    pub fn flush(from: u64, bytes: u64) -> Self {
        Self::new(Opcode::CacheFlush, 0, from, bytes)
    }

    /// Loads the address translations of a range (version 2).
    #[must_use]
    pub fn fetch_translations(from: u64, bytes: u64) -> Self {
        Self::new(Opcode::TranslationFetch, from, 0, bytes)
    }

    /// The same operation with its destination in the LLC in place of memory (cache control). An operation
    /// that writes no memory stays as it is.
    #[must_use]
    pub fn to_cache(self) -> Self {
        let writes = !matches!(
            self.opcode,
            Opcode::NoOp
                | Opcode::Drain
                | Opcode::Compare
                | Opcode::ComparePattern
                | Opcode::Crc
                | Opcode::DifCheck
                | Opcode::CacheFlush
                | Opcode::TranslationFetch
        );
        if !writes {
            return self;
        }
        self.with(|it| it.with_flags(it.flags() | flags::CACHE_CONTROL_1))
    }

    /// Code of the operation in descriptors.
    #[inline]
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// Size of the source in bytes, with its protection information.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The descriptor without a record. Its size is cut to what one descriptor can have (2^32 - 1 bytes).
    #[must_use]
    pub fn descriptor(&self) -> Descriptor {
        self.descriptor.with_size(u32::try_from(self.bytes).unwrap_or(u32::MAX))
    }

    /// Whether the descriptor has all of these flags.
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.descriptor.has(flags)
    }

    /// The first and the second operand of the descriptor.
    #[inline]
    pub(crate) fn operands(&self) -> (u64, u64) {
        (self.descriptor.first(), self.descriptor.second())
    }

    /// Whether the operation copies between overlapping ranges: such a copy cannot be repeated.
    #[inline]
    #[must_use]
    pub fn overlaps(&self) -> bool {
        let (from, to) = self.operands();
        self.opcode == Opcode::Move && from.abs_diff(to) < self.bytes
    }

    /// Whether pieces of the operation may run in any order, and at the same time.
    pub(crate) fn is_divisible_at_will(&self) -> bool {
        let has_independent_bytes = matches!(
            self.opcode,
            Opcode::Move | Opcode::Fill | Opcode::Dualcast | Opcode::CacheFlush
        );
        has_independent_bytes && !self.overlaps()
    }

    /// The unit in bytes: the size of each piece, but for the last one, is a multiple of it.
    pub(crate) fn unit_bytes(&self) -> u64 {
        let block = [512, 520, 4096, 4104][usize::from(self.descriptor.dif_flags() & 3)];
        match self.opcode {
            Opcode::DifInsert | Opcode::DixGenerate => block,
            Opcode::DifCheck | Opcode::DifStrip | Opcode::DifUpdate => block + PROTECTION_BYTES,
            // The pattern begins again with each piece.
            Opcode::Fill | Opcode::ComparePattern => 16,
            _ => 1,
        }
    }

    /// The descriptor of a piece: `bytes` bytes from the offset `at` on, without a record.
    pub(crate) fn piece(&self, at: u64, bytes: u64) -> Descriptor {
        if at == 0 && bytes == self.bytes {
            return self.descriptor.with_size(fit(bytes));
        }
        advanced(&self.descriptor, self.opcode, at).with_size(fit(bytes))
    }

    /// Checks the arguments.
    ///
    /// # Errors
    /// [`Error::Argument`] if they have no meaning on any device, nor on the CPU.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let has_size = !matches!(self.opcode, Opcode::NoOp | Opcode::Drain);
        let why = if has_size && self.bytes == 0 {
            "the size is 0; it has to be 1 byte or more".to_owned()
        } else if self.is_delta() && self.bytes > MOST_DELTA_BYTES {
            format!("the size is {}; at most {MOST_DELTA_BYTES} bytes are allowed", self.bytes)
        } else if !self.bytes.is_multiple_of(self.whole_bytes()) {
            let unit = self.whole_bytes();
            format!("the size is {}; it has to be a multiple of {unit} bytes", self.bytes)
        } else if self.passes_the_end() {
            format!("a range of {} bytes passes the end of the address space", self.bytes)
        } else {
            return Ok(());
        };
        Err(Error::Argument { operation: self.opcode.name(), why })
    }

    fn is_delta(&self) -> bool {
        matches!(self.opcode, Opcode::CreateDelta | Opcode::ApplyDelta)
    }

    /// The unit of the size of the whole operation, as [`Self::unit_bytes`] is of a piece.
    fn whole_bytes(&self) -> u64 {
        match self.opcode {
            Opcode::Fill | Opcode::ComparePattern => 1,
            _ => self.unit_bytes(),
        }
    }

    fn passes_the_end(&self) -> bool {
        let (first, second) = self.operands();
        let (reads_first, reads_second) = match self.opcode {
            Opcode::NoOp | Opcode::Drain | Opcode::ApplyDelta => (false, false),
            Opcode::Fill | Opcode::CacheFlush => (false, true),
            Opcode::ComparePattern | Opcode::Crc | Opcode::DifCheck | Opcode::TranslationFetch => {
                (true, false)
            }
            _ => (true, true),
        };
        let passes = |address: u64| address.checked_add(self.bytes).is_none();
        reads_first && passes(first) || reads_second && passes(second)
    }
}

/// The lower and the upper half of a pattern.
fn halves(pattern: u128) -> [u64; 2] {
    let [mut low, mut high] = [[0; 8]; 2];
    low.copy_from_slice(&pattern.to_le_bytes()[..8]);
    high.copy_from_slice(&pattern.to_le_bytes()[8..]);
    [low, high].map(u64::from_le_bytes)
}

/// The lower half of a seed: all of a seed of 32 bits.
fn low(seed: u64) -> u32 {
    fit(seed & 0xffff_ffff)
}

fn with_source_tags(descriptor: Descriptor, format: u8, tags: ProtectionTags) -> Descriptor {
    descriptor
        .with_dif_flags(format)
        .with_dif_source_flags(tags.flags)
        .with_source_reference(tags.reference)
        .with_source_application(tags.application)
        .with_source_mask(tags.mask)
}

fn with_destination_tags(descriptor: Descriptor, format: u8, tags: ProtectionTags) -> Descriptor {
    descriptor
        .with_dif_flags(format)
        .with_dif_destination_flags(tags.flags)
        .with_destination_reference(tags.reference)
        .with_destination_application(tags.application)
        .with_destination_mask(tags.mask)
}

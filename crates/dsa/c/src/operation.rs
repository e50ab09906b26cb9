//! `skd_operation`: an operation, as C states it.

use crate::boundary::{SkdFailure, missing};
use crate::sized::Sized32;
use dsa::hardware::Opcode;
use dsa_client::client::Path;
use dsa_client::operation::{CrcKind, OffloadOperation, ProtectionTags};
use libc::{c_int, c_void};

/// Does nothing.
pub const SKD_NO_OP: u32 = 0;
/// Drain: ends after all descriptors that were submitted to one queue before; skd_drain() waits for
/// all queues.
pub const SKD_DRAIN: u32 = 2;
/// Copies `bytes` from `source` to `destination`. The ranges may overlap.
pub const SKD_COPY: u32 = 3;
/// Fills `destination` with the eight bytes of `pattern`, the least significant first. With
/// SKD_PATTERN_16 the pattern has 16 bytes, and its second half is `pattern_high`.
pub const SKD_FILL: u32 = 4;
/// Finds the first byte in which `source` and `source2` differ.
pub const SKD_COMPARE: u32 = 5;
/// Finds the first byte in which `source` differs from `pattern`, of eight bytes.
pub const SKD_COMPARE_PATTERN: u32 = 6;
/// Writes a record of the differences of `source2` from `source`, of at most `record_bytes`, at
/// `destination`.
/// Addresses and `bytes` are multiples of 8, `record_bytes` is at least 80, `bytes` at most 524288.
pub const SKD_CREATE_DELTA: u32 = 7;
/// Writes the differences in a record of `record_bytes` at `source` over the `bytes` at `destination`.
pub const SKD_APPLY_DELTA: u32 = 8;
/// Copies from `source` to `destination` and `destination2`, whose addresses are equal in their lowest
/// 12 bits.
pub const SKD_DUALCAST: u32 = 9;
/// Loads the address translations of `source` (version 2 of the hardware).
pub const SKD_FETCH_TRANSLATIONS: u32 = 10;
/// Computes the CRC of `source`. `seed` is the CRC of the bytes before it, 0 if there are none. The CRC
/// is CRC-32C unless flags choose another one.
pub const SKD_CRC: u32 = 16;
/// Copies from `source` to `destination`, and computes the CRC.
pub const SKD_COPY_CRC: u32 = 17;
/// Checks protection information (T10 DIF) after each block of `source`, by `source_tags`. `bytes` is
/// the size of the source with its protection information, here and below.
pub const SKD_DIF_CHECK: u32 = 18;
/// Copies blocks, and adds protection information by `destination_tags`.
pub const SKD_DIF_INSERT: u32 = 19;
/// Checks protection information by `source_tags`, and copies blocks without it.
pub const SKD_DIF_STRIP: u32 = 20;
/// Checks protection information by `source_tags`, and copies blocks with new protection information by
/// `destination_tags`.
pub const SKD_DIF_UPDATE: u32 = 21;
/// Writes protection information of the blocks of `source` to a separate range at `destination`
/// (version 2 of the hardware).
pub const SKD_DIX_GENERATE: u32 = 23;
/// Writes the lines of `source` back to memory and removes them from all caches.
pub const SKD_CACHE_FLUSH: u32 = 32;

// The generator of the header reads numbers alone.
const _: () = {
    assert!(SKD_NO_OP == Opcode::NoOp as u32);
    assert!(SKD_DRAIN == Opcode::Drain as u32);
    assert!(SKD_COPY == Opcode::Move as u32);
    assert!(SKD_FILL == Opcode::Fill as u32);
    assert!(SKD_COMPARE == Opcode::Compare as u32);
    assert!(SKD_COMPARE_PATTERN == Opcode::ComparePattern as u32);
    assert!(SKD_CREATE_DELTA == Opcode::CreateDelta as u32);
    assert!(SKD_APPLY_DELTA == Opcode::ApplyDelta as u32);
    assert!(SKD_DUALCAST == Opcode::Dualcast as u32);
    assert!(SKD_FETCH_TRANSLATIONS == Opcode::TranslationFetch as u32);
    assert!(SKD_CRC == Opcode::Crc as u32);
    assert!(SKD_COPY_CRC == Opcode::CopyCrc as u32);
    assert!(SKD_DIF_CHECK == Opcode::DifCheck as u32);
    assert!(SKD_DIF_INSERT == Opcode::DifInsert as u32);
    assert!(SKD_DIF_STRIP == Opcode::DifStrip as u32);
    assert!(SKD_DIF_UPDATE == Opcode::DifUpdate as u32);
    assert!(SKD_DIX_GENERATE == Opcode::DixGenerate as u32);
    assert!(SKD_CACHE_FLUSH == Opcode::CacheFlush as u32);
};

/// Flag of `skd_operation`: the destination is written to the last-level cache, and not to memory.
pub const SKD_TO_CACHE: u32 = 1;
/// Flag of `skd_operation`: the pattern of SKD_FILL has 16 bytes (version 2 of the hardware).
pub const SKD_PATTERN_16: u32 = 2;
/// Flag of `skd_operation`: the CRC has 64 bits and the polynomial of NVMe (version 2 of the hardware).
pub const SKD_CRC_64: u32 = 4;
/// Flag of `skd_operation`: seed and result of the CRC are neither inverted nor reflected.
pub const SKD_CRC_BYPASS_INVERSION: u32 = 8;
/// Flag of `skd_operation`: data is not reflected for the CRC.
pub const SKD_CRC_BYPASS_REFLECTION: u32 = 16;
const ALL_FLAGS: u32 = 31;

const _: () = assert!(SKD_DIF_SEED_ONES + SKD_DIF_INVERT_GUARD == 12);

/// Bit of `dif_format`: the guard begins with 0xffff, and not with 0.
pub const SKD_DIF_SEED_ONES: u8 = 4;
/// Bit of `dif_format`: the guard is inverted.
pub const SKD_DIF_INVERT_GUARD: u8 = 8;

/// Path of an operation: a device from the threshold on, unless the ranges overlap; else the CPU.
pub const SKD_AUTOMATIC: c_int = 0;
/// Path of an operation: a device, whatever the size; -ENODEV if no queue takes the operation. A piece
/// at which the device fails is executed by the CPU all the same.
pub const SKD_DEVICE: c_int = 1;
/// Path of an operation: the CPU.
pub const SKD_CPU: c_int = 2;

/// Tags of protection information, with flags for those that are fixed, checked or passed through
/// (section 8.3.14 of Intel's specification of DSA).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TagsOfC {
    /// Reference tag of the first block.
    pub reference: u32,
    /// Application tag of the first block.
    pub application: u16,
    /// Bits of the application tag that are not compared.
    pub mask: u16,
    /// Flags: of a source 0x80 reference tag fixed, 0x40 not checked, 0x20 guard not checked, 0x10
    /// application tag incrementing, 0x08, 0x04, 0x02 blocks whose tags are all ones are not checked;
    /// of a destination 0x80, 0x10 as those, 0x40, 0x20, 0x08 reference tag, guard, application tag
    /// passed through.
    pub flags: u8,
    /// 0.
    pub reserved: [u8; 3],
}

/// An operation. skd_operation_of() and the functions like it make one. Fields that an operation does
/// not use are ignored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OperationOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// Code of the operation: SKD_COPY and others.
    pub opcode: u32,
    /// 0, or flags: SKD_TO_CACHE and others.
    pub flags: u32,
    /// Block size of DIF operations: 0 for 512 B, 1 for 520 B, 2 for 4096 B, 3 for 4104 B; plus
    /// SKD_DIF_SEED_ONES and SKD_DIF_INVERT_GUARD.
    pub dif_format: u8,
    /// 0.
    pub reserved: [u8; 3],
    /// Range that is read.
    pub source: *const c_void,
    /// Second range that is read.
    pub source2: *const c_void,
    /// Range that is written.
    pub destination: *mut c_void,
    /// Second range that is written.
    pub destination2: *mut c_void,
    /// Size of the ranges, in bytes.
    pub bytes: u64,
    /// Pattern of eight bytes, or the first half of a pattern of 16 bytes.
    pub pattern: u64,
    /// The second half of a pattern of 16 bytes.
    pub pattern_high: u64,
    /// CRC of the bytes before the source; 0 if there are none.
    pub seed: u64,
    /// Size of a record of differences, in bytes.
    pub record_bytes: u32,
    /// Tags of a source with protection information.
    pub source_tags: TagsOfC,
    /// Tags of a destination with protection information.
    pub destination_tags: TagsOfC,
    /// 0.
    pub reserved2: u32,
}

#[allow(unsafe_code)]
// SAFETY: `repr(C)`, a `u32` first, and any bytes form one; pointers are numbers until an operation runs.
unsafe impl Sized32 for OperationOfC {
    const NAME: &'static str = "skd_operation";
}

/// Converts the number of a path.
pub fn path(number: c_int) -> Result<Path, SkdFailure> {
    match number {
        SKD_AUTOMATIC => Ok(Path::Automatic),
        SKD_DEVICE => Ok(Path::Device),
        SKD_CPU => Ok(Path::Cpu),
        _ => Err(SkdFailure::invalid(format!(
            "`path` is {number}; allowed: SKD_AUTOMATIC (0), SKD_DEVICE (1), SKD_CPU (2)"
        ))),
    }
}

/// Converts the code of an operation. Batches are refused: skd_batch_submit() begins them.
pub fn opcode(code: u32) -> Result<Opcode, SkdFailure> {
    let known = u8::try_from(code).ok().and_then(Opcode::from_code);
    known.filter(|opcode| *opcode != Opcode::Batch).ok_or_else(|| {
        SkdFailure::invalid(format!("no operation has the code {code}; SKD_COPY is 3, for example"))
    })
}

impl OperationOfC {
    /// Checks the operation and converts it for a client.
    pub fn read(&self) -> Result<OffloadOperation, SkdFailure> {
        let opcode = opcode(self.opcode)?;
        if self.flags & !ALL_FLAGS != 0 {
            let unknown = self.flags & !ALL_FLAGS;
            let text = format!("{}: unknown flags {unknown:#x}", opcode.name());
            return Err(SkdFailure::invalid(text));
        }
        if self.reserved != [0; 3] || self.reserved2 != 0 {
            let text = format!("{}: a reserved field of skd_operation is not 0", opcode.name());
            return Err(SkdFailure::invalid(text));
        }
        self.check_pointers(opcode)?;
        let operation = self.convert(opcode);
        let to_cache = self.flags & SKD_TO_CACHE != 0;
        Ok(if to_cache { operation.to_cache() } else { operation })
    }

    fn check_pointers(&self, opcode: Opcode) -> Result<(), SkdFailure> {
        use Opcode::{
            ApplyDelta, Compare, CopyCrc, CreateDelta, DifInsert, DifStrip, DifUpdate, DixGenerate,
            Drain, Dualcast, Fill, Move, NoOp,
        };
        let is_one_of = |list: &[Opcode]| list.contains(&opcode);
        let reads = !is_one_of(&[Fill, NoOp, Drain]);
        let writes = is_one_of(&[Move, Fill, CreateDelta, ApplyDelta, Dualcast, CopyCrc])
            || is_one_of(&[DifInsert, DifStrip, DifUpdate, DixGenerate]);
        let needed = [
            ("source", self.source, reads),
            ("source2", self.source2, is_one_of(&[Compare, CreateDelta])),
            ("destination", self.destination.cast_const(), writes),
            ("destination2", self.destination2.cast_const(), opcode == Dualcast),
        ];
        match needed.iter().find(|(_, pointer, is_needed)| *is_needed && pointer.is_null()) {
            // A size of 0 is refused with a sentence of its own.
            Some((name, ..)) if self.bytes > 0 => {
                let SkdFailure { errno, text } = missing(name);
                Err(SkdFailure::new(errno, format!("{}: {text}", opcode.name())))
            }
            _ => Ok(()),
        }
    }

    fn convert(&self, opcode: Opcode) -> OffloadOperation {
        let (from, to) = (self.source as u64, self.destination as u64);
        let (also_from, also_to) = (self.source2 as u64, self.destination2 as u64);
        let (bytes, format) = (self.bytes, self.dif_format);
        let (source, destination) =
            (convert_tags(self.source_tags), convert_tags(self.destination_tags));
        let record_bytes = self.record_bytes;
        match opcode {
            Opcode::NoOp | Opcode::Batch => OffloadOperation::no_op(),
            Opcode::Drain => OffloadOperation::drain(),
            Opcode::Move => OffloadOperation::copy(from, to, bytes),
            Opcode::Fill if self.flags & SKD_PATTERN_16 != 0 => {
                let pattern = u128::from(self.pattern_high) << 64 | u128::from(self.pattern);
                OffloadOperation::fill_wide(to, pattern, bytes)
            }
            Opcode::Fill => OffloadOperation::fill(to, self.pattern, bytes),
            Opcode::Compare => OffloadOperation::compare(from, also_from, bytes),
            Opcode::ComparePattern => OffloadOperation::compare_pattern(from, self.pattern, bytes),
            Opcode::CreateDelta => {
                OffloadOperation::create_delta((from, also_from), bytes, (to, record_bytes))
            }
            Opcode::ApplyDelta => OffloadOperation::apply_delta((from, record_bytes), to, bytes),
            Opcode::Dualcast => OffloadOperation::dualcast(from, to, also_to, bytes),
            Opcode::TranslationFetch => OffloadOperation::fetch_translations(from, bytes),
            Opcode::Crc => OffloadOperation::crc(self.crc_kind(), self.seed, from, bytes),
            Opcode::CopyCrc => {
                OffloadOperation::copy_crc(self.crc_kind(), self.seed, (from, to), bytes)
            }
            Opcode::DifCheck => OffloadOperation::dif_check(from, bytes, format, source),
            Opcode::DifInsert => {
                OffloadOperation::dif_insert((from, to), bytes, format, destination)
            }
            Opcode::DifStrip => OffloadOperation::dif_strip((from, to), bytes, format, source),
            Opcode::DifUpdate => {
                OffloadOperation::dif_update((from, to), bytes, format, (source, destination))
            }
            Opcode::DixGenerate => {
                OffloadOperation::dix_generate((from, to), bytes, format, destination)
            }
            Opcode::CacheFlush => OffloadOperation::flush(from, bytes),
        }
    }

    fn crc_kind(&self) -> CrcKind {
        let has = |flag| self.flags & flag != 0;
        CrcKind {
            is_wide: has(SKD_CRC_64),
            bypasses_inversion: has(SKD_CRC_BYPASS_INVERSION),
            bypasses_reflection: has(SKD_CRC_BYPASS_REFLECTION),
        }
    }
}

fn convert_tags(tags: TagsOfC) -> ProtectionTags {
    let TagsOfC { reference, application, mask, flags, reserved: _ } = tags;
    ProtectionTags { flags, reference, application, mask }
}

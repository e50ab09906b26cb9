//! `skd_operation`: what is asked, as C states it.

use crate::boundary::{Failure, missing};
use crate::sized::Sized32;
use dsa::hardware::Opcode;
use dsa_client::client::Path;
use dsa_client::operation::{CrcKind, Operation, Tags};
use libc::{c_int, c_void};

/// Nothing.
pub const SKD_NO_OP: u32 = 0;
/// Waits for what was submitted to one queue before; skd_drain() does so for all.
pub const SKD_DRAIN: u32 = 2;
/// Copies `bytes` from `source` to `destination`, which may overlap.
pub const SKD_COPY: u32 = 3;
/// Fills `destination` with `pattern`, the least significant byte first; with SKD_PATTERN_16 of 16
/// bytes, whose second half is `pattern_high`.
pub const SKD_FILL: u32 = 4;
/// Finds the first byte in which `source` and `source2` differ.
pub const SKD_COMPARE: u32 = 5;
/// Finds the first byte in which `source` differs from `pattern`, of eight bytes.
pub const SKD_COMPARE_PATTERN: u32 = 6;
/// Records at `destination`, in `record_bytes` at most, in what `source2` differs from `source`.
/// Addresses and `bytes` are multiples of 8, `record_bytes` is at least 80, `bytes` at most 524288.
pub const SKD_CREATE_DELTA: u32 = 7;
/// Writes the differences of a record of `record_bytes` at `source` over `destination`, of `bytes`.
pub const SKD_APPLY_DELTA: u32 = 8;
/// Copies from `source` to `destination` and `destination2`, whose addresses are equal in their lowest
/// 12 bits.
pub const SKD_DUALCAST: u32 = 9;
/// Loads the translations of `source` (version 2 of the hardware).
pub const SKD_FETCH_TRANSLATIONS: u32 = 10;
/// Computes the CRC of `source` behind bytes whose CRC is `seed`; 0: of none. CRC-32C unless flags ask
/// for another one.
pub const SKD_CRC: u32 = 16;
/// Copies from `source` to `destination`, and computes the CRC.
pub const SKD_COPY_CRC: u32 = 17;
/// Checks protection information (T10 DIF) behind each block of `source`, by `source_tags`. `bytes` are
/// those of the source, protection information included, here and below.
pub const SKD_DIF_CHECK: u32 = 18;
/// Copies blocks, and adds protection information by `destination_tags`.
pub const SKD_DIF_INSERT: u32 = 19;
/// Checks protection information by `source_tags`, and copies blocks without it.
pub const SKD_DIF_STRIP: u32 = 20;
/// Checks protection information by `source_tags`, and copies blocks with new one by
/// `destination_tags`.
pub const SKD_DIF_UPDATE: u32 = 21;
/// Writes protection information of the blocks of `source` to `destination`, apart from them (version 2
/// of the hardware).
pub const SKD_DIX_GENERATE: u32 = 23;
/// Writes the lines of `source` back to memory, and out of the caches.
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

/// Flag of `skd_operation`: what it writes goes to the last-level cache, and not to memory.
pub const SKD_TO_CACHE: u32 = 1;
/// The pattern of SKD_FILL has 16 bytes (version 2 of the hardware).
pub const SKD_PATTERN_16: u32 = 2;
/// The CRC has 64 bits, with the polynomial of NVMe (version 2 of the hardware).
pub const SKD_CRC_64: u32 = 4;
/// Seed and result of the CRC are neither inverted nor reflected.
pub const SKD_CRC_BYPASS_INVERSION: u32 = 8;
/// Data is not reflected for the CRC.
pub const SKD_CRC_BYPASS_REFLECTION: u32 = 16;
const ALL_FLAGS: u32 = 31;

const _: () = assert!(SKD_DIF_SEED_ONES + SKD_DIF_INVERT_GUARD == 12);

/// Bit of `dif_format` beside the block: the guard begins with 0xffff, and not with 0.
pub const SKD_DIF_SEED_ONES: u8 = 4;
/// The guard is inverted.
pub const SKD_DIF_INVERT_GUARD: u8 = 8;

/// To a device from the threshold on and where that cannot do harm, else to the CPU.
pub const SKD_AUTOMATIC: c_int = 0;
/// To a device, whatever the size; -ENODEV without a queue for it. What the device fails at is done by
/// the CPU all the same.
pub const SKD_DEVICE: c_int = 1;
/// To the CPU.
pub const SKD_CPU: c_int = 2;

/// Tags of protection information, and which of them are fixed, checked or passed through: the flags of
/// section 8.3.14 of Intel's specification of DSA.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TagsOfC {
    /// Reference tag of the first block.
    pub reference: u32,
    /// Application tag of the first block.
    pub application: u16,
    /// Bits of the application tag that do not count.
    pub mask: u16,
    /// Flags: of a source 0x80 reference tag fixed, 0x40 not checked, 0x20 guard not checked, 0x10
    /// application tag incrementing, 0x08, 0x04, 0x02 blocks whose tags are all ones are not checked;
    /// of a destination 0x80, 0x10 as those, 0x40, 0x20, 0x08 reference tag, guard, application tag
    /// passed through.
    pub flags: u8,
    /// 0.
    pub reserved: [u8; 3],
}

/// An operation. Made by skd_operation_of() and its relatives; what an operation does not use is not
/// looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OperationOfC {
    /// Bytes of this structure.
    pub size: u32,
    /// Which operation: SKD_COPY and others.
    pub opcode: u32,
    /// SKD_TO_CACHE and others.
    pub flags: u32,
    /// Block of DIF operations: 0 512 B, 1 520 B, 2 4096 B, 3 4104 B; and SKD_DIF_SEED_ONES,
    /// SKD_DIF_INVERT_GUARD.
    pub dif_format: u8,
    /// 0.
    pub reserved: [u8; 3],
    /// What is read.
    pub source: *const c_void,
    /// What is read as well.
    pub source2: *const c_void,
    /// What is written.
    pub destination: *mut c_void,
    /// What is written as well.
    pub destination2: *mut c_void,
    /// Size.
    pub bytes: u64,
    /// Pattern, or its first half.
    pub pattern: u64,
    /// The second half of a pattern of 16 bytes.
    pub pattern_high: u64,
    /// CRC of what is before.
    pub seed: u64,
    /// Bytes of a record of differences.
    pub record_bytes: u32,
    /// Tags of a source with protection information.
    pub source_tags: TagsOfC,
    /// Tags of a destination with protection information.
    pub destination_tags: TagsOfC,
    /// 0.
    pub reserved2: u32,
}

#[allow(unsafe_code)]
// SAFETY: as it has to be; pointers are numbers here until an operation runs.
unsafe impl Sized32 for OperationOfC {
    const NAME: &'static str = "skd_operation";
}

/// The path of a number.
pub fn path(number: c_int) -> Result<Path, Failure> {
    match number {
        SKD_AUTOMATIC => Ok(Path::Automatic),
        SKD_DEVICE => Ok(Path::Device),
        SKD_CPU => Ok(Path::Cpu),
        _ => Err(Failure::invalid(format!(
            "`path` is {number}; allowed: SKD_AUTOMATIC (0), SKD_DEVICE (1), SKD_CPU (2)"
        ))),
    }
}

/// The operation of a code, but for SKD's lists, which are batches.
pub fn opcode(code: u32) -> Result<Opcode, Failure> {
    let known = u8::try_from(code).ok().and_then(Opcode::from_code);
    known.filter(|opcode| *opcode != Opcode::Batch).ok_or_else(|| {
        Failure::invalid(format!("no operation has the code {code}; SKD_COPY is 3, for example"))
    })
}

impl OperationOfC {
    /// The same for a client.
    pub fn read(&self) -> Result<Operation, Failure> {
        let opcode = opcode(self.opcode)?;
        if self.flags & !ALL_FLAGS != 0 {
            let unknown = self.flags & !ALL_FLAGS;
            let text = format!("{}: unknown flags {unknown:#x}", opcode.name());
            return Err(Failure::invalid(text));
        }
        if self.reserved != [0; 3] || self.reserved2 != 0 {
            let text = format!("{}: a reserved field of skd_operation is not 0", opcode.name());
            return Err(Failure::invalid(text));
        }
        self.check_pointers(opcode)?;
        let operation = self.convert(opcode);
        let to_cache = self.flags & SKD_TO_CACHE != 0;
        Ok(if to_cache { operation.to_cache() } else { operation })
    }

    fn check_pointers(&self, opcode: Opcode) -> Result<(), Failure> {
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
                let Failure { errno, text } = missing(name);
                Err(Failure::new(errno, format!("{}: {text}", opcode.name())))
            }
            _ => Ok(()),
        }
    }

    fn convert(&self, opcode: Opcode) -> Operation {
        let (from, to) = (self.source as u64, self.destination as u64);
        let (also_from, also_to) = (self.source2 as u64, self.destination2 as u64);
        let (bytes, format) = (self.bytes, self.dif_format);
        let (source, destination) = (tags(self.source_tags), tags(self.destination_tags));
        let record_bytes = self.record_bytes;
        match opcode {
            Opcode::NoOp | Opcode::Batch => Operation::no_op(),
            Opcode::Drain => Operation::drain(),
            Opcode::Move => Operation::copy(from, to, bytes),
            Opcode::Fill if self.flags & SKD_PATTERN_16 != 0 => {
                let pattern = u128::from(self.pattern_high) << 64 | u128::from(self.pattern);
                Operation::fill_wide(to, pattern, bytes)
            }
            Opcode::Fill => Operation::fill(to, self.pattern, bytes),
            Opcode::Compare => Operation::compare(from, also_from, bytes),
            Opcode::ComparePattern => Operation::compare_pattern(from, self.pattern, bytes),
            Opcode::CreateDelta => {
                Operation::create_delta((from, also_from), bytes, (to, record_bytes))
            }
            Opcode::ApplyDelta => Operation::apply_delta((from, record_bytes), to, bytes),
            Opcode::Dualcast => Operation::dualcast(from, to, also_to, bytes),
            Opcode::TranslationFetch => Operation::fetch_translations(from, bytes),
            Opcode::Crc => Operation::crc(self.crc_kind(), self.seed, from, bytes),
            Opcode::CopyCrc => Operation::copy_crc(self.crc_kind(), self.seed, (from, to), bytes),
            Opcode::DifCheck => Operation::dif_check(from, bytes, format, source),
            Opcode::DifInsert => Operation::dif_insert((from, to), bytes, format, destination),
            Opcode::DifStrip => Operation::dif_strip((from, to), bytes, format, source),
            Opcode::DifUpdate => {
                Operation::dif_update((from, to), bytes, format, (source, destination))
            }
            Opcode::DixGenerate => Operation::dix_generate((from, to), bytes, format, destination),
            Opcode::CacheFlush => Operation::flush(from, bytes),
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

fn tags(of: TagsOfC) -> Tags {
    let TagsOfC { reference, application, mask, flags, reserved: _ } = of;
    Tags { flags, reference, application, mask }
}

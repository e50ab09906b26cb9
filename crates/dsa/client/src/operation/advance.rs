//! Descriptors of pieces: the same operation from a later byte on.

use super::halves;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, PROTECTION_BYTES, flags};
use units::narrow::fit;

/// The descriptor of an operation whose operands begin `by` bytes later. The caller sets size and seeds.
pub(crate) fn advanced(descriptor: &Descriptor, opcode: Opcode, by: u64) -> Descriptor {
    let it = *descriptor;
    let (first, second) = (it.first().wrapping_add(by), it.second().wrapping_add(by));
    let blocks = |block: u64, other: u64| by / block * other;
    let block = [512, 520, 4096, 4104][usize::from(it.dif_flags() & 3)];
    let protected = block + PROTECTION_BYTES;
    let later = |bytes| it.second().wrapping_add(bytes);
    match opcode {
        Opcode::Fill => rotated(it, by).with_second(second),
        Opcode::ComparePattern => {
            it.with_first(first).with_second(it.second().rotate_right(bits(by, 8)))
        }
        Opcode::CacheFlush => it.with_second(second),
        Opcode::Crc | Opcode::TranslationFetch | Opcode::DifCheck => it.with_first(first),
        Opcode::Dualcast => it
            .with_first(first)
            .with_second(second)
            .with_second_destination(it.second_destination().wrapping_add(by)),
        Opcode::DifInsert => it.with_first(first).with_second(later(blocks(block, protected))),
        Opcode::DifStrip => it.with_first(first).with_second(later(blocks(protected, block))),
        Opcode::DixGenerate => {
            it.with_first(first).with_second(later(blocks(block, PROTECTION_BYTES)))
        }
        Opcode::Move | Opcode::Compare | Opcode::CopyCrc | Opcode::DifUpdate => {
            it.with_first(first).with_second(second)
        }
        Opcode::NoOp | Opcode::Batch | Opcode::Drain | Opcode::CreateDelta | Opcode::ApplyDelta => {
            it
        }
    }
}

/// Bits by which a pattern of `pattern_bytes` is rotated.
fn bits(by: u64, pattern_bytes: u64) -> u32 {
    fit(by % pattern_bytes * 8)
}

/// A fill with its pattern rotated to continue `by` bytes later.
fn rotated(descriptor: Descriptor, by: u64) -> Descriptor {
    if !descriptor.has(flags::PATTERN_16) {
        return descriptor.with_first(descriptor.first().rotate_right(bits(by, 8)));
    }
    let whole = u128::from(descriptor.pattern_high()) << 64 | u128::from(descriptor.first());
    let turned = whole.rotate_right(bits(by, 16));
    let [low, high] = halves(turned);
    descriptor.with_first(low).with_pattern_high(high)
}

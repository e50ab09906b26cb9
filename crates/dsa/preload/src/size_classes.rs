//! Classes of call sizes, in powers of two, for counts and for tuning.

/// Number of classes: class n has the sizes from 2^n bytes on, and the last one all larger ones.
pub const CLASSES: usize = 48;

/// The class of a size in bytes.
#[inline]
pub fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2() as usize).min(CLASSES - 1)
}

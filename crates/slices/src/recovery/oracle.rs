//! The interface of slice oracles, which say which slice a line is in.

use units::SliceId;

/// What a slice oracle says about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The line is in this slice, probably.
    Slice(SliceId),
    /// No slice stood out; asking again may help.
    Unclear,
}

/// Tells the slice of a line, and may err: uncore counters around repeated accesses, timing, or
/// an emulation of them.
pub trait SliceOracle {
    /// Why no further answers can be had.
    type Error: std::error::Error + Send + Sync + 'static;

    /// How many slices it tells apart; they are numbered from 0.
    fn slices(&self) -> u32;

    /// The slice of the line at a physical address, which is in one of the pages that the recovery
    /// was given.
    ///
    /// # Errors
    /// If no answers can be had any more; a single failed measurement is [`Answer::Unclear`].
    fn ask(&mut self, physical_address: u64) -> Result<Answer, Self::Error>;
}

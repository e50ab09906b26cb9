//! The interface of slice oracles, which find the slice of a line.

use units::SliceId;

/// Answer of a slice oracle about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleAnswer {
    /// The line is in this slice, probably.
    Slice(SliceId),
    /// No slice stood out; asking again may help.
    Unclear,
}

/// Finds the slice of a line, and may err: by uncore counters around repeated accesses, by timing, or by
/// an emulation of them.
pub trait SliceOracle {
    /// Error after which the oracle gives no further answers.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Number of slices that the oracle tells apart; they are numbered from 0.
    fn slices(&self) -> u32;

    /// The slice of the line at a physical address, which is in one of the pages that the recovery
    /// was given.
    ///
    /// # Errors
    /// If the oracle gives no further answers; a single failed measurement is [`OracleAnswer::Unclear`].
    fn ask(&mut self, physical_address: u64) -> Result<OracleAnswer, Self::Error>;
}

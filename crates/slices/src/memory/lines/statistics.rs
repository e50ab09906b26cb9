//! How lines are used.

use units::SliceId;

/// How an allocator's memory is used, in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStatistics {
    /// Lines in all pages.
    pub total: u64,
    /// Lines that are handed out.
    pub allocated: u64,
    /// Free lines of each slice; a single number if slices are not known.
    pub free_of_slices: Vec<u64>,
}

impl LineStatistics {
    /// Share of all lines that an owner who wants these slices only can never use.
    #[must_use]
    pub fn wasted_share(&self, lines_of_slices: &[u64], slices: &[SliceId]) -> f64 {
        let wanted: u64 = slices.iter().map(|slice| lines_of_slices[usize::from(slice.0)]).sum();
        1.0 - wanted as f64 / self.total as f64
    }
}

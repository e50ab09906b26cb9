//! Counts of an allocator's lines.

use units::SliceId;

/// Counts of an allocator's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStatistics {
    /// Number of lines in all pages.
    pub total: u64,
    /// Number of allocated lines.
    pub allocated: u64,
    /// Number of free lines of each slice; a single number if slices are not known.
    pub free_of_slices: Vec<u64>,
}

impl LineStatistics {
    /// Share of all lines, from 0 to 1, that an owner of these slices can never use; `lines_of_slices` has
    /// the number of lines of each slice.
    #[must_use]
    pub fn wasted_share(&self, lines_of_slices: &[u64], slices: &[SliceId]) -> f64 {
        let wanted: u64 = slices.iter().map(|slice| lines_of_slices[usize::from(slice.0)]).sum();
        1.0 - wanted as f64 / self.total as f64
    }
}

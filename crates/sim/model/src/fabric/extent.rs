//! A contiguous range of memory that a device's request names.
//!
//! Models: an address and a length, as in a scatter-gather list.
//! Source: PRP and SGL entries of the NVM Express specification, which name memory like this.
//! Simplifies: an extent begins at the start of a line.

use units::{LINE_BYTES, LineAddr};

/// Lines of a 4 KiB page, the smallest that is translated.
const SMALLEST_PAGE_LINES: u64 = 64;

/// Bytes from the start of a line on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First line of the range.
    pub first: LineAddr,
    /// Length in bytes; the range may end inside its last line.
    pub bytes: u64,
}

impl Extent {
    /// Number of lines that the extent touches, in whole or in part.
    #[inline]
    #[must_use]
    pub fn lines(self) -> u64 {
        self.bytes.div_ceil(LINE_BYTES)
    }

    /// Lines that it covers completely: the first ones.
    #[inline]
    #[must_use]
    pub fn full_lines(self) -> u64 {
        self.bytes / LINE_BYTES
    }

    /// The first line of the 4 KiB page behind that of `line`, if the extent touches it.
    #[inline]
    pub(super) fn page_behind(self, line: LineAddr) -> Option<LineAddr> {
        let next = LineAddr((line.0 / SMALLEST_PAGE_LINES + 1) * SMALLEST_PAGE_LINES);
        (next.0 < self.first.0 + self.lines()).then_some(next)
    }
}

/// The sum of `of_one` over all `extents`. One extent is the common case, known when this is inlined.
#[inline(always)]
pub(super) fn total(extents: &[Extent], of_one: impl Fn(u64) -> u64) -> u64 {
    match extents {
        [only] => of_one(only.bytes),
        _ => extents.iter().map(|extent| of_one(extent.bytes)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_touches_each_of_its_pages_once() {
        let pages = |first, bytes| -> Vec<u64> {
            let extent = Extent { first: LineAddr(first), bytes };
            let lines = std::iter::successors(Some(extent.first), |&line| extent.page_behind(line));
            lines.map(|line| line.0).collect()
        };
        assert_eq!(pages(5, 0), [5]);
        assert_eq!(pages(5, 59 * 64), [5]);
        assert_eq!(pages(5, 59 * 64 + 1), [5, 64]);
        assert_eq!(pages(64, 3 * 4096), [64, 128, 192]);
    }

    #[test]
    fn the_last_line_may_be_touched_in_part() {
        let extent = Extent { first: LineAddr(0), bytes: 100 };
        assert_eq!((extent.lines(), extent.full_lines()), (2, 1));
    }
}

//! A stretch of memory that a device's request names.
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
    /// Its first line.
    pub first: LineAddr,
    /// Its length; the last line may be part of it in part.
    pub bytes: u64,
}

impl Extent {
    /// Lines that it touches.
    #[inline]
    #[must_use]
    pub fn lines(self) -> u64 {
        self.bytes.div_ceil(LINE_BYTES)
    }

    /// Lines that it covers whole: the first ones.
    #[inline]
    #[must_use]
    pub fn full_lines(self) -> u64 {
        self.bytes / LINE_BYTES
    }

    /// A line of each 4 KiB page that it touches, in their order; an empty extent touches one.
    #[inline]
    pub(super) fn pages(self) -> impl Iterator<Item = LineAddr> {
        let last = self.first.step(self.lines().max(1) - 1);
        let page = |line: LineAddr| line.0 / SMALLEST_PAGE_LINES;
        let others = page(self.first) + 1..=page(last);
        let first_of = |page| LineAddr(page * SMALLEST_PAGE_LINES);
        std::iter::once(self.first).chain(others.map(first_of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_touches_each_of_its_pages_once() {
        let pages = |first, bytes| -> Vec<u64> {
            Extent { first: LineAddr(first), bytes }.pages().map(|line| line.0).collect()
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

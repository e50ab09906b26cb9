//! A ring of entries in host memory: the base of every kind of queue.
//!
//! Models: contiguous entries of equal size, of which several may share a line.
//! Source: NVM Express base specification and Linux mlx5, i40e drivers, whose queues are such rings.
//! Simplifies: reads and writes of entries begin at the start of their first line.

use units::{LINE_BYTES, LineAddr};

/// Equal entries in contiguous memory, used in a ring.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// First line of the ring.
    pub first: LineAddr,
    /// Number of entries of the ring.
    pub entries: u32,
    /// Size of an entry in bytes.
    pub entry_bytes: u64,
}

impl Ring {
    /// Bytes of the whole ring.
    #[must_use]
    pub fn bytes(entries: u32, entry_bytes: u64) -> u64 {
        u64::from(entries) * entry_bytes
    }

    /// Splits `bytes` from entry `index` on at the ring's end: the first line of each range and the
    /// bytes from its start on. The second is empty if the range does not wrap around.
    #[must_use]
    pub fn parts(&self, index: u64, bytes: u64) -> [(LineAddr, u64); 2] {
        let place = index % u64::from(self.entries);
        let to_end = (u64::from(self.entries) - place) * self.entry_bytes;
        let before_end = bytes.min(to_end);
        let into_line = place * self.entry_bytes % LINE_BYTES;
        [(self.line_of(index), into_line + before_end), (self.first, bytes - before_end)]
    }

    /// The line `behind` lines behind `line`: the ring goes on at its start.
    #[must_use]
    pub fn line_behind(&self, line: LineAddr, behind: u64) -> LineAddr {
        let lines = (u64::from(self.entries) * self.entry_bytes).div_ceil(LINE_BYTES);
        self.first.step((line.0 - self.first.0 + behind) % lines)
    }

    /// The line in which entry `index` (without wrap-around) begins.
    #[must_use]
    pub fn line_of(&self, index: u64) -> LineAddr {
        self.first.step(index % u64::from(self.entries) * self.entry_bytes / LINE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: u32, entry_bytes: u64) -> Ring {
        Ring { first: LineAddr(100), entries, entry_bytes }
    }

    #[test]
    fn four_receive_descriptors_share_a_line_and_the_ring_closes() {
        let lines: Vec<u64> = (0..9).map(|i| ring(8, 16).line_of(i).0).collect();
        assert_eq!(lines, [100, 100, 100, 100, 101, 101, 101, 101, 100]);
    }

    #[test]
    fn what_passes_the_end_of_a_ring_goes_on_at_its_start() {
        let ring = ring(16, 64);
        assert_eq!(ring.parts(14, 544), [(LineAddr(114), 128), (LineAddr(100), 416)]);
        assert_eq!(ring.parts(16, 544), [(LineAddr(100), 544), (LineAddr(100), 0)]);
    }

    #[test]
    fn the_line_behind_the_last_is_the_first() {
        let ring = ring(8, 32);
        let behind = [0, 1, 3, 4].map(|lines| ring.line_behind(LineAddr(101), lines).0);
        assert_eq!(behind, [101, 102, 100, 101]);
    }

    #[test]
    fn entries_in_the_middle_of_a_line_touch_the_lines_they_lie_in() {
        // Four descriptors of 16 B from the fourth of a line on occupy two lines.
        assert_eq!(ring(16, 16).parts(3, 64), [(LineAddr(100), 112), (LineAddr(100), 0)]);
    }
}

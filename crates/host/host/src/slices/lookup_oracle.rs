//! Finds the slice of a line by the box that counts the look-ups of its accesses.

use super::counters::BoxReaders;
use crate::error::FileError;
use crate::probe_memory::ProbeMemory;
use units::narrow::fit;

/// Accesses to a line for one answer: some ten microseconds.
const ACCESSES: u32 = 128;

/// Oracle that counts look-ups of every box around repeated accesses to a line.
pub struct LookupOracle<'h> {
    memory: Box<dyn ProbeMemory>,
    readers: BoxReaders<'h>,
}

impl<'h> LookupOracle<'h> {
    /// An oracle on mapped memory, and counters that have been started.
    #[must_use]
    pub fn new(memory: Box<dyn ProbeMemory>, readers: BoxReaders<'h>) -> Self {
        Self { memory, readers }
    }

    /// Number of the box that counts the accesses to a line; `None` if no box stands out.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn slice_of(&mut self, physical_address: u64) -> Result<Option<u16>, FileError> {
        let before = self.readers.read()?;
        self.memory.load_and_flush(physical_address, ACCESSES);
        let after = self.readers.read()?;
        let counts = before
            .iter()
            .zip(&after)
            .map(|(&before, &after)| BoxReaders::difference(before, after));
        Ok(prominent_box(counts, u64::from(ACCESSES)))
    }
}

/// Index of the largest count, if it has at least three quarters of the accesses and exceeds the second
/// largest by half of them. A neighbour that a prefetcher fetches once has far fewer.
fn prominent_box(counts: impl Iterator<Item = u64>, accesses: u64) -> Option<u16> {
    let mut best: Option<(u64, u16)> = None;
    let mut second = 0;
    for (index, count) in counts.enumerate() {
        if best.is_none_or(|(most, _)| count > most) {
            second = best.map_or(0, |(most, _)| most);
            best = Some((count, fit(index)));
        } else {
            second = second.max(count);
        }
    }
    best.filter(|(most, _)| *most >= accesses / 4 * 3 && *most - second >= accesses / 2)
        .map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_with_most_look_ups_is_the_slice_if_it_stands_out() {
        let ask = |counts: &[u64]| prominent_box(counts.iter().copied(), 128);
        assert_eq!(ask(&[3, 140, 7]), Some(1));
        assert_eq!(ask(&[140, 3, 90]), None, "two boxes are busy");
        assert_eq!(ask(&[60, 3, 2]), None, "most accesses are in no box");
        assert_eq!(ask(&[0, 0, 0]), None, "no box counts");
        assert_eq!(ask(&[]), None);
    }
}

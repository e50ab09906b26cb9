//! Base sequences: the lines of one block, and how other blocks rearrange them.

use super::errors::{NotEnoughEvidence, RecoveryError};
use super::offset::distinguishing_line;
use super::oracle::SliceOracle;
use super::questions::Race;
use super::{Candidate, LINE_BIT, LONGEST_SEQUENCE_BITS, Learner, Recovered};
use crate::gf2::{LinearMap, VectorInsertion};
use address_map::ADDRESS_BITS;
use units::narrow::fit;

impl<O: SliceOracle> Learner<'_, O> {
    /// Finds the shortest base sequence that fits the answers.
    pub(super) fn sequence(&mut self) -> Result<Recovered, RecoveryError<O::Error>> {
        let start = self.pages.reference().start;
        let race = Race::new(&self.noise, self.votes());
        let mut block = Vec::new();
        for bits in (self.slices - 1).ilog2() + 1..=LONGEST_SEQUENCE_BITS {
            self.questions.stage = "while the lines of a block were put to the vote";
            let lines = block.len() as u64..1 << bits;
            let addresses: Vec<u64> = lines.map(|line| start | line << LINE_BIT).collect();
            block.extend(self.questions.decide(&addresses, race)?);
            if self.missing_slice(&block).is_some() {
                continue;
            }
            let Some(candidate) = self.find_rearrangements(&block)? else {
                continue;
            };
            if let Some(file) = self.accept(candidate)? {
                return Ok(Recovered { file, xor_masks: None });
            }
        }
        let nothing = NotEnoughEvidence::NothingFits { longest: 1 << LONGEST_SEQUENCE_BITS };
        let missing = self.missing_slice(&block).map(NotEnoughEvidence::SliceNeverSeen);
        Err(missing.unwrap_or(nothing).into())
    }

    fn missing_slice(&self, block: &[u16]) -> Option<u16> {
        (0..fit(self.slices)).find(|slice| !block.contains(slice))
    }

    /// Finds the function with `block` as the first block of the reference page, if all other blocks are
    /// rearrangements of it that depend on the address by XOR.
    fn find_rearrangements(
        &mut self,
        block: &[u16],
    ) -> Result<Option<Candidate>, RecoveryError<O::Error>> {
        self.questions.stage = "while rearrangements of the sequence were looked for";
        let reference = self.pages.reference();
        let first_above = LINE_BIT + block.len().ilog2();
        let mut span = LinearMap::default();
        let mut foretold_pages = 0;
        for bit in LINE_BIT..first_above {
            span.insert(1 << bit, 1 << (bit - LINE_BIT));
        }
        let within = (first_above..reference.size.bits()).map(|bit| reference.start | 1 << bit);
        let others = self.pages.others().iter().map(|page| page.start);
        for start in within.chain(others).collect::<Vec<_>>() {
            let Some(offset) = self.find_offset(block, start)? else {
                return Ok(None);
            };
            let insertion = span.insert(start ^ reference.start, offset);
            if let VectorInsertion::Dependent(other) = insertion {
                if distinguishing_line(block, offset, other, 0).is_some() {
                    return Ok(None);
                }
                foretold_pages += 1;
            }
        }
        let reference_offset = span.extended(reference.start) as usize;
        let base = (0..block.len()).map(|index| block[index ^ reference_offset]).collect();
        let mut perm_masks = vec![0; block.len().ilog2() as usize];
        for bit in first_above..ADDRESS_BITS {
            let offset = span.extended(1 << bit);
            for (bit_of_mask, mask) in perm_masks.iter_mut().enumerate() {
                *mask |= u64::from(offset >> bit_of_mask & 1) << bit;
            }
        }
        Ok(Some(Candidate { base, perm_masks, span, foretold_pages }))
    }
}

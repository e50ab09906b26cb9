//! The offset with which a block's positions are XORed, relative to a known block.

use super::errors::RecoveryError;
use super::oracle::SliceOracle;
use super::{LINE_BIT, LONGEST_SEQUENCE_BITS, Learner};
use address_map::ADDRESS_BITS;
use rand_core::RngCore;
use units::narrow::fit;

/// Random lines before the race is decided: so many show that a block is not a rearrangement.
const LEAST_QUESTIONS: u64 = 64;

/// Offsets that have not fallen behind, each with the number of answers that agree with it; ordered by
/// offset.
struct Field(Vec<(u32, u64)>);

impl Field {
    /// The offset with which most answers agree, and the next one.
    fn leaders(&self) -> ((u32, u64), Option<(u32, u64)>) {
        let mut leader = self.0[0];
        let mut rival = None;
        for &entry in &self.0[1..] {
            if entry.1 > leader.1 {
                rival = Some(leader);
                leader = entry;
            } else if rival.is_none_or(|(_, agreeing)| entry.1 > agreeing) {
                rival = Some(entry);
            }
        }
        (leader, rival)
    }
}

impl<O: SliceOracle> Learner<'_, O> {
    /// Finds the offset d for which line x of the block at `start` is in slice `block[x ^ d]`; any of
    /// them, if several are equivalent. `None` if too many answers contradict every offset, or no offset
    /// wins: each later question is a step in the race of the right offset against a rival, so that their
    /// number is bounded if there is a right one.
    pub(super) fn find_offset(
        &mut self,
        block: &[u16],
        start: u64,
    ) -> Result<Option<u32>, RecoveryError<O::Error>> {
        let lead = self.noise.lead(self.offsets());
        let most_per_rival = u64::from(self.noise.most_answers(lead, self.offsets()));
        let lead = u64::from(lead);
        let mut most = None;
        let mut field = Field((0..fit(block.len())).map(|offset| (offset, 0)).collect());
        let mut asked = 0;
        loop {
            let (leader, rival) = field.leaders();
            if asked == LEAST_QUESTIONS {
                let rivals = field.0.len() as u64 - 1;
                most.get_or_insert(LEAST_QUESTIONS + rivals * most_per_rival);
            }
            let noisy = self.noise.is_exceeded_by(asked - leader.1, asked.max(1));
            if noisy || (rival.is_some() && most.is_some_and(|most| asked >= most)) {
                return Ok(None);
            }
            let random = self.questions.random.next_u32() as usize % block.len();
            let line = match rival {
                _ if asked < LEAST_QUESTIONS => random,
                Some(rival) => match distinguishing_line(block, leader.0, rival.0, random) {
                    Some(line) => line,
                    None => {
                        field.0.retain(|entry| entry.0 != rival.0);
                        continue;
                    }
                },
                None => {
                    self.questions.note(asked - leader.1, asked);
                    return Ok(Some(leader.0));
                }
            };
            let answer = self.questions.ask(start | (line as u64) << LINE_BIT)?;
            asked += 1;
            for (offset, agreeing) in &mut field.0 {
                *agreeing += u64::from(block[line ^ *offset as usize] == answer);
            }
            let best = field.0.iter().map(|entry| entry.1).max().expect("the leader stays");
            field.0.retain(|entry| entry.1 + lead > best);
        }
    }

    /// Most offsets that may wrongly win, over all blocks and attempts.
    fn offsets(&self) -> f64 {
        let blocks = f64::from(ADDRESS_BITS + self.pages.count());
        // Lengths double, so that the last attempt has half of all offsets.
        blocks * f64::from(2u32 << LONGEST_SEQUENCE_BITS)
    }
}

/// Finds a line that two offsets put into different slices, from `from` on.
pub(super) fn distinguishing_line(
    block: &[u16],
    one: u32,
    other: u32,
    from: usize,
) -> Option<usize> {
    let differs = |line: &usize| block[line ^ one as usize] != block[line ^ other as usize];
    (from..block.len()).chain(0..from).find(differs)
}

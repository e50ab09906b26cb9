//! The hold-out: a comparison of a table with fresh addresses.

use super::errors::{NotEnoughEvidence, RecoveryError};
use super::oracle::SliceOracle;
use super::questions::Race;
use super::{LINE_BIT, LONGEST_SEQUENCE_BITS, Learner};
use address_map::{BaseSequence, SliceTable};
use units::LineAddr;
use units::narrow::fit;

/// Counts of a hold-out that a table has passed.
pub(super) struct HoldOut {
    /// Number of addresses that were compared.
    pub(super) addresses: u64,
    /// Number of these addresses that were drawn at random.
    pub(super) random_addresses: u32,
    /// Random addresses whose first answer contradicted the table.
    pub(super) asked_again: u64,
}

impl<O: SliceOracle> Learner<'_, O> {
    /// Compares the table with the answers about random lines of all pages and about every line of
    /// one block of the longest sequence. An answer that contradicts the table is put to the vote; the
    /// first contradiction that a vote confirms ends the comparison with `None`.
    pub(super) fn hold_out(
        &mut self,
        table: &SliceTable,
    ) -> Result<Option<HoldOut>, RecoveryError<O::Error>> {
        self.questions.stage = "while the table was compared with fresh addresses";
        let function = BaseSequence::new(table).expect("the learner makes valid tables");
        let expected = |address| fit::<u16, _>(function.slice(LineAddr::of_byte(address)));
        let random_addresses = self.settings.hold_out_addresses;
        let addresses = u64::from(random_addresses) + (1 << LONGEST_SEQUENCE_BITS);
        let confirm = Race::new(&self.noise, addresses as f64);
        let mut asked_again = 0;
        for _ in 0..random_addresses {
            let address = self.pages.random_line(&mut self.questions.random);
            let first = self.questions.ask(address)?;
            if first != expected(address) {
                asked_again += 1;
                if self.questions.decide_one(address, first, confirm)? != expected(address) {
                    return Ok(None);
                }
            }
        }
        self.questions.note(asked_again, u64::from(random_addresses));
        if !self.block_fits(expected, confirm)? {
            return Ok(None);
        }
        self.questions.check_noise(&self.noise)?;
        self.check_pilot(expected)?;
        Ok(Some(HoldOut { addresses, random_addresses, asked_again }))
    }

    /// Compares the table with the answers to the first questions. All later answers may agree with each
    /// other and with a table of slices that had other numbers before.
    fn check_pilot(&self, expected: impl Fn(u64) -> u16) -> Result<(), NotEnoughEvidence> {
        let decided = self.noise.lead(self.pilot.len() as f64);
        for (address, tally) in &self.pilot {
            let (before, now) = (tally.leader(), expected(*address));
            if before != now && tally.lead() >= decided {
                let physical_address = *address;
                return Err(NotEnoughEvidence::Changed { physical_address, before, now });
            }
        }
        Ok(())
    }

    /// Whether all lines of a block of the longest sequence, in a random page, are in the expected slices.
    /// If the true sequence is longer than the table's, single lines may differ: the oracle is asked about
    /// each line until the probability of overlooking one that differs is below the error probability of
    /// a step. If all agree, all other blocks are rearrangements that the shorter sequence has too.
    fn block_fits(
        &mut self,
        expected: impl Fn(u64) -> u16,
        confirm: Race,
    ) -> Result<bool, RecoveryError<O::Error>> {
        let block_bytes = 1u64 << (LINE_BIT + LONGEST_SEQUENCE_BITS);
        let block = self.pages.random_line(&mut self.questions.random) & !(block_bytes - 1);
        let lines = 0..1u64 << LONGEST_SEQUENCE_BITS;
        let addresses: Vec<u64> = lines.map(|line| block | line << LINE_BIT).collect();
        let agree = Race::new(&self.noise, 1.0);
        let found = self.questions.vote(&addresses, |index, tally| {
            let address = addresses[index];
            match tally.leader() == expected(address) && agree.is_won(tally) {
                true => Ok(true),
                false => confirm.is_over(tally, address),
            }
        })?;
        Ok(addresses.iter().zip(found).all(|(&address, slice)| slice == expected(address)))
    }
}

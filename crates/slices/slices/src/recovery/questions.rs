//! Questions to the oracle within a budget, and races between answers.

use super::Settings;
use super::errors::{NotEnoughEvidence, RecoveryError};
use super::hold_out::HoldOut;
use super::noise::NoiseBound;
use super::oracle::{OracleAnswer, SliceOracle};
use crate::evidence::Evidence;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The oracle, with counts of questions and answers.
pub(super) struct Questions<'a, O> {
    oracle: &'a mut O,
    pub(super) random: Xoshiro256PlusPlus,
    pub(super) error_probability: f64,
    /// The current step, for messages.
    pub(super) stage: &'static str,
    slices: u32,
    most: u64,
    asked: u64,
    unclear: u64,
    /// Answers that were compared with the function.
    compared: u64,
    /// Compared answers that contradict the function.
    contradicting: u64,
}

/// Counts of the answers about one address.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerTally(Vec<(u16, u32)>);

impl AnswerTally {
    pub(super) fn add(&mut self, slice: u16) {
        let Some(index) = self.0.iter().position(|entry| entry.0 == slice) else {
            return self.0.push((slice, 1));
        };
        self.0[index].1 += 1;
        // The most frequent answer stands first.
        if self.0[index].1 > self.0[0].1 {
            self.0.swap(0, index);
        }
    }

    /// Returns the most frequent answer: the number of a slice.
    pub(super) fn leader(&self) -> u16 {
        self.0[0].0
    }

    /// The lead of the most frequent answer over the next one.
    pub(super) fn lead(&self) -> u32 {
        self.0[0].1 - self.0[1..].iter().map(|entry| entry.1).max().unwrap_or(0)
    }

    /// Number of answers other than the most frequent one.
    pub(super) fn against(&self) -> u32 {
        self.0[1..].iter().map(|entry| entry.1).sum()
    }

    fn answers(&self) -> u32 {
        self.0.iter().map(|entry| entry.1).sum()
    }
}

/// The lead that decides a vote, and the most answers that it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    lead: u32,
    most_answers: u32,
    allowed_noise_share: f64,
}

impl Race {
    /// The race for each of `decisions` of a step.
    pub(super) fn new(noise: &NoiseBound, decisions: f64) -> Self {
        let lead = noise.lead(decisions);
        let most_answers = noise.most_answers(lead, decisions);
        Self { lead, most_answers, allowed_noise_share: noise.allowed }
    }

    /// Whether the most frequent answer has the lead.
    pub(super) fn is_won(&self, tally: &AnswerTally) -> bool {
        tally.lead() >= self.lead
    }

    /// Whether the most frequent answer has the lead.
    ///
    /// # Errors
    /// If the race takes longer than the noise explains.
    pub(super) fn is_over(
        &self,
        tally: &AnswerTally,
        physical_address: u64,
    ) -> Result<bool, NotEnoughEvidence> {
        let over = self.is_won(tally);
        if !over && tally.answers() >= self.most_answers {
            let allowed_noise_share = self.allowed_noise_share;
            return Err(NotEnoughEvidence::UnevenNoise { physical_address, allowed_noise_share });
        }
        Ok(over)
    }
}

impl<'a, O: SliceOracle> Questions<'a, O> {
    pub(super) fn new(oracle: &'a mut O, settings: &Settings) -> Self {
        Self {
            slices: oracle.slices(),
            oracle,
            random: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            error_probability: settings.error_probability,
            stage: "",
            most: settings.most_questions,
            asked: 0,
            unclear: 0,
            compared: 0,
            contradicting: 0,
        }
    }

    /// Asks for the slice of an address; after an unclear answer, again.
    pub(super) fn ask(&mut self, physical_address: u64) -> Result<u16, RecoveryError<O::Error>> {
        loop {
            if self.asked == self.most {
                let (asked, stage) = (self.asked, self.stage);
                return Err(NotEnoughEvidence::Budget { asked, stage }.into());
            }
            self.asked += 1;
            match self.oracle.ask(physical_address).map_err(RecoveryError::Oracle)? {
                OracleAnswer::Slice(slice) if u32::from(slice.0) < self.slices => {
                    return Ok(slice.0);
                }
                _ => self.unclear += 1,
            }
        }
    }

    /// Decides the slices of addresses by vote.
    pub(super) fn decide(
        &mut self,
        addresses: &[u64],
        race: Race,
    ) -> Result<Vec<u16>, RecoveryError<O::Error>> {
        self.vote(addresses, |index, tally| race.is_over(tally, addresses[index]))
    }

    /// The slices of addresses by the most frequent answers; the vote on each goes on until `is_over` is
    /// true for its index. The addresses are asked about in turn, so that a noisy moment meets many of them
    /// once instead of one many times.
    pub(super) fn vote(
        &mut self,
        addresses: &[u64],
        is_over: impl Fn(usize, &AnswerTally) -> Result<bool, NotEnoughEvidence>,
    ) -> Result<Vec<u16>, RecoveryError<O::Error>> {
        let mut tallies = vec![AnswerTally::default(); addresses.len()];
        let mut open: Vec<usize> = (0..addresses.len()).collect();
        while !open.is_empty() {
            let mut still_open = Vec::new();
            for index in open {
                tallies[index].add(self.ask(addresses[index])?);
                if !is_over(index, &tallies[index])? {
                    still_open.push(index);
                }
            }
            open = still_open;
        }
        for tally in &tallies {
            self.note(u64::from(tally.against()), u64::from(tally.answers()));
        }
        Ok(tallies.iter().map(AnswerTally::leader).collect())
    }

    /// Decides the slice of one address by vote, after a first answer.
    pub(super) fn decide_one(
        &mut self,
        address: u64,
        first: u16,
        race: Race,
    ) -> Result<u16, RecoveryError<O::Error>> {
        let mut tally = AnswerTally::default();
        tally.add(first);
        while !race.is_over(&tally, address)? {
            tally.add(self.ask(address)?);
        }
        Ok(tally.leader())
    }

    /// Counts answers that were compared with the function.
    pub(super) fn note(&mut self, contradicting: u64, compared: u64) {
        self.contradicting += contradicting;
        self.compared += compared;
    }

    /// Checks that no more of the answers were wrong than decisions allowed for.
    pub(super) fn check_noise(&self, noise: &NoiseBound) -> Result<(), NotEnoughEvidence> {
        match noise.is_exceeded_by(self.contradicting, self.compared) {
            true => Err(noise.too_noisy(self.contradicting, self.compared)),
            false => Ok(()),
        }
    }

    /// The evidence but for the counts of pages, which are not known here and zero.
    pub(super) fn evidence(&self, noise: &NoiseBound, result: &HoldOut) -> Evidence {
        Evidence {
            questions: self.asked,
            unclear_answers: self.unclear,
            noise_share: noise.share,
            allowed_noise_share: noise.allowed,
            contradicting_share: self.contradicting as f64 / self.compared as f64,
            hold_out_addresses: result.addresses,
            hold_out_asked_again: result.asked_again,
            most_unfitting_share: noise.most_unseen_share(result.random_addresses),
            pages: 0,
            foretold_pages: 0,
            error_probability: self.error_probability,
        }
    }
}

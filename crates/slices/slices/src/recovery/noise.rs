//! The share of wrong answers, and the lead that a race between answers needs.

use super::errors::{NotEnoughEvidence, RecoveryError};
use super::oracle::SliceOracle;
use super::pages::Pages;
use super::questions::{AnswerTally, Questions};
use statrs::distribution::{Beta, ContinuousCDF};
use units::narrow::{fit, whole};

/// Addresses of the pilot: the oracle is asked [`PILOT_ROUNDS`] times about each.
const PILOT_ADDRESSES: usize = 64;
const PILOT_ROUNDS: usize = 64;

/// Share of wrong answers above which no function is accepted: with two slices, answers that are wrong more
/// than two times out of three look like right ones of an oracle that swaps the slices.
const MOST_NOISE: f64 = 1.0 / 3.0;

/// Least share of wrong answers that is assumed: a few hundred right answers do not exclude it.
const LEAST_NOISE: f64 = 0.01;

/// Steps of the recovery among which the error probability is shared out evenly: the bound on the
/// noise, votes, rearrangements, hold-out.
const STEPS: f64 = 4.0;

/// A bound on the share of wrong answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseBound {
    /// Share of wrong answers that was measured.
    pub(super) share: f64,
    /// Share that decisions allow for, with a margin for addresses that are noisier than others.
    pub(super) allowed: f64,
    /// Error probability of a whole step.
    step_error: f64,
}

impl NoiseBound {
    /// The bound after `wrong` of `answers` were wrong, for a total error probability.
    fn new(wrong: u64, answers: u64, error: f64) -> Result<Self, NotEnoughEvidence> {
        let step_error = error / STEPS;
        let share = wrong as f64 / answers as f64;
        // Clopper-Pearson. All wrong cannot be: an address's most frequent answer counts as right.
        let bound = Beta::new(wrong as f64 + 1.0, (answers - wrong) as f64)
            .expect("some answers are right")
            .inverse_cdf(1.0 - step_error);
        if bound >= MOST_NOISE {
            return Err(NotEnoughEvidence::TooNoisy { share, bound, limit: MOST_NOISE });
        }
        let allowed = (2.0 * bound).min((bound + 0.5) / 2.0).max(LEAST_NOISE);
        Ok(Self { share, allowed, step_error })
    }

    /// The lead that an answer needs so that, over all `decisions` of a step, a wrong answer reaches it
    /// with no more than the step's error probability.
    pub(super) fn lead(&self, decisions: f64) -> u32 {
        let odds = (1.0 - self.allowed) / self.allowed;
        fit(whole(((decisions / self.step_error).ln() / odds.ln()).ceil()))
    }

    /// Number of answers after which a race to `lead` is over but for the step's error probability, over all
    /// `decisions` (Hoeffding).
    pub(super) fn most_answers(&self, lead: u32, decisions: f64) -> u32 {
        let exponent = (decisions / self.step_error).ln();
        let open = |&answers: &u32| {
            let answers = f64::from(answers);
            let distance = 0.5 - f64::from(lead) / (2.0 * answers) - self.allowed;
            distance <= 0.0 || 2.0 * answers * distance * distance < exponent
        };
        (lead..).step_by(4).find(|answers| !open(answers)).expect("the noise is below one half")
    }

    /// Whether so many wrong answers are less likely than the step's error probability if the bound holds
    /// (Chernoff).
    pub(super) fn is_exceeded_by(&self, wrong: u64, answers: u64) -> bool {
        let share = wrong as f64 / answers as f64;
        if share <= self.allowed {
            return false;
        }
        let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
        let divergence = term(share, self.allowed) + term(1.0 - share, 1.0 - self.allowed);
        answers as f64 * divergence > (1.0 / self.step_error).ln()
    }

    /// Upper bound, at the step's error probability, on the share of addresses of a kind of which none was
    /// among `sampled` random ones. A right answer about such an address shows its kind.
    pub(super) fn most_unseen_share(&self, sampled: u32) -> f64 {
        (1.0 / self.step_error).ln() / (f64::from(sampled) * (1.0 - self.allowed))
    }

    /// Returns the refusal for this many wrong answers.
    pub(super) fn too_noisy(&self, wrong: u64, answers: u64) -> NotEnoughEvidence {
        let share = wrong as f64 / answers as f64;
        NotEnoughEvidence::TooNoisy { share, bound: share, limit: self.allowed }
    }
}

/// The first addresses with their answers. No table is made of these answers, so that they show whether the
/// oracle has changed since.
pub(super) type Pilot = Vec<(u64, AnswerTally)>;

/// Measures the noise: asks about a few addresses repeatedly.
pub(super) fn measure<O: SliceOracle>(
    questions: &mut Questions<'_, O>,
    pages: &Pages,
) -> Result<(NoiseBound, Pilot), RecoveryError<O::Error>> {
    questions.stage = "while the noise was measured";
    let addresses: Vec<u64> =
        (0..PILOT_ADDRESSES).map(|_| pages.random_line(&mut questions.random)).collect();
    let mut tallies = vec![AnswerTally::default(); addresses.len()];
    for _ in 0..PILOT_ROUNDS {
        for (tally, &address) in tallies.iter_mut().zip(&addresses) {
            tally.add(questions.ask(address)?);
        }
    }
    let wrong: u32 = tallies.iter().map(AnswerTally::against).sum();
    let answers = (PILOT_ADDRESSES * PILOT_ROUNDS) as u64;
    let bound = NoiseBound::new(u64::from(wrong), answers, questions.error_probability)?;
    Ok((bound, addresses.into_iter().zip(tallies).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_at_one_wrong_answer_in_ten_needs_what_the_ruin_of_a_gambler_says() {
        let noise = NoiseBound { share: 0.05, allowed: 0.1, step_error: 1e-6 };
        // 9^-7 is 2.1e-7, 9^-6 is 1.9e-6.
        assert_eq!(noise.lead(1.0), 7);
        // 100 decisions: 9^-9 is 2.6e-9, 9^-8 is 2.3e-8.
        assert_eq!(noise.lead(100.0), 9);
        assert!(noise.most_answers(7, 1.0) > 7);
    }

    #[test]
    fn noise_near_one_third_is_refused_and_little_noise_keeps_a_margin() {
        assert!(NoiseBound::new(1350, 4096, 1e-6).is_err());
        let quiet = NoiseBound::new(0, 4096, 1e-6).expect("is quiet");
        assert!(quiet.allowed >= LEAST_NOISE && quiet.allowed < 0.02);
        let five = NoiseBound::new(205, 4096, 1e-6).expect("is quiet");
        assert!(five.allowed > 0.1 && five.allowed < 0.15, "{five:?}");
    }

    #[test]
    fn a_bound_is_exceeded_by_clearly_more_wrong_answers_only() {
        let noise = NoiseBound { share: 0.05, allowed: 0.1, step_error: 1e-6 };
        assert!(!noise.is_exceeded_by(120, 1000));
        assert!(noise.is_exceeded_by(200, 1000));
        assert!(noise.is_exceeded_by(20, 20));
    }
}

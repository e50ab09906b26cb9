//! How often answers are wrong, and how long a race between answers has to be.

use super::evidence::{NotEnoughEvidence, RecoveryError};
use super::oracle::SliceOracle;
use super::pages::Pages;
use super::questions::{Questions, Tally};
use statrs::distribution::{Beta, ContinuousCDF};
use units::narrow::{fit, whole};

/// Addresses that are asked over and over, and how often each.
const PILOT_ADDRESSES: usize = 64;
const PILOT_ROUNDS: usize = 64;

/// Noise above which nothing is accepted: of two slices, answers that are wrong more than two times
/// out of three look like right ones of an oracle that swaps the slices.
const MOST_NOISE: f64 = 1.0 / 3.0;

/// Noise that is assumed at least: a few hundred right answers exclude no less.
const LEAST_NOISE: f64 = 0.01;

/// Steps of the recovery among which the error probability is shared out evenly: the bound on the
/// noise, votes, rearrangements, hold-out.
const STEPS: f64 = 4.0;

/// A bound on the share of wrong answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseBound {
    /// Share seen.
    pub(super) share: f64,
    /// Share that decisions allow for: with a margin for addresses that are noisier than others.
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

    /// By how much an answer must lead so that, over all `decisions` of a step, a wrong one does
    /// with no more than the step's error probability.
    pub(super) fn lead(&self, decisions: f64) -> u32 {
        let odds = (1.0 - self.allowed) / self.allowed;
        fit(whole(((decisions / self.step_error).ln() / odds.ln()).ceil()))
    }

    /// Answers after which a race to `lead` is still open with no more than the step's error
    /// probability, over all `decisions` (Hoeffding).
    pub(super) fn most_answers(&self, lead: u32, decisions: f64) -> u32 {
        let exponent = (decisions / self.step_error).ln();
        let open = |&answers: &u32| {
            let answers = f64::from(answers);
            let distance = 0.5 - f64::from(lead) / (2.0 * answers) - self.allowed;
            distance <= 0.0 || 2.0 * answers * distance * distance < exponent
        };
        (lead..).step_by(4).find(|answers| !open(answers)).expect("the noise is below one half")
    }

    /// Whether so many wrong answers happen with less than the step's error probability where the
    /// bound holds (Chernoff).
    pub(super) fn is_exceeded_by(&self, wrong: u64, answers: u64) -> bool {
        let share = wrong as f64 / answers as f64;
        if share <= self.allowed {
            return false;
        }
        let term = |of: f64, to: f64| if of == 0.0 { 0.0 } else { of * (of / to).ln() };
        let divergence = term(share, self.allowed) + term(1.0 - share, 1.0 - self.allowed);
        answers as f64 * divergence > (1.0 / self.step_error).ln()
    }

    /// Upper bound on a share of addresses of which none was met among `met`, at the step's error
    /// probability; an answer about one of them shows it unless it is wrong.
    pub(super) fn most_unmet_share(&self, met: u32) -> f64 {
        (1.0 / self.step_error).ln() / (f64::from(met) * (1.0 - self.allowed))
    }

    /// The refusal for this many wrong answers.
    pub(super) fn too_noisy(&self, wrong: u64, answers: u64) -> NotEnoughEvidence {
        let share = wrong as f64 / answers as f64;
        NotEnoughEvidence::TooNoisy { share, bound: share, limit: self.allowed }
    }
}

/// What the first addresses answered, by their addresses: no table is made of these answers, so that
/// they tell whether the oracle still is what it was.
pub(super) type Pilot = Vec<(u64, Tally)>;

/// Asks about a few addresses over and over.
pub(super) fn measure<O: SliceOracle>(
    questions: &mut Questions<'_, O>,
    pages: &Pages,
) -> Result<(NoiseBound, Pilot), RecoveryError<O::Error>> {
    questions.stage = "while the noise was measured";
    let addresses: Vec<u64> =
        (0..PILOT_ADDRESSES).map(|_| pages.random_line(&mut questions.random)).collect();
    let mut tallies = vec![Tally::default(); addresses.len()];
    for _ in 0..PILOT_ROUNDS {
        for (tally, &address) in tallies.iter_mut().zip(&addresses) {
            tally.add(questions.ask(address)?);
        }
    }
    let wrong: u32 = tallies.iter().map(Tally::against).sum();
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

//! Traffic whose load changes: the same frames, sooner or later.
//!
//! Models: a generator, or users, that offer a share of the full load for a time, then another.
//! A profile of a day, of bursts, or of visits is a list of shares.
//! Simplifies: the order of frames stays as at full load; only time is stretched.

use model::traffic::{Arrival, PacketSource};
use std::fmt::Debug;
use units::Picos;

/// Shares of the full load, each for a time, over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadProfile {
    shares: Vec<f64>,
    step_ps: f64,
}

impl LoadProfile {
    /// Each of `shares` holds for `step`.
    ///
    /// # Panics
    /// If no share is above 0, one is not between 0 and 1, or the step is no time.
    #[must_use]
    pub fn new(shares: Vec<f64>, step: Picos) -> Self {
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "a share is 0 to 1");
        assert!(shares.iter().any(|share| *share > 0.0), "a load that is always 0 is none");
        assert!(step > Picos::ZERO, "a step takes some time");
        Self { shares, step_ps: step.0 as f64 }
    }
}

/// A source whose time passes as its load says.
#[derive(Debug)]
pub struct VaryingLoad<S> {
    source: S,
    load: LoadProfile,
    step: usize,
    /// When the step begins, and how much of the source's own time has passed until then.
    begin_ps: f64,
    source_ps: f64,
}

impl<S: PacketSource> VaryingLoad<S> {
    /// `source` at full load, stretched.
    #[must_use]
    pub fn new(source: S, load: LoadProfile) -> Self {
        Self { source, load, step: 0, begin_ps: 0.0, source_ps: 0.0 }
    }

    /// The time at which the source's own time is `at_ps`, which does not fall.
    fn stretched(&mut self, at_ps: f64) -> Picos {
        loop {
            let share = self.load.shares[self.step];
            let passes = share * self.load.step_ps;
            if at_ps <= self.source_ps + passes && share > 0.0 {
                return rounded(self.begin_ps + (at_ps - self.source_ps) / share);
            }
            self.begin_ps += self.load.step_ps;
            self.source_ps += passes;
            self.step = (self.step + 1) % self.load.shares.len();
        }
    }
}

/// The nearest picosecond of a time that is not negative.
fn rounded(time_ps: f64) -> Picos {
    #[expect(clippy::cast_possible_truncation, reason = "halves are added first")]
    let whole = (time_ps + 0.5) as i64;
    Picos(whole.cast_unsigned())
}

impl<S: PacketSource> PacketSource for VaryingLoad<S> {
    fn next_arrival(&mut self) -> Option<Arrival> {
        let arrival = self.source.next_arrival()?;
        Some(Arrival { time: self.stretched(arrival.time.0 as f64), ..arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{FixedRate, FixedRateConfig, Toeplitz};

    const FULL: FixedRateConfig =
        FixedRateConfig { packet_bytes: 60, offered_gbps: 67.2, flows: 3, seed: 1 };

    /// One frame each 10 ns at full load.
    fn start(shares: &[f64]) -> impl Iterator<Item = Arrival> {
        let load = LoadProfile::new(shares.to_vec(), Picos(1_000_000));
        let mut source = VaryingLoad::new(FixedRate::new(&FULL, &Toeplitz::default()), load);
        std::iter::from_fn(move || source.next_arrival())
    }

    /// Frames in each microsecond.
    fn counts(shares: &[f64], steps: usize) -> Vec<usize> {
        let mut counts = vec![0; steps];
        for arrival in start(shares) {
            // A frame at the end of a step belongs to it.
            let at = usize::try_from((arrival.time.0 - 1) / 1_000_000).expect("small");
            match counts.get_mut(at) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        counts
    }

    #[test]
    fn each_step_has_its_share_of_frames_and_silence_has_none() {
        let found = counts(&[1.0, 0.25, 0.0, 0.5], 8);
        assert_eq!(found, [100, 25, 0, 50, 100, 25, 0, 50]);
    }

    #[test]
    fn full_load_is_the_source_itself() {
        let mut alone = FixedRate::new(&FULL, &Toeplitz::default());
        for arrival in start(&[1.0]).take(10_000) {
            assert_eq!(Some(arrival), alone.next_arrival());
        }
    }

    #[test]
    fn frames_keep_their_order_and_flows() {
        let mut alone = FixedRate::new(&FULL, &Toeplitz::default());
        let mut before = Picos::ZERO;
        for arrival in start(&[0.0, 0.3, 0.9]).take(10_000) {
            assert!(arrival.time >= before);
            before = arrival.time;
            assert_eq!(Some(arrival.flow), alone.next_arrival().map(|it| it.flow));
        }
    }
}

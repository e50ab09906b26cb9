//! The rounds of a thread over all its descriptors: some before those that are measured, then as many as the
//! options say, or until their time is over.

use crate::options::LengthOptions;
use std::time::{Duration, Instant};

/// A round of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRound {
    /// Whether the round counts; one of the warm-up does not.
    pub is_measured: bool,
    /// Whether it is the first round that counts.
    pub is_first_measured: bool,
}

/// The rounds of a measurement.
#[derive(Debug)]
pub struct BenchRounds {
    warm_up: u32,
    /// Rounds that count; `None`: until the time is over.
    count: Option<u32>,
    time: Option<Duration>,
    done: u32,
    /// Begin of the rounds that count.
    begun: Option<Instant>,
}

impl BenchRounds {
    /// Rounds of a length: `count` of them, or `None` until the time is over.
    pub fn new(length: &LengthOptions, count: Option<u32>) -> Self {
        let time = length.seconds.map(|seconds| Duration::from_secs(seconds.into()));
        Self { warm_up: length.warm_up, count, time, done: 0, begun: None }
    }

    /// Begins the next round; `None`: the measurement is over. At least one round is measured.
    pub fn next_round(&mut self) -> Option<BenchRound> {
        let measured = self.measured();
        let is_measured = self.done >= self.warm_up;
        let is_first_measured = is_measured && measured == 0;
        if is_first_measured {
            self.begun = Some(Instant::now());
        }
        let is_over = |time| self.begun.is_some_and(|begun| begun.elapsed() >= time);
        let has_all = self.count.is_some_and(|count| measured >= count);
        if measured > 0 && (has_all || self.time.is_some_and(is_over)) {
            return None;
        }
        self.done = self.done.saturating_add(1);
        Some(BenchRound { is_measured, is_first_measured })
    }

    /// Number of rounds that were begun.
    pub fn done(&self) -> u32 {
        self.done
    }

    /// Number of rounds that count and were begun.
    pub fn measured(&self) -> u32 {
        self.done.saturating_sub(self.warm_up)
    }
}

#[cfg(test)]
mod tests {
    use super::BenchRounds;
    use crate::options::LengthOptions;
    use std::time::{Duration, Instant};

    fn length(seconds: Option<u32>, warm_up: u32) -> LengthOptions {
        LengthOptions { iterations: None, seconds, warm_up }
    }

    #[test]
    fn rounds_of_a_warm_up_do_not_count() {
        let mut rounds = BenchRounds::new(&length(None, 2), Some(3));
        let all: Vec<_> = std::iter::from_fn(|| rounds.next_round()).collect();
        let measured: Vec<bool> = all.iter().map(|round| round.is_measured).collect();
        assert_eq!(measured, [false, false, true, true, true]);
        assert_eq!(all.iter().filter(|round| round.is_first_measured).count(), 1);
        assert!(all[2].is_first_measured);
        assert_eq!((rounds.done(), rounds.measured()), (5, 3));
    }

    #[test]
    fn rounds_without_number_end_with_their_time() {
        let (from, mut rounds) = (Instant::now(), BenchRounds::new(&length(Some(1), 0), None));
        while rounds.next_round().is_some() {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(from.elapsed() >= Duration::from_secs(1), "{:?}", from.elapsed());
        assert!((2..=20).contains(&rounds.measured()), "{}", rounds.measured());
    }
}

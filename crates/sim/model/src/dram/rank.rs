//! Constraints that the banks of a rank share: the rate of activations, and refresh.
//!
//! Models: the limits of tFAW and tRRD on activations; a refresh of all banks every tREFI.
//! Source: JEDEC JESD79-4.
//! Simplifies: activations have slots of tFAW / 4 (or tRRD if that is longer), so four in a row are
//! spread over tFAW. Refreshes are never postponed and come at fixed times, rank after rank; they delay
//! requests and activations that come meanwhile, not transfers under way.

use super::time_slots::TimeSlots;
use super::timing::Timing;
use units::Picos;

/// The shared constraints of one rank.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    activations: TimeSlots,
    trefi: Picos,
    trfc: Picos,
    /// From the end of a refresh to the start of the next.
    between: Picos,
    first_refresh: Picos,
    /// The latest refresh before the last requested time: its start and its end.
    began: Picos,
    ended: Picos,
}

/// The latest refresh of a rank before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refresh {
    /// Time at which the refresh began; zero if there was none.
    pub(super) began: Picos,
    /// Time for which the refresh continues.
    pub(super) left: Picos,
}

impl Rank {
    /// A rank whose first refresh begins at `first_refresh`.
    pub(super) fn new(timing: &Timing, first_refresh: Picos) -> Self {
        Self {
            activations: TimeSlots::new(Picos(timing.tfaw.0 / 4).max(timing.trrd)),
            trefi: timing.trefi,
            trfc: timing.trfc,
            between: timing.trefi.saturating_sub(timing.trfc),
            first_refresh,
            began: first_refresh,
            ended: first_refresh + timing.trfc,
        }
    }

    /// The latest refresh that began at `time` or before.
    #[inline]
    pub(super) fn refresh(&mut self, time: Picos) -> Refresh {
        // `time` nearly always lies between the refresh found last and the next.
        if time.0.wrapping_sub(self.ended.0) < self.between.0 {
            return Refresh { began: self.began, left: Picos::ZERO };
        }
        self.find_refresh(time)
    }

    /// As [`Self::refresh`], for any `time`.
    #[cold]
    fn find_refresh(&mut self, time: Picos) -> Refresh {
        if time < self.first_refresh {
            return Refresh { began: Picos::ZERO, left: Picos::ZERO };
        }
        let since = Picos((time - self.first_refresh).0 % self.trefi.0);
        self.began = time - since;
        self.ended = self.began + self.trfc;
        Refresh { began: self.began, left: self.trfc.saturating_sub(since) }
    }

    /// Reserves an activation at `from` or as soon after as the rank takes it.
    #[inline]
    pub(super) fn activate(&mut self, from: Picos) -> Picos {
        let refresh = self.refresh(from);
        self.activations.claim(from + refresh.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::tests::ddr4_2400;

    fn without_refresh() -> Timing {
        Timing { trfc: Picos::ZERO, ..ddr4_2400() }
    }

    #[test]
    fn the_fifth_activation_waits_until_four_activation_windows_allow_it() {
        let timing = without_refresh();
        let mut rank = Rank::new(&timing, Picos::ZERO);
        // A multiple of the activation slots.
        let first = Picos(4 * timing.tfaw.0);
        let starts: Vec<Picos> = (0..5).map(|_| rank.activate(first)).collect();
        assert_eq!(starts[0], first);
        assert!(starts[3] < first + timing.tfaw);
        assert_eq!(starts[4], first + timing.tfaw);
    }

    #[test]
    fn activations_are_at_least_trrd_apart_where_that_is_longer_than_a_quarter_of_tfaw() {
        let timing = Timing { trrd: Picos(8_000), ..without_refresh() };
        let mut rank = Rank::new(&timing, Picos::ZERO);
        let first = Picos(10 * timing.trrd.0);
        rank.activate(first);
        assert_eq!(rank.activate(first), first + timing.trrd);
    }

    #[test]
    fn a_refresh_stops_the_rank_for_trfc_once_every_trefi() {
        let timing = ddr4_2400();
        let first_refresh = Picos(1_000_000);
        let mut rank = Rank::new(&timing, first_refresh);
        for period in 0..3 {
            let begins = first_refresh + Picos(period * timing.trefi.0);
            let ends = begins + timing.trfc;
            let before = begins - Picos(1);
            assert_eq!(rank.refresh(before).left, Picos::ZERO, "not yet");
            assert_eq!(rank.refresh(begins), Refresh { began: begins, left: timing.trfc });
            assert_eq!(rank.refresh(ends - Picos(1)).left, Picos(1), "blocked at t - 1");
            assert_eq!(rank.refresh(ends), Refresh { began: begins, left: Picos::ZERO });
            assert_eq!(rank.activate(begins), ends);
        }
    }

    #[test]
    fn refreshes_are_found_in_any_order_of_time() {
        let timing = ddr4_2400();
        let mut rank = Rank::new(&timing, Picos(2_000_000));
        let late = Picos(2_000_000 + 9 * timing.trefi.0);
        assert_eq!(rank.refresh(late), Refresh { began: late, left: timing.trfc });
        let first = Refresh { began: Picos(2_000_000), left: timing.trfc };
        assert_eq!(rank.refresh(first.began), first);
        let none = Refresh { began: Picos::ZERO, left: Picos::ZERO };
        assert_eq!(rank.refresh(Picos(1_000_000)), none);
        // A time before the refresh found last.
        let end = first.began + timing.trfc;
        assert_eq!(rank.refresh(end), Refresh { left: Picos::ZERO, ..first });
    }
}

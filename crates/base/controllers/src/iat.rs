//! A controller after IAT: devices and tenants get ways by demand, and who shares with devices changes.
//!
//! Source: IAT ("Don't forget the I/O when allocating your LLC", ISCA'21), recalled: its five states, one
//! way in each period, 1 to 6 ways for devices, 1 M write misses a second and changes of 3 % as
//! thresholds. What a state does where the paper's words were not at hand is this module's own choice.
//! Simplifies: it does not look at instructions per cycle; a tenant without cores has no claim.

use crate::layout::{TenantClaim, layout};
use crate::{PeriodCounters, WayController, Ways};

/// Parameters of [`Iat`].
#[derive(Clone, Debug, PartialEq)]
pub struct IatConfig {
    /// Number of ways of the LLC.
    pub llc_ways: u32,
    /// Fewest and most ways for devices.
    pub bounds: (u32, u32),
    /// Write misses of devices in a second above which they lack ways.
    pub miss_low_per_s: f64,
    /// Part by which a counter has to change to have changed.
    pub stable_share: f64,
    /// The tenants: the ways that each begins with, and whether it is of best effort.
    pub tenants: Vec<(u32, bool)>,
}

/// State of the controller: which side, devices or tenants, lacks ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IatState {
    /// Nothing, and devices have the fewest ways.
    LowKeep,
    /// Ways for devices.
    IoDemand,
    /// Ways for a tenant, whose accesses push out what devices wrote.
    CoreDemand,
    /// Ways for devices, which have the most already.
    HighKeep,
    /// Nothing: ways are given back.
    Reclaim,
}

/// The controller after IAT, with the ways of devices and of each tenant.
#[derive(Clone, Debug)]
pub struct Iat {
    config: IatConfig,
    state: IatState,
    io: u32,
    /// Ways of each tenant now.
    tenants: Vec<u32>,
    /// References by which tenants were last laid out.
    ranked_by: Vec<u64>,
    before: Option<PeriodCounters>,
}

/// Changes of the counters since the last period.
struct Changes {
    /// Whether devices miss more often than is low.
    misses: bool,
    /// Whether they hit less often than before.
    fewer_hits: bool,
    /// The tenant whose misses have grown most, if the references of any have grown.
    pressing: Option<usize>,
    /// Whether no counter has changed.
    is_stable: bool,
}

impl Iat {
    /// Begins with `io` ways for devices.
    #[must_use]
    pub fn new(config: IatConfig, io: u32) -> Self {
        let io = io.clamp(config.bounds.0, config.bounds.1);
        let tenants = config.tenants.iter().map(|(ways, _)| *ways).collect();
        let ranked_by = vec![0; config.tenants.len()];
        let state = if io == config.bounds.0 { IatState::LowKeep } else { IatState::Reclaim };
        Self { config, state, io, tenants, ranked_by, before: None }
    }

    /// The state after the last period.
    #[must_use]
    pub fn state(&self) -> IatState {
        self.state
    }

    fn changes(&self, seen: &PeriodCounters) -> Changes {
        let share = self.config.stable_share;
        let grew = |now: u64, then: u64| now as f64 > then as f64 * (1.0 + share);
        let fell = |now: u64, then: u64| (now as f64) < then as f64 * (1.0 - share);
        let moved = |now, then| grew(now, then) || fell(now, then);
        let misses = seen.io_misses_per_s() > self.config.miss_low_per_s;
        let Some(before) = &self.before else {
            return Changes { misses, fewer_hits: false, pressing: None, is_stable: false };
        };
        let tenants = || seen.tenants.iter().zip(&before.tenants).enumerate();
        let pressing = tenants()
            .filter(|(_, (now, then))| grew(now.llc_references, then.llc_references))
            .max_by_key(|(_, (now, then))| now.llc_misses.saturating_sub(then.llc_misses))
            .map(|(at, _)| at);
        let of_devices = moved(seen.io_write_hits, before.io_write_hits)
            || moved(seen.io_write_misses, before.io_write_misses);
        let of_tenants = tenants().any(|(_, (now, then))| {
            moved(now.llc_references, then.llc_references) || moved(now.llc_misses, then.llc_misses)
        });
        Changes {
            misses,
            fewer_hits: fell(seen.io_write_hits, before.io_write_hits),
            pressing,
            is_stable: !(of_devices || of_tenants),
        }
    }

    /// The next state.
    fn next(&self, changes: &Changes) -> IatState {
        if !changes.misses {
            let is_least = self.io == self.config.bounds.0 && self.grown().is_none();
            return if is_least { IatState::LowKeep } else { IatState::Reclaim };
        }
        if changes.fewer_hits && changes.pressing.is_some() {
            return IatState::CoreDemand;
        }
        if self.io == self.config.bounds.1 { IatState::HighKeep } else { IatState::IoDemand }
    }

    /// A tenant that has more ways than it began with.
    fn grown(&self) -> Option<usize> {
        let own = self.tenants.iter().zip(&self.config.tenants);
        own.enumerate().find(|(_, (now, (first, _)))| *now > first).map(|(at, _)| at)
    }

    fn act(&mut self, changes: &Changes) {
        match self.state {
            IatState::LowKeep | IatState::HighKeep => {}
            IatState::IoDemand => self.io = (self.io + 1).min(self.config.bounds.1),
            IatState::CoreDemand => {
                if let Some(at) = changes.pressing {
                    self.tenants[at] = (self.tenants[at] + 1).min(self.config.llc_ways);
                }
            }
            // Ways of devices first: they are what tenants lack when no device misses.
            IatState::Reclaim if self.io > self.config.bounds.0 => self.io -= 1,
            IatState::Reclaim => {
                if let Some(at) = self.grown() {
                    self.tenants[at] -= 1;
                }
            }
        }
    }

    /// Tenants are ranked again only where the order of their references has really changed.
    fn rank(&mut self, seen: &PeriodCounters) {
        let share = self.config.stable_share;
        for (known, now) in self.ranked_by.iter_mut().zip(&seen.tenants) {
            let references = now.llc_references;
            if (references as f64 - *known as f64).abs() > share * *known as f64 {
                *known = references;
            }
        }
    }

    fn ways(&self) -> Ways {
        let all = self.tenants.iter().zip(&self.config.tenants).zip(&self.ranked_by);
        let ranks: Vec<TenantClaim> = all
            .map(|((ways, (_, best_effort)), references)| TenantClaim {
                ways: *ways,
                best_effort: *best_effort,
                references: *references,
            })
            .collect();
        Ways { io: self.io, tenants: layout(&ranks, self.config.llc_ways) }
    }
}

impl WayController for Iat {
    fn decide(&mut self, seen: &PeriodCounters) -> Ways {
        let changes = self.changes(seen);
        if !changes.is_stable {
            self.state = self.next(&changes);
            self.act(&changes);
            self.rank(seen);
        }
        self.before = Some(seen.clone());
        self.ways()
    }

    fn keep_io_ways(&mut self, io: u32) {
        self.io = io.clamp(self.config.bounds.0, self.config.bounds.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TenantCounters;
    use units::WayMask;

    fn iat(io: u32) -> Iat {
        let config = IatConfig {
            llc_ways: 11,
            bounds: (1, 4),
            miss_low_per_s: 1e6,
            stable_share: 0.03,
            tenants: vec![(4, false), (2, true)],
        };
        Iat::new(config, io)
    }

    fn seen(hits: u64, misses: u64, tenants: [(u64, u64); 2]) -> PeriodCounters {
        let tenants = tenants
            .map(|(llc_references, llc_misses)| TenantCounters { llc_references, llc_misses })
            .to_vec();
        PeriodCounters { period_s: 1e-3, io_write_hits: hits, io_write_misses: misses, tenants }
    }

    #[test]
    fn devices_that_miss_get_a_way_each_period_up_to_the_bound() {
        let mut controller = iat(2);
        let found: Vec<u32> = [5000, 4000, 3000, 2000]
            .map(|misses| controller.decide(&seen(100, misses, [(10, 1), (10, 1)])).io)
            .to_vec();
        assert_eq!(found, [3, 4, 4, 4]);
        assert_eq!(controller.state(), IatState::HighKeep);
    }

    #[test]
    fn devices_that_miss_no_more_give_their_ways_back_one_by_one() {
        let mut controller = iat(4);
        let found: Vec<u32> = [500, 400, 300, 200, 100]
            .map(|misses| controller.decide(&seen(misses, misses, [(10, 1), (10, 1)])).io)
            .to_vec();
        assert_eq!(found, [3, 2, 1, 1, 1]);
        assert_eq!(controller.state(), IatState::LowKeep);
    }

    #[test]
    fn a_tenant_that_pushes_out_what_devices_wrote_gets_a_way_itself() {
        let mut controller = iat(2);
        controller.decide(&seen(9000, 2000, [(100, 10), (100, 10)]));
        let ways = controller.decide(&seen(5000, 6000, [(900, 800), (100, 10)]));
        assert_eq!(controller.state(), IatState::CoreDemand);
        assert_eq!(ways.tenants[0].count(), 5);
        // It is taken back once devices have what they need and the fewest ways.
        for misses in [900, 800, 700, 600, 500] {
            controller.decide(&seen(9000, misses, [(100, 10), (100, 10)]));
        }
        assert_eq!(controller.ways().tenants[0].count(), 4);
    }

    #[test]
    fn counters_that_do_not_move_change_nothing() {
        let mut controller = iat(2);
        let same = seen(100, 5000, [(10, 1), (10, 1)]);
        assert_eq!(controller.decide(&same).io, 3);
        for _ in 0..9 {
            assert_eq!(controller.decide(&same).io, 3);
        }
    }

    #[test]
    fn who_is_of_best_effort_lies_where_devices_write() {
        let mut controller = iat(2);
        let ways = controller.decide(&seen(100, 10, [(10, 1), (900, 1)]));
        assert_eq!(ways.tenants, [WayMask(0b1111), WayMask(0b11_0000)]);
    }
}

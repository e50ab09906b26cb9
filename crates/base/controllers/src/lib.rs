//! Controllers of LLC ways: from what counters said of a period to the ways of devices and of tenants.
//!
//! They know neither the model nor a machine, so that the same code steers both: the simulator asks them
//! in simulated time, `skipline-host steer` with counters of a server.

mod governor;
mod iat;
mod layout;
mod threshold;

pub use governor::Governor;
pub use iat::{Iat, IatConfig, IatState};
pub use layout::{TenantClaim, layout};
pub use threshold::{Threshold, ThresholdConfig};

use units::WayMask;

/// Counters of a period, summed over the root ports and over each tenant's cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeriodCounters {
    /// Length of the period in seconds.
    pub period_s: f64,
    /// Number of lines that devices wrote and that were in the LLC.
    pub io_write_hits: u64,
    /// Number of lines that devices wrote and that were not in the LLC.
    pub io_write_misses: u64,
    /// Each tenant, in the order in which the controller was told of them; none where nothing counts
    /// them.
    pub tenants: Vec<TenantCounters>,
}

/// LLC accesses by the cores of a tenant in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantCounters {
    /// Number of accesses to the LLC.
    pub llc_references: u64,
    /// Number of accesses that missed the LLC.
    pub llc_misses: u64,
}

impl PeriodCounters {
    /// Write misses of devices in a second.
    #[must_use]
    pub fn io_misses_per_s(&self) -> f64 {
        if self.period_s > 0.0 { self.io_write_misses as f64 / self.period_s } else { 0.0 }
    }
}

/// The ways that a controller decides on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Ways in which devices may allocate, from the top.
    pub io: u32,
    /// The ways of each tenant; none if the controller leaves them as they are.
    pub tenants: Vec<WayMask>,
}

/// A rule that decides on LLC ways after each period.
pub trait WayController: std::fmt::Debug + Send {
    /// The ways to set for the next period, given the counters of the last one. Deterministic: the same
    /// periods give the same ways.
    fn decide(&mut self, seen: &PeriodCounters) -> Ways;

    /// Tells the controller that its last decision was not carried out: devices still have `io` ways.
    fn keep_io_ways(&mut self, io: u32);
}

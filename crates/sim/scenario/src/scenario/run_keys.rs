//! Length of a run.

use crate::text::check::Check;
use crate::text::error::InputError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const BATCH_PACKETS: (u64, u64) = (8, 1 << 24);
const BATCHES: (u32, u32) = (10, 1000);
/// Half width of an interval, in points or percent.
const INTERVAL: (f64, f64) = (1e-3, 100.0);

/// How long to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RunKeys {
    /// Packets, or operations of a program that moves none, per batch of the statistics.
    #[schemars(range(min = BATCH_PACKETS.0, max = BATCH_PACKETS.1))]
    pub batch_packets: u64,
    /// Least number of batches.
    #[schemars(range(min = BATCHES.0, max = BATCHES.1))]
    pub min_batches: u32,
    /// Largest number of batches, even if the intervals are still wide.
    #[schemars(range(min = BATCHES.0, max = BATCHES.1))]
    pub max_batches: u32,
    /// Half width of the 95 % interval of both hit rates at which the run may stop.
    #[schemars(range(min = INTERVAL.0, max = INTERVAL.1))]
    pub hit_rate_interval_points: f64,
    /// Relative half width of the 95 % interval of throughput at which the run may stop, in percent.
    #[schemars(range(min = INTERVAL.0, max = INTERVAL.1))]
    pub throughput_interval_percent: f64,
    /// The result has a timeline: metrics batch by batch, with the LLC occupancy of every agent. It has one
    /// anyway if settings change during the run.
    pub timeline: bool,
}

impl Default for RunKeys {
    fn default() -> Self {
        Self {
            batch_packets: 8192,
            min_batches: 10,
            max_batches: 60,
            hit_rate_interval_points: 0.5,
            throughput_interval_percent: 0.5,
            timeline: false,
        }
    }
}

impl RunKeys {
    /// Checks the keys.
    ///
    /// # Errors
    /// Names the first value that is out of range.
    pub(crate) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        check.whole("run.batch_packets", self.batch_packets, BATCH_PACKETS, "packets")?;
        check.whole("run.min_batches", self.min_batches, BATCHES, "batches")?;
        let what = "batches, no fewer than run.min_batches";
        check.whole("run.max_batches", self.max_batches, (self.min_batches, BATCHES.1), what)?;
        let points = self.hit_rate_interval_points;
        check.number("run.hit_rate_interval_points", points, INTERVAL)?;
        let percent = self.throughput_interval_percent;
        check.number("run.throughput_interval_percent", percent, INTERVAL)
    }
}

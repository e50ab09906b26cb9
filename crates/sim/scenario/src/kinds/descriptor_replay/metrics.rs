//! Metrics of a replay of descriptors.

use crate::contract::application_cores::ApplicationCores;
use crate::contract::metric::Group::CopyEngines;
use crate::contract::metric::{Metric, named};

/// Metrics of a replay of descriptors.
pub(crate) const METRICS: &[Metric<ApplicationCores>] = &[named(
    CopyEngines,
    "replay_ns",
    "ns",
    "Time of the replay",
)
.about(
    "Time until a core has read the last completion record so far, or done the operation itself.",
)
.headline()
.count(|v| v.last_completion.as_ns())];

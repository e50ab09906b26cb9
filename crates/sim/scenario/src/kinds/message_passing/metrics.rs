//! Metrics of ranks that pass messages.

use crate::contract::application_cores::ApplicationCores;
use crate::contract::metric::Group::Cores;
use crate::contract::metric::{Metric, named};

/// Metrics of ranks that pass messages.
pub(crate) const METRICS: &[Metric<ApplicationCores>] =
    &[named(Cores, "message_gbytes_per_s", "GB/s", "Messages")
        .about("Data of messages received, or of reductions that ranks have finished.")
        .headline()
        .rate(|v| v.account.message_bytes as f64 / v.span.as_ns())];

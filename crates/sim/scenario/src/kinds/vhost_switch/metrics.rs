//! Metrics of a virtual switch.

use crate::contract::application_cores::{ApplicationCores, percent};
use crate::contract::metric::Group::Packets;
use crate::contract::metric::{Metric, named};

/// Metrics of a virtual switch.
pub(crate) const METRICS: &[Metric<ApplicationCores>] = &[
    named(Packets, "switch_copied_gbytes_per_s", "GB/s", "Packet data copied")
        .about("Packets copied to the guest and from it, by cores or by engines.")
        .rate(|v| v.account.copies.bytes as f64 / v.span.as_ns()),
    named(Packets, "switch_copying_percent", "percent", "Switch cores' time copying")
        .about("Share of copies in the time in which cores of the switch neither poll nor wait.")
        .headline()
        .rate(|v| {
            let switch = &v.account.switch;
            percent(switch.copying.as_ns(), switch.working.as_ns())
        }),
    named(Packets, "switch_dropped_per_s", "1/s", "Dropped for lack of guest buffers")
        .about("Packets dropped because the guest had offered no buffer.")
        .rate(|v| v.per_second(v.account.switch.dropped)),
    named(Packets, "switch_overtaking_bursts", "bursts", "Bursts that overtook others")
        .about("Bursts whose copies ended before those of an earlier one, which they waited for.")
        .count(|v| v.account.switch.overtaking as f64),
    named(Packets, "switch_disordered_packets", "packets", "Packets out of order")
        .about("Packets that the guest received after a later one of their queue.")
        .count(|v| v.account.switch.disordered as f64),
];

//! Declarations of latencies; their figures come from histograms (`run/latency.rs`).

use super::declaration::Group::Latency;
use super::declaration::{Declaration, named};

/// Latency of packets or requests of a tenant.
pub const LATENCY: Declaration = named(Latency, "latency_ns", "ns", "Latency")
    .about("From a packet's arrival to its departure, or from a request to its completion.");
/// Latency that a tenant's client measures.
pub const ONE_WAY: Declaration = named(Latency, "one_way_latency_ns", "ns", "One-way latency")
    .about("Half of the round trips that a client on the other end of the wire measures.");

/// All latencies.
pub const METRICS: [&Declaration; 2] = [&LATENCY, &ONE_WAY];

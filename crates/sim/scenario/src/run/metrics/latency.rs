//! Declarations of latencies; their figures come from histograms (`run/latency.rs`).

use crate::contract::metric::Group::Latency;
use crate::contract::metric::{Declaration, named};
use model::software::DESCRIPTOR_PHASES;

/// Latency of packets or requests of a tenant.
pub(crate) const LATENCY: Declaration = named(Latency, "latency_ns", "ns", "Latency")
    .about("From a packet's arrival to its departure, or from a request to its completion.");
/// Latency that a tenant's client measures.
pub(crate) const ONE_WAY: Declaration =
    named(Latency, "one_way_latency_ns", "ns", "One-way latency")
        .about("Half of the round trips that a client on the other end of the wire measures.");

/// Latency that a tenant's generator of packets measures.
pub(crate) const GENERATOR: Declaration =
    named(Latency, "generator_latency_ns", "ns", "Latency as the generator measures it").about(
        "From a packet's time stamp, before the generator's own queue, until it is back there.",
    );

/// All latencies but those of the phases of descriptors.
pub const METRICS: [&Declaration; 3] = [&LATENCY, &ONE_WAY, &GENERATOR];

/// Latencies of the phases of descriptors, in the order of the phases.
pub const PHASES: [Declaration; DESCRIPTOR_PHASES] = [
    named(Latency, "descriptor_submit_ns", "ns", "Descriptor: submission")
        .about("From the first cycle of its preparation until the device sees a descriptor."),
    named(Latency, "descriptor_queue_ns", "ns", "Descriptor: queue")
        .about("From its submission until an engine takes it from its work queue."),
    named(Latency, "descriptor_translate_ns", "ns", "Descriptor: translation").about(
        "From the queue until its first pages are translated and the engine may ask for data.",
    ),
    named(Latency, "descriptor_move_ns", "ns", "Descriptor: data").about(
        "From translation until its last data is visible; of a batch, until its last member ends.",
    ),
    named(Latency, "descriptor_record_ns", "ns", "Descriptor: completion record")
        .about("From its last data until its completion record is visible."),
    named(Latency, "descriptor_notice_ns", "ns", "Descriptor: noticed")
        .about("From the visible record until the core has read it."),
];

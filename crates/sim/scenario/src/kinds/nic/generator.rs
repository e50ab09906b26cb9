//! The generator of a NIC's packets: the time that they spend in it, behind its stamp.

use super::traffic::{Pattern, QUEUE_PACKETS};
use super::{NicKeys, TrafficKeys};
use crate::contract::inert::Inert;
use crate::contract::port::GeneratorWait;
use crate::text::check::Check;
use crate::text::error::InputError;
use units::{Picos, WIRE_OVERHEAD_BYTES};

const QUEUE: &str = "traffic.generator_queue_packets";
const BATCH: &str = "traffic.generator_batch_packets";
const PATH: &str = "traffic.generator_path_us";
/// All keys of this file.
pub(super) const KEYS: [&str; 3] = [QUEUE, BATCH, PATH];
/// Up to a second.
pub(super) const PATH_US: (f64, f64) = (0.0, 1e6);

/// Checks the ranges of the keys.
pub(super) fn check(keys: &TrafficKeys, check: &Check<'_>) -> Result<(), InputError> {
    for (key, packets) in
        [(QUEUE, keys.generator_queue_packets), (BATCH, keys.generator_batch_packets)]
    {
        if let Some(packets) = packets {
            check.whole(key, packets, QUEUE_PACKETS, "packets")?;
        }
    }
    check.number(PATH, keys.generator_path_us.unwrap_or(0.0), PATH_US)
}

/// The keys without effect, each with the reason.
pub(super) fn inert(keys: &TrafficKeys, flow_control: bool) -> Vec<Inert> {
    if !is_even(keys, flow_control) {
        let because =
            "what waits in the generator takes one time only if packets of one size come evenly";
        return Inert::all(KEYS, because).collect();
    }
    if keys.generator_queue_packets.is_none() {
        let because = "only traffic.generator_queue_packets has the generator measure a latency";
        return Inert::all([BATCH, PATH], because).collect();
    }
    Vec::new()
}

/// Whether packets of one size come evenly.
fn is_even(keys: &TrafficKeys, flow_control: bool) -> bool {
    keys.is_even() && !flow_control
}

/// The time that packets spend in the generator, if it measures.
pub(super) fn wait(keys: &NicKeys) -> Option<GeneratorWait> {
    let traffic = &keys.traffic;
    let queue = traffic.generator_queue_packets.filter(|_| is_even(traffic, keys.flow_control))?;
    let threads = match traffic.pattern {
        Pattern::Trains | Pattern::List => traffic.generator_threads,
        Pattern::Fixed | Pattern::Random => 1,
    };
    // The threads take turns: a batch of one leaves as slowly as those of all do.
    let batch = u64::from(traffic.generator_batch_packets.unwrap_or(0)) * u64::from(threads);
    let on_wire = |packets: u64| {
        let bytes = packets * (keys.packet_bytes + WIRE_OVERHEAD_BYTES);
        Picos::from_ns(bytes as f64 * 8.0 / keys.offered_gbps)
    };
    let path = Picos::from_ns(1e3 * traffic.generator_path_us.unwrap_or(0.0));
    Some(GeneratorWait { queue: on_wire(u64::from(queue)), path, batch: on_wire(batch) })
}

/// The note of a result on it.
pub(super) fn note(wait: GeneratorWait) -> String {
    let us = |time: Picos| time.as_ns() / 1e3;
    format!(
        "Of generator_latency_ns, {:.1} us pass in the generator's own queue, up to {:.1} us in a batch, and \
         {:.1} us elsewhere outside of this server (traffic.generator_path_us); latency_ns is the server's own \
         part",
        us(wait.queue),
        us(wait.batch),
        us(wait.path),
    )
}

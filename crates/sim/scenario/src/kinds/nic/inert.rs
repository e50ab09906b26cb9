//! Keys of a NIC that have no effect on a tenant: other keys, or its application, decide instead.

use super::generator;
use super::traffic::{ArrivalProcess, Pattern, SizeMix};
use super::{NicKeys, TrafficKeys};
use crate::contract::application::Packets;
use crate::contract::inert::Inert;

/// Origin of the packets that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// The NIC's keys.
    Keys,
    /// A client that waits for each answer.
    Client,
    /// Initiators that keep a number of requests in flight.
    Initiators,
    /// No packets arrive.
    None,
}

/// NIC keys without effect on a tenant that handles `packets`, each with the reason.
pub(crate) fn inert_keys(keys: &NicKeys, packets: Packets, arrivals: Arrivals) -> Vec<Inert> {
    let mut inert = inert_arrivals(keys, arrivals);
    if !packets.are_sent() {
        let of_sending = ["tx_descriptors", "internal_queue"];
        let of_sending = of_sending.into_iter().chain(generator::KEYS);
        inert.extend(Inert::all(of_sending, "the application sends no packets"));
    }
    inert
}

/// Keys of software prefetches that have no effect on a tenant, which `prefetches` or has another loop.
pub(crate) fn inert_prefetch(keys: &NicKeys, prefetches: bool) -> Vec<Inert> {
    keys.prefetch.inert(prefetches)
}

/// Keys of chained packets that have no effect on a tenant, which takes them or not.
pub(crate) fn inert_chains(takes_chains: bool) -> Vec<Inert> {
    if takes_chains {
        return Vec::new();
    }
    Inert::all(["scatter"], "the application has each packet in one buffer").collect()
}

fn inert_arrivals(keys: &NicKeys, arrivals: Arrivals) -> Vec<Inert> {
    match arrivals {
        Arrivals::Keys => inert_traffic_keys(&keys.traffic, keys.flow_control),
        Arrivals::Client => {
            let of_client = [
                "burst",
                "flow_control",
                "offered_gbps",
                "packet_bytes",
                "ports",
                "rng_calls",
                "traffic",
            ];
            Inert::all(of_client, "a client sends one message and waits for its answer").collect()
        }
        Arrivals::Initiators => {
            let of_initiators =
                ["flow_control", "offered_gbps", "packet_bytes", "ports", "traffic"];
            let because =
                "initiators keep requests in flight, no more than a queue has descriptors for";
            Inert::all(of_initiators, because).collect()
        }
        Arrivals::None => {
            let of_arrivals = [
                "offered_gbps",
                "ports",
                "traffic",
                "flow_control",
                "rng_calls",
                "warm_buffers",
                "placement.bypass_unread",
                "placement.bypass_when_backlogged",
                "placement.inject_lines",
                "placement.io_priority",
                "placement.prefetch_hint_lines",
                "placement.push_to_l2_lines",
                "placement.replace_read_first",
            ];
            Inert::all(of_arrivals, "the application receives no packets").collect()
        }
    }
}

/// Keys of gathering packets before they are sent, as far as they have no effect.
pub(crate) fn inert_gathering(keys: &NicKeys, gathers: bool) -> Vec<Inert> {
    const AT: &str = "send_at_packets";
    const REST: &str = "send_rest_after_polls";
    if !gathers {
        return Inert::all([AT, REST], "the application gathers no packets").collect();
    }
    match keys.send_at_packets {
        1 => Inert::all([REST], "every packet is sent at once (send_at_packets = 1)").collect(),
        _ => Vec::new(),
    }
}

fn inert_traffic_keys(traffic: &TrafficKeys, flow_control: bool) -> Vec<Inert> {
    const THREADS: [&str; 2] = ["traffic.generator_threads", "traffic.turn_packets"];
    const TRAINS: [&str; 1] = ["traffic.train_packets"];
    if traffic.pcap.is_some() {
        let by_capture = [
            "offered_gbps",
            "packet_bytes",
            "ports",
            "traffic.flows",
            "traffic.load",
            "traffic.load_step_us",
            "traffic.pattern",
        ];
        let by_capture = by_capture.into_iter().chain(generator::KEYS).chain(THREADS).chain(TRAINS);
        return Inert::all(by_capture, "traffic.pcap states what arrives when").collect();
    }
    let mut inert = generator::inert(traffic, flow_control);
    if !matches!(traffic.pattern, Pattern::Trains | Pattern::List) {
        let because = "only traffic.pattern = \"trains\" or \"list\" has threads";
        inert.extend(Inert::all(THREADS, because));
    }
    if traffic.pattern != Pattern::Trains {
        inert.extend(Inert::all(TRAINS, "only traffic.pattern = \"trains\" has trains"));
    }
    if traffic.shared_list == Some(true) {
        let because = "threads that share a list send each packet one after another";
        inert.extend(Inert::all(["traffic.turn_packets"], because));
    }
    if matches!(traffic.sizes, Some(SizeMix::Imix | SizeMix::Campus)) {
        inert.extend(Inert::all(["packet_bytes"], "traffic.sizes states the sizes"));
    }
    if traffic.arrivals == Some(ArrivalProcess::BackToBack) {
        inert.extend(Inert::all(
            ["offered_gbps"],
            "traffic.arrivals = \"back-to-back\" is line rate",
        ));
    }
    inert
}

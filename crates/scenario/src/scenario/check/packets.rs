//! Keys of a tenant that moves packets: its queues, its pool and what comes over the wire.

use super::super::{Application, ArrivalProcess, Pattern, Tenant, TrafficKeys};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::PacketServer;
use serde::Serialize;

pub(super) fn queues(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let rings: Vec<u32> = (3..=15).map(|bits| 1 << bits).collect();
    check.one_of("rx_descriptors", tenant.rx_descriptors, &rings)?;
    let fits = server.software.buffer_data_bytes.value;
    check.whole("packet_bytes", tenant.packet_bytes, (60, fits), "bytes that a buffer holds")?;
    let line_rate = server.nic.line_rate_gbps.value;
    if tenant.application.receives() && tenant.application != Application::PingPong {
        check.number("offered_gbps", tenant.offered_gbps, (1e-3, line_rate))?;
    }
    // A ring that never fills a completion would never be freed.
    let least = server.nic.tx_packets_per_completion.value.max(8);
    let rings: Vec<u32> = rings.into_iter().filter(|&ring| ring >= least).collect();
    check.one_of("tx_descriptors", tenant.tx_descriptors.unwrap_or(256), &rings)?;
    check.whole("internal_queue", tenant.internal_queue, (32, 65_536), "packets")?;
    check.whole("burst", tenant.burst, (1, 64), "packets")
}

/// The pool must fill every receive ring and cache, the bursts in work, and the sent packets that
/// no completion has reported yet; more in send rings and queues may run it dry for a while.
pub(super) fn pool(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    check.whole("pool_cache", tenant.pool_cache, (32, 512), "buffers, DPDK's own limit")?;
    let unreported = server.nic.tx_packets_per_completion.value;
    let cached = tenant.pool_cache + tenant.pool_cache / 2;
    let per_core = tenant.rx_descriptors + cached + 2 * tenant.burst + 2 * unreported;
    let least = u64::from(per_core) * u64::from(tenant.cores);
    let why = format!(
        "buffers; receive rings, pool caches, bursts and sends take {least}: lower rx_descriptors or \
         cores, or raise pool_buffers"
    );
    check.whole("pool_buffers", u64::from(tenant.pool_buffers), (least, 1 << 20), &why)
}

pub(super) fn traffic(
    tenant: &Tenant,
    check: &Check<'_>,
    server: &PacketServer<'_>,
) -> Result<(), InputError> {
    let traffic = &tenant.traffic;
    check.whole("traffic.generator_threads", traffic.generator_threads, (1, 256), "threads")?;
    check.whole("traffic.flows", traffic.flows, (1, 1 << 20), "flows")?;
    check.whole("traffic.flow_rules", traffic.flow_rules, (0, 1 << 20), "rules")?;
    check.whole("traffic.train_packets", traffic.train_packets, (1, 1 << 20), "packets")?;
    check.whole("traffic.turn_packets", traffic.turn_packets, (1, 1 << 20), "packets")?;
    random_traffic(traffic, check)?;
    let line_rate = server.nic.line_rate_gbps.value;
    if let Some(gbps) = traffic.scale_to_gbps {
        if traffic.pcap.is_none() {
            let allowed = "only together with traffic.pcap; set offered_gbps for synthetic traffic";
            return Err(check.refuse("traffic.scale_to_gbps", &gbps, allowed.into()));
        }
        check.number("traffic.scale_to_gbps", gbps, (1e-3, line_rate))?;
    }
    match traffic.loops {
        Some(loops) if traffic.pcap.is_none() => {
            let allowed = "only together with traffic.pcap";
            Err(check.refuse("traffic.loops", &loops, allowed.into()))
        }
        Some(loops) => check.whole("traffic.loops", loops, (1, 1_000_000), "loops"),
        None => Ok(()),
    }
}

/// A value as a scenario file states it.
fn as_toml(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|error| error.to_string(), |value| value.to_string())
}

/// Keys that only random traffic has.
fn random_traffic(traffic: &TrafficKeys, check: &Check<'_>) -> Result<(), InputError> {
    let stated = [
        ("traffic.sizes", traffic.sizes.as_ref().map(as_toml)),
        ("traffic.arrivals", traffic.arrivals.as_ref().map(as_toml)),
        ("traffic.burst_packets", traffic.burst_packets.as_ref().map(as_toml)),
        ("traffic.flow_zipf", traffic.flow_zipf.as_ref().map(as_toml)),
    ];
    for (key, value) in stated {
        if let Some(value) = value
            && traffic.pattern != Pattern::Random
        {
            let allowed = "only with traffic.pattern = \"random\"";
            return Err(check.refuse(key, &value, allowed.into()));
        }
    }
    if let Some(packets) = traffic.burst_packets {
        if traffic.arrivals != Some(ArrivalProcess::OnOff) {
            let allowed = "only with traffic.arrivals = \"on-off\"";
            return Err(check.refuse("traffic.burst_packets", &packets, allowed.into()));
        }
        check.whole("traffic.burst_packets", packets, (1, 1 << 20), "packets")?;
    }
    check.number("traffic.flow_zipf", traffic.flow_zipf.unwrap_or(0.0), (0.0, 4.0))
}

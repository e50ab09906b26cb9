//! Ranges of a NIC's keys: its queues and the pool of its buffers.

use super::pool::{PoolPlacementName, area_bytes};
use super::{Card, NicKeys};
use crate::contract::input::TenantInput;
use crate::facts::platform::{MOST_RX_DESCRIPTORS, SetFunctionName};
use crate::kinds::root_port::PortKeys;
use crate::text::error::InputError;
use units::LINE_BYTES;
use units::narrow::fit;

/// Largest buffer: beyond the jumbo frames of all cards, whose largest are 9 to 16 KB.
pub(super) const BUFFER_BYTES: (u64, u64) = (64, 16 << 10);
/// Most buffers of a chained packet: as many as descriptors of a packet in Intel's cards (DPDK i40e and ice,
/// `TX_MAX_MTU_SEG`, recalled).
pub(super) const MOST_CHAINED: u64 = 8;
/// The shortest Ethernet frame, without FCS.
pub(super) const LEAST_PACKET_BYTES: u64 = 60;
/// Entries of a ring: powers of two.
pub(super) const RINGS: [u32; 13] =
    [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, MOST_RX_DESCRIPTORS];
/// Least and most ports of a card.
pub(super) const PORTS: (u32, u32) = (1, 4);
pub(super) const RNG_CALLS: (u32, u32) = (0, 1_000_000);
pub(super) const INTERNAL_QUEUE: (u32, u32) = (32, 65_536);
pub(super) const BURST: (u32, u32) = (1, 64);
/// No more than the least [`INTERNAL_QUEUE`] holds.
pub(super) const SEND_AT_PACKETS: (u32, u32) = (1, 32);
pub(super) const SEND_REST_AFTER_POLLS: (u32, u32) = (1, 1_000_000);
/// Least and most buffers in a core's cache of a pool; the most is DPDK's own limit.
pub(super) const POOL_CACHE: (u32, u32) = (0, 512);
/// Buffers of a call: no more than a cache holds.
pub(super) const CALL_BUFFERS: (u32, u32) = (1, POOL_CACHE.1);
/// DPDK's own field for it has 16 bits.
pub(super) const HEADROOM_BYTES: (u64, u64) = (0, 4096);
/// Largest pool: the pools of all tenants fit the simulated memory.
const MOST_POOL_BYTES: u64 = 4 << 30;
pub(super) const MOST_POOL_BUFFERS: u64 = 1 << 20;
/// Buffers that one core takes with the smallest ring, cache and burst, and a card that reports each packet.
pub(super) const LEAST_POOL_BUFFERS: u32 = buffers_of_core(RINGS[0], POOL_CACHE.0, BURST.0, 1);

/// Checks the NIC keys of any tenant, whether its application uses the NIC or not.
///
/// # Errors
/// Names the first value that is out of range.
pub(super) fn check_tenant(input: &TenantInput<'_>) -> Result<(), InputError> {
    let (keys, check) = (input.table::<NicKeys>(), &input.check);
    check.whole("ports", keys.ports, PORTS, "ports of a card")?;
    check.whole("rng_calls", keys.rng_calls, RNG_CALLS, "calls")?;
    let most = keys.rx_descriptors;
    if let Some(backlog) = input.table::<PortKeys>().placement.bypass_when_backlogged {
        let key = "placement.bypass_when_backlogged";
        check.whole(key, backlog, (1, most - 1), "packets, fewer than rx_descriptors")?;
    }
    check.whole("warm_buffers", keys.warm_buffers, (0, most), "descriptors of a queue")
}

/// Checks the NIC keys of a tenant whose packets go through `card`.
///
/// # Errors
/// Names the first value that is out of range.
pub(super) fn check_card_keys(input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
    let keys = input.table::<NicKeys>();
    check_queues(keys, input, card)?;
    check_pool(keys, input, card)?;
    check_pool_placement(keys, input, card)?;
    check_scatter(keys, input, card)?;
    keys.prefetch.check(&input.check, keys.burst)?;
    keys.traffic.check(&input.check, card.nic.line_rate_gbps.value)
}

fn check_queues(
    keys: &NicKeys,
    input: &TenantInput<'_>,
    card: &Card<'_>,
) -> Result<(), InputError> {
    let (check, cores) = (&input.check, input.tenant.keys.cores);
    check.one_of("rx_descriptors", keys.rx_descriptors, &RINGS)?;
    if let Some(bytes) = keys.buffer_bytes {
        check.whole("buffer_bytes", bytes, BUFFER_BYTES, "bytes")?;
    }
    let what = match keys.scatter {
        true => "bytes that 8 buffers hold; longer packets need a larger buffer_bytes",
        false => "bytes that a buffer holds; longer packets need a larger buffer_bytes, or scatter",
    };
    let sizes = (LEAST_PACKET_BYTES, card.most_packet_bytes(keys));
    check.whole("packet_bytes", keys.packet_bytes, sizes, what)?;
    // A ring smaller than a completion's packets would never be freed.
    let least = card.nic.tx_packets_per_completion.value.max(8);
    let rings: Vec<u32> = RINGS.into_iter().filter(|&ring| ring >= least).collect();
    check.one_of("tx_descriptors", keys.tx_packets(card.nic, cores), &rings)?;
    check.whole("internal_queue", keys.internal_queue, INTERNAL_QUEUE, "packets")?;
    check.whole("burst", keys.burst, BURST, "packets")?;
    check.whole("send_at_packets", keys.send_at_packets, SEND_AT_PACKETS, "packets")?;
    check.whole("send_rest_after_polls", keys.send_rest_after_polls, SEND_REST_AFTER_POLLS, "polls")
}

/// The pool must fill every receive ring and cache, the bursts in work, and the sent packets that no
/// completion has reported yet; packets in send rings and queues may exhaust it for a while.
fn check_pool(keys: &NicKeys, input: &TenantInput<'_>, card: &Card<'_>) -> Result<(), InputError> {
    let check = &input.check;
    check.whole("pool_cache", keys.pool_cache, POOL_CACHE, "buffers, DPDK's own limit")?;
    if let Some(most) = keys.pool_call_buffers {
        check.whole("pool_call_buffers", most, CALL_BUFFERS, "buffers")?;
    }
    if keys.pool_ring_costs == Some(true) && card.software.pool_call_cycles.is_none() {
        let allowed = "the platform states no software.pool_call_cycles".into();
        return Err(check.refuse("pool_ring_costs", &"true", allowed));
    }
    let unreported = card.nic.tx_packets_per_completion.value;
    let of_packet: u32 = fit(if keys.scatter { MOST_CHAINED } else { 1 });
    let (burst, unreported) = (of_packet * keys.burst, unreported + of_packet - 1);
    let per_core = buffers_of_core(keys.rx_descriptors, keys.pool_cache, burst, unreported);
    let least = u64::from(per_core) * u64::from(input.tenant.keys.cores * keys.ports);
    let most = MOST_POOL_BUFFERS.min(MOST_POOL_BYTES / card.buffer_bytes);
    let why = format!(
        "buffers of {} bytes; receive rings, pool caches, bursts and sends take {least}: lower \
         rx_descriptors or cores, or raise pool_buffers",
        card.buffer_bytes
    );
    check.whole("pool_buffers", u64::from(keys.pool_buffers), (least, most), &why)
}

/// Checks what `scatter` needs, and that no other key counts lines from the start of a packet.
fn check_scatter(
    keys: &NicKeys,
    input: &TenantInput<'_>,
    card: &Card<'_>,
) -> Result<(), InputError> {
    if !keys.scatter {
        return Ok(());
    }
    let refuse = |allowed: String| Err(input.check.refuse("scatter", &"true", allowed));
    if !card.buffer_bytes.is_multiple_of(LINE_BYTES) {
        let held = card.buffer_bytes;
        return refuse(format!(
            "needs buffers of whole lines of {LINE_BYTES} bytes, not of {held}"
        ));
    }
    let placement = &input.table::<PortKeys>().placement;
    let by_line = [
        ("header_slices", placement.header_slices.is_some()),
        ("inject_lines", placement.inject_lines.is_some()),
        ("prefetch_hint_lines", placement.prefetch_hint_lines.is_some()),
        ("push_to_l2_lines", placement.push_to_l2_lines.is_some()),
    ];
    if let Some((key, _)) = by_line.into_iter().find(|&(_, is_stated)| is_stated) {
        return refuse(format!(
            "not with placement.{key}, which counts the lines of a packet in one buffer"
        ));
    }
    let (receives, sends) =
        (keys.rx_descriptors, keys.tx_packets(card.nic, input.tenant.keys.cores));
    let most: u32 = fit(MOST_CHAINED);
    if receives < 2 * most {
        return refuse(format!(
            "needs at least {} rx_descriptors, two packets' of {most}",
            2 * most
        ));
    }
    let least = card.nic.tx_packets_per_completion.value + most;
    if sends < least {
        return refuse(format!(
            "needs at least {least} tx_descriptors, a completion's and a packet's"
        ));
    }
    Ok(())
}

/// Checks that `scatter` has packets that one buffer does not hold, whose largest has `largest` bytes.
pub(super) fn check_is_chained(
    input: &TenantInput<'_>,
    card: &Card<'_>,
    largest: u64,
) -> Result<(), InputError> {
    let held = card.buffer_bytes;
    if !input.table::<NicKeys>().scatter || largest > held {
        return Ok(());
    }
    let allowed = format!("packets have at most {largest} bytes and fit a buffer of {held}");
    Err(input.check.refuse("scatter", &"true", allowed))
}

/// A pool that is chosen by set: the choice among its candidates takes seconds beyond.
const MOST_POOL_BYTES_BY_SET: u64 = 256 << 20;

fn check_pool_placement(
    keys: &NicKeys,
    input: &TenantInput<'_>,
    card: &Card<'_>,
) -> Result<(), InputError> {
    let check = &input.check;
    if let Some(headroom) = keys.headroom_bytes {
        check.whole("headroom_bytes", headroom, HEADROOM_BYTES, "bytes")?;
        if !headroom.is_multiple_of(LINE_BYTES) {
            let allowed = format!("allowed: multiples of a line of {LINE_BYTES} bytes");
            return Err(check.refuse("headroom_bytes", &headroom, allowed));
        }
    }
    let Some(placement) = keys.pool_placement.filter(|placement| placement.is_apart()) else {
        return Ok(());
    };
    let refuse = |allowed: String| Err(check.refuse("pool_placement", &placement, allowed));
    if input.table::<PortKeys>().placement.header_slices.is_some() {
        return refuse(
            "not with placement.header_slices, which moves data within buffers by slice".into(),
        );
    }
    if placement != PoolPlacementName::BySet {
        return Ok(());
    }
    let llc = &input.platform.llc;
    if llc.set_function.value != SetFunctionName::Plain {
        return refuse(
            "by-set needs llc.set_function = plain: other indices have no colours".into(),
        );
    }
    let stated = keys.buffer_bytes.unwrap_or(card.software.buffer_data_bytes.value);
    let (area, way) = (area_bytes(stated), u64::from(llc.sets_per_slice.value) * LINE_BYTES);
    if area > way {
        return refuse(format!("by-set needs buffers of at most {way} bytes, the sets of a slice"));
    }
    let most = MOST_POOL_BYTES_BY_SET / area;
    if u64::from(keys.pool_buffers) > most {
        return refuse(format!(
            "by-set needs at most {most} buffers of {area} bytes: pool_buffers"
        ));
    }
    Ok(())
}

/// Buffers that a core may hold: its receive ring's, its cache's, which fills up to one and a half times
/// its size, those of bursts in work, and packets that were sent and are not reported.
const fn buffers_of_core(rx_descriptors: u32, cache: u32, burst: u32, unreported: u32) -> u32 {
    rx_descriptors + cache + cache / 2 + 2 * burst + 2 * unreported
}

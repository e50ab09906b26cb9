//! The buffer pool of a tenant: its shape from keys, and the memory of its buffers.

use super::{Card, NicKeys};
use crate::contract::build::Builder;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slices::MappedPage;
use slices::recovery::{HugePage, HugePageSize};
use slices::spread_pool::{SpreadPool, SpreadRequest};
use std::fmt;
use units::narrow::usize_from;
use units::{Cycles, LINE_BYTES, LineAddr};
use workload::driver::mempool::{DataArea, DataPlace, MempoolConfig, Spacing};
use workload::host_memory::Region;

/// Headroom of DPDK's buffers.
pub(super) const DEFAULT_HEADROOM_BYTES: u64 = 128;
/// A cache from which on calls on the ring are rare: what they cost is part of the cycles that
/// applications take for each packet, which were measured with such caches.
const CACHE_THAT_HIDES_CALLS: u32 = 32;
/// Memory among whose buffers a pool is chosen by set, over that of the pool.
const CHOICE: u64 = 4;
/// Memory with which the choice goes on if pages are too alike.
const LARGEST_CHOICE: u64 = 8;

/// Where the buffers of a pool are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PoolPlacementName {
    /// Each in its object, behind the mbuf; objects lie an odd number of lines apart (DPDK).
    OddLines,
    /// In memory of their own, aligned to their size, one after another (netmap, AF_XDP).
    Aligned,
    /// In memory of their own, aligned to their size, chosen by slice and set, so that none gets many more
    /// lines than others; where packets leave room, they begin at different lines of their buffers.
    BySet,
}

impl fmt::Display for PoolPlacementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OddLines => "odd-lines",
            Self::Aligned => "aligned",
            Self::BySet => "by-set",
        })
    }
}

impl PoolPlacementName {
    /// Whether buffers are apart from their mbufs, and aligned.
    pub(super) fn is_apart(self) -> bool {
        self != Self::OddLines
    }
}

/// The bytes of a buffer of data apart: headroom and data, a power of two.
pub(super) fn area_bytes(buffer_bytes: u64) -> u64 {
    buffer_bytes.next_power_of_two()
}

/// Bytes for packet data in a buffer of `buffer_bytes`.
pub(super) fn data_bytes(keys: &NicKeys, buffer_bytes: u64) -> u64 {
    match keys.pool_placement.is_some_and(PoolPlacementName::is_apart) {
        true => area_bytes(buffer_bytes).saturating_sub(keys.headroom_bytes()),
        false => buffer_bytes,
    }
}

/// Whether calls on the pool's ring cost something beside their pointers.
pub(super) fn counts_calls(keys: &NicKeys) -> bool {
    keys.pool_ring_costs.unwrap_or(keys.pool_cache < CACHE_THAT_HIDES_CALLS)
}

/// A buffer pool, fully resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolPlan {
    /// Shape of the pool.
    pub config: MempoolConfig,
    placement: Option<PoolPlacementName>,
    area_lines: u64,
    /// Lines of the largest packet that arrives, or all of a buffer where that is not known.
    packet_lines: u64,
}

impl PoolPlan {
    pub(super) fn resolve(
        (keys, card): (&NicKeys, &Card<'_>),
        spacing: Spacing,
        shift_lines: u64,
    ) -> Self {
        let is_apart = keys.pool_placement.is_some_and(PoolPlacementName::is_apart);
        let headroom_lines = keys.headroom_bytes() / LINE_BYTES;
        let data_lines = card.buffer_bytes.div_ceil(LINE_BYTES);
        let work = card.software.pool_call_cycles.as_ref().map(|cycles| Cycles(cycles.value));
        let is_known = keys.traffic.pcap.is_none() && keys.traffic.sizes.is_none();
        Self {
            config: MempoolConfig {
                buffers: keys.pool_buffers,
                cache: keys.pool_cache,
                call_buffers: keys.pool_call_buffers,
                ring_call: work.filter(|_| counts_calls(keys)),
                headroom_lines,
                freed_mbuf_lines: u64::from(card.software.freed_mbuf_lines.value),
                private_lines: u64::from(card.software.private_lines.value),
                data_bytes: card.buffer_bytes,
                shift_lines,
                spacing,
                data: if is_apart { DataPlace::Apart } else { DataPlace::InObject },
            },
            placement: keys.pool_placement,
            area_lines: headroom_lines + data_lines,
            packet_lines: match is_known {
                true => keys.packet_bytes.div_ceil(LINE_BYTES),
                false => data_lines,
            },
        }
    }

    /// Memory for the data of all buffers, if they lie apart from their objects.
    pub(super) fn areas<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Option<Vec<DataArea>> {
        match self.placement? {
            PoolPlacementName::OddLines => None,
            PoolPlacementName::Aligned => Some(self.in_order(builder)),
            PoolPlacementName::BySet => Some(self.by_set(builder)),
        }
    }

    fn buffers(&self) -> u64 {
        self.config.buffers.into()
    }

    fn in_order<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<DataArea> {
        let region = builder.memory.region(self.buffers() * self.area_lines * LINE_BYTES);
        let area = |number| DataArea {
            first: region.line(number * self.area_lines),
            lines: self.area_lines,
            headroom_lines: self.config.headroom_lines,
        };
        (0..self.buffers()).map(area).collect()
    }

    /// Chooses buffers as `slices::spread_pool::SpreadPool` does for programs.
    fn by_set<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<DataArea> {
        let machine = builder.machine;
        let map = &machine.fabric.socket.llc.map;
        let slices = map.slices();
        let request = SpreadRequest {
            buffers: usize_from(self.buffers()),
            buffer_bytes: self.area_lines * LINE_BYTES,
            sets_per_slice: map.total_sets() / slices,
        };
        let slice_of = |physical| Ok(machine.slice_of(LineAddr(physical / LINE_BYTES)));
        let mut choice = CHOICE;
        let chosen = loop {
            let bytes = choice * self.buffers() * self.area_lines * LINE_BYTES;
            // Blocks are cut at multiples of their size: one may be lost at each end.
            let region = builder.memory.region(bytes + 2 * BLOCK_BYTES);
            let pages = blocks(&region, bytes);
            // The keys were checked, and there is memory enough; else buffers lie in order.
            let Ok(pool) = SpreadPool::choose_best(slices, slice_of, &pages, request) else {
                return self.in_order(builder);
            };
            let is_spread = pool.most_lines_of_a_set() <= request.most_lines(slices);
            if is_spread || choice >= LARGEST_CHOICE {
                break pool;
            }
            choice *= 2;
        };
        let colours = u64::from(request.sets_per_slice) / self.area_lines;
        let used = self.config.headroom_lines + self.packet_lines;
        let room = self.area_lines.saturating_sub(used) + 1;
        let area = |(&address, number): (&u64, u64)| DataArea {
            first: LineAddr(address / LINE_BYTES),
            lines: self.area_lines,
            headroom_lines: self.config.headroom_lines + number / colours % room,
        };
        chosen.buffers().iter().zip(0..).map(area).collect()
    }
}

/// Pages as the choice takes them: those of 1 GiB are cut, since a pool needs a part of one.
const BLOCK_BYTES: u64 = 1 << 21;

/// Aligned blocks of 2 MiB of a region, `bytes` in all.
fn blocks(region: &Region, bytes: u64) -> Vec<MappedPage> {
    let block = |start: u64| MappedPage {
        virtual_start: start,
        page: HugePage { start, size: HugePageSize::TwoMiB },
    };
    let of_page = |(first, lines): (LineAddr, u64)| {
        let (start, end) = (first.0 * LINE_BYTES, (first.0 + lines) * LINE_BYTES);
        let starts = start.next_multiple_of(BLOCK_BYTES)..(end + 1).saturating_sub(BLOCK_BYTES);
        starts.step_by(usize_from(BLOCK_BYTES)).map(block)
    };
    let count = usize_from(bytes.div_ceil(BLOCK_BYTES));
    region.pages().flat_map(of_page).take(count).collect()
}

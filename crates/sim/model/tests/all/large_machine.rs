//! Random operations on a machine of 2 x 56 cores with the caches of a Sapphire Rapids server.
//!
//! The invariants are checked for every line that an operation touched, and for the whole machine
//! every 2^14 operations. Caches have their real sizes; most lines fall into a 64th of the sets, so
//! that a million operations fill and overflow every level.

use crate::reference::kinds::{Kind, Tally};
use crate::small_fabric;
use address_map::{AddressMap, SetFunction, SliceFunction};
use model::attribution::AgentId;
use model::fabric::{DirectoryConfig, Fabric, FabricConfig, MemoryConfig, PortConfig};
use model::llc::inclusion::InclusiveMove;
use model::llc::{Inclusion, LlcConfig};
use model::private_caches::{PrefetcherConfig, PrivateCacheConfig};
use model::replacement::Replacement;
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::{Event, LineOperation, Tracer};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{CoreId, Id, LineAddr, Picos, RootPortId, SocketId, WayMask};

const BETWEEN_WHOLE_CHECKS: u64 = 1 << 14;
const CORES: u32 = 56;
const WAYS: u32 = 15;
const INCLUSIVE_WAYS: u32 = 2;
const L2_SETS: u64 = 2048;
/// Lines that a core may access again.
const RECENT: usize = 128;
/// Sets of L2, and of each slice, in which most lines fall.
const USED_SETS: u64 = L2_SETS / 64;

/// Records the lines that an operation touches, and counts kinds of events.
#[derive(Clone, Debug, Default)]
struct Touched {
    lines: Vec<LineAddr>,
    tally: Tally,
}

impl Tracer for Touched {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        self.lines.push(event.line);
        self.lines.extend(event.pushed_out.map(|out| out.line));
        self.tally.count(&event);
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _first: LineAddr) {}
}

fn port(socket: u8, policy: IoPolicy) -> PortConfig {
    PortConfig { socket: SocketId(socket), policy, ..small_fabric::config().ports.remove(0) }
}

/// Two sockets of 56 cores; two devices at each.
fn sapphire_rapids() -> FabricConfig {
    let level = |sets, ways| PrivateCacheConfig { sets, ways, replacement: Replacement::Lru };
    let ddio = IoPolicy::uniform(Ddio::top_ways(2, WAYS));
    let only_descriptors = IoPolicy { payload: Ddio::Off, ..ddio };
    let clean_elsewhere = IoPolicy { remote_writes_pollute: false, ..ddio };
    let mut config = small_fabric::config();
    config.cores = vec![CORES; 2];
    config.ports =
        vec![port(0, ddio), port(0, only_descriptors), port(1, ddio), port(1, clean_elsewhere)];
    config.private.l1 = level(64, 12);
    config.private.l2 = level(L2_SETS as u32, 16);
    config.private.prefetcher =
        PrefetcherConfig { adjacent_line: true, stream_lines: 2, ..PrefetcherConfig::default() };
    config.socket.llc = LlcConfig {
        map: AddressMap::new(56, 2048, SliceFunction::Mixing, SetFunction::Plain),
        ways: WAYS,
        inclusion: Inclusion::NonInclusive {
            inclusive_ways: INCLUSIVE_WAYS,
            moved_by: InclusiveMove::CoreAccess,
        },
        replacement: Replacement::Lru,
        device_reads_refresh: true,
    };
    config.socket.directory = Some(DirectoryConfig { ways: 12, replacement: Replacement::Lru });
    config.core_way_masks = vec![WayMask::bottom(WAYS); 2 * CORES as usize];
    let nodes = vec![small_fabric::node(0), small_fabric::node(1)];
    config.memory = MemoryConfig { nodes, upi: Some(small_fabric::upi(2)) };
    config
}

/// Random agents. A core sometimes repeats one of the last lines that it used, or the line beside it.
struct Agents {
    rng: Xoshiro256PlusPlus,
    node_lines: u64,
    recent: Vec<[LineAddr; RECENT]>,
}

impl Agents {
    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound
    }

    /// A line of either home: one of a few that all agents use, one of many in the used sets, or any
    /// one.
    fn line(&mut self) -> LineAddr {
        let home = self.below(2) * self.node_lines;
        let in_used_sets = |number: u64| number / USED_SETS * L2_SETS + number % USED_SETS;
        let number = match self.below(16) {
            0..6 => in_used_sets(self.below(1 << 9)),
            6..9 => in_used_sets(self.below(1 << 14)),
            9..15 => in_used_sets(self.below(1 << 18)),
            _ => self.below(1 << 26),
        };
        LineAddr(home + number)
    }

    fn line_of(&mut self, core: u8) -> LineAddr {
        let recent = self.below(RECENT as u64) as usize;
        let known = self.recent[usize::from(core)][recent];
        let line = match self.below(8) {
            0 => return known,
            1 => return known.neighbour(),
            _ => self.line(),
        };
        self.recent[usize::from(core)][recent] = line;
        line
    }

    fn bytes(&mut self) -> u64 {
        match self.below(4) {
            0 => 1 + self.below(63),
            1 => 64,
            2 => 256,
            _ => 1 + self.below(600),
        }
    }

    /// Does one operation; returns the lines that it names.
    fn operate(&mut self, fabric: &mut Fabric<Touched>, now: Picos) -> (LineAddr, u64) {
        let core = self.below(2 * u64::from(CORES)) as u8;
        let port = self.below(4) as usize;
        let bytes = self.bytes();
        let what = self.below(32);
        let line = if what < 23 { self.line_of(core) } else { self.line() };
        match what {
            0..12 => {
                fabric.core_read(CoreId(core), line, now);
            }
            12..21 => {
                fabric.core_write(CoreId(core), line, now);
            }
            21..23 => {
                fabric.core_prefetch(CoreId(core), line, now);
            }
            23 => {
                fabric.flush(line, now);
            }
            24..29 => {
                let kind = if self.below(4) == 0 { DmaKind::Descriptor } else { DmaKind::Payload };
                fabric.dma_write(RootPortId::at(port), line, bytes, kind, now);
                return (line, bytes.div_ceil(64));
            }
            _ => {
                fabric.dma_read(RootPortId::at(port), line, bytes, now);
                return (line, bytes.div_ceil(64));
            }
        }
        (line, 1)
    }
}

/// Checks that every kind of event occurred; otherwise the test would show less than it states.
fn everything_happened(tally: &Tally, operations: u64) {
    use Kind::{
        Allocated, Memory, Nowhere, OtherCore, OtherSocket, OtherWay, Private, RemoteMemory,
        TrackedWay, Upgraded,
    };
    let times = operations / 10_000;
    let cores = [LineOperation::Load, LineOperation::Store, LineOperation::Prefetch];
    let cached = [TrackedWay, OtherWay, OtherCore, OtherSocket];
    let memory = [Memory, RemoteMemory];
    tally.expect(&cores, &cached, times);
    tally.expect(&cores, &memory, times);
    tally.expect(&cores, &[Private], times);
    tally.expect(&[LineOperation::Store], &[Upgraded], times);
    let writes = [LineOperation::DmaWriteFull, LineOperation::DmaWritePartial];
    tally.expect(&writes, &[TrackedWay, OtherWay, Allocated], times);
    tally.expect(&writes, &memory, times);
    tally.expect(&[LineOperation::DmaRead], &cached, times);
    tally.expect(&[LineOperation::DmaRead], &memory, times);
    tally.expect(&[LineOperation::L2Victim], &[Allocated, TrackedWay, OtherCore], times);
    tally.expect(&[LineOperation::LlcFill], &[Allocated], times);
    // Written back, or dropped.
    let evictions = [LineOperation::LlcEviction, LineOperation::DirectoryEviction];
    tally.expect(&evictions, &[Memory, Nowhere], times);
}

fn everything_was_counted(fabric: &Fabric<Touched>, operations: u64) {
    let counters = *fabric.counters();
    let counted = [
        counters.pcie_write_hits,
        counters.pcie_write_misses,
        counters.pcie_partial_write_hits,
        counters.pcie_partial_write_misses,
        counters.pcie_read_hits,
        counters.pcie_read_misses,
        counters.llc_io_allocations,
        counters.directory_evictions,
        counters.llc_writebacks,
        counters.remote_lines,
    ];
    assert!(counted.iter().all(|&count| count >= operations / 1_000), "{counters:?}");
    for core in 0..2 * CORES as u8 {
        let counters = fabric.private_caches(CoreId(core)).counters;
        let counted = [
            counters.accesses - counters.l1_misses,
            counters.l1_misses - counters.l2_misses,
            counters.l1_writebacks,
            counters.l2_writebacks,
            counters.llc_misses,
            counters.llc_prefetch_misses,
        ];
        assert!(
            counted.iter().all(|&count| count >= operations / 100_000),
            "core {core}: {counters:?}"
        );
    }
    let device = fabric.device_agent(RootPortId(0));
    let cores: Vec<AgentId> = (0..2 * CORES as u8).map(AgentId).collect();
    for (evictors, owners) in
        [(&cores[..], &[device][..]), (&[device], &cores), (&[device], &[device]), (&cores, &cores)]
    {
        let pairs =
            evictors.iter().flat_map(|&evictor| owners.iter().map(move |&owner| (evictor, owner)));
        let lines: u64 =
            pairs.map(|(evictor, owner)| fabric.evictions().count(evictor, owner, true)).sum();
        assert!(lines > 0, "no line of {owners:?} was pushed out by any of {evictors:?}");
    }
    assert!(fabric.evictions().count(device, device, false) > 0, "nothing left unread");
}

#[test]
fn operations_of_many_agents_keep_the_invariants_of_a_large_machine() {
    // Fewer operations do not fill an LLC of this size enough for devices to evict lines that cores
    // have read.
    // Fewer do not fill an LLC of this size enough for devices to evict lines that cores have read.
    let operations: u64 = soak::amount(1 << 19, 1 << 20);
    let config = sapphire_rapids();
    let mut agents = Agents {
        rng: Xoshiro256PlusPlus::seed_from_u64(soak::seed(56)),
        node_lines: config.memory.node_lines(),
        recent: vec![[LineAddr(0); RECENT]; 2 * CORES as usize],
    };
    let mut touched = Touched::default();
    touched.tally.tracked_ways = INCLUSIVE_WAYS;
    let mut fabric = Fabric::new(&config, touched);
    for number in 1..=operations {
        fabric.tracer.lines.clear();
        let (first, count) = agents.operate(&mut fabric, Picos(number * 1_000));
        let mut lines = std::mem::take(&mut fabric.tracer.lines);
        lines.extend((0..count).map(|i| first.step(i)));
        lines.sort_unstable();
        lines.dedup();
        for &line in &lines {
            assert_eq!(fabric.check_line(line), Ok(()), "operation {number}");
        }
        fabric.tracer.lines = lines;
        if number.is_multiple_of(BETWEEN_WHOLE_CHECKS) {
            assert_eq!(fabric.check_invariants(), Ok(()), "operation {number}");
        }
    }
    everything_happened(&fabric.tracer.tally, operations);
    everything_was_counted(&fabric, operations);
}

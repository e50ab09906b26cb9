//! Paths of a device into the memory system, each under every inclusion policy, with a snoop filter and
//! without: two sockets of two cores, the device at the first.

use crate::small_fabric;
use model::fabric::{DirectoryConfig, Fabric, FabricConfig, MemoryConfig};
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::private_caches::MesiState;
use model::replacement::Replacement;
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::{Found, NoTrace};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use small_fabric::WAYS;
use units::{CoreId, LineAddr, Picos, RootPortId, SocketId, WayMask};

const NOW: Picos = Picos(1_000_000);
const CORES: u8 = 4;
/// A core of the device's socket, and one of the other.
const NEAR: CoreId = CoreId(0);
const FAR: CoreId = CoreId(2);
const PORT: RootPortId = RootPortId(0);

/// Where a line is after the device has written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    OnChip,
    InMemory,
}

/// Effect of a device's read on copies in caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterRead {
    Untouched,
    /// They stay, shared with the root complex.
    Shared,
    Gone,
}

/// An I/O path.
#[derive(Clone, Copy, Debug)]
struct Path {
    policy: IoPolicy,
    kind: DmaKind,
    /// The node of the lines: 0 at the device's socket, 1 at the other, 2 a card at the device's.
    node: u64,
    buffer: Option<Placement>,
    as_published_code: bool,
    iommu: bool,
    left: Left,
    after_read: AfterRead,
}

fn ddio() -> Ddio {
    Ddio::top_ways(2, WAYS)
}

impl Path {
    /// DDIO, payload to memory of the device's own socket.
    fn on() -> Self {
        Self {
            policy: IoPolicy::uniform(ddio()),
            kind: DmaKind::Payload,
            node: 0,
            buffer: None,
            as_published_code: false,
            iommu: false,
            left: Left::OnChip,
            after_read: AfterRead::Untouched,
        }
    }

    fn off() -> Self {
        Self { policy: IoPolicy::uniform(Ddio::Off), left: Left::InMemory, ..Self::on() }
    }

    fn off_and_reads_evict() -> Self {
        let mut path = Self::off();
        path.policy.evict_on_dma_read = true;
        Self { after_read: AfterRead::Gone, ..path }
    }

    fn descriptors_apart(kind: DmaKind) -> Self {
        let policy = IoPolicy { descriptors: ddio(), ..Self::off().policy };
        let left = if kind == DmaKind::Payload { Left::InMemory } else { Left::OnChip };
        Self { policy, kind, left, ..Self::on() }
    }

    fn to_another_socket(pollutes: bool) -> Self {
        let policy = IoPolicy { remote_writes_pollute: pollutes, ..Self::on().policy };
        let left = if pollutes { Left::OnChip } else { Left::InMemory };
        Self { policy, node: 1, left, ..Self::on() }
    }

    fn to_a_card() -> Self {
        Self { node: 2, ..Self::on() }
    }

    fn behind_an_iommu() -> Self {
        Self { iommu: true, ..Self::on() }
    }

    fn buffer_at_the_llc(as_published_code: bool) -> Self {
        let buffer = Some(Placement::LlcSide);
        Self { buffer, as_published_code, after_read: AfterRead::Shared, ..Self::on() }
    }

    fn buffer_at_memory(placement: Placement) -> Self {
        let evicts = placement == Placement::MemorySide { evict_on_dma_read: true };
        let after_read = if evicts { AfterRead::Gone } else { AfterRead::Shared };
        Self { buffer: Some(placement), after_read, ..Self::off() }
    }

    fn config(&self, inclusion: Inclusion, filter: bool) -> FabricConfig {
        let mut config = small_fabric::config();
        config.cores = vec![2, 2];
        config.core_way_masks = vec![WayMask::bottom(WAYS); usize::from(CORES)];
        let port = &mut config.ports[0];
        port.policy = self.policy;
        port.iommu = self.iommu.then(small_fabric::iommu);
        if let Some(placement) = self.buffer {
            let as_published_code = self.as_published_code;
            port.buffer = BufferConfig { entries: 4, mshrs: 2, placement, as_published_code };
        }
        config.socket.llc.inclusion = inclusion;
        config.socket.directory =
            filter.then_some(DirectoryConfig { ways: 3, replacement: Replacement::Lru });
        let nodes = vec![small_fabric::node(0), small_fabric::node(1), small_fabric::cxl(0)];
        config.memory = MemoryConfig { nodes, upi: Some(small_fabric::upi(2)) };
        config
    }

    /// Runs a test on every machine that has this path, with an untouched line.
    fn everywhere(&self, test: impl Fn(&mut Fabric, LineAddr, &str)) {
        let inclusions = [
            Inclusion::Inclusive,
            Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::CoreAccess },
            Inclusion::ExclusiveVictim,
            Inclusion::Nine,
        ];
        for (inclusion, filter) in inclusions.into_iter().flat_map(|i| [(i, false), (i, true)]) {
            let config = self.config(inclusion, filter);
            let line = LineAddr(self.node * config.memory.node_lines() + 64);
            let machine = format!("{inclusion:?}, snoop filter: {filter}");
            test(&mut Fabric::new(&config, NoTrace), line, &machine);
        }
    }

    fn write(&self, fabric: &mut Fabric, line: LineAddr, bytes: u64) {
        fabric.dma_write(PORT, line, bytes, self.kind, NOW);
    }
}

fn state(fabric: &Fabric, core: CoreId, line: LineAddr) -> Option<MesiState> {
    fabric.private_caches(core).state(line)
}

fn states(fabric: &Fabric, line: LineAddr) -> Vec<Option<MesiState>> {
    (0..CORES).map(CoreId).map(|core| state(fabric, core, line)).collect()
}

/// The holder of a line before the device's access.
#[derive(Clone, Copy, Debug)]
enum Before {
    ModifiedNear,
    ModifiedFar,
    ReadFar,
    ReadByAll,
    ModifiedThenShared,
}

impl Before {
    const ALL: [Self; 5] = [
        Self::ModifiedNear,
        Self::ModifiedFar,
        Self::ReadFar,
        Self::ReadByAll,
        Self::ModifiedThenShared,
    ];

    fn prepare(self, fabric: &mut Fabric, line: LineAddr) {
        match self {
            Self::ModifiedNear => drop(fabric.core_write(NEAR, line, NOW)),
            Self::ModifiedFar => drop(fabric.core_write(FAR, line, NOW)),
            Self::ReadFar => drop(fabric.core_read(FAR, line, NOW)),
            Self::ReadByAll => {
                for core in (0..CORES).map(CoreId) {
                    fabric.core_read(core, line, NOW);
                }
            }
            Self::ModifiedThenShared => {
                fabric.core_write(NEAR, line, NOW);
                fabric.core_read(CoreId(NEAR.0 + 1), line, NOW);
            }
        }
    }
}

fn leaves_no_older_copy(path: &Path) {
    for (bytes, before) in [64, 20].into_iter().flat_map(|b| Before::ALL.map(|p| (b, p))) {
        path.everywhere(|fabric, line, machine| {
            before.prepare(fabric, line);
            path.write(fabric, line, bytes);
            assert_eq!(states(fabric, line), [None; CORES as usize], "{machine}, {before:?}");
            assert_eq!(fabric.check_invariants(), Ok(()), "{machine}");
        });
    }
}

fn is_read_by_cores_where_it_was_left(path: &Path) {
    for (core, before) in [NEAR, FAR].into_iter().flat_map(|c| Before::ALL.map(|p| (c, p))) {
        path.everywhere(|fabric, line, machine| {
            before.prepare(fabric, line);
            path.write(fabric, line, 64);
            let found = fabric.core_read(core, line, NOW).found;
            let on_chip = match (path.left, core) {
                (Left::OnChip, NEAR) => matches!(found, Found::LlcHit(_)),
                (Left::OnChip, _) => found == Found::OtherSocket(SocketId(0)),
                (Left::InMemory, _) => found.is_memory(),
            };
            assert!(on_chip, "{machine}: core {core} finds it by {found:?}");
            let again = fabric.core_read(core, line, NOW).found;
            assert_eq!(again, Found::L1, "{machine}");
        });
    }
}

fn changes_no_ownership_by_reading(path: &Path) {
    for before in Before::ALL {
        path.everywhere(|fabric, line, machine| {
            before.prepare(fabric, line);
            let copies = states(fabric, line);
            let held = fabric.llc_occupancy_bytes();
            fabric.dma_read(PORT, line, 64, NOW);
            let shared = |state: &Option<MesiState>| state.map(|_| MesiState::Shared);
            let expected = match path.after_read {
                AfterRead::Untouched => copies,
                AfterRead::Shared => copies.iter().map(shared).collect(),
                AfterRead::Gone => vec![None; usize::from(CORES)],
            };
            assert_eq!(states(fabric, line), expected, "{machine}");
            if path.after_read != AfterRead::Gone {
                assert_eq!(fabric.llc_occupancy_bytes(), held, "{machine}");
            }
            assert_eq!(fabric.counters().pcie_read_hits, 1, "{machine}: a cache had it");
            assert_eq!(fabric.check_invariants(), Ok(()), "{machine}");
        });
    }
}

fn counts_every_line_once(path: &Path) {
    path.everywhere(|fabric, line, machine| {
        let (mut full, mut partial, mut read) = (0, 0, 0);
        for bytes in [1, 64, 65, 200, 256, 1500, 64, 4096] {
            path.write(fabric, line, bytes);
            fabric.dma_read(PORT, line, bytes, NOW);
            fabric.core_read(NEAR, line, NOW);
            full += bytes / 64;
            partial += u64::from(bytes % 64 != 0);
            read += bytes.div_ceil(64);
            let seen = fabric.counters();
            assert_eq!(seen.pcie_write_hits + seen.pcie_write_misses, full, "{machine}");
            let partials = seen.pcie_partial_write_hits + seen.pcie_partial_write_misses;
            assert_eq!(partials, partial, "{machine}");
            assert_eq!(seen.pcie_read_hits + seen.pcie_read_misses, read, "{machine}");
        }
    });
}

fn reads_memory_only_for_what_is_missing(path: &Path) {
    path.everywhere(|fabric, line, machine| {
        path.write(fabric, line, 256);
        assert_eq!(fabric.memory().lines_moved().0, 0, "{machine}: whole lines need no reading");
        path.write(fabric, line.step(64), 100);
        assert_eq!(fabric.memory().lines_moved().0, 1, "{machine}: the rest of one line");
    });
}

fn brings_what_it_wrote_to_memory(path: &Path) {
    for before in Before::ALL {
        path.everywhere(|fabric, line, machine| {
            before.prepare(fabric, line);
            let earlier = fabric.memory().lines_moved().1;
            path.write(fabric, line, 64);
            fabric.flush(line, NOW);
            let written = fabric.memory().lines_moved().1 - earlier;
            assert_eq!(written, 1, "{machine}: the last content and no other");
            assert!(fabric.core_read(NEAR, line, NOW).found.is_memory(), "{machine}");
        });
    }
}

fn answers_after_it_was_asked(path: &Path) {
    path.everywhere(|fabric, line, machine| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for i in 0..500 {
            // Agents' calls come slightly out of order, and not faster than memory answers.
            let now = Picos(i * 400_000 + rng.next_u64() % 100_000);
            let at = line.step(rng.next_u64() % 256);
            let bytes = 1 + rng.next_u64() % 1_000;
            let done = fabric.dma_write(PORT, at, bytes, path.kind, now);
            assert!(done.accepted >= now && done.visible > now, "{machine}: {done:?}");
            let link = fabric.root_port(PORT).attachment().link().expect("a link");
            let link = Picos::from_ns(2.0 * link.config().propagation_ns);
            assert!(fabric.dma_read(PORT, at, bytes, now) > now + link, "{machine}");
        }
    });
}

fn keeps_the_invariants(path: &Path) {
    path.everywhere(|fabric, line, machine| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for i in 0..600 {
            let at = line.step(rng.next_u64() % 40);
            let core = CoreId((rng.next_u64() % u64::from(CORES)) as u8);
            let bytes = 1 + rng.next_u64() % 200;
            match rng.next_u64() % 5 {
                0 => drop(fabric.core_read(core, at, NOW)),
                1 => drop(fabric.core_write(core, at, NOW)),
                2 => drop(fabric.dma_read(PORT, at, bytes, NOW)),
                _ => path.write(fabric, at, bytes),
            }
            assert_eq!(fabric.check_invariants(), Ok(()), "{machine}, step {i}");
        }
    });
}

macro_rules! io_paths {
    ($($name:ident: $path:expr;)+) => { $(
        mod $name {
            use super::*;

            #[test]
            fn after_a_write_no_core_has_an_older_copy() {
                leaves_no_older_copy(&$path);
            }

            #[test]
            fn a_core_reads_a_written_line_where_the_path_has_left_it() {
                is_read_by_cores_where_it_was_left(&$path);
            }

            #[test]
            fn a_read_changes_no_ownership_but_as_the_path_says() {
                changes_no_ownership_by_reading(&$path);
            }

            #[test]
            fn every_line_is_counted_once_as_hit_or_miss() {
                counts_every_line_once(&$path);
            }

            #[test]
            fn only_the_rest_of_a_partial_line_is_read_from_memory() {
                reads_memory_only_for_what_is_missing(&$path);
            }

            #[test]
            fn what_was_written_gets_to_memory_once() {
                brings_what_it_wrote_to_memory(&$path);
            }

            #[test]
            fn nothing_is_done_before_it_was_asked_for() {
                answers_after_it_was_asked(&$path);
            }

            #[test]
            fn every_operation_keeps_the_invariants() {
                keeps_the_invariants(&$path);
            }
        }
    )+ };
}

io_paths! {
    ddio_on: Path::on();
    ddio_off: Path::off();
    ddio_off_with_eviction_by_reads: Path::off_and_reads_evict();
    payload_where_only_descriptors_have_ddio: Path::descriptors_apart(DmaKind::Payload);
    descriptors_where_only_they_have_ddio: Path::descriptors_apart(DmaKind::Descriptor);
    another_socket_s_memory_with_pollution: Path::to_another_socket(true);
    another_socket_s_memory_without_pollution: Path::to_another_socket(false);
    cxl_memory: Path::to_a_card();
    behind_an_iommu: Path::behind_an_iommu();
    buffer_at_the_llc: Path::buffer_at_the_llc(false);
    buffer_at_the_llc_as_published: Path::buffer_at_the_llc(true);
    buffer_at_memory: Path::buffer_at_memory(Placement::MemorySide { evict_on_dma_read: false });
    buffer_at_memory_with_eviction_by_reads:
        Path::buffer_at_memory(Placement::MemorySide { evict_on_dma_read: true });
    separate_io_cache: Path::buffer_at_memory(Placement::SeparateIoCache);
}

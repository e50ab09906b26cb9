//! Accesses before time zero: what do they leave in the caches, and what in memory?

use crate::small_fabric;
use model::fabric::{DirectoryConfig, Fabric, FabricConfig};
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::private_caches::PrefetcherConfig;
use model::replacement::Replacement;
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{CoreId, LineAddr, Picos, RootPortId, SocketId, WayMask};

const CORE: CoreId = CoreId(0);
const PORT: RootPortId = RootPortId(0);
const FAR: LineAddr = LineAddr(1 << 16);

fn fabric() -> Fabric {
    Fabric::new(&small_fabric::config(), NoTrace)
}

fn write_all(fabric: &mut Fabric, lines: &[u64]) {
    for &line in lines {
        fabric.core_write(CORE, LineAddr(line), Picos::ZERO);
    }
}

proptest! {
    #[test]
    fn they_fill_the_caches_as_any_access_and_keep_memory_idle(
        lines in prop::collection::vec(0..4_000_u64, 1..3_000),
    ) {
        let mut timed = fabric();
        write_all(&mut timed, &lines);
        let mut untimed = fabric();
        untimed.before_time_zero(|fabric| write_all(fabric, &lines));
        prop_assert_eq!(untimed.memory().lines_moved(), (0, 0));
        // A memory that had served them would be busy still.
        let idle = fabric().core_read(CORE, FAR, Picos::ZERO);
        prop_assert_eq!(untimed.clone().core_read(CORE, FAR, Picos::ZERO), idle);
        prop_assert_eq!(untimed.llc_occupancy_bytes(), timed.llc_occupancy_bytes());
        prop_assert_eq!(untimed.check_invariants(), Ok(()));
        let later = Picos(1_000_000_000);
        timed.start_clock();
        untimed.start_clock();
        for &line in &lines {
            let (at, line) = (later, LineAddr(line));
            let found = untimed.core_read(CORE, line, at).found;
            prop_assert_eq!(found, timed.core_read(CORE, line, at).found);
        }
    }
}

/// As [`small_fabric::config`], with what does not act before time zero drawn: the device's root port
/// and memory.
fn with_other_surroundings(
    ddio_ways: u32,
    io_priority: bool,
    buffer_entries: u32,
    far_memory: bool,
) -> FabricConfig {
    let mut config = small_fabric::config();
    let port = &mut config.ports[0];
    port.policy = match ddio_ways {
        0 => IoPolicy::uniform(Ddio::Off),
        ways => IoPolicy::uniform(Ddio::top_ways(ways, small_fabric::WAYS)),
    };
    port.policy.placement.io_priority = io_priority;
    port.buffer.entries = buffer_entries;
    if far_memory {
        config.memory.nodes = vec![small_fabric::cxl(0)];
    }
    config
}

proptest! {
    #[test]
    fn what_they_leave_can_be_taken_over_by_a_fabric_with_other_root_ports_and_memory(
        lines in prop::collection::vec(0..4_000_u64, 1..3_000),
        later in prop::collection::vec((0..4_000_u64, 0..3), 1..300),
        ddio_ways in 0..=small_fabric::WAYS,
        io_priority: bool,
        buffer_entries in 0..5_u32,
        far_memory: bool,
    ) {
        let mut first = fabric();
        first.before_time_zero(|fabric| write_all(fabric, &lines));
        let other = with_other_surroundings(ddio_ways, io_priority, buffer_entries, far_memory);
        prop_assert_eq!(other.decides_contents(), small_fabric::config().decides_contents());
        let mut filled = Fabric::new(&other, NoTrace);
        filled.before_time_zero(|fabric| write_all(fabric, &lines));
        let mut copied = Fabric::new(&other, NoTrace);
        copied.take_over(&first.contents());
        for fabric in [&mut filled, &mut copied] {
            prop_assert_eq!(fabric.check_invariants(), Ok(()));
            fabric.start_clock();
        }
        let mut now = Picos::ZERO;
        for (line, access) in later {
            let line = LineAddr(line);
            let done = [&mut filled, &mut copied].map(|fabric| match access {
                0 => fabric.core_read(CORE, line, now).done,
                1 => fabric.dma_write(PORT, line, 64, DmaKind::Payload, now).visible,
                _ => fabric.dma_read(PORT, line, 64, now),
            });
            prop_assert_eq!(done[0], done[1]);
            now = done[0];
        }
        prop_assert_eq!(filled.counters(), copied.counters());
        prop_assert_eq!(format!("{:?}", filled.evictions()), format!("{:?}", copied.evictions()));
    }
}

/// As [`small_fabric::config`], with what decides how stores fill the caches drawn.
fn with_other_caches() -> impl Strategy<Value = FabricConfig> {
    let inclusion = prop_oneof![Just(InclusiveMove::CoreAccess), Just(InclusiveMove::DeviceWrite)]
        .prop_map(|moved_by| Inclusion::NonInclusive { inclusive_ways: 2, moved_by });
    let replacement = || prop_oneof![Just(Replacement::Lru), Just(Replacement::Random)];
    (
        prop_oneof![3 => inclusion, 1 => Just(Inclusion::ExclusiveVictim), 1 => Just(Inclusion::Nine)],
        (replacement(), replacement(), prop_oneof![
            Just(Replacement::Lru),
            Just(Replacement::Nru),
            Just(Replacement::TreePlru),
            Just(Replacement::Random)
        ]),
        (any::<bool>(), 0_u32..5, prop::option::of(Just(Picos(7_000)))),
        (1_u32..9, any::<bool>()),
    )
        .prop_map(|(inclusion, (llc, l2, filter), (pair, stream, delay), (ways, clean))| {
            let mut config = small_fabric::config();
            config.socket.llc.inclusion = inclusion;
            (config.socket.llc.replacement, config.private.l2.replacement) = (llc, l2);
            config.socket.directory = Some(DirectoryConfig { ways, replacement: filter });
            config.core_path.clean_victims_to_llc = clean;
            config.private.prefetcher = PrefetcherConfig {
                adjacent_line: pair,
                stream_lines: stream,
                stream_sees_hits: false,
                stream_delay: delay,
            };
            config
        })
}

/// Stores to all lines before time zero, those that are plain together.
fn store_together(fabric: &mut Fabric, lines: &[u64]) {
    let mut lines = lines.iter().copied().map(LineAddr);
    fabric.before_time_zero(|fabric| {
        let left = fabric.store_to_new_lines(CORE, &mut lines);
        for line in left.into_iter().chain(lines) {
            fabric.core_write(CORE, line, Picos::ZERO);
        }
    });
}

proptest! {
    #[test]
    fn stores_together_leave_what_stores_one_by_one_do(
        config in with_other_caches(),
        runs in prop::collection::vec((0..3_000_u64, 1..40_u64), 1..60),
        in_order: bool,
        later in prop::collection::vec((0..3_000_u64, 0..4), 1..300),
    ) {
        let mut runs = runs;
        if in_order {
            runs.sort_unstable();
        }
        let lines: Vec<u64> = runs.iter().flat_map(|&(first, lines)| first..first + lines).collect();
        let mut together = Fabric::new(&config, NoTrace);
        store_together(&mut together, &lines);
        let mut one_by_one = Fabric::new(&config, NoTrace);
        one_by_one.before_time_zero(|fabric| write_all(fabric, &lines));
        let socket = SocketId(0);
        prop_assert_eq!(together.lines_of_ways(socket), one_by_one.lines_of_ways(socket));
        for fabric in [&mut together, &mut one_by_one] {
            prop_assert_eq!(fabric.check_invariants(), Ok(()));
            fabric.start_clock();
        }
        let mut now = Picos::ZERO;
        for (line, access) in later {
            let line = LineAddr(line);
            let done = [&mut together, &mut one_by_one].map(|fabric| match access {
                0 => fabric.core_read(CORE, line, now).done,
                1 => fabric.core_write(CoreId(1), line, now).done,
                2 => fabric.dma_write(PORT, line, 64, DmaKind::Payload, now).visible,
                _ => fabric.dma_read(PORT, line, 64, now),
            });
            prop_assert_eq!(done[0], done[1]);
            now = done[0];
        }
        prop_assert_eq!(together.counters(), one_by_one.counters());
        prop_assert_eq!(
            format!("{:?}", together.evictions()),
            format!("{:?}", one_by_one.evictions())
        );
    }
}

#[test]
fn stores_to_new_lines_stay_together_until_the_snoop_filter_or_a_repeated_line_needs_more() {
    let stored = |filter_ways, lines: &[u64]| {
        let mut config = small_fabric::config();
        let replacement = Replacement::Lru;
        config.socket.directory = Some(DirectoryConfig { ways: filter_ways, replacement });
        let mut lines = lines.iter().copied().map(LineAddr);
        let mut fabric = Fabric::new(&config, NoTrace);
        let left = fabric.store_to_new_lines(CORE, &mut lines);
        left.into_iter().chain(lines).map(|line| line.0).collect::<Vec<u64>>()
    };
    let new: Vec<u64> = (0..2_000).collect();
    // L2 has eight lines.
    assert_eq!(stored(8, &new), []);
    assert!(!stored(1, &new).is_empty());
    let repeated: Vec<u64> = (0..40).chain([39]).chain(100..200).collect();
    assert_eq!(stored(8, &repeated)[..2], [39, 100]);
    // The LLC still has the first line.
    let taken_back: Vec<u64> = (0..20).chain([0]).chain(100..200).collect();
    assert_eq!(stored(8, &taken_back)[..2], [0, 100]);
}

/// A change of a configuration.
type Change = fn(&mut FabricConfig);

#[test]
fn all_that_acts_before_time_zero_decides_what_they_leave() {
    let same = small_fabric::config().decides_contents();
    let changes: [(&str, Change); 9] = [
        ("seed", |config| config.seed = 2),
        ("cores", |config| {
            config.cores = vec![1];
            config.core_way_masks.pop();
        }),
        ("core_way_masks", |config| config.core_way_masks[1] = WayMask(1)),
        ("private", |config| config.private.l2.ways = 8),
        ("llc", |config| config.socket.llc.ways = 7),
        ("directory", |config| config.socket.directory = None),
        ("core_path", |config| config.core_path.clean_victims_to_llc = false),
        ("homes", |config| config.memory.nodes.push(small_fabric::node(0))),
        ("number of ports", |config| config.ports.push(config.ports[0].clone())),
    ];
    for (what, change) in changes {
        let mut config = small_fabric::config();
        change(&mut config);
        assert_ne!(config.decides_contents(), same, "{what}");
    }
}

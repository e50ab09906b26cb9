//! Accesses before time zero: what do they leave in the caches, and what in memory?

use crate::small_fabric;
use model::fabric::{Fabric, FabricConfig};
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{CoreId, LineAddr, Picos, RootPortId, WayMask};

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

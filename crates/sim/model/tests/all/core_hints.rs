//! Demotions, stores around the caches and discarded lines: what do they leave where?

use crate::small_fabric;
use model::fabric::Fabric;
use model::root_complex::ddio::DmaKind;
use model::tracer::{Found, NoTrace};
use proptest::prelude::*;
use units::{CoreId, LineAddr, Picos, RootPortId};

const CORE: CoreId = CoreId(0);
const OTHER: CoreId = CoreId(1);
const PORT: RootPortId = RootPortId(0);
const LINE: LineAddr = LineAddr(40);

fn fabric() -> Fabric {
    let mut fabric = Fabric::new(&small_fabric::config(), NoTrace);
    fabric.start_clock();
    fabric
}

#[test]
fn a_demoted_line_is_in_the_llc_and_not_in_the_cores_own_caches() {
    let mut fabric = fabric();
    fabric.core_write(CORE, LINE, Picos::ZERO);
    assert_eq!(fabric.core_read(CORE, LINE, Picos(1_000)).found, Found::L1);
    fabric.demote(CORE, LINE, Picos(2_000));
    let found = fabric.core_read(CORE, LINE, Picos(3_000)).found;
    assert!(matches!(found, Found::LlcHit(_)), "{found:?}");
    // A line that the core does not have cannot be demoted.
    fabric.demote(OTHER, LINE, Picos(4_000));
    assert_eq!(fabric.core_read(CORE, LINE, Picos(5_000)).found, Found::L1);
}

#[test]
fn a_store_around_the_caches_leaves_the_line_in_memory_only() {
    let mut fabric = fabric();
    fabric.core_write(OTHER, LINE, Picos::ZERO);
    let before = fabric.memory().lines_moved();
    let stored = fabric.core_write_around(CORE, LINE, Picos(1_000));
    assert_eq!(stored.found, Found::Dram);
    assert!(stored.done > Picos(1_000));
    let moved = fabric.memory().lines_moved();
    // The other core's older content is lost with its copy: only the new one is written.
    assert_eq!((moved.0 - before.0, moved.1 - before.1), (0, 1));
    assert_eq!(fabric.core_read(OTHER, LINE, Picos(9_000_000)).found, Found::Dram);
}

#[test]
fn discarded_lines_are_in_memory_without_any_traffic() {
    let mut fabric = fabric();
    let lines = 20;
    for line in (0..lines).map(|line| LINE.step(line)) {
        fabric.core_write(CORE, line, Picos::ZERO);
    }
    let before = fabric.memory().lines_moved();
    fabric.discard(LINE, lines);
    assert_eq!(fabric.memory().lines_moved(), before);
    for line in (0..lines).map(|line| LINE.step(line)) {
        assert_eq!(fabric.core_read(CORE, line, Picos(9_000_000)).found, Found::Dram);
    }
}

proptest! {
    #[test]
    fn they_keep_the_invariants_of_the_fabric(
        acts in prop::collection::vec((0..7_u8, 0..64_u64, 1..40_u64), 1..200),
    ) {
        let mut fabric = fabric();
        for (number, (act, line, lines)) in (0_u64..).zip(acts) {
            let (now, line) = (Picos(number * 10_000), LineAddr(line));
            match act {
                0 => drop(fabric.core_read(CORE, line, now)),
                1 => drop(fabric.core_write(OTHER, line, now)),
                2 => drop(fabric.dma_write(PORT, line, lines * 64, DmaKind::Payload, now)),
                3 => fabric.demote(CORE, line, now),
                4 => fabric.demote(OTHER, line, now),
                5 => drop(fabric.core_write_around(CORE, line, now)),
                _ => fabric.discard(line, lines),
            }
            prop_assert_eq!(fabric.check_invariants(), Ok(()));
        }
    }
}

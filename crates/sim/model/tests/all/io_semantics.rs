//! Effect of device writes and reads on lines, rule by rule.

use crate::small_fabric;
use model::fabric::Fabric;
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::{Found, NoTrace};
use units::{CoreId, LineAddr, Picos, RootPortId, SocketId, WayMask};

const LINE: LineAddr = LineAddr(64);
const NOW: Picos = Picos(1_000_000);

fn fabric() -> Fabric {
    Fabric::new(&small_fabric::config(), NoTrace)
}

fn without_ddio() -> Fabric {
    let mut config = small_fabric::config();
    config.ports[0].policy = IoPolicy::uniform(Ddio::Off);
    Fabric::new(&config, NoTrace)
}

fn write(fabric: &mut Fabric, line: LineAddr) {
    fabric.dma_write(RootPortId(0), line, 64, DmaKind::Payload, NOW);
}

fn way_of(fabric: &Fabric, line: LineAddr) -> Option<u32> {
    fabric.llc(SocketId(0)).find(fabric.llc(SocketId(0)).set_of(line), line)
}

#[test]
fn a_write_miss_allocates_inside_the_ddio_ways_only() {
    let mut fabric = fabric();
    for i in 0..200 {
        let line = LineAddr(i);
        write(&mut fabric, line);
        assert!(way_of(&fabric, line).is_some_and(|way| way >= 4), "line {i}");
    }
    assert_eq!(fabric.counters().pcie_write_misses, 200);
    assert_eq!(fabric.counters().llc_io_allocations, 200);
}

#[test]
fn a_write_hit_updates_in_place_in_whatever_way() {
    let mut fabric = fabric();
    // A core's line gets into a non-DDIO way: read it, then evict it from the small L2.
    fabric.core_write(CoreId(0), LINE, NOW);
    for i in 1..=4 {
        fabric.core_read(CoreId(0), LINE.step(2 * i), NOW);
    }
    let before = way_of(&fabric, LINE);
    assert!(before.is_some(), "the L2 victim is in the LLC");
    write(&mut fabric, LINE);
    assert_eq!(way_of(&fabric, LINE), before);
    assert_eq!(fabric.counters().pcie_write_hits, 1);
}

#[test]
fn a_line_that_only_a_core_holds_is_a_write_miss_and_leaves_the_core() {
    let mut fabric = fabric();
    fabric.core_write(CoreId(0), LINE, NOW);
    write(&mut fabric, LINE);
    assert_eq!(fabric.counters().pcie_write_misses, 1);
    assert!(matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::LlcHit(_)));
}

#[test]
fn a_core_read_moves_a_written_line_into_an_inclusive_way_where_the_next_write_hits() {
    let mut fabric = fabric();
    write(&mut fabric, LINE);
    assert!(matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::LlcHit(way) if way < 2));
    write(&mut fabric, LINE);
    assert!(way_of(&fabric, LINE).is_some_and(|way| way < 2));
    assert_eq!(fabric.counters().pcie_write_hits, 1);
    assert!(
        matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::LlcHit(_)),
        "L2 was invalidated"
    );
}

#[test]
fn a_modified_header_is_read_by_the_device_as_a_hit() {
    let mut fabric = fabric();
    write(&mut fabric, LINE);
    fabric.core_write(CoreId(0), LINE, NOW);
    let from_core = fabric.dma_read(RootPortId(0), LINE, 64, NOW);
    assert_eq!(fabric.counters().pcie_read_hits, 1);
    assert_eq!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::L1, "the core keeps it");
    let mut plain = self::fabric();
    write(&mut plain, LINE);
    let from_llc = plain.dma_read(RootPortId(0), LINE, 64, NOW);
    assert!(from_core > from_llc, "it comes from the core: {from_core:?} after {from_llc:?}");
}

#[test]
fn a_read_miss_comes_from_dram_and_allocates_nothing() {
    let mut fabric = fabric();
    fabric.dma_read(RootPortId(0), LINE, 64, NOW);
    assert_eq!(fabric.counters().pcie_read_misses, 1);
    assert_eq!(way_of(&fabric, LINE), None);
    assert_eq!(fabric.memory().lines_moved(), (1, 0));
}

#[test]
fn without_ddio_writes_go_to_dram_and_take_every_copy_with_them() {
    let mut fabric = without_ddio();
    fabric.core_write(CoreId(0), LINE, NOW);
    write(&mut fabric, LINE);
    assert_eq!(way_of(&fabric, LINE), None);
    assert_eq!(fabric.counters().llc_io_allocations, 0);
    assert_eq!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::Dram);
}

#[test]
fn with_ddio_the_first_read_of_a_payload_line_needs_no_dram() {
    let mut fabric = fabric();
    write(&mut fabric, LINE);
    assert!(matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::LlcHit(_)));
    assert_eq!(fabric.memory().lines_moved(), (0, 0));
}

#[test]
fn a_partial_line_that_is_nowhere_is_read_before_it_is_merged() {
    let mut fabric = fabric();
    fabric.dma_write(RootPortId(0), LINE, 100, DmaKind::Payload, NOW);
    let counters = fabric.counters();
    assert_eq!((counters.pcie_write_misses, counters.pcie_partial_write_misses), (1, 1));
    assert_eq!(fabric.memory().lines_moved(), (1, 0));
    fabric.dma_write(RootPortId(0), LINE, 100, DmaKind::Payload, NOW);
    assert_eq!(fabric.counters().pcie_partial_write_hits, 1);
    assert_eq!(fabric.memory().lines_moved(), (1, 0), "a hit is merged in place");
}

#[test]
fn without_ddio_the_rest_of_a_partial_line_comes_from_a_cache_that_has_it() {
    let mut fabric = without_ddio();
    fabric.core_read(CoreId(0), LINE, NOW);
    assert_eq!(fabric.memory().lines_moved(), (1, 0));
    fabric.dma_write(RootPortId(0), LINE, 28, DmaKind::Payload, NOW);
    assert_eq!(fabric.memory().lines_moved(), (1, 1), "the core's clean copy has the rest");
    fabric.dma_write(RootPortId(0), LINE, 28, DmaKind::Payload, NOW);
    assert_eq!(fabric.memory().lines_moved(), (2, 2), "no cache has it any more");
}

/// A partial write over a line that a core has modified, in L2 only or with a tag in the LLC.
#[test]
fn a_partial_write_merges_with_the_newest_content_wherever_it_is() {
    let moved = |mut fabric: Fabric, through_llc: bool| {
        if through_llc {
            write(&mut fabric, LINE);
        }
        fabric.core_write(CoreId(0), LINE, NOW);
        let before = fabric.memory().lines_moved();
        fabric.dma_write(RootPortId(0), LINE, 28, DmaKind::Payload, NOW);
        let after = fabric.memory().lines_moved();
        (after.0 - before.0, after.1 - before.1)
    };
    assert_eq!(moved(fabric(), true), (0, 0), "the LLC tag is updated in place");
    assert_eq!(moved(fabric(), false), (0, 0), "the core's copy has the rest");
    // Without DDIO the newest content goes to DRAM first, then the merged line, whose rest comes from
    // the core.
    assert_eq!(moved(without_ddio(), false), (0, 2));
}

#[test]
fn a_dirty_victim_of_a_device_goes_to_dram_and_is_attributed() {
    let mut fabric = fabric();
    let nic = fabric.device_agent(RootPortId(0));
    // More lines than the two DDIO ways of all eight sets hold.
    for i in 0..40 {
        write(&mut fabric, LineAddr(i));
    }
    let unread = fabric.evictions().count(nic, nic, false);
    assert!(unread >= 40 - 16);
    assert_eq!(fabric.memory().lines_moved(), (0, unread));
    assert_eq!(fabric.evictions().count(nic, nic, true), 0);
}

#[test]
fn a_core_s_victims_stay_within_its_cat_mask() {
    let mut config = small_fabric::config();
    config.core_way_masks = vec![WayMask(0b001100); 2];
    let mut fabric = Fabric::new(&config, NoTrace);
    for i in 0..100 {
        fabric.core_read(CoreId(0), LineAddr(i), NOW);
    }
    let ways: Vec<u32> = (0..100).filter_map(|i| way_of(&fabric, LineAddr(i))).collect();
    assert!(!ways.is_empty());
    assert!(ways.iter().all(|way| (2..4).contains(way)), "{ways:?}");
}

#[test]
fn a_core_s_own_line_moves_back_from_the_llc_into_l2() {
    let mut config = small_fabric::config();
    // A way outside the inclusive ways, in which both may hold the line.
    config.core_way_masks = vec![WayMask(0b001100); 2];
    let mut fabric = Fabric::new(&config, NoTrace);
    fabric.core_read(CoreId(0), LINE, NOW);
    for i in 1..=4 {
        fabric.core_read(CoreId(0), LINE.step(2 * i), NOW);
    }
    assert!(way_of(&fabric, LINE).is_some());
    assert!(matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::LlcHit(_)));
    assert_eq!(way_of(&fabric, LINE), None, "the LLC is a victim cache of L2");
}

#[test]
fn a_modified_line_of_another_core_is_handed_over() {
    let mut fabric = fabric();
    fabric.core_write(CoreId(0), LINE, NOW);
    assert_eq!(fabric.core_read(CoreId(1), LINE, NOW).found, Found::OtherCore(CoreId(0)));
    assert_eq!(fabric.memory().lines_moved(), (1, 0), "only the first access needed DRAM");
    fabric.core_write(CoreId(1), LINE, NOW);
    assert!(!matches!(fabric.core_read(CoreId(0), LINE, NOW).found, Found::L1 | Found::L2));
}

#[test]
fn writes_beyond_the_iio_s_entries_are_held_back() {
    let mut fabric = without_ddio();
    // 92 entries x 64 B / 300 ns = 19.6 GB/s: beyond the link's 14, so only a slower DRAM shows it.
    let mut slow = small_fabric::config();
    slow.ports[0].policy = IoPolicy::uniform(Ddio::Off);
    slow.socket.iio.dram_write = Picos(3_000_000);
    let mut slow = Fabric::new(&slow, NoTrace);
    let time = |fabric: &mut Fabric| {
        let mut now = NOW;
        for i in 0..2_000 {
            now = fabric
                .dma_write(RootPortId(0), LineAddr(64 * i), 1024, DmaKind::Payload, now)
                .accepted;
        }
        (now - NOW).as_ns()
    };
    let gbytes_per_s = 2_000.0 * 1024.0 / time(&mut slow);
    assert!((gbytes_per_s / (92.0 * 64.0 / 3_000.0) - 1.0).abs() < 0.05, "{gbytes_per_s}");
    assert!(time(&mut fabric) < 1.0, "without a bound the device is not held back");
}

#[test]
fn a_line_that_a_device_and_then_a_core_wrote_goes_to_memory_once() {
    let mut fabric = fabric();
    write(&mut fabric, LINE);
    fabric.core_write(CoreId(0), LINE, NOW);
    let set = fabric.llc(SocketId(0)).set_of(LINE);
    let lines = (1..).map(|i| LINE.step(i));
    let others: Vec<LineAddr> =
        lines.filter(|&line| fabric.llc(SocketId(0)).set_of(line) == set).take(2).collect();
    for &line in &others {
        write(&mut fabric, line);
        fabric.core_read(CoreId(1), line, NOW);
    }
    assert_eq!(way_of(&fabric, LINE), None, "two lines that a core read have pushed it out");
    assert_eq!(fabric.counters().llc_writebacks, 0, "the core has what is newer");
    assert_eq!(fabric.memory().lines_moved().1, 0);
    fabric.flush(LINE, NOW);
    assert_eq!(fabric.memory().lines_moved().1, 1);
}

#[test]
fn a_device_that_fills_empty_ways_pushes_nothing_out_before_the_set_is_full() {
    let mut config = small_fabric::config();
    config.ports[0].policy.fills_empty_ways = true;
    let mut fabric = Fabric::new(&config, NoTrace);
    let set = fabric.llc(SocketId(0)).set_of(LINE);
    let lines = (0..).map(|i| LINE.step(i));
    let same_set: Vec<LineAddr> =
        lines.filter(|&line| fabric.llc(SocketId(0)).set_of(line) == set).take(5).collect();
    for &line in &same_set[..4] {
        write(&mut fabric, line);
    }
    // Six ways, the lowest two inclusive: two DDIO ways and two more.
    assert!(same_set[..4].iter().all(|&line| way_of(&fabric, line).is_some_and(|way| way >= 2)));
    write(&mut fabric, same_set[4]);
    assert!(way_of(&fabric, same_set[4]).is_some_and(|way| way >= 4));
    assert_eq!(fabric.counters().llc_writebacks, 1);
}

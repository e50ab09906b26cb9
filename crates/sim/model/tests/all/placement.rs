//! Placement policies beyond DDIO, rule by rule on the small fabric (claims atc-25, atc-26, atc-27,
//! atc-37, gem5-15), and the state that a change of policy keeps (atc-11, atc-35).

use crate::small_fabric::{WAYS, config};
use model::core::Core;
use model::core::bandwidth_limit::BandwidthLimit;
use model::fabric::{Fabric, FabricConfig};
use model::llc::Inclusion;
use model::llc::inclusion::InclusiveMove;
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::root_complex::line_placement::{LinePlacement, OnUnread, TagSteering};
use model::tracer::{Found, NoTrace};
use units::{CoreId, Gigahertz, LineAddr, Picos, RootPortId, SetIndex, SocketId, WayMask};

const NOW: Picos = Picos(1_000_000);
const PACKET: LineAddr = LineAddr(640);
const READER: CoreId = CoreId(1);

fn with(placement: LinePlacement) -> FabricConfig {
    let mut config = config();
    config.ports[0].policy.placement = placement;
    config
}

fn fabric(config: &FabricConfig) -> Fabric {
    Fabric::new(config, NoTrace)
}

/// The device writes a packet of `lines` lines for [`READER`].
fn receive(fabric: &mut Fabric, lines: u64) {
    fabric.dma_write_for(RootPortId(0), Some(READER), PACKET, 64 * lines, DmaKind::Payload, NOW);
    assert_eq!(fabric.check_invariants(), Ok(()));
}

fn write(fabric: &mut Fabric, line: LineAddr) {
    fabric.dma_write(RootPortId(0), line, 64, DmaKind::Payload, NOW);
}

fn in_llc(fabric: &Fabric, line: LineAddr) -> bool {
    fabric.llc(SocketId(0)).find(fabric.llc(SocketId(0)).set_of(line), line).is_some()
}

/// The first `count` lines of one LLC set.
fn lines_of_one_set(fabric: &Fabric, count: usize) -> Vec<LineAddr> {
    let lines = (0..10_000).map(LineAddr);
    lines.filter(|&line| fabric.llc(SocketId(0)).set_of(line) == SetIndex(3)).take(count).collect()
}

#[test]
fn selective_dma_places_the_head_in_the_llc_and_the_rest_in_memory() {
    let placement = LinePlacement { injected_lines: Some(2), ..LinePlacement::default() };
    let mut fabric = fabric(&with(placement));
    // Lines after the head are invalidated in the caches, as without DDIO.
    fabric.core_write(CoreId(0), PACKET.step(3), NOW);
    receive(&mut fabric, 5);
    let placed: Vec<bool> = (0..5).map(|i| in_llc(&fabric, PACKET.step(i))).collect();
    assert_eq!(placed, [true, true, false, false, false]);
    assert_eq!(fabric.memory().lines_moved().1, 3);
    assert_eq!(fabric.core_read(CoreId(0), PACKET.step(3), NOW).found, Found::Dram);
}

#[test]
fn descriptors_go_where_they_went() {
    let placement = LinePlacement { injected_lines: Some(0), ..LinePlacement::default() };
    let mut fabric = fabric(&with(placement));
    fabric.dma_write(RootPortId(0), PACKET, 64, DmaKind::Descriptor, NOW);
    assert!(in_llc(&fabric, PACKET));
}

#[test]
fn a_write_that_would_push_out_an_unread_line_goes_to_memory_instead() {
    let placement = LinePlacement { on_unread: OnUnread::Bypass, ..LinePlacement::default() };
    let mut fabric = fabric(&with(placement));
    let lines = lines_of_one_set(&fabric, 4);
    // Two ways are for devices: the third line finds only unread ones.
    lines[..3].iter().for_each(|&line| write(&mut fabric, line));
    assert_eq!(
        lines[..3].iter().map(|&line| in_llc(&fabric, line)).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!(fabric.memory().lines_moved().1, 1);
    // A transmitted line counts as read.
    fabric.dma_read(RootPortId(0), lines[0], 64, NOW);
    fabric.dma_read(RootPortId(0), lines[1], 64, NOW);
    write(&mut fabric, lines[3]);
    assert!(in_llc(&fabric, lines[3]));
    assert_eq!(fabric.root_port(RootPortId(0)).counters().write_misses, 4);
}

#[test]
fn writes_can_replace_read_lines_first() {
    let placement = LinePlacement { replaces_read_first: true, ..LinePlacement::default() };
    for (placement, survives) in [(LinePlacement::default(), false), (placement, true)] {
        let mut fabric = fabric(&with(placement));
        let lines = lines_of_one_set(&fabric, 3);
        write(&mut fabric, lines[0]);
        write(&mut fabric, lines[1]);
        // It was transmitted and so used last: LRU alone would keep it.
        fabric.dma_read(RootPortId(0), lines[1], 64, NOW);
        write(&mut fabric, lines[2]);
        assert_eq!(in_llc(&fabric, lines[0]), survives);
        assert_eq!(in_llc(&fabric, lines[1]), !survives);
    }
}

#[test]
fn atc_37_cores_spare_unread_io_lines_while_their_ways_hold_something_else() {
    for (io_priority, survives) in [(false, false), (true, true)] {
        let mut config = with(LinePlacement { io_priority, ..LinePlacement::default() });
        config.socket.directory = None;
        config.core_way_masks = vec![WayMask(0b111_000); 2];
        let mut fabric = fabric(&config);
        let lines = lines_of_one_set(&fabric, 40);
        let (io, own) = lines.split_at(1);
        write(&mut fabric, io[0]);
        own.iter().for_each(|&line| {
            fabric.core_write(CoreId(0), line, NOW);
        });
        assert_eq!(in_llc(&fabric, io[0]), survives, "io_priority {io_priority}");
        // Once read, it is treated like any other line.
        fabric.dma_read(RootPortId(0), io[0], 64, NOW);
        own.iter().for_each(|&line| {
            fabric.core_write(CoreId(0), line, NOW);
        });
        assert!(!in_llc(&fabric, io[0]));
    }
}

#[test]
fn cores_take_unread_lines_where_there_is_nothing_else() {
    let mut config = with(LinePlacement { io_priority: true, ..LinePlacement::default() });
    config.socket.directory = None;
    config.core_way_masks = vec![WayMask(0b110_000); 2];
    let mut fabric = fabric(&config);
    let lines = lines_of_one_set(&fabric, 20);
    lines[..2].iter().for_each(|&line| write(&mut fabric, line));
    lines[2..].iter().for_each(|&line| {
        fabric.core_write(CoreId(0), line, NOW);
    });
    assert!(!in_llc(&fabric, lines[0]) || !in_llc(&fabric, lines[1]));
}

#[test]
fn gem5_15_pushed_lines_are_in_the_l2_of_the_core_that_reads_them() {
    for inclusion in [
        Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::CoreAccess },
        Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::DeviceWrite },
        Inclusion::Inclusive,
        Inclusion::ExclusiveVictim,
        Inclusion::Nine,
    ] {
        let steering = TagSteering::PushToL2 { lines: 2 };
        let mut config = with(LinePlacement { steering, ..LinePlacement::default() });
        config.socket.llc.inclusion = inclusion;
        let mut fabric = fabric(&config);
        fabric.core_write(CoreId(0), PACKET, NOW);
        let read_before = fabric.memory().lines_moved().0;
        receive(&mut fabric, 3);
        assert_eq!(
            fabric.private_caches(CoreId(0)).state(PACKET),
            None,
            "{inclusion:?}: others lose the line"
        );
        assert_eq!(fabric.core_read(READER, PACKET, NOW).found, Found::L2, "{inclusion:?}");
        assert_eq!(fabric.core_read(READER, PACKET.step(1), NOW).found, Found::L2);
        let behind = fabric.core_read(READER, PACKET.step(2), NOW).found;
        assert!(matches!(behind, Found::LlcHit(_)), "{inclusion:?}: {behind:?}");
        assert_eq!(fabric.memory().lines_moved().0, read_before, "{inclusion:?}");
    }
}

#[test]
fn a_write_without_a_tag_is_not_pushed() {
    let steering = TagSteering::PushToL2 { lines: 2 };
    let mut fabric = fabric(&with(LinePlacement { steering, ..LinePlacement::default() }));
    write(&mut fabric, PACKET);
    assert_eq!(fabric.private_caches(READER).state(PACKET), None);
    assert!(in_llc(&fabric, PACKET));
}

#[test]
fn atc_26_hinted_lines_are_prefetched_while_the_whole_packet_goes_to_dram() {
    let packet = |steering| {
        let mut config = with(LinePlacement { steering, ..LinePlacement::default() });
        (config.ports[0].policy.payload, config.ports[0].policy.descriptors) =
            (Ddio::Off, Ddio::Off);
        let mut fabric = fabric(&config);
        receive(&mut fabric, 4);
        let written = fabric.memory().lines_moved().1;
        let found: Vec<Found> =
            (0..3).map(|i| fabric.core_read(READER, PACKET.step(i), NOW).found).collect();
        (written, found, fabric.private_caches(READER).counters.llc_misses)
    };
    assert_eq!(packet(TagSteering::Off), (4, vec![Found::Dram; 3], 3));
    let hinted = packet(TagSteering::PrefetchHint { lines: 2 });
    assert_eq!(hinted, (4, vec![Found::L2, Found::L2, Found::Dram], 1));
}

#[test]
fn atc_27_a_line_that_a_core_has_written_is_updated_beyond_the_ddio_ways() {
    let mut config = config();
    config.socket.directory = None;
    let mut fabric = fabric(&config);
    let lines = lines_of_one_set(&fabric, 20);
    // More lines than L2 holds: the first ones are in the LLC, in ways of the core.
    lines.iter().take(12).for_each(|&line| {
        fabric.core_write(CoreId(0), line, NOW);
    });
    let warm: Vec<LineAddr> = lines.iter().copied().filter(|&line| in_llc(&fabric, line)).collect();
    assert!(warm.len() > 2, "{warm:?}");
    warm.iter().for_each(|&line| write(&mut fabric, line));
    assert_eq!(fabric.root_port(RootPortId(0)).counters().write_hits, warm.len() as u64);
    assert!(warm.iter().all(|&line| in_llc(&fabric, line)), "none pushed out another");
}

#[test]
fn atc_35_a_change_of_policy_flushes_nothing_and_holds_for_what_comes() {
    let mut fabric = fabric(&config());
    write(&mut fabric, PACKET);
    fabric.set_io_policy(RootPortId(0), IoPolicy::uniform(Ddio::Off));
    assert!(in_llc(&fabric, PACKET), "old lines stay");
    assert_eq!(fabric.memory().lines_moved().1, 0);
    write(&mut fabric, PACKET.step(1));
    assert!(!in_llc(&fabric, PACKET.step(1)));
    fabric.set_io_policy(RootPortId(0), IoPolicy::uniform(Ddio::top_ways(2, WAYS)));
    write(&mut fabric, PACKET.step(2));
    assert!(in_llc(&fabric, PACKET.step(2)));
}

#[test]
fn ports_count_their_own_lines() {
    let mut config = config();
    config.ports.push(config.ports[0].clone());
    let mut fabric = fabric(&config);
    write(&mut fabric, PACKET);
    write(&mut fabric, PACKET);
    fabric.dma_read(RootPortId(1), PACKET, 64, NOW);
    fabric.dma_read(RootPortId(1), PACKET.step(8), 64, NOW);
    let (first, second) =
        (*fabric.root_port(RootPortId(0)).counters(), *fabric.root_port(RootPortId(1)).counters());
    assert_eq!((first.write_hits, first.write_misses, first.read_hits), (1, 1, 0));
    assert_eq!((second.read_hits, second.read_misses, second.write_hits), (1, 1, 0));
}

/// A core that may use `percent` of its bandwidth.
fn limited(percent: u32) -> Core {
    Core::new(CoreId(0), Gigahertz(3.0), 10).with_bandwidth_limit(BandwidthLimit::percent(percent))
}

/// Lines that a core streams from memory in 200 us.
fn streamed(percent: u32) -> u64 {
    let (mut fabric, mut core) = (fabric(&config()), limited(percent));
    let mut lines = 0;
    while core.now() < Picos(200_000_000) {
        core.load_independent(&mut fabric, LineAddr(64 + lines));
        lines += 1;
    }
    lines
}

/// Lines that a core loads from memory one after another in 200 us.
fn chased(percent: u32) -> u64 {
    let (mut fabric, mut core) = (fabric(&config()), limited(percent));
    let mut lines = 0;
    while core.now() < Picos(200_000_000) {
        core.load(&mut fabric, LineAddr(64 + 16 * lines));
        lines += 1;
    }
    lines
}

#[test]
fn atc_31_a_core_keeps_its_share_of_the_bandwidth_that_it_would_use() {
    for kernel in [streamed, chased] {
        let whole = kernel(100) as f64;
        for percent in [10, 40, 70] {
            let share = 100.0 * kernel(percent) as f64 / whole;
            assert!((share - f64::from(percent)).abs() < 4.0, "{percent} %: {share:.1} %");
        }
    }
}

#[test]
fn atc_31_what_l2_holds_is_not_held_back() {
    let (mut fabric, mut core) = (fabric(&config()), limited(10));
    core.load(&mut fabric, PACKET);
    let late = Picos(4_000_000);
    core.wait_until(late);
    core.load(&mut fabric, PACKET);
    assert!(core.now() < late + Picos(10_000));
    core.load(&mut fabric, PACKET.step(8));
    assert!(core.now() > Picos(5_000_000));
}

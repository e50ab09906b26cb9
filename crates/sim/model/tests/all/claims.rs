//! Mechanisms that the source papers claim, each shown by the fabric's operations line by line.
//!
//! blog: "Skip the line with Intel DDIO"; atc: ATC'20 (Farshin et al.); gem5: ISPASS'20 (Alian et
//! al.). The identifiers are those of the claims table that `skipline evidence` reports.

use crate::small_fabric::{self, WAYS, config};
use model::attribution::AgentId;
use model::fabric::{Fabric, FabricConfig, MemoryConfig};
use model::root_complex::buffer::{BufferConfig, Placement};
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy, LlcWaysRegister};
use model::tracer::{Event, Found, LineOperation, Tracer};
use model::upi::UpiConfig;
use units::{CoreId, Id, LINE_BYTES, LineAddr, Picos, RootPortId, SocketId, WayMask};

const NOW: Picos = Picos(1_000_000);
const CORE: CoreId = CoreId(0);
const NIC: RootPortId = RootPortId(0);
const PACKET: LineAddr = LineAddr(640);

/// Keeps every event.
#[derive(Debug, Default)]
struct Everything(Vec<Event>);

impl Tracer for Everything {
    const WATCHING: bool = true;
    fn record(&mut self, event: Event) {
        self.0.push(event);
    }
    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}
    fn packet_leaves(&mut self, _first: LineAddr) {}
}

type Machine = Fabric<Everything>;

fn machine(config: &FabricConfig) -> Machine {
    Fabric::new(config, Everything::default())
}

fn with_ddio(ddio: Ddio) -> FabricConfig {
    let mut config = config();
    config.ports[0].policy = IoPolicy::uniform(ddio);
    config
}

/// Two sockets with a core each; the NIC is on the first.
fn two_sockets() -> FabricConfig {
    let mut config = config();
    config.cores = vec![1, 1];
    config.memory = MemoryConfig {
        nodes: vec![small_fabric::node(0), small_fabric::node(1)],
        upi: Some(UpiConfig {
            sockets: 2,
            read_gbytes_per_s: 34.3,
            header_bytes: 8,
            round_trip_extra: Picos(54_100),
        }),
    };
    config
}

/// Events of a line, as (operation, where it was found).
fn story(machine: &Machine, line: LineAddr) -> Vec<(LineOperation, Found)> {
    let events = machine.tracer.0.iter().filter(|event| event.line == line);
    events.map(|event| (event.operation, event.found)).collect()
}

fn write(machine: &mut Machine, line: LineAddr, bytes: u64) {
    machine.dma_write(NIC, line, bytes, DmaKind::Payload, NOW);
}

fn read(machine: &mut Machine, line: LineAddr, bytes: u64) {
    machine.dma_read(NIC, line, bytes, NOW);
}

fn way_of(machine: &Machine, socket: usize, line: LineAddr) -> Option<u32> {
    let llc = machine.llc(SocketId::at(socket));
    llc.find(llc.set_of(line), line)
}

#[test]
fn blog_01_without_ddio_the_first_read_of_each_payload_line_comes_from_dram() {
    let mut machine = machine(&with_ddio(Ddio::Off));
    // The buffer was used before: the core and the LLC have copies of its lines.
    for i in 0..3 {
        machine.core_write(CORE, PACKET.step(i), NOW);
    }
    machine.tracer.0.clear();
    write(&mut machine, PACKET, 3 * LINE_BYTES);
    for i in 0..3 {
        let line = PACKET.step(i);
        assert_eq!(
            machine.private_caches(CORE).state(line),
            None,
            "the write invalidated the core's copy"
        );
        machine.core_read(CORE, line, NOW);
        let expected =
            [(LineOperation::DmaWriteFull, Found::Dram), (LineOperation::Load, Found::Dram)];
        assert_eq!(story(&machine, line), expected);
    }
}

#[test]
fn blog_02_with_ddio_the_first_read_hits_the_llc_and_dram_is_not_read() {
    let mut machine = machine(&config());
    write(&mut machine, PACKET, 3 * LINE_BYTES);
    for i in 0..3 {
        let line = PACKET.step(i);
        machine.core_read(CORE, line, NOW);
        let story = story(&machine, line);
        assert!(
            matches!(story[0], (LineOperation::DmaWriteFull, Found::LlcAllocated(way)) if way >= 4)
        );
        assert!(matches!(story[1], (LineOperation::Load, Found::LlcHit(_))), "{story:?}");
    }
    assert_eq!(machine.memory().lines_moved(), (0, 0));
}

#[test]
fn blog_03_ddio_places_nothing_in_the_llc_of_another_socket() {
    let config = two_sockets();
    let mut machine = machine(&config);
    let line = LineAddr(config.memory.node_lines() + 640);
    write(&mut machine, line, LINE_BYTES);
    assert_eq!(way_of(&machine, 1, line), None);
    assert_eq!(machine.memory().node_lines_moved(1), (0, 1), "it crossed UPI to memory there");
    // The consumer, core 1 on the second socket, reads it from its own DRAM or over UPI.
    let found = machine.core_read(CoreId(1), line, NOW).found;
    assert!(matches!(found, Found::OtherSocket(SocketId(0)) | Found::Dram), "{found:?}");
    let story = story(&machine, line);
    assert_eq!(story[0], (LineOperation::DmaWriteFull, Found::RemoteDram));
    assert_eq!(machine.counters().remote_lines, 1);
}

/// The policy for the effect of a remote write: a clean copy in the LLC of the NIC's socket (section
/// 4.3 of ATC'20), or none (the caption of its figure 13).
#[test]
fn blog_03_what_a_remote_write_leaves_in_the_nic_s_socket_is_a_policy() {
    for pollutes in [true, false] {
        let mut config = two_sockets();
        config.ports[0].policy.remote_writes_pollute = pollutes;
        let mut machine = machine(&config);
        let line = LineAddr(config.memory.node_lines() + 640);
        write(&mut machine, line, LINE_BYTES);
        assert_eq!(way_of(&machine, 0, line).is_some(), pollutes);
        assert_eq!(machine.check_invariants(), Ok(()));
    }
}

/// A packet of n lines is received by plain DMA through rings too long for the caches: descriptor and
/// completion are evicted before the other side reads them. The descriptor is read for ownership,
/// written back and read by the NIC; the completion is written and read; each payload line is written
/// once and read once.
#[test]
fn atc_01_plain_dma_moves_2n_plus_5_lines_for_a_packet_of_n_lines() {
    let (descriptor, completion) = (LineAddr(16), LineAddr(48));
    for lines in [1, 4, 24] {
        let mut machine = machine(&with_ddio(Ddio::Off));
        machine.core_write(CORE, descriptor, NOW);
        machine.flush(descriptor, NOW);
        read(&mut machine, descriptor, LINE_BYTES);
        write(&mut machine, PACKET, lines * LINE_BYTES);
        machine.dma_write(NIC, completion, LINE_BYTES, DmaKind::Descriptor, NOW);
        machine.core_read(CORE, completion, NOW);
        for i in 0..lines {
            machine.core_read(CORE, PACKET.step(i), NOW);
        }
        let (read, written) = machine.memory().lines_moved();
        assert_eq!(read + written, 2 * lines + 5, "{lines} lines");
        assert_eq!(written, lines + 2);
    }
}

/// The same packet with DDIO and short rings.
#[test]
fn atc_01_with_ddio_and_rings_in_the_cache_no_line_of_a_packet_touches_memory() {
    let (descriptor, completion) = (LineAddr(16), LineAddr(48));
    let mut machine = machine(&config());
    machine.core_write(CORE, descriptor, NOW);
    machine.start_clock();
    machine.core_write(CORE, descriptor, NOW);
    read(&mut machine, descriptor, LINE_BYTES);
    write(&mut machine, PACKET, 4 * LINE_BYTES);
    machine.dma_write(NIC, completion, LINE_BYTES, DmaKind::Descriptor, NOW);
    machine.core_read(CORE, completion, NOW);
    for i in 0..4 {
        machine.core_read(CORE, PACKET.step(i), NOW);
    }
    assert_eq!(machine.memory().lines_moved(), (0, 0));
}

#[test]
fn atc_02_a_write_hit_overwrites_in_whatever_way_a_miss_allocates_in_ddio_ways_only() {
    let mut config = config();
    config.core_way_masks = vec![WayMask(0b001100); 2];
    let mut machine = machine(&config);
    // A core's line in a way that is neither DDIO's nor inclusive.
    machine.core_write(CORE, PACKET, NOW);
    for i in 1..=8 {
        machine.core_read(CORE, PACKET.step(2 * i), NOW);
    }
    let way = way_of(&machine, 0, PACKET);
    assert!(way.is_some_and(|way| (2..4).contains(&way)), "{way:?}");
    write(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(way_of(&machine, 0, PACKET), way, "write update");
    for i in 0..200 {
        let line = LineAddr(10_000 + i);
        write(&mut machine, line, LINE_BYTES);
        assert!(way_of(&machine, 0, line).is_some_and(|way| way >= WAYS - 2), "write allocate");
    }
    let counters = machine.counters();
    assert_eq!((counters.pcie_write_hits, counters.pcie_write_misses), (1, 200));
}

#[test]
fn atc_03_a_read_hit_needs_no_dram_a_read_miss_allocates_nothing() {
    let mut machine = machine(&config());
    write(&mut machine, PACKET, LINE_BYTES);
    read(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(machine.memory().lines_moved(), (0, 0));
    let absent = LineAddr(5_000);
    read(&mut machine, absent, LINE_BYTES);
    assert_eq!(machine.memory().lines_moved(), (1, 0));
    assert_eq!(way_of(&machine, 0, absent), None);
    assert_eq!(story(&machine, absent), [(LineOperation::DmaRead, Found::Dram)]);
    let counters = machine.counters();
    assert_eq!((counters.pcie_read_hits, counters.pcie_read_misses), (1, 1));
}

/// The ways of the LLC in which a device reads lines; the device's own writes go to the last two.
#[test]
fn atc_03_a_read_hits_in_any_way() {
    let mut config = config();
    config.core_way_masks = vec![WayMask(0b001100); 2];
    let mut machine = machine(&config);
    machine.core_write(CORE, PACKET, NOW);
    for i in 1..=8 {
        machine.core_read(CORE, PACKET.step(2 * i), NOW);
    }
    let way = way_of(&machine, 0, PACKET);
    assert!(way.is_some_and(|way| (2..4).contains(&way)), "{way:?}");
    let before = machine.memory().lines_moved();
    read(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(machine.memory().lines_moved(), before);
    assert_eq!(machine.counters().pcie_read_hits, 1);
}

#[test]
fn atc_09_ways_may_be_added_to_the_register_s_default_but_not_taken_from_it() {
    let mut register = LlcWaysRegister::after_reset(2, 11);
    assert_eq!(register.read(), WayMask(0x600));
    assert_eq!(register.write(WayMask(0x7FF)), WayMask(0x7FF));
    assert_eq!(register.write(WayMask(0x700)), WayMask(0x700));
    assert_eq!(register.write(WayMask(0x400)), WayMask(0x600), "a default bit stays set");
    assert_eq!(register.write(WayMask(0x001)), WayMask(0x601));
    assert_eq!(register.write(WayMask(0xFFFF)), WayMask(0x7FF), "there are eleven ways");
}

#[test]
fn atc_09_the_register_s_ways_are_those_that_a_device_allocates_in() {
    let mut register = LlcWaysRegister::after_reset(2, WAYS);
    register.write(WayMask(0b110010));
    let mut machine = machine(&with_ddio(register.ddio()));
    for i in 0..200 {
        write(&mut machine, LineAddr(i), LINE_BYTES);
        let way = way_of(&machine, 0, LineAddr(i));
        assert!(way.is_some_and(|way| 0b110010 >> way & 1 == 1), "{way:?}");
    }
}

#[test]
fn atc_11_ddio_can_be_switched_off_and_on_for_one_root_port_while_traffic_flows() {
    let mut config = config();
    config.ports.push(config.ports[0].clone());
    let mut machine = machine(&config);
    let on = *machine.root_port(RootPortId(0)).policy();
    machine.set_io_policy(RootPortId(0), IoPolicy::uniform(Ddio::Off));
    write(&mut machine, PACKET, LINE_BYTES);
    machine.dma_write(RootPortId(1), PACKET.step(1), LINE_BYTES, DmaKind::Payload, NOW);
    assert_eq!(way_of(&machine, 0, PACKET), None, "the port that is off");
    assert!(way_of(&machine, 0, PACKET.step(1)).is_some(), "the other port");
    machine.set_io_policy(RootPortId(0), on);
    write(&mut machine, PACKET, LINE_BYTES);
    assert!(way_of(&machine, 0, PACKET).is_some(), "on again");
}

#[test]
fn atc_11_switched_off_for_all_ports_no_device_allocates() {
    let mut config = with_ddio(Ddio::Off);
    config.ports.push(config.ports[0].clone());
    let mut machine = machine(&config);
    for port in 0..2 {
        machine.dma_write(RootPortId(port), PACKET, 24 * LINE_BYTES, DmaKind::Payload, NOW);
        machine.dma_write(RootPortId(port), PACKET, LINE_BYTES, DmaKind::Descriptor, NOW);
    }
    assert_eq!(machine.counters().llc_io_allocations, 0);
}

/// The paper's conjecture why a disabled port still pollutes slightly.
#[test]
fn atc_11_a_port_that_is_off_may_keep_its_descriptors_in_the_llc() {
    let mut config = config();
    config.ports[0].policy.payload = Ddio::Off;
    let mut machine = machine(&config);
    write(&mut machine, PACKET, LINE_BYTES);
    machine.dma_write(NIC, PACKET.step(1), LINE_BYTES, DmaKind::Descriptor, NOW);
    assert_eq!(way_of(&machine, 0, PACKET), None);
    assert!(way_of(&machine, 0, PACKET.step(1)).is_some());
    assert_eq!(machine.counters().llc_io_allocations, 1);
}

/// A machine with a root-complex buffer of `entries` lines.
fn buffered(entries: u32, placement: Placement, as_published_code: bool) -> FabricConfig {
    let ddio = match placement {
        Placement::LlcSide => Ddio::top_ways(2, WAYS),
        _ => Ddio::Off,
    };
    let mut config = with_ddio(ddio);
    config.ports[0].buffer = BufferConfig { entries, mshrs: 4, placement, as_published_code };
    config
}

const OFF: Placement = Placement::MemorySide { evict_on_dma_read: true };

#[test]
fn gem5_01_a_read_hit_is_served_from_the_root_complex_buffer() {
    let mut machine = machine(&buffered(8, Placement::LlcSide, false));
    read(&mut machine, PACKET, LINE_BYTES);
    read(&mut machine, PACKET, LINE_BYTES);
    let expected =
        [(LineOperation::DmaRead, Found::Dram), (LineOperation::DmaRead, Found::RootComplexBuffer)];
    assert_eq!(story(&machine, PACKET), expected);
    assert_eq!(machine.memory().lines_moved(), (1, 0));
}

#[test]
fn gem5_01_with_ddio_a_read_shares_the_line_without_it_a_read_takes_it_from_the_caches() {
    for (placement, keeps) in [(Placement::LlcSide, true), (OFF, false)] {
        let mut machine = machine(&buffered(8, placement, false));
        machine.core_write(CORE, PACKET, NOW);
        read(&mut machine, PACKET, LINE_BYTES);
        assert_eq!(machine.private_caches(CORE).state(PACKET).is_some(), keeps, "{placement:?}");
        assert_eq!(machine.check_invariants(), Ok(()));
    }
}

#[test]
fn gem5_01_a_write_to_a_line_that_the_buffer_may_write_needs_no_bus_action() {
    let mut machine = machine(&buffered(8, Placement::LlcSide, false));
    write(&mut machine, PACKET, LINE_BYTES);
    let moved = machine.memory().lines_moved();
    write(&mut machine, PACKET, LINE_BYTES);
    write(&mut machine, PACKET, 20);
    assert_eq!(machine.memory().lines_moved(), moved);
    let story = story(&machine, PACKET);
    assert!(story[1..].iter().all(|&(_, found)| found == Found::RootComplexBuffer), "{story:?}");
}

#[test]
fn gem5_01_a_partial_line_is_read_for_ownership_first_a_full_line_is_not_read() {
    let mut machine = machine(&buffered(8, Placement::LlcSide, false));
    write(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(machine.memory().lines_moved(), (0, 0));
    write(&mut machine, PACKET.step(1), 20);
    assert_eq!(machine.memory().lines_moved(), (1, 0));
}

/// Fills a small buffer with other lines until it has written `line` back.
fn push_out_of_buffer(machine: &mut Machine, entries: u64) {
    for i in 0..entries {
        read(machine, LineAddr(100_000 + i), LINE_BYTES);
    }
}

/// Coherence leaves no copy in the LLC besides a modified one in the buffer; a core that requests the
/// line gets it through the LLC.
#[test]
fn gem5_02_a_line_that_a_core_asks_for_is_written_back_into_the_llc_not_to_memory() {
    let mut machine = machine(&buffered(2, Placement::LlcSide, false));
    write(&mut machine, PACKET, LINE_BYTES);
    machine.core_read(CORE, PACKET, NOW);
    let way = way_of(&machine, 0, PACKET);
    assert!(way.is_some(), "the snooped line was written back into the LLC");
    assert_eq!(machine.memory().lines_moved(), (0, 0));
}

#[test]
fn gem5_02_an_io_write_back_refills_the_block_that_io_freed() {
    let mut machine = machine(&buffered(2, Placement::LlcSide, false));
    // The line is in an inclusive way, outside the DDIO ways, when the device takes it.
    machine.core_write(CORE, PACKET, NOW);
    machine.core_read(CoreId(1), PACKET, NOW);
    let way = way_of(&machine, 0, PACKET);
    assert!(way.is_some_and(|way| way < 2), "{way:?}");
    write(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(way_of(&machine, 0, PACKET), None, "invalidated, its block marked");
    push_out_of_buffer(&mut machine, 2);
    assert_eq!(way_of(&machine, 0, PACKET), way, "the freed block, not a DDIO way");
}

#[test]
fn gem5_02_without_a_freed_block_an_io_write_back_allocates_in_the_device_s_ddio_ways() {
    let mut config = buffered(2, Placement::LlcSide, false);
    // Ways by I/O identifier: the second device has a way of its own.
    config.ports.push(config.ports[0].clone());
    config.ports[1].policy = IoPolicy::uniform(Ddio::Ways(WayMask(0b001000)));
    let mut machine = machine(&config);
    write(&mut machine, PACKET, LINE_BYTES);
    push_out_of_buffer(&mut machine, 2);
    assert!(way_of(&machine, 0, PACKET).is_some_and(|way| way >= 4));
    let other = PACKET.step(7);
    machine.dma_write(RootPortId(1), other, LINE_BYTES, DmaKind::Payload, NOW);
    for i in 0..2 {
        machine.dma_read(RootPortId(1), LineAddr(200_000 + i), LINE_BYTES, NOW);
    }
    assert_eq!(way_of(&machine, 0, other), Some(3));
}

/// The authors' public code sets the mark on invalidations only, and never clears it.
#[test]
fn gem5_02_the_published_code_pushes_live_lines_out_of_blocks_once_marked() {
    let wrong_ways = |as_published_code| {
        let mut machine = machine(&buffered(2, Placement::LlcSide, as_published_code));
        machine.core_write(CORE, PACKET, NOW);
        machine.core_read(CoreId(1), PACKET, NOW);
        let set = machine.llc(SocketId(0)).set_of(PACKET);
        write(&mut machine, PACKET, LINE_BYTES);
        push_out_of_buffer(&mut machine, 2);
        // The block is full again; another line of the set comes from the device.
        let in_set = |i: &u64| machine.llc(SocketId(0)).set_of(LineAddr(*i)) == set;
        let other = LineAddr((5_000..6_000).find(in_set).expect("sets are small"));
        write(&mut machine, other, LINE_BYTES);
        push_out_of_buffer(&mut machine, 2);
        way_of(&machine, 0, other).is_some_and(|way| way < 4)
    };
    assert!(!wrong_ways(false), "the paper's algorithm allocates in the DDIO ways");
    assert!(wrong_ways(true), "the published code refills the marked block");
}

/// A transmitted line that a core has written: (still in the core, lines written to memory).
fn after_transmit(policy: IoPolicy) -> (bool, u64) {
    let mut config = config();
    config.ports[0].policy = policy;
    let mut machine = machine(&config);
    machine.core_write(CORE, PACKET, NOW);
    read(&mut machine, PACKET, LINE_BYTES);
    assert_eq!(machine.counters().pcie_read_hits, 1, "the caches have it");
    (machine.private_caches(CORE).state(PACKET).is_some(), machine.memory().lines_moved().1)
}

#[test]
fn gem5_03_a_transmit_reads_with_ddio_off_with_eviction_or_off_without() {
    let off = IoPolicy::uniform(Ddio::Off);
    let old = IoPolicy { evict_on_dma_read: true, ..off };
    assert_eq!(after_transmit(IoPolicy::uniform(Ddio::top_ways(2, WAYS))), (true, 0));
    assert_eq!(after_transmit(old), (false, 1), "parts up to Sandy Bridge evict and write back");
    assert_eq!(after_transmit(off), (true, 0), "later parts leave it");
}

#[test]
fn gem5_14_all_devices_share_the_ddio_ways_four_on_some_storage_parts() {
    for default_ways in [2, 4] {
        let register = LlcWaysRegister::after_reset(default_ways, WAYS);
        let mut config = with_ddio(register.ddio());
        config.ports.push(config.ports[0].clone());
        let mut machine = machine(&config);
        let mut used = 0u32;
        for i in 0..400 {
            let line = LineAddr(i);
            machine.dma_write(
                RootPortId::at(i as usize / 3 % 2),
                line,
                LINE_BYTES,
                DmaKind::Payload,
                NOW,
            );
            used |= way_of(&machine, 0, line).map_or(0, |way| 1 << way);
        }
        assert_eq!(WayMask(used), WayMask::top(default_ways, WAYS));
        let (nic, other) =
            (machine.device_agent(RootPortId(0)), machine.device_agent(RootPortId(1)));
        let pushed_out = |by: AgentId, owner| machine.evictions().count(by, owner, false);
        assert!(
            pushed_out(nic, other) > 0 && pushed_out(other, nic) > 0,
            "they push each other out"
        );
    }
}

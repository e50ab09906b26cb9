//! The parts of a machine that a copy engine needs: a stop on the mesh, requests over several extents,
//! translations that fault, and stores into its registers that it may refuse.

use crate::small_fabric;
use model::core::Core;
use model::counters::PortCounters;
use model::fabric::{Extent, Fabric, FabricConfig};
use model::root_complex::attachment::{AttachmentConfig, MeshStopConfig};
use model::root_complex::ddio::DmaKind;
use model::root_complex::iio::IioConfig;
use model::root_complex::iommu::{IommuConfig, PageFault, PageSize, VictimChoice};
use model::root_complex::mmio::{Answer, MmioPath};
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{
    Bytes, CoreId, Cycles, GbitPerSec, Gigahertz, Id, LINE_BYTES, LineAddr, Picos, RootPortId,
    SocketId,
};

const PORT: RootPortId = RootPortId(0);
const WALK: Picos = Picos(280_000);
/// 64 GB/s for writes, half of it for reads.
const WRITE_RATE: GbitPerSec = GbitPerSec(512.0);
const READ_RATE: GbitPerSec = GbitPerSec(256.0);

fn mesh_stop() -> MeshStopConfig {
    MeshStopConfig {
        write_rate: WRITE_RATE,
        read_rate: READ_RATE,
        propagation: Picos(10_000),
        iio: IioConfig {
            write_entries: 1_024,
            read_entries: 1_024,
            ..small_fabric::config().socket.iio
        },
    }
}

fn on_mesh(stop: MeshStopConfig) -> FabricConfig {
    let mut config = small_fabric::config();
    config.ports[PORT.index()].attachment = AttachmentConfig::Mesh(stop);
    config
}

fn translated() -> FabricConfig {
    let mut config = small_fabric::config();
    config.ports[PORT.index()].iommu = Some(IommuConfig {
        entries: 8,
        victims: VictimChoice::Lru,
        page: PageSize::Kib4,
        mappings: Vec::new(),
        walk: WALK,
        concurrent_walks: 4,
    });
    config
}

fn fabric(config: &FabricConfig) -> Fabric {
    let mut fabric = Fabric::new(config, NoTrace);
    fabric.start_clock();
    fabric
}

fn extent(first: u64, lines: u64) -> Extent {
    Extent { first: LineAddr(first), bytes: lines * LINE_BYTES }
}

/// Lines of the port's requests, hits and misses together: (written, read).
fn lines(counters: &PortCounters) -> (u64, u64) {
    (counters.write_hits + counters.write_misses, counters.read_hits + counters.read_misses)
}

#[test]
fn a_device_on_the_mesh_moves_lines_through_the_same_llc() {
    let mut fabric = fabric(&on_mesh(mesh_stop()));
    fabric.dma_write(PORT, LineAddr(0), 2 * LINE_BYTES, DmaKind::Payload, Picos::ZERO);
    fabric.dma_read(PORT, LineAddr(0), 3 * LINE_BYTES, Picos(1_000_000));
    let expected = PortCounters { write_hits: 0, write_misses: 2, read_hits: 2, read_misses: 1 };
    assert_eq!(*fabric.root_port(PORT).counters(), expected);
    assert_eq!(fabric.check_invariants(), Ok(()));
}

#[test]
fn a_device_on_the_mesh_has_no_link_and_takes_no_entries_of_its_socket() {
    let mut fabric = fabric(&on_mesh(mesh_stop()));
    fabric.dma_write(PORT, LineAddr(0), 640, DmaKind::Payload, Picos::ZERO);
    fabric.dma_read(PORT, LineAddr(0), 640, Picos::ZERO);
    assert!(fabric.root_port(PORT).attachment().link().is_none());
    assert_eq!(fabric.iio(SocketId(0)).total_occupied(), Picos::ZERO);
    let own = fabric.root_port(PORT).own_iio().expect("it has its own entries");
    assert!(own.writes.total_occupied() > Picos::ZERO && own.reads.total_occupied() > Picos::ZERO);
}

#[test]
fn a_device_behind_a_link_shares_the_entries_of_its_socket() {
    let mut fabric = fabric(&small_fabric::config());
    fabric.dma_write(PORT, LineAddr(0), 640, DmaKind::Payload, Picos::ZERO);
    assert!(fabric.root_port(PORT).own_iio().is_none());
    assert!(fabric.iio(SocketId(0)).total_occupied() > Picos::ZERO);
}

#[test]
fn a_request_on_the_mesh_takes_propagation_data_time_and_the_llc() {
    let mut fabric = fabric(&on_mesh(mesh_stop()));
    let there = fabric.dma_write(PORT, LineAddr(0), LINE_BYTES, DmaKind::Payload, Picos::ZERO);
    let data = WRITE_RATE.time_for(Bytes(LINE_BYTES));
    assert_eq!(there.visible, data + Picos(10_000) + Picos(70_000));
    let now = Picos(1_000_000);
    let back = fabric.dma_read(PORT, LineAddr(0), LINE_BYTES, now);
    let data = READ_RATE.time_for(Bytes(LINE_BYTES));
    assert_eq!(back, now + Picos(10_000) + Picos(70_000) + data + Picos(10_000));
}

#[test]
fn its_own_entries_limit_a_device_on_the_mesh() {
    let few = IioConfig { read_entries: 4, ..mesh_stop().iio };
    let mut fabric = fabric(&on_mesh(MeshStopConfig { iio: few, ..mesh_stop() }));
    fabric.dma_write(PORT, LineAddr(0), LINE_BYTES, DmaKind::Payload, Picos::ZERO);
    let start = Picos(1_000_000);
    let reads = (0..4_000).map(|_| fabric.dma_read(PORT, LineAddr(0), LINE_BYTES, start) - start);
    let last = reads.max().expect("some were read");
    // Four entries, each held for 70 ns: 4,000 lines take 70 us.
    let expected = 4_000 / 4 * 70_000;
    assert!(last.0.abs_diff(expected) < expected / 50, "{last:?}");
}

#[test]
fn a_fault_moves_nothing_and_names_the_first_page_that_is_not_there() {
    let mut fabric = fabric(&translated());
    fabric.iommu_mut(PORT).unmap(LineAddr(64), 128);
    let extents = [extent(0, 2), extent(130, 1), extent(64, 1)];
    let fault = fabric.dma_write_extents(PORT, &extents, DmaKind::Payload, Picos::ZERO);
    let fault = fault.expect_err("a page is absent");
    assert_eq!(fault.page, LineAddr(128));
    assert!(fault.at >= WALK);
    assert_eq!(lines(fabric.root_port(PORT).counters()), (0, 0));
    assert_eq!(fabric.root_port(PORT).iommu().counters().faults, 1);
}

#[test]
fn a_device_that_waits_for_its_page_goes_on_where_it_was() {
    let mut fabric = fabric(&translated());
    fabric.iommu_mut(PORT).unmap(LineAddr(64), 64);
    let extents = [extent(60, 8)];
    let asked = fabric.translate(PORT, &extents, Picos::ZERO);
    let fault: PageFault = asked.expect_err("a page is absent");
    let served = fault.at + Picos(60_000_000);
    fabric.iommu_mut(PORT).map(fault.page);
    let translated = fabric.translate(PORT, &extents, served).expect("all pages are there");
    assert_eq!(translated, served + WALK);
    let done = fabric.dma_read_extents(PORT, &extents, translated).expect("all pages are there");
    assert!(done > translated);
    assert_eq!(lines(fabric.root_port(PORT).counters()), (0, 8));
}

#[test]
#[should_panic(expected = "never taken away")]
fn a_device_that_cannot_fault_must_not_lose_its_pages() {
    let mut fabric = fabric(&translated());
    fabric.iommu_mut(PORT).unmap(LineAddr(0), 1);
    fabric.dma_read(PORT, LineAddr(0), LINE_BYTES, Picos::ZERO);
}

/// 2 GHz, a store of 20 cycles, 250 ns to the device.
const PORTAL: MmioPath = MmioPath { one_way: Picos(250_000), store: Cycles(20.0) };

#[test]
fn a_posted_store_costs_the_core_the_store_alone() {
    let mut core = Core::new(CoreId(0), Gigahertz(2.0), 10);
    assert_eq!(core.post(&PORTAL), Picos(260_000));
    assert_eq!(core.now(), Picos(10_000));
}

#[test]
fn a_non_posted_store_costs_the_core_a_round_trip_whatever_the_answer() {
    for answer in [Answer::Accepted, Answer::Retry] {
        let mut core = Core::new(CoreId(0), Gigahertz(2.0), 10);
        let mut asked = None;
        let heard = core.enqueue(&PORTAL, |seen| {
            asked = Some(seen);
            answer
        });
        assert_eq!((heard, asked), (answer, Some(Picos(260_000))));
        assert_eq!(core.now(), Picos(510_000));
    }
}

fn extents() -> impl Strategy<Value = Vec<Extent>> {
    let one = (0..40u64, 1..1_500u64);
    prop::collection::vec(
        one.prop_map(|(first, bytes)| Extent { first: LineAddr(first), bytes }),
        1..6,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_list_of_extents_counts_as_separate_requests_do(
        requests in prop::collection::vec((any::<bool>(), extents()), 1..12),
        mesh in any::<bool>(),
    ) {
        let config = if mesh { on_mesh(mesh_stop()) } else { small_fabric::config() };
        let (mut listed, mut separate) = (fabric(&config), fabric(&config));
        let mut asked = (0, 0);
        for (i, (writes, extents)) in requests.iter().enumerate() {
            let now = Picos(i as u64 * 10_000_000);
            let touched: u64 = extents.iter().map(|extent| extent.lines()).sum();
            if *writes {
                listed.dma_write_extents(PORT, extents, DmaKind::Payload, now).expect("present");
                for &Extent { first, bytes } in extents {
                    separate.dma_write(PORT, first, bytes, DmaKind::Payload, now);
                }
            } else {
                listed.dma_read_extents(PORT, extents, now).expect("present");
                for &Extent { first, bytes } in extents {
                    separate.dma_read(PORT, first, bytes, now);
                }
                asked.1 += touched;
            }
            asked.0 += touched;
        }
        prop_assert_eq!(listed.counters(), separate.counters());
        prop_assert_eq!(listed.root_port(PORT).counters(), separate.root_port(PORT).counters());
        prop_assert_eq!(listed.memory().lines_moved(), separate.memory().lines_moved());
        prop_assert_eq!(listed.counters().line_ops, asked.0);
        prop_assert_eq!(lines(listed.root_port(PORT).counters()).1, asked.1);
        prop_assert_eq!(listed.check_invariants(), Ok(()));
    }

    #[test]
    fn the_rates_of_a_stop_on_the_mesh_bound_what_it_moves(
        requests in prop::collection::vec((any::<bool>(), 1..16u64, 0..100_000u64), 50..300),
    ) {
        let mut fabric = fabric(&on_mesh(mesh_stop()));
        let (mut now, mut bytes, mut last) = (Picos::ZERO, (0, 0), (Picos::ZERO, Picos::ZERO));
        for (writes, count, pause) in requests {
            now += Picos(pause);
            if writes {
                let done = fabric.dma_write(PORT, LineAddr(0), count * LINE_BYTES, DmaKind::Payload, now);
                bytes.0 += count * LINE_BYTES;
                last.0 = last.0.max(done.visible);
            } else {
                last.1 = last.1.max(fabric.dma_read(PORT, LineAddr(0), count * LINE_BYTES, now));
                bytes.1 += count * LINE_BYTES;
            }
        }
        // A window of the meter may end a reservation up to 64 ns early.
        let window = Picos(64_000);
        prop_assert!(WRITE_RATE.time_for(Bytes(bytes.0)) <= last.0 + window);
        prop_assert!(READ_RATE.time_for(Bytes(bytes.1)) <= last.1 + window);
        let own = fabric.root_port(PORT).own_iio().expect("it has its own entries");
        prop_assert!(own.total_occupied() > Picos::ZERO);
        prop_assert_eq!(fabric.check_invariants(), Ok(()));
    }
}

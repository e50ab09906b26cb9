//! The copy engine before the accelerator under arbitrary rings: is every descriptor done once, in the order
//! of its ring, and every byte moved once?

use crate::small_fabric;
use model::device::DeviceKind;
use model::device::cbdma::channel::{Channel, CopyDescriptor};
use model::device::cbdma::{
    Cbdma, CbdmaConfig, CbdmaCounters, CbdmaTiming, DESCRIPTOR_BYTES, PIECE_LINES,
};
use model::device::dsa::portal::Completion;
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::root_complex::attachment::{AttachmentConfig, MeshStopConfig};
use model::root_complex::ddio::DmaKind;
use model::root_complex::iio::IioConfig;
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{Bytes, GbitPerSec, LINE_BYTES, LineAddr, Picos, RootPortId};

const PORT: RootPortId = RootPortId(0);
/// Operands, rings and status lines lie apart, and in different sets of the LLC.
const SOURCES: u64 = (1 << 20) + 1;
const DESTINATIONS: u64 = (2 << 20) + 2;
const RINGS: u64 = 4 << 20;
const STATUS: u64 = (5 << 20) + 3;
const RATE: GbitPerSec = GbitPerSec(128.0);
const PROPAGATION: Picos = Picos(10_000);
const TIMING: CbdmaTiming = CbdmaTiming {
    descriptor_interval: Picos(50_000),
    dispatch: Picos(150_000),
    finish: Picos(60_000),
};

fn config(channels: u32) -> CbdmaConfig {
    CbdmaConfig {
        port: PORT,
        channels,
        lines_per_channel: 16,
        fetched_descriptors: 8,
        timing: TIMING,
    }
}

/// A device on a small machine, and its client.
struct Bench {
    fabric: Fabric,
    cbdma: Cbdma,
    channels: Vec<Channel>,
    now: Picos,
}

impl Bench {
    fn new(config: CbdmaConfig, entries: u32) -> Self {
        let mut machine = small_fabric::config();
        machine.ports[0].attachment = AttachmentConfig::Mesh(MeshStopConfig {
            write_rate: RATE,
            read_rate: RATE,
            propagation: PROPAGATION,
            iio: IioConfig {
                write_entries: 1_024,
                read_entries: 1_024,
                ..machine.socket.iio.clone()
            },
        });
        let mut fabric = Fabric::new(&machine, NoTrace);
        fabric.start_clock();
        let channel = |number: u64| {
            let first = LineAddr(RINGS + number * 4_096);
            let ring = Ring { first, entries, entry_bytes: DESCRIPTOR_BYTES };
            Channel::new(ring, LineAddr(STATUS + number))
        };
        let channels = (0..u64::from(config.channels)).map(channel).collect();
        Self { fabric, cbdma: Cbdma::new(config), channels, now: Picos::ZERO }
    }

    /// Writes descriptors into a ring, with one doorbell behind all of them.
    fn submit(&mut self, channel: usize, descriptors: &[CopyDescriptor], visible: Picos) {
        let channel = &mut self.channels[channel];
        for &descriptor in descriptors {
            channel.write(descriptor);
        }
        channel.ring_doorbell(visible);
    }

    /// Runs until nothing is left to do; returns the completions in the order in which they were written.
    fn run(&mut self) -> Vec<(usize, Completion)> {
        let mut done = Vec::new();
        loop {
            let (from, before) = (self.now, self.counters().front_busy);
            self.now = self.cbdma.next_wake(0, &self.channels, self.now);
            if self.now == Picos::NEVER {
                break;
            }
            self.cbdma.step(0, &mut self.fabric, &mut self.channels, self.now, self.now);
            let busy = self.counters().front_busy - before;
            let passed = Picos((self.now - from).0 * self.channels.len() as u64);
            assert!(busy <= passed, "{busy:?} in {passed:?}: channels begin one after the other");
            assert_eq!(self.cbdma.check_invariants(&self.channels), Ok(()));
            for (number, channel) in self.channels.iter_mut().enumerate() {
                done.extend(channel.completed.drain(..).map(|completion| (number, completion)));
            }
        }
        assert_eq!(self.fabric.check_invariants(), Ok(()));
        self.now = done.iter().map(|(_, it)| it.phases.recorded).max().unwrap_or(Picos::ZERO);
        done
    }

    fn counters(&self) -> CbdmaCounters {
        self.cbdma.counters_at(self.now)
    }
}

fn copy(id: u64, bytes: u64) -> CopyDescriptor {
    CopyDescriptor {
        id,
        bytes,
        source: Some(LineAddr(SOURCES + id * 512)),
        destination: LineAddr(DESTINATIONS + id * 512),
        wants_completion: true,
    }
}

fn fill(id: u64, bytes: u64) -> CopyDescriptor {
    CopyDescriptor { source: None, ..copy(id, bytes) }
}

#[test]
fn a_copy_of_a_line_in_the_llc_takes_the_sum_of_its_steps() {
    let mut bench = Bench::new(config(1), 16);
    for line in [RINGS, SOURCES, DESTINATIONS, STATUS] {
        bench.fabric.dma_write(PORT, LineAddr(line), LINE_BYTES, DmaKind::Payload, Picos::ZERO);
    }
    let seen = Picos(10_000_000);
    bench.submit(0, &[copy(0, LINE_BYTES)], seen);
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    let iio = small_fabric::config().socket.iio;
    let line = RATE.time_for(Bytes(LINE_BYTES));
    let read = PROPAGATION + iio.llc_read + line + PROPAGATION;
    let write = line + PROPAGATION + iio.llc_write;
    let record = RATE.time_for(Bytes(8)) + PROPAGATION + iio.llc_write;
    let at = completion.phases;
    assert_eq!(at.seen, seen);
    assert_eq!(at.dispatched, seen + read);
    assert_eq!(at.ready, at.dispatched + TIMING.dispatch);
    assert_eq!(at.moved, at.ready + read + write);
    assert_eq!(at.recorded, at.moved + TIMING.finish + record);
    let counters = bench.counters();
    assert_eq!((counters.bytes_read, counters.bytes_written), (64, 64));
    assert_eq!((counters.descriptor_bytes, counters.completions_written), (64, 1));
}

#[test]
fn a_source_in_memory_adds_the_read_of_the_memory() {
    let span = |is_cached: bool| {
        let mut bench = Bench::new(config(1), 16);
        if is_cached {
            let source = LineAddr(SOURCES);
            bench.fabric.dma_write(PORT, source, LINE_BYTES, DmaKind::Payload, Picos::ZERO);
        }
        bench.submit(0, &[copy(0, LINE_BYTES)], Picos(10_000_000));
        let at = bench.run()[0].1.phases;
        at.moved - at.ready
    };
    let iio = small_fabric::config().socket.iio;
    let llc_to_memory = iio.dram_read_extra + small_fabric::DRAM_IDLE - iio.llc_read;
    let added = span(false) - span(true);
    // A closed row and a refresh may come on top of the idle read.
    assert!(added >= llc_to_memory && added < llc_to_memory + Picos(50_000), "{added:?}");
}

#[test]
fn a_fill_reads_nothing_and_writes_every_line() {
    let mut bench = Bench::new(config(1), 16);
    bench.submit(0, &[fill(0, 1_000)], Picos(1));
    bench.run();
    let counters = bench.counters();
    assert_eq!((counters.bytes_read, counters.bytes_written), (0, 1_000));
    let port = *bench.fabric.root_port(PORT).counters();
    // The descriptor is read; 16 lines and the completion are written, the last of both in part.
    assert_eq!(port.read_hits + port.read_misses, 1);
    assert_eq!(port.write_hits + port.write_misses, 15);
    let all = bench.fabric.counters();
    assert_eq!(all.pcie_partial_write_hits + all.pcie_partial_write_misses, 2);
}

#[test]
fn one_doorbell_tells_of_several_descriptors_and_one_completion_of_the_last() {
    let mut bench = Bench::new(config(1), 16);
    let mut descriptors: Vec<_> = (0..6).map(|id| copy(id, 4_096)).collect();
    for descriptor in &mut descriptors[..5] {
        descriptor.wants_completion = false;
    }
    bench.submit(0, &descriptors, Picos(1));
    let ids: Vec<u64> = bench.run().iter().map(|(_, completion)| completion.id).collect();
    assert_eq!(ids, [5]);
    let counters = bench.counters();
    assert_eq!((counters.doorbells, counters.completed, counters.completions_written), (1, 6, 1));
}

#[test]
fn a_ring_that_ends_is_fetched_in_two_requests() {
    let mut bench = Bench::new(config(1), 4);
    for first in [0, 3] {
        let descriptors: Vec<_> = (first..first + 3).map(|id| copy(id, 64)).collect();
        let visible = bench.now;
        bench.submit(0, &descriptors, visible);
        assert_eq!(bench.run().len(), 3);
    }
    // Entries 0 to 2, then 3, then 0 and 1 again: no line behind the ring is read.
    assert_eq!(bench.counters().descriptor_bytes, 6 * DESCRIPTOR_BYTES);
    let port = *bench.fabric.root_port(PORT).counters();
    assert_eq!(port.read_hits + port.read_misses, 6 + 6);
}

#[test]
fn the_lines_under_way_bound_a_channel_and_channels_add_up_to_the_rate_of_the_stop() {
    let gbytes_per_s = |channels: u32, lines| {
        let mut bench =
            Bench::new(CbdmaConfig { lines_per_channel: lines, ..config(channels) }, 64);
        let bytes = 256 << 10;
        for channel in 0..channels as usize {
            let descriptors: Vec<_> = (0..4)
                .map(|turn| {
                    let id = (channel as u64 * 4 + turn) * 8;
                    copy(id, bytes)
                })
                .collect();
            bench.submit(channel, &descriptors, Picos(1));
        }
        bench.run();
        bench.counters().bytes_written as f64 / bench.now.as_ns()
    };
    let iio = small_fabric::config().socket.iio;
    let (four, eight, sixteen) = (gbytes_per_s(1, 4), gbytes_per_s(1, 8), gbytes_per_s(1, 16));
    // A line is under way for a read from memory at least, and a write into the LLC.
    let least_ns = (iio.dram_read_extra + small_fabric::DRAM_IDLE + iio.llc_write).as_ns();
    assert!(four < 4.0 * LINE_BYTES as f64 / least_ns, "{four}");
    assert!(eight > 1.5 * four && sixteen > 1.2 * eight, "{four} {eight} {sixteen}");
    let (one, two, six) = (gbytes_per_s(1, 4), gbytes_per_s(2, 4), gbytes_per_s(6, 4));
    assert!(two > 1.5 * one && two < 2.1 * one, "{one} {two}");
    // The one channel of DRAM serves reads and write-backs.
    let most = small_fabric::DRAM_GBYTES_PER_S.min(RATE.0 / 8.0);
    assert!(six > two && six < most, "{six}");
}

fn any_config() -> impl Strategy<Value = CbdmaConfig> {
    (1u32..5, PIECE_LINES..40, 1u32..9, 0u64..100_000).prop_map(
        |(channels, lines, fetched_descriptors, interval)| CbdmaConfig {
            lines_per_channel: lines as u32,
            fetched_descriptors,
            timing: CbdmaTiming { descriptor_interval: Picos(interval), ..TIMING },
            ..config(channels)
        },
    )
}

/// A slow and obvious channel, which serves its descriptors one after the other. Returns the numbers of
/// those that write a completion.
fn completions_of_reference(descriptors: &[CopyDescriptor]) -> Vec<u64> {
    descriptors.iter().filter(|it| it.wants_completion).map(|it| it.id).collect()
}

proptest! {
    #[test]
    fn every_descriptor_is_done_once_in_the_order_of_its_ring(
        config in any_config(),
        entries in 2u32..20,
        groups in prop::collection::vec(
            (0usize..4, prop::collection::vec((1u64..9_000, any::<(bool, bool)>()), 1..8)),
            1..20,
        ),
    ) {
        let channels = config.channels as usize;
        let interval = config.timing.descriptor_interval;
        let mut bench = Bench::new(config, entries);
        let mut given: Vec<Vec<CopyDescriptor>> = vec![Vec::new(); channels];
        let mut done = Vec::new();
        let mut in_ring = vec![0; channels];
        let mut id = 0;
        for (channel, group) in groups {
            let channel = channel % channels;
            let group: Vec<CopyDescriptor> = group.into_iter().take(entries as usize - 1).map(
                |(bytes, (fills, wants_completion))| {
                    id += 1;
                    let it = if fills { fill(id, bytes) } else { copy(id, bytes) };
                    CopyDescriptor { wants_completion, ..it }
                },
            ).collect();
            // An entry is free when its descriptor has completed, and one always is.
            in_ring[channel] += group.len();
            if in_ring[channel] >= entries as usize {
                done.extend(bench.run());
                in_ring = vec![0; channels];
                in_ring[channel] = group.len();
            }
            let visible = bench.now + Picos(1);
            bench.submit(channel, &group, visible);
            given[channel].extend(group);
        }
        done.extend(bench.run());
        let counters = bench.counters();
        let all = || given.iter().flatten();
        let number = all().count() as u64;
        prop_assert_eq!(
            (counters.submitted, counters.fetched, counters.completed),
            (number, number, number)
        );
        prop_assert_eq!(counters.descriptor_bytes, number * DESCRIPTOR_BYTES);
        let read: u64 = all().filter(|it| it.source.is_some()).map(|it| it.bytes).sum();
        let written: u64 = all().map(|it| it.bytes).sum();
        prop_assert_eq!((counters.bytes_read, counters.bytes_written), (read, written));
        for (channel, given) in given.iter().enumerate() {
            let own = || done.iter().filter(|(of, _)| *of == channel).map(|(_, it)| it);
            let ids: Vec<u64> = own().map(|it| it.id).collect();
            prop_assert_eq!(ids, completions_of_reference(given));
            let at: Vec<_> = own().map(|it| it.phases).collect();
            for pair in at.windows(2) {
                prop_assert!(pair[1].dispatched >= pair[0].dispatched + interval);
                prop_assert!(pair[1].recorded >= pair[0].recorded);
            }
            for at in at {
                let steps = [at.seen, at.dispatched, at.ready, at.moved, at.recorded];
                prop_assert!(steps.is_sorted(), "{:?}", at);
            }
        }
    }
}

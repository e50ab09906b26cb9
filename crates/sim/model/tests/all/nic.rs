//! Operations of a NIC on its queues, on a fabric small enough to count every line.

mod chained;
mod waiting;

use crate::small_fabric;
use model::device::nic::NicConfig;
use model::device::nic::egress::Egress;
use model::device::nic::formats::{RxFormat, TxCompletionPlace, TxFormat};
use model::device::nic::pace::Pace;
use model::device::nic::pause::PauseConfig;
use model::device::nic::rings::{Buffer, Packet, QueuePair, RxRing, TxRequest, TxRing};
use model::device::nic::rx::RxPort;
use model::device::nic::tx::TxQueue;
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::root_complex::mmio::MmioPath;
use model::tracer::NoTrace;
use model::traffic::{Arrival, PacketSource};
use std::collections::VecDeque;
use units::{Bytes, GbitPerSec, LineAddr, Picos, RootPortId};

const ENTRIES: u32 = 1024;
const BUFFER_BYTES: u64 = 2048;

fn nic() -> NicConfig {
    NicConfig {
        line_rate: GbitPerSec(100.0),
        rx_buffer_bytes: 262_016,
        rx_wait_bytes: 262_016,
        flow_control: None,
        rss_indirection_entries: 512,
        queue_packet_gap: Picos::ZERO,
        port_pace: Pace::NONE,
        dropping_gap: Picos::ZERO,
        bypass_backlog: None,
        tx_rate: GbitPerSec(100.0),
        tx_buffer: Bytes(32_768),
        pads_tail: false,
        rx_pipeline: Picos(150_000),
        rx_descriptors_prefetched: 32,
        doorbell_read_ring_part: None,
        rx_descriptors_per_fetch: 4,
        packets_per_completion: 8,
        completion_gather: Picos(500_000),
        doorbell: MmioPath::free_stores(Picos(300_000)),
        read_pipeline: Picos(900_000),
        tx_pipeline: Picos(150_000),
        tx_queue_entries: 44,
        port_read_bytes: None,
        tx_request_bytes_ahead: 2048,
        tx_packets_per_completion: 32,
    }
}

fn paused() -> NicConfig {
    let flow_control =
        PauseConfig { xoff_bytes: 196_512, xon_bytes: 65_504, response: Picos(1_000_000) };
    NicConfig { flow_control: Some(flow_control), ..nic() }
}

fn fabric() -> Fabric<NoTrace> {
    let mut fabric = Fabric::new(&small_fabric::config(), NoTrace);
    fabric.start_clock();
    fabric
}

fn pair(rx: RxFormat, tx: TxFormat, inline_bytes: u64) -> QueuePair {
    let ring = |first, entry_bytes| Ring { first: LineAddr(first), entries: ENTRIES, entry_bytes };
    let descriptors = ring(0, rx.descriptor_bytes());
    let completions = ring(4_096, rx.completion_bytes());
    QueuePair {
        rx: RxRing {
            format: rx,
            descriptors,
            completions: if rx.completes_in_place() { descriptors } else { completions },
            buffer_bytes: BUFFER_BYTES,
            refill_at: 64,
            doorbell: LineAddr(8_192),
            posted: VecDeque::new(),
            completed: VecDeque::new(),
            packets: VecDeque::new(),
            chained: VecDeque::new(),
        },
        tx: TxRing {
            format: tx,
            completion: TxCompletionPlace::Queue,
            inline_bytes,
            buffer_bytes: BUFFER_BYTES,
            requests: ring(12_288, tx.entry_bytes()),
            completions: ring(16_384, 64),
            doorbell: LineAddr(20_480),
            queued: VecDeque::new(),
            completed: VecDeque::new(),
        },
    }
}

fn connectx() -> QueuePair {
    pair(RxFormat::Mlx5, TxFormat::Mlx5MultiPacket, 0)
}

fn buffer(id: u32) -> Buffer {
    Buffer { id, data: LineAddr(100_000 + 33 * u64::from(id)) }
}

fn post(pair: &mut QueuePair, count: u32, now: Picos) {
    pair.rx.posted.extend((0..count).map(|id| (now, buffer(id))));
}

/// Equal frames at an equal distance, for each queue in turn.
struct Frames {
    queues: u64,
    left: u32,
    sent: u64,
    bytes: u64,
    every: Picos,
}

impl PacketSource for Frames {
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.left = self.left.checked_sub(1)?;
        self.sent += 1;
        let time = Picos(self.sent * self.every.0);
        let rss_hash = (self.sent % self.queues) as u32;
        Some(Arrival { time, bytes: Bytes(self.bytes), rss_hash, flow: None })
    }
}

fn frames(left: u32, bytes: u64, every: Picos) -> Frames {
    Frames { queues: 1, left, sent: 0, bytes, every }
}

/// Runs the port until `until`, or until it has no further step.
fn receive(
    port: &mut RxPort<Frames>,
    fabric: &mut Fabric<NoTrace>,
    pairs: &mut [QueuePair],
    until: Picos,
) {
    let mut now = Picos::ZERO;
    while port.next_wake() <= until && port.next_wake() < Picos::NEVER {
        now = now.max(port.next_wake());
        port.step(fabric, pairs, now);
    }
}

/// As `receive`, by the port's own turns, with another agent acting every `others`.
fn receive_by_turns(
    port: &mut RxPort<Frames>,
    fabric: &mut Fabric<NoTrace>,
    pairs: &mut [QueuePair],
    until: Picos,
    others: u64,
) {
    while port.next_wake() <= until && port.next_wake() < Picos::NEVER {
        let now = port.next_wake();
        let end = Picos((now.0 / others + 1) * others).min(until);
        let (_, last) = port.run(fabric, pairs, now, end);
        assert!(last == now || last < end);
    }
}

/// Sends `count` packets in requests of `per_request`; returns when the last was read.
fn send(config: &NicConfig, pair: &mut QueuePair, count: u32, per_request: u32) -> (Picos, u64) {
    let (mut fabric, mut egress) = (
        fabric(),
        Egress::new(config.line_rate, false)
            .with_pace(config.port_pace)
            .with_reads(config.port_read_bytes),
    );
    let mut entry = 0;
    for first in (0..count).step_by(per_request as usize) {
        let packets: Vec<Packet> = (first..first + per_request)
            .map(|id| Packet {
                buffer: buffer(id),
                buffers: 1,
                bytes: Bytes(256),
                arrival: Picos::ZERO,
                sequence: u64::from(id),
                rss_hash: 0,
            })
            .collect();
        let entries = pair.tx.request_entries(&packets);
        let (visible, chained) = (Picos::ZERO, Vec::new());
        pair.tx.queued.push_back(TxRequest { visible, first_entry: entry, packets, chained });
        entry += entries;
    }
    let mut queue = TxQueue::new(RootPortId(0), 0, config.clone());
    let mut now = Picos::ZERO;
    loop {
        let wake = queue.next_wake(&pair.tx, now);
        if wake == Picos::NEVER {
            break;
        }
        now = wake;
        queue.step(&mut fabric, &mut pair.tx, &mut egress, now);
    }
    assert_eq!(egress.packets, u64::from(count));
    let last = Picos(egress.latency_ns.max() * 1_000);
    (last, fabric.counters().pcie_read_hits + fabric.counters().pcie_read_misses)
}

fn mpps(packets: u32, took: Picos) -> f64 {
    f64::from(packets) / (took.as_ns() / 1e3)
}

#[test]
fn packets_that_are_sent_one_at_a_time_do_not_wait_for_each_other_s_request() {
    let (together, _) = send(&nic(), &mut connectx(), 960, 32);
    let (singly, _) = send(&nic(), &mut connectx(), 960, 1);
    // Both are limited by the queue's 44 entries, two of which each packet takes for about 1.4 us.
    assert!(mpps(960, together) > 13.0, "{}", mpps(960, together));
    assert!(mpps(960, singly) > 0.9 * mpps(960, together), "{}", mpps(960, singly));
}

#[test]
fn a_chip_with_room_for_one_request_waits_for_every_fetch() {
    let short = NicConfig { tx_request_bytes_ahead: 64, ..nic() };
    let (took, _) = send(&short, &mut connectx(), 96, 1);
    assert!(mpps(96, took) < 1.5, "{}", mpps(96, took));
}

#[test]
fn requests_that_lie_in_one_read_are_fetched_with_one() {
    // 512 B of requests per read: eight entries of 64 B. The lines read are the same.
    let (_, single_lines) = send(&nic(), &mut connectx(), 64, 1);
    assert_eq!(single_lines, 64 * 4 + 64);
}

#[test]
fn a_queue_and_a_port_keep_to_their_packet_rates() {
    let slow = Picos(200_000);
    for config in [
        NicConfig { queue_packet_gap: slow, ..nic() },
        NicConfig { port_pace: Pace::of_packets(slow), ..nic() },
    ] {
        let (took, _) = send(&config, &mut connectx(), 960, 32);
        assert!((4.7..=5.0).contains(&mpps(960, took)), "sent {}", mpps(960, took));
        let (mut fabric, mut pairs) = (fabric(), [connectx()]);
        post(&mut pairs[0], 1_000, Picos::ZERO);
        let mut port = RxPort::new(RootPortId(0), config, frames(900, 60, Picos(100_000)), 1);
        port.prepare(&mut fabric, &mut pairs);
        receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
        let last = pairs[0].rx.completed.back().map_or(Picos::ZERO, |it| it.visible);
        let rate = mpps(port.counters.packets as u32, last);
        assert!((4.5..=5.0).contains(&rate), "received {rate}");
        assert_eq!(port.counters.dropped_no_descriptor, 0);
    }
}

#[test]
fn a_port_with_few_reads_under_way_sends_so_many_in_a_round_trip() {
    // Packets of 256 B are one read request each, of some 1.4 us.
    for reads in [2, 4] {
        let config = NicConfig { port_read_bytes: Some(Bytes(reads * 256)), ..nic() };
        let (took, _) = send(&config, &mut connectx(), 960, 32);
        let expected = reads as f64 / 1.4;
        assert!((mpps(960, took) / expected - 1.0).abs() < 0.15, "{}", mpps(960, took));
    }
    let more_than_a_queue_has = NicConfig { port_read_bytes: Some(Bytes(44 * 256)), ..nic() };
    let (limited, unlimited) = (
        send(&more_than_a_queue_has, &mut connectx(), 960, 32).0,
        send(&nic(), &mut connectx(), 960, 32).0,
    );
    assert_eq!(limited, unlimited);
}

#[test]
fn a_port_that_is_too_slow_drops_what_its_buffer_does_not_hold() {
    let config =
        NicConfig { port_pace: Pace::of_packets(Picos(40_000)), rx_buffer_bytes: 16_384, ..nic() };
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 1_000, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), config, frames(900, 60, Picos(6_720)), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    let counters = port.counters;
    assert!(counters.dropped_buffer_full > 300, "{counters:?}");
    assert_eq!(counters.offered_packets, counters.packets + counters.dropped_buffer_full);
}

/// Packets that a port receives of 900 that arrive `every` so often, and when the last is visible. The port
/// takes one each 100 ns, and one each `dropping_gap` while it drops others.
fn received_of_900(every: Picos, dropping_gap: Picos) -> (u64, Picos) {
    let config = NicConfig {
        port_pace: Pace::of_packets(Picos(100_000)),
        dropping_gap,
        rx_buffer_bytes: 960,
        rx_wait_bytes: 960,
        ..nic()
    };
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 1_000, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), config, frames(900, 60, every), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    let last = pairs[0].rx.completed.back().map_or(Picos::ZERO, |it| it.visible);
    (port.counters.packets, last)
}

#[test]
fn a_port_is_slower_while_it_drops_packets() {
    let (fast, slow) = (Picos::ZERO, Picos(200_000));
    assert_eq!(received_of_900(Picos(125_000), slow), received_of_900(Picos(125_000), fast));
    // The buffer holds 16 packets and is full after 1.6 us of 45. When these have left, in 1.6 us more, the port
    // takes 418 in the rest, or 209 at half its pace.
    let (at_its_pace, at_half) =
        (received_of_900(Picos(50_000), fast).0, received_of_900(Picos(50_000), slow).0);
    assert!((190..=225).contains(&(at_its_pace - at_half)), "{at_its_pace} and {at_half}");
}

#[test]
fn a_port_with_a_pace_takes_longer_for_larger_packets() {
    let port_pace = Pace { least: Picos(50_000), per_packet: Picos(20_000), ps_per_byte: 200.0 };
    for (bytes, gap_ns) in [(60, 50.0), (1_000, 220.0)] {
        let (mut fabric, mut pairs) = (fabric(), [connectx()]);
        post(&mut pairs[0], 1_000, Picos::ZERO);
        let config = NicConfig { port_pace, rx_buffer_bytes: 1 << 20, ..nic() };
        let mut port = RxPort::new(RootPortId(0), config, frames(800, bytes, Picos(40_000)), 1);
        port.prepare(&mut fabric, &mut pairs);
        receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
        let last = pairs[0].rx.completed.back().map_or(Picos::ZERO, |it| it.visible);
        let mean = last.as_ns() / 800.0;
        assert!((mean / gap_ns - 1.0).abs() < 0.03, "{bytes} B every {mean} ns");
    }
}

/// Lines that are allocated in the LLC when 500 packets of four lines arrive, no buffer is posted anew
/// and 24 of 1024 descriptors were missing before.
fn lines_allocated(bypass_backlog: Option<u32>) -> u64 {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 1_000, Picos::ZERO);
    let config = NicConfig { bypass_backlog, ..nic() };
    let mut port = RxPort::new(RootPortId(0), config, frames(500, 256, Picos(100_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    let before = fabric.counters().llc_io_allocations;
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    assert_eq!(port.counters.packets, 500);
    fabric.counters().llc_io_allocations - before
}

#[test]
fn packets_behind_too_many_others_go_to_memory_instead_of_the_llc() {
    let all = lines_allocated(None);
    assert!(all >= 500 * 4, "{all}");
    // Packet number i (from 0) finds 24 + i before it: those with i > 176 bypass DDIO.
    assert_eq!(all - lines_allocated(Some(200)), (500 - 177) * 4);
    assert_eq!(all, lines_allocated(Some(1_000)));
}

#[test]
fn an_inlined_packet_is_not_read_again() {
    let mut inlined = pair(RxFormat::Mlx5, TxFormat::Mlx5MultiPacket, 256);
    let (_, lines) = send(&nic(), &mut inlined, 32, 32);
    // 32 B of header and 32 x (256 B + 4 B of length, padded to 272 B).
    assert_eq!(lines, (32 + 32 * 272_u64).div_ceil(64));
}

#[test]
fn a_send_completion_goes_where_the_format_says() {
    for (place, line) in [
        (TxCompletionPlace::Queue, 16_384),
        (TxCompletionPlace::Head, 16_384),
        // The 32nd descriptor of 16 B.
        (TxCompletionPlace::DescriptorRing, 12_288 + 31 / 4),
    ] {
        let mut pair = pair(RxFormat::Mlx5, TxFormat::Intel, 0);
        pair.tx.completion = place;
        send(&nic(), &mut pair, 32, 32);
        assert_eq!(pair.tx.completed.len(), 1);
        let (_, written, packets) = pair.tx.completed[0];
        assert_eq!((written, packets), (LineAddr(line), 32), "{place:?}");
    }
}

/// Receives 64 packets of 256 B; returns full and partial lines written.
fn lines_written(config: NicConfig, format: RxFormat, bytes: u64) -> (u64, u64) {
    let (mut fabric, mut pairs) = (fabric(), [pair(format, TxFormat::Intel, 0)]);
    post(&mut pairs[0], 200, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), config, frames(64, bytes, Picos(100_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    assert_eq!(port.counters.packets, 64);
    let seen: usize = pairs[0].rx.completed.iter().map(|it| it.packets).sum();
    assert_eq!(seen, 64);
    let c = fabric.counters();
    let partial = c.pcie_partial_write_hits + c.pcie_partial_write_misses;
    (c.pcie_write_hits + c.pcie_write_misses, partial)
}

#[test]
fn completions_are_written_as_their_format_says() {
    let per_completion = |packets_per_completion| NicConfig { packets_per_completion, ..nic() };
    let payload = 64 * 4;
    // One line for eight packets that arrive close together: 500 ns hold five or six of them.
    let (compressed, partial) = lines_written(per_completion(8), RxFormat::Mlx5, 256);
    assert!((payload + 8..=payload + 13).contains(&compressed) && partial == 0, "{compressed}");
    assert_eq!(lines_written(per_completion(1), RxFormat::Mlx5, 256), (payload + 64, 0));
    let intel = RxFormat::Intel { bytes: 32 };
    assert_eq!(lines_written(per_completion(1), intel, 256), (payload, 64));
    assert_eq!(lines_written(per_completion(2), intel, 256), (payload + 32, 0));
    assert_eq!(lines_written(per_completion(1), RxFormat::Events, 256), (payload, 64));
}

#[test]
fn a_padded_tail_is_a_full_line() {
    let padded = NicConfig { pads_tail: true, packets_per_completion: 1, ..nic() };
    assert_eq!(lines_written(padded.clone(), RxFormat::Mlx5, 200), (64 * 4 + 64, 0));
    let plain = NicConfig { pads_tail: false, ..padded };
    assert_eq!(lines_written(plain, RxFormat::Mlx5, 200), (64 * 3 + 64, 64));
}

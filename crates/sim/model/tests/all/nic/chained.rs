//! Packets longer than a buffer: does each take a descriptor for every buffer, wait for all of them, and leave
//! as it came?

use super::{
    BUFFER_BYTES, buffer, connectx, fabric, frames, nic, pair, paused, post, receive,
    receive_by_turns,
};
use model::device::nic::NicConfig;
use model::device::nic::egress::Egress;
use model::device::nic::formats::{RxFormat, TxFormat};
use model::device::nic::rings::{Buffer, Packet, QueuePair, TxRequest};
use model::device::nic::rx::RxPort;
use model::device::nic::tx::TxQueue;
use proptest::prelude::*;
use units::{Bytes, Picos, RootPortId};

const JUMBO: u64 = 2 * BUFFER_BYTES + 1_000;
const OF_JUMBO: u32 = 3;

/// Receives packets of `bytes` bytes in a ring of `posted` buffers; returns the port and its queue.
fn received(
    mut pairs: [QueuePair; 1],
    (config, posted): (NicConfig, u32),
    (count, bytes): (u32, u64),
) -> (RxPort<super::Frames>, [QueuePair; 1]) {
    let mut fabric = fabric();
    post(&mut pairs[0], posted, Picos::ZERO);
    let every = Picos(1_000_000);
    let mut port = RxPort::new(RootPortId(0), config, frames(count, bytes, every), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    (port, pairs)
}

#[test]
fn a_packet_takes_a_descriptor_for_each_buffer_that_it_fills() {
    let intel = pair(RxFormat::Intel { bytes: 32 }, TxFormat::Intel, 0);
    let events = pair(RxFormat::Events, TxFormat::Events, 0);
    // Eight packets and eight completions; a ConnectX reports packets, others each descriptor.
    for (queue, report) in [(connectx(), 64), (intel, 3 * 32), (events, 3 * 8)] {
        let (port, [pair]) = received([queue], (nic(), 96), (8, JUMBO));
        let counters = port.counters;
        assert_eq!((counters.packets, counters.buffers, counters.bytes), (8, 24, 8 * JUMBO));
        assert_eq!(port.descriptors_used(), 24);
        let expected: Vec<Buffer> = (0..24).map(buffer).collect();
        for (number, packet) in pair.rx.packets.iter().enumerate() {
            assert_eq!((packet.buffers, packet.bytes.0), (OF_JUMBO, JUMBO));
            assert_eq!(packet.buffer, expected[3 * number]);
            assert_eq!(pair.rx.chained[2 * number], expected[3 * number + 1]);
            assert_eq!(pair.rx.chained[2 * number + 1], expected[3 * number + 2]);
        }
        let format = pair.rx.format;
        assert_eq!(format.report_bytes(format.completion_entries(OF_JUMBO)), report);
    }
}

#[test]
fn a_packet_that_fits_a_buffer_takes_one() {
    let (port, [pair]) = received([connectx()], (nic(), 96), (8, BUFFER_BYTES));
    assert_eq!((port.counters.packets, port.counters.buffers), (8, 8));
    assert!(pair.rx.chained.is_empty());
}

#[test]
fn a_packet_without_all_of_its_descriptors_is_dropped_whole() {
    // Eleven buffers hold three packets; two buffers stay for smaller ones.
    let (port, [pair]) = received([connectx()], (nic(), 11), (5, JUMBO));
    let counters = port.counters;
    assert_eq!((counters.packets, counters.dropped_no_descriptor), (3, 2));
    assert_eq!(port.descriptors_on_chip() + pair.rx.posted.len(), 2);
}

#[test]
fn with_flow_control_a_packet_waits_until_its_last_descriptor_is_posted() {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 2, Picos::ZERO);
    // The third descriptor comes when the packet has waited for long.
    pairs[0].rx.posted.push_back((Picos(50_000_000), buffer(2)));
    let frames = frames(1, JUMBO, Picos(1_000_000));
    let mut port = RxPort::new(RootPortId(0), paused(), frames, 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos(49_000_000));
    assert_eq!((port.counters.packets, port.packets_waiting()), (0, 1));
    receive(&mut port, &mut fabric, &mut pairs, Picos(90_000_000));
    assert_eq!((port.counters.packets, port.packets_waiting()), (1, 0));
}

/// Lines read to send one packet of `bytes` bytes in `buffers` buffers, with those of its request.
fn lines_to_send(mut pair: QueuePair, bytes: u64, buffers: u32) -> u64 {
    let (mut fabric, mut egress) = (fabric(), Egress::new(nic().line_rate, false));
    let (visible, arrival, bytes) = (Picos::ZERO, Picos::ZERO, Bytes(bytes));
    let packet = Packet { buffer: buffer(0), buffers, bytes, arrival, sequence: 0, rss_hash: 0 };
    let (packets, chained) = (vec![packet], (1..buffers).map(buffer).collect());
    pair.tx.queued.push_back(TxRequest { visible, first_entry: 0, packets, chained });
    let mut queue = TxQueue::new(RootPortId(0), 0, nic());
    let mut now = Picos::ZERO;
    while queue.next_wake(&pair.tx, now) != Picos::NEVER {
        now = queue.next_wake(&pair.tx, now);
        queue.step(&mut fabric, &mut pair.tx, &mut egress, now);
    }
    assert_eq!((egress.packets, egress.bytes), (1, bytes.0));
    fabric.counters().pcie_read_hits + fabric.counters().pcie_read_misses
}

#[test]
fn a_chained_packet_is_read_from_all_of_its_buffers() {
    let data = 2 * BUFFER_BYTES.div_ceil(64) + 1_000_u64.div_ceil(64);
    // Two entries of a ConnectX' ring, or three descriptors of 16 B in one line.
    assert_eq!(lines_to_send(connectx(), JUMBO, OF_JUMBO), data + 2);
    let intel = pair(RxFormat::Intel { bytes: 32 }, TxFormat::Intel, 0);
    assert_eq!(lines_to_send(intel, JUMBO, OF_JUMBO), data + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Under overload, with rings of any fill: no packet is lost, and none gets a part of its buffers.
    #[test]
    fn packets_and_buffers_are_conserved(
        posted in 0..200_u32, bytes in 60..8 * BUFFER_BYTES, every_ns in 100..2_000_u64,
        others in 1..500_u64,
    ) {
        let (mut fabric, mut pairs) = (fabric(), [connectx()]);
        post(&mut pairs[0], posted, Picos::ZERO);
        let frames = frames(60, bytes, Picos(1_000 * every_ns));
        let mut port = RxPort::new(RootPortId(0), nic(), frames, 1);
        port.prepare(&mut fabric, &mut pairs);
        receive_by_turns(&mut port, &mut fabric, &mut pairs, Picos(10_000_000_000), 1_000 * others);
        let (counters, each) = (port.counters, bytes.div_ceil(BUFFER_BYTES).max(1));
        prop_assert!(port.has_a_descriptor_for_each_waiting());
        let dropped = counters.dropped_no_descriptor + counters.dropped_buffer_full;
        prop_assert_eq!(counters.packets + dropped + port.packets_waiting() as u64, 60);
        prop_assert_eq!(counters.buffers, each * counters.packets);
        let left = (port.descriptors_on_chip() + pairs[0].rx.posted.len()) as u64;
        prop_assert_eq!(left + counters.buffers, u64::from(posted));
        prop_assert_eq!(pairs[0].rx.chained.len() as u64, (each - 1) * counters.packets);
    }
}

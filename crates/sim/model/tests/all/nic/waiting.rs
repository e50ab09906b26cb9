//! Packets that wait: for a descriptor, for room in the card, for the sender to stop. What is dropped, what is
//! kept, and whom does it delay?

use super::{
    ENTRIES, Frames, connectx, fabric, frames, nic, pair, paused, post, receive, receive_by_turns,
};
use model::device::nic::NicConfig;
use model::device::nic::formats::{RxFormat, TxFormat};
use model::device::nic::pause::PauseConfig;
use model::device::nic::rings::QueuePair;
use model::device::nic::rx::RxPort;
use proptest::prelude::*;
use units::{Picos, RootPortId};

#[test]
fn without_flow_control_a_packet_without_a_descriptor_is_dropped_at_once() {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 100, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), nic(), frames(300, 1500, Picos(1_000_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    assert_eq!((port.counters.packets, port.counters.dropped_no_descriptor), (100, 200));
    assert_eq!((port.packets_waiting(), port.counters.pause_frames), (0, 0));
}

/// Descriptors on the chip after ten packets, with 16 at the start and 16 posted since.
fn left_of_32(doorbell_read_ring_part: Option<u32>) -> usize {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 16, Picos::ZERO);
    let config = NicConfig { doorbell_read_ring_part, ..nic() };
    let mut port = RxPort::new(RootPortId(0), config, frames(10, 60, Picos(5_000_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    post(&mut pairs[0], 16, Picos(1));
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    port.descriptors_on_chip()
}

#[test]
fn the_doorbell_record_is_read_when_few_descriptors_are_left() {
    assert_eq!(left_of_32(None), 22, "it was read as soon as possible");
    assert_eq!(left_of_32(Some(ENTRIES / 8)), 22, "with eight left");
    assert_eq!(left_of_32(Some(ENTRIES / 4)), 6, "not yet");
}

/// Packets delivered, of eight of `bytes`, while the descriptors after the first are being fetched.
fn packets_of_eight(bytes: u64) -> u64 {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 1, Picos::ZERO);
    let config = NicConfig { rx_wait_bytes: 2_048, ..nic() };
    let mut port = RxPort::new(RootPortId(0), config, frames(8, bytes, Picos(50_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    post(&mut pairs[0], 100, Picos(1));
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    let counters = port.counters;
    assert_eq!(counters.packets + counters.dropped_no_descriptor, 8);
    counters.packets
}

#[test]
fn packets_wait_for_descriptors_on_their_way_while_there_is_room() {
    assert_eq!(packets_of_eight(256), 8, "seven wait");
    assert_eq!(packets_of_eight(1_024), 1 + 2);
    assert_eq!(packets_of_eight(1_500), 1 + 1);
}

#[test]
fn a_queue_without_descriptors_costs_another_one_nothing() {
    let (mut fabric, mut pairs) = (fabric(), [connectx(), connectx()]);
    post(&mut pairs[0], 1, Picos::ZERO);
    post(&mut pairs[1], 100, Picos::ZERO);
    let config = NicConfig { rx_wait_bytes: 2_048, ..nic() };
    let source = Frames { queues: 2, ..frames(80, 1_500, Picos(123_040)) };
    let mut port = RxPort::new(RootPortId(0), config, source, 2);
    port.prepare(&mut fabric, &mut pairs);
    // It is being fetched when the second packet of queue 0 arrives, and is the last one.
    post(&mut pairs[0], 1, Picos(1));
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    let packets = |pair: &QueuePair| pair.rx.completed.iter().map(|it| it.packets).sum();
    let of_queues: [usize; 2] = [packets(&pairs[0]), packets(&pairs[1])];
    assert_eq!(of_queues, [2, 40]);
    assert_eq!(port.counters.dropped_no_descriptor, 38);
}

#[test]
fn packets_that_have_waited_are_reported_together() {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 1, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), nic(), frames(8, 60, Picos(50_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    post(&mut pairs[0], 100, Picos(1));
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    // Seven wait for longer than a completion waits for packets, and get their descriptors together.
    let reports: Vec<usize> = pairs[0].rx.completed.iter().map(|it| it.packets).collect();
    assert_eq!(reports, [1, 7]);
}

/// The longest time from the arrival of a packet of a queue to its completion, and its packets.
fn longest_wait(pair: &QueuePair) -> (Picos, usize) {
    let mut packets = pair.rx.packets.iter();
    let mut longest = Picos::ZERO;
    for report in &pair.rx.completed {
        for packet in packets.by_ref().take(report.packets) {
            longest = longest.max(report.visible.saturating_sub(packet.arrival));
        }
    }
    (longest, pair.rx.packets.len())
}

#[test]
fn a_starving_queue_neither_delays_packets_of_another_one_nor_takes_its_room() {
    // Both wait for fetches again and again: a few descriptors are on the chip at a time. Of 50 packets
    // queue 0 has descriptors for five.
    let config = NicConfig { rx_descriptors_prefetched: 8, packets_per_completion: 1, ..nic() };
    let intel = || pair(RxFormat::Intel { bytes: 32 }, TxFormat::Intel, 0);
    let (mut fabric, mut pairs) = (fabric(), [intel(), intel()]);
    let source = Frames { queues: 2, ..frames(20_000, 1_000, Picos(100_000)) };
    let mut port = RxPort::new(RootPortId(0), config, source, 2);
    port.prepare(&mut fabric, &mut pairs);
    for tenth in 0..200 {
        let now = Picos(tenth * 10_000_000);
        post(&mut pairs[0], 5, now);
        post(&mut pairs[1], 52, now);
        receive(&mut port, &mut fabric, &mut pairs, now + Picos(10_000_000));
    }
    receive(&mut port, &mut fabric, &mut pairs, Picos::NEVER);
    let (longest, packets) = longest_wait(&pairs[1]);
    assert_eq!(packets, 10_000, "queue 1 loses nothing");
    assert!(longest < Picos(10_000_000), "{longest:?}");
    let (longest, packets) = longest_wait(&pairs[0]);
    assert!((950..=1_000).contains(&packets), "{packets}");
    assert!(longest < Picos(10_000_000), "{longest:?}");
    assert_eq!(port.counters.dropped_buffer_full, 0);
}

proptest! {
    /// Overload of every kind: no descriptors, no space to wait, a full buffer, PAUSE.
    #[test]
    fn a_port_that_goes_on_by_itself_does_what_single_steps_do(
        bytes in 60u64..1_514,
        every in 2_000u64..200_000,
        room in 2_000u64..30_000,
        waits in 0u64..30_000,
        pauses in any::<bool>(),
        others in 1_000u64..2_000_000,
        posted in prop::collection::vec(0u32..40, 1..8),
    ) {
        let pause = PauseConfig {
            xoff_bytes: room / 2,
            xon_bytes: room / 4,
            response: Picos(1_000_000),
        };
        let config = NicConfig {
            rx_buffer_bytes: room,
            rx_wait_bytes: waits,
            flow_control: pauses.then_some(pause),
            ..nic()
        };
        let run = |by_turns: bool| {
            let (mut fabric, mut pairs) = (fabric(), [connectx(), connectx()]);
            let source = Frames { queues: 2, ..frames(600, bytes, Picos(every)) };
            let mut port = RxPort::new(RootPortId(0), config.clone(), source, 2);
            port.prepare(&mut fabric, &mut pairs);
            let mut seen = Vec::new();
            for (time, &count) in posted.iter().enumerate() {
                let (now, until) = (time as u64 * 5_000_000, (time as u64 + 1) * 5_000_000);
                post(&mut pairs[time % 2], count, Picos(now));
                match by_turns {
                    true => receive_by_turns(
                        &mut port, &mut fabric, &mut pairs, Picos(until), others
                    ),
                    false => receive(&mut port, &mut fabric, &mut pairs, Picos(until)),
                }
                seen.push((port.counters, port.packets_waiting(), port.next_wake()));
            }
            (seen, pairs.map(|pair| pair.rx.packets), *fabric.counters())
        };
        prop_assert_eq!(run(true), run(false));
    }
}

#[test]
fn with_flow_control_packets_wait_the_sender_stops_and_nothing_is_lost() {
    for format in [RxFormat::Mlx5, RxFormat::Intel { bytes: 32 }, RxFormat::Events] {
        let (mut fabric, mut pairs) = (fabric(), [pair(format, TxFormat::Intel, 0)]);
        post(&mut pairs[0], 100, Picos::ZERO);
        let mut port = RxPort::new(RootPortId(0), paused(), frames(1_000, 1500, Picos(123_040)), 1);
        port.prepare(&mut fabric, &mut pairs);
        receive(&mut port, &mut fabric, &mut pairs, Picos(400_000_000));
        let counters = port.counters;
        // 131 packets take the buffer past its threshold, eight more arrive until the wire is silent.
        assert_eq!(counters.packets, 100);
        assert!((137..=141).contains(&port.packets_waiting()), "{}", port.packets_waiting());
        assert_eq!(counters.offered_packets as usize, 100 + port.packets_waiting());
        // Stopped for 380 us: repeated after 168 us, twice.
        assert_eq!(counters.pause_frames, 3, "{format:?}");
        post(&mut pairs[0], 1_000, Picos(400_000_000));
        receive(&mut port, &mut fabric, &mut pairs, Picos(1_000_000_000));
        let counters = port.counters;
        assert_eq!((counters.offered_packets, counters.packets), (1_000, 1_000), "{format:?}");
        assert_eq!((counters.dropped_no_descriptor, counters.dropped_buffer_full), (0, 0));
        assert_eq!(counters.pause_frames, 4);
        let paused_us = counters.paused.as_ns() / 1e3;
        assert!((360.0..=400.0).contains(&paused_us), "{paused_us}");
    }
}

#[test]
fn packets_stay_in_order_when_they_have_waited() {
    let (mut fabric, mut pairs) = (fabric(), [connectx()]);
    post(&mut pairs[0], 10, Picos::ZERO);
    let mut port = RxPort::new(RootPortId(0), paused(), frames(200, 60, Picos(50_000)), 1);
    port.prepare(&mut fabric, &mut pairs);
    receive(&mut port, &mut fabric, &mut pairs, Picos(5_000_000));
    post(&mut pairs[0], 500, Picos(5_000_000));
    receive(&mut port, &mut fabric, &mut pairs, Picos(100_000_000));
    let arrivals: Vec<Picos> = pairs[0].rx.packets.iter().map(|it| it.arrival).collect();
    assert_eq!(arrivals.len(), 200);
    assert!(arrivals.is_sorted());
}

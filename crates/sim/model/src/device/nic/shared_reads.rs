//! Payload reads that all send queues of a port share.
//!
//! Models: a limit on the bytes of packets that a port has requested from the host and not received;
//! send queues take turns packet by packet.
//! Source: no card publishes it; a card's value is chosen on measurements or absent (device file).
//! Simplifies: bytes are freed in the order in which they were taken; a packet is admitted while the
//! limit is not reached.

use std::collections::VecDeque;
use units::{Bytes, Picos};

/// The port's buffer for requested data.
#[derive(Debug)]
pub(crate) struct SharedReads {
    /// None: no limit.
    most: Option<Bytes>,
    /// Reads under way, oldest first: when the data arrives, and its bytes.
    under_way: VecDeque<(Picos, u64)>,
    bytes_under_way: u64,
    /// Queues that wait for their turn, with the bytes of their packet.
    line: VecDeque<(u16, u64)>,
}

impl SharedReads {
    /// A limit of `most` bytes, or none.
    pub(crate) fn new(most: Option<Bytes>) -> Self {
        Self { most, under_way: VecDeque::new(), bytes_under_way: 0, line: VecDeque::new() }
    }

    /// Requests a read for `queue`, which has all other resources to read a packet of `bytes`. Returns
    /// `now` if it may read, and otherwise when to retry: the queue keeps its turn until then.
    pub(crate) fn turn(&mut self, queue: u16, bytes: u64, now: Picos) -> Picos {
        let Some(most) = self.most else { return now };
        while let Some(&(done, bytes)) = self.under_way.front()
            && done <= now
        {
            self.under_way.pop_front();
            self.bytes_under_way -= bytes;
        }
        if self.line.is_empty() && self.bytes_under_way < most.0 {
            return now;
        }
        let place = self.line.iter().position(|&(waiting, _)| waiting == queue);
        let place = place.unwrap_or_else(|| {
            self.line.push_back((queue, bytes));
            self.line.len() - 1
        });
        if place == 0 && self.bytes_under_way < most.0 {
            self.line.pop_front();
            return now;
        }
        let in_front: u64 = self.line.range(..place).map(|&(_, bytes)| bytes).sum();
        // Of two that wait for the same time the first in line goes first, whatever their numbers.
        self.admitted_from(in_front, most.0, now).max(now + Picos(1))
    }

    /// Occupies `bytes` until their data arrives.
    pub(crate) fn take(&mut self, bytes: u64, done: Picos) {
        if self.most.is_some() {
            self.bytes_under_way += bytes;
            self.under_way.push_back((done, bytes));
        }
    }

    /// Lower bound of the time at which a packet behind others of `in_front` bytes is admitted.
    fn admitted_from(&self, in_front: u64, most: u64, now: Picos) -> Picos {
        let mut left = self.bytes_under_way + in_front;
        let mut room = now;
        for &(done, bytes) in &self.under_way {
            if left < most {
                break;
            }
            left -= bytes;
            room = room.max(done);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LATENCY: Picos = Picos(1_000_000);
    /// Least time between two packets of a queue.
    const GAP: Picos = Picos(1_000);

    /// Packets of `bytes` that each of `queues` always-busy queues reads within `span`.
    fn packets_of_queues(most: u64, queues: u16, bytes: &[u64], span: Picos) -> Vec<u64> {
        let mut reads = SharedReads::new(Some(Bytes(most)));
        let mut wakes = vec![Picos::ZERO; usize::from(queues)];
        let mut packets = vec![0; usize::from(queues)];
        loop {
            // The earliest queue acts; ties go to the lowest, which could starve the others.
            let (number, now) =
                (0..queues).zip(wakes.iter().copied()).min_by_key(|it| it.1).expect("some");
            if now > span {
                return packets;
            }
            let queue = usize::from(number);
            let bytes = bytes[queue % bytes.len()];
            let turn = reads.turn(number, bytes, now);
            wakes[queue] = turn;
            if turn == now {
                wakes[queue] += GAP;
                reads.take(bytes, now + LATENCY);
                packets[queue] += 1;
            }
        }
    }

    #[test]
    fn without_a_limit_no_queue_waits() {
        let mut reads = SharedReads::new(None);
        for queue in 0..16 {
            assert_eq!(reads.turn(queue, 9_000, Picos(5)), Picos(5));
            reads.take(9_000, LATENCY);
        }
    }

    #[test]
    fn the_limit_is_what_is_read_in_a_round_trip() {
        // 20 packets of 1000 B, and then 20 in each microsecond.
        let packets = packets_of_queues(20_000, 1, &[1_000], Picos(10 * LATENCY.0 - 1));
        assert_eq!(packets, [200]);
    }

    proptest! {
        #[test]
        fn queues_take_turns_packet_by_packet(queues in 1u16..20, bytes in 60u64..1_600) {
            let packets = packets_of_queues(19_500, queues, &[bytes], Picos(200 * LATENCY.0));
            let (least, most) = (packets.iter().min(), packets.iter().max());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{packets:?}");
        }

        #[test]
        fn together_they_never_have_more_under_way_than_a_packet_beyond_the_limit(
            queues in 1u16..9,
            bytes in prop::collection::vec(60u64..9_000, 1..9),
        ) {
            let packets = packets_of_queues(19_500, queues, &bytes, Picos(100 * LATENCY.0));
            let moved: u64 = packets.iter().enumerate().map(|(queue, n)| n * bytes[queue % bytes.len()]).sum();
            let largest = bytes.iter().max().copied().unwrap_or_default();
            prop_assert!(moved <= (19_500 + largest) * 101, "{moved}");
        }
    }
}

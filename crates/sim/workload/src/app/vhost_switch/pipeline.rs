//! Copies of bursts by copy engines, in order: the asynchronous pipeline of a virtual switch.
//!
//! Models: a batch descriptor for each burst, to the queues of the core in turn; bursts that end in any
//! order, and an array that holds back those whose predecessors have not ended.
//! Source: ASPLOS'24, section 6.4: three stages (submit, copy, complete), a batch for each burst of 32, a
//! reordering array, queues bound to their core; DPDK's asynchronous vhost.
//! Simplifies: bursts of the two directions are ordered apart, as each has a virtqueue of its own.

use crate::driver::offloader::{Offloader, OnCore};
use model::device::dsa::descriptor::{Descriptor, Destination, Operation};
use model::device::nic::rings::{Buffer, Packet};
use model::software::Turn;
use model::tracer::Tracer;
use std::collections::VecDeque;

/// Direction of packets through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchDirection {
    /// From the NIC to the guest.
    ToGuest,
    /// From the guest to the NIC.
    FromGuest,
}

/// A packet and the buffer that it is copied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The packet in its present buffer.
    pub packet: Packet,
    /// The buffer that the packet is copied to.
    pub to: Buffer,
}

/// Packets that are copied together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchBurst {
    /// Direction of the packets.
    pub direction: SwitchDirection,
    /// Copies of the burst: at least one.
    pub transfers: Vec<Transfer>,
}

/// A burst on its way, with the tag of its offload.
#[derive(Debug)]
struct BurstInFlight {
    tag: u64,
    burst: SwitchBurst,
    has_ended: bool,
}

/// Bursts of one direction in the order of their submission.
#[derive(Debug, Default)]
struct ReorderingArray {
    flights: VecDeque<BurstInFlight>,
}

impl ReorderingArray {
    /// Notes that the copies of a burst have ended. Returns whether an earlier burst still waits, or `None`
    /// if the burst is not here.
    fn end(&mut self, tag: u64) -> Option<bool> {
        let place = self.flights.iter().position(|flight| flight.tag == tag)?;
        self.flights[place].has_ended = true;
        Some(self.flights.range(..place).any(|earlier| !earlier.has_ended))
    }

    /// The oldest burst, if its copies have ended.
    fn pop(&mut self) -> Option<SwitchBurst> {
        if !self.flights.front()?.has_ended {
            return None;
        }
        self.flights.pop_front().map(|flight| flight.burst)
    }
}

/// The bursts that the engines of a core copy.
#[derive(Debug)]
pub struct Pipeline {
    /// The queues of the core.
    pub offloader: Offloader,
    destination: Destination,
    next_tag: u64,
    /// To the guest, and from it.
    arrays: [ReorderingArray; 2],
    /// Number of bursts that ended before an earlier one.
    pub overtaking: u64,
}

impl Pipeline {
    /// A pipeline over the queues of `offloader`.
    #[must_use]
    pub fn new(offloader: Offloader, destination: Destination) -> Self {
        Self { offloader, destination, next_tag: 0, arrays: Default::default(), overtaking: 0 }
    }

    /// Submits a burst to the next queue that has room, which there is. Returns a turn if the core has to
    /// wait for an answer.
    pub fn submit<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        burst: SwitchBurst,
    ) -> Option<Turn> {
        let destination = self.destination;
        let members = burst.transfers.iter().map(|transfer| member(transfer, destination));
        let members: Vec<Descriptor> = members.collect();
        let tag = self.next_tag;
        self.next_tag += 1;
        let array = &mut self.arrays[burst.direction as usize];
        array.flights.push_back(BurstInFlight { tag, burst, has_ended: false });
        self.offloader.offload(at, tag, &members)
    }

    /// Reads all visible completion records. Returns whether there were any.
    pub fn reap<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> bool {
        let mut has_ended = false;
        while let Some(done) = self.offloader.reap(at) {
            has_ended = true;
            let overtakes = self.arrays.iter_mut().find_map(|array| array.end(done.tag));
            self.overtaking += u64::from(overtakes.unwrap_or(false));
        }
        has_ended
    }

    /// The next burst to be delivered, if its copies have ended: first of those to the guest.
    pub fn next_in_order(&mut self) -> Option<SwitchBurst> {
        let burst = self.arrays.iter_mut().find_map(ReorderingArray::pop)?;
        let bytes: u64 = burst.transfers.iter().map(|it| it.packet.bytes.0).sum();
        self.offloader.times_mut().bytes += bytes;
        Some(burst)
    }
}

/// The copy of a packet, as a member of a batch.
fn member(transfer: &Transfer, destination: Destination) -> Descriptor {
    let (bytes, from) = (transfer.packet.bytes.0, transfer.packet.buffer.data);
    let copy = Descriptor::new(Operation::Move, bytes, from, transfer.to.data);
    Descriptor { destination, ..copy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::{Bytes, LineAddr, Picos};

    fn flight(number: u64) -> BurstInFlight {
        let buffer = Buffer { id: 0, data: LineAddr(number) };
        let packet = Packet {
            buffer,
            buffers: 1,
            bytes: Bytes(64),
            arrival: Picos::ZERO,
            sequence: number,
            rss_hash: 0,
        };
        let transfers = vec![Transfer { packet, to: buffer }];
        let burst = SwitchBurst { direction: SwitchDirection::ToGuest, transfers };
        BurstInFlight { tag: number, burst, has_ended: false }
    }

    proptest! {
        #[test]
        fn bursts_that_end_in_any_order_leave_in_the_order_of_their_submission(
            order in Just((0..24_u64).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let mut array = ReorderingArray { flights: (0..24).map(flight).collect() };
            let (mut left, mut overtaking) = (Vec::new(), 0);
            for (ended, &number) in (1..).zip(&order) {
                overtaking += u64::from(array.end(number).expect("it is on its way"));
                while let Some(burst) = array.pop() {
                    left.push(burst.transfers[0].packet.sequence);
                }
                // The longest run of ended bursts from the first on has left.
                let done = &order[..ended];
                let run = (0..24).take_while(|burst| done.contains(burst)).count();
                prop_assert_eq!(left.len(), run);
            }
            prop_assert_eq!(&left, &(0..24).collect::<Vec<_>>());
            let late = |&(place, number): &(usize, &u64)| {
                order[place + 1..].iter().any(|other| other < number)
            };
            prop_assert_eq!(overtaking, order.iter().enumerate().filter(late).count() as u64);
        }
    }
}

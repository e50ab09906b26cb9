//! A packet arrives at the port: it is delivered, waits for a descriptor, or is dropped.
//!
//! Models: an internal buffer of limited size, of which packets may fill a limited share while they
//! wait for descriptors that are being fetched, each for one of its own.
//! Source: as for the receive side; the bytes that may wait are fitted (docs/evidence/fidelity.md).
//! Simplifies: the bytes that may wait are the port's; no card publishes how it shares them among queues.

use super::super::rings::{QueuePair, RxRing};
use super::RxPort;
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use crate::traffic::{Arrival, PacketSource};
use units::Picos;

impl<S: PacketSource> RxPort<S> {
    pub(super) fn arrive<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        pairs: &mut [QueuePair],
        arrival: Arrival,
    ) -> Option<(usize, Picos)> {
        let index = self.steering.queue(&arrival);
        let fits = self.count_arrival(&pairs[index].rx, index, &arrival);
        if fits
            && !self.stands_behind(index)
            && let Some(seen) = self.deliver(fabric, pairs, arrival, arrival.time)
        {
            return seen;
        }
        if fits {
            self.keep_or_drop(&pairs[index].rx, index, arrival);
        }
        None
    }

    /// Takes the arrivals before `end` that wait or are dropped, up to the first that might be
    /// delivered. These affect only the port. Returns the time of the last one. Under overload they are
    /// most arrivals; [`Self::step`] would treat each of them in the same way.
    pub(super) fn arrive_in_vain(&mut self, pairs: &[QueuePair], end: Picos) -> Option<Picos> {
        let end = end.min(self.gather_due).min(self.buffer.next_retry());
        let mut last = None;
        while self.pause.is_none()
            && let Some(arrival) = self.next
            && arrival.time < end
        {
            self.buffer.drain(arrival.time);
            let index = self.steering.queue(&arrival);
            if !self.stands_behind(index) {
                break;
            }
            self.next = self.source.next_arrival();
            if self.count_arrival(&pairs[index].rx, index, &arrival) {
                self.keep_or_drop(&pairs[index].rx, index, arrival);
            }
            last = Some(arrival.time);
        }
        last
    }

    /// Counts an arrival for queue `index`. Drops it if the internal buffer is full; returns whether it
    /// fits.
    fn count_arrival(&mut self, ring: &RxRing, index: usize, arrival: &Arrival) -> bool {
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += arrival.bytes.0;
        let since_last = arrival.time.saturating_sub(self.last_arrival);
        self.last_arrival = arrival.time;
        self.since_last = since_last;
        if self.buffer.bytes + arrival.bytes.0 > self.config.rx_buffer_bytes {
            self.counters.dropped_buffer_full += 1;
            return false;
        }
        if ring.posted.len() + self.queues[index].on_chip() <= ring.refill_at as usize {
            self.count_ring_full();
        }
        true
    }

    /// Keeps an undelivered packet in the internal buffer, or drops it.
    fn keep_or_drop(&mut self, ring: &RxRing, index: usize, arrival: Arrival) {
        let descriptors = ring.buffers_for(arrival.bytes);
        if self.are_coming(index, descriptors) && self.has_room_to_wait(arrival.bytes.0) {
            let retry = self.queues[index].try_again(descriptors, arrival.time);
            self.buffer.keep(self.line(index), (arrival, descriptors), retry);
        } else {
            self.counters.dropped_no_descriptor += 1;
            self.count_ring_full();
        }
    }

    /// Counts the time since the last arrival, once, as time in which the ring was full.
    fn count_ring_full(&mut self) {
        self.counters.ring_full += std::mem::take(&mut self.since_last);
    }

    /// Whether another packet without its descriptors will get them: always with flow control, otherwise
    /// if the card knows of as many more than packets wait for.
    fn are_coming(&self, queue: usize, descriptors: u32) -> bool {
        let wanted = || self.buffer.wanted_in(queue) + u64::from(descriptors);
        self.pause.is_some() || wanted() <= self.queues[queue].coming()
    }

    /// Whether the internal buffer has space for another packet that waits for a descriptor.
    fn has_room_to_wait(&self, bytes: u64) -> bool {
        self.pause.is_some() || self.buffer.waiting_bytes + bytes <= self.config.rx_wait_bytes
    }

    /// Whether a packet must wait behind earlier ones.
    fn stands_behind(&self, queue: usize) -> bool {
        self.buffer.waiting_in(self.line(queue)) > 0
    }

    /// The line in which packets of a queue wait: with flow control that of the port, otherwise its own.
    fn line(&self, queue: usize) -> usize {
        if self.pause.is_some() { 0 } else { queue }
    }
}

//! An NVMe/TCP target: it answers reads of remote initiators from SSDs.
//!
//! Models: a reactor on each core that polls its connections and a queue pair of every SSD ([`storage`]): a
//! request arrives as a packet, becomes a read into a buffer ([`buffers`]), gets a digest ([`digests`]), and
//! is answered by TCP segments ([`answer`], [`replies`]) that the card reads from that buffer.
//! Source: SPDK's NVMe/TCP target on sockets of the operating system with zero-copy sends, its default for
//! servers; ASPLOS'24, appendix C.
//! Simplifies: the network stack is a number of cycles for each request, answer, unit of segmentation
//! offload and page; the card steers a connection to the core that serves it; there are no writes.

pub mod answer;
pub mod buffers;
pub mod digests;
pub mod replies;
pub mod storage;

use super::packet_loop::{Drivers, PacketLoopConfig};
use crate::driver::offloader::{Offloader, OnCore};
use crate::driver::tx::TxDriver;
use buffers::{ReadBuffer, TargetBuffers};
use digests::{DigestStep, Digests};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::software::{Account, DESCRIPTOR_PHASES, Software, TargetCounts, Turn};
use model::tracer::Tracer;
use replies::{Replies, Reply};
use std::collections::VecDeque;
use std::mem;
use storage::Storage;
use units::narrow::fit;
use units::{Cycles, LINE_BYTES, Picos};

/// Work of a target and its costs, answers apart.
#[derive(Clone, Copy, Debug)]
pub struct NvmeTcpTargetConfig {
    /// Parameters of the packet loop: bursts, and extra work for each request.
    pub polling: PacketLoopConfig,
    /// Bytes of data of a request.
    pub read_bytes: u64,
    /// Cycles of a round of the reactor: looks at all connections and queues.
    pub round: Cycles,
    /// Cycles of a request, from the interrupt to the SSD.
    pub request: Cycles,
    /// Cycles of a call for a digest.
    pub digest: Cycles,
}

/// The next step of the core in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetPhase {
    /// Takes a burst of requests.
    Receive,
    /// Submits reads for the requests, one at a time.
    Submit,
    /// Takes completions of SSDs.
    Complete,
    /// Digests what has been read.
    Digest,
    /// Sends answers.
    Send,
    /// Ends the round.
    End,
}

/// A target on its core.
#[derive(Debug)]
pub struct NvmeTcpTarget {
    config: NvmeTcpTargetConfig,
    core: Core,
    drivers: Drivers,
    storage: Storage,
    digests: Digests,
    replies: Replies,
    queues: Vec<QueueId>,
    buffers: TargetBuffers,
    phase: TargetPhase,
    /// Requests taken from the card, and packet buffers of others that are not freed.
    arrived: VecDeque<Packet>,
    ended: Vec<u32>,
    /// Buffers that were filled.
    filled: VecDeque<u32>,
    has_worked: bool,
    /// Whether the core has nothing to do until it is called again.
    is_idle: bool,
    account: Account,
    counts: TargetCounts,
}

impl NvmeTcpTarget {
    /// A target at time zero.
    #[must_use]
    pub fn new(
        config: NvmeTcpTargetConfig,
        (core, drivers): (Core, Drivers),
        (storage, digests, replies): (Storage, Digests, Replies),
        buffers: TargetBuffers,
    ) -> Self {
        let own = std::iter::once(drivers.queue).chain(storage.queues());
        let queues = own.chain(digests.queues().iter().copied()).collect();
        Self {
            config,
            core,
            drivers,
            storage,
            digests,
            replies,
            queues,
            buffers,
            phase: TargetPhase::Receive,
            arrived: VecDeque::new(),
            ended: Vec::new(),
            filled: VecDeque::new(),
            has_worked: false,
            is_idle: false,
            account: Account::default(),
            counts: TargetCounts::default(),
        }
    }

    /// Takes a burst of requests from the card.
    fn receive<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) {
        let pair = queues.nic_pair(self.drivers.queue);
        self.drivers.refill(&mut self.core, fabric, pair);
        let Drivers { pool, rx, .. } = &mut self.drivers;
        let mut pool = pool.borrow_mut();
        while self.arrived.len() < self.config.polling.burst
            && let Some(packet) = rx.receive(&mut self.core, fabric, &mut pair.rx, &mut pool)
        {
            self.core.prefetch(fabric, packet.buffer.data);
            self.arrived.push_back(packet);
        }
        self.has_worked |= !self.arrived.is_empty();
        self.phase = TargetPhase::Submit;
    }

    /// Handles a request, and reads for the one that has waited longest for a buffer; behind the last,
    /// doorbells are rung.
    fn submit<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) {
        let arrived = self.arrived.pop_front();
        if let Some(packet) = arrived {
            for line in 0..packet.bytes.0.div_ceil(LINE_BYTES) {
                self.core.load_independent(fabric, packet.buffer.data.step(line));
            }
            self.core.compute(self.config.request);
            self.core.compute(self.config.polling.extra_cycles);
            self.ended.push(packet.buffer.id);
            self.counts.requests += 1;
            self.buffers.wait(packet.arrival);
        }
        if let Some(buffer) = self.buffers.take() {
            self.storage.read(&mut self.core, fabric, queues, buffer);
            self.has_worked = true;
        } else if arrived.is_none() {
            self.free_requests(fabric);
            self.storage.ring_doorbells(&mut self.core, queues);
            self.phase = TargetPhase::Complete;
        }
    }

    /// Takes completions of SSDs.
    fn complete<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) {
        let to = (self.config.polling.burst, &mut self.filled);
        self.storage.reap(&mut self.core, fabric, queues, to);
        self.has_worked |= !self.filled.is_empty();
        self.phase = TargetPhase::Digest;
    }

    /// Begins a digest or goes on with one. Returns a turn if the core waits for an answer.
    fn digest<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Option<Turn> {
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        let next = if self.digests.has_room() { self.filled.pop_front() } else { None };
        let digested = match next {
            Some(number) => {
                let first = self.buffers.buffer(number).first;
                let block = (u64::from(number), first, self.config.read_bytes);
                self.digests.begin(at, block, self.config.digest)
            }
            None => self.digests.go_on(at),
        };
        self.has_worked |= digested != DigestStep::Nothing;
        match digested {
            DigestStep::Nothing => self.phase = TargetPhase::Send,
            DigestStep::Goes => {}
            DigestStep::Begun(turn) => return turn,
            DigestStep::Ended(tag) => {
                let number: u32 = fit(tag);
                let ReadBuffer { first, arrival } = self.buffers.buffer(number);
                self.replies.add(Reply { buffer: number, data: first, arrival });
            }
        }
        None
    }

    /// Sends segments of answers until there are none, or no more can be handed over.
    fn send<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) {
        let has_handed = self.replies.hand_over(&mut self.core, fabric, &mut self.drivers);
        let pair = queues.nic_pair(self.drivers.queue);
        let Drivers { pool, tx, .. } = &mut self.drivers;
        let posted = tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool.borrow_mut());
        self.replies.release(tx.reported(), &mut self.buffers);
        if has_handed || posted > 0 {
            self.has_worked = true;
        } else {
            self.phase = TargetPhase::End;
        }
    }

    /// Ends a round: a core without work polls until the next event.
    fn end_round(&mut self, queues: &mut Queues) -> Option<Turn> {
        self.phase = TargetPhase::Receive;
        let begun = self.core.now();
        self.core.compute(self.config.round);
        let now = self.core.now();
        if mem::take(&mut self.has_worked) {
            self.counts.requesting += now - begun;
            return None;
        }
        self.account.idle += now - begun;
        let until = self.next_event(queues);
        self.is_idle = until > now;
        self.is_idle.then_some(Turn::Idle(until))
    }

    /// When the core has something to do next.
    fn next_event(&self, queues: &mut Queues) -> Picos {
        let pair = queues.nic_pair(self.drivers.queue);
        let Drivers { rx, tx, .. } = &self.drivers;
        let of_card = rx
            .next_visible(&pair.rx)
            .min(tx.next_chance(&pair.tx))
            .min(TxDriver::next_completion(&pair.tx));
        let of_ssds = self.storage.next_completion(queues);
        of_card.min(of_ssds).min(self.digests.next_known(queues))
    }

    /// Returns the packet buffers of requests to the pool.
    fn free_requests<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        self.drivers.free(&mut self.core, fabric, &self.ended);
        self.account.packets_consumed += self.ended.len() as u64;
        self.ended.clear();
    }

    /// Counts the time of a step for what the core did in it; the end of a round counts its own.
    fn count(&mut self, phase: TargetPhase, time: Picos) {
        let counts = &mut self.counts;
        match phase {
            TargetPhase::Receive | TargetPhase::Submit => counts.requesting += time,
            TargetPhase::Complete => counts.completing += time,
            TargetPhase::Digest => counts.digesting += time,
            TargetPhase::Send => counts.sending += time,
            TargetPhase::End => {}
        }
    }

    /// The time from the last step until `now`: idle, or spent on the wait for the answer to an ENQCMD.
    fn waited(&self, now: Picos) -> (Picos, Picos) {
        let waited = now.saturating_sub(self.core.now());
        if self.is_idle { (waited, Picos::ZERO) } else { (Picos::ZERO, waited) }
    }
}

impl<T: Tracer> Software<T> for NvmeTcpTarget {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        let (idle, answered) = self.waited(now);
        self.account.idle += idle;
        self.counts.digesting += answered;
        self.is_idle = false;
        self.core.wait_until(now);
        let begun = self.core.now();
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        if let Some(turn) = self.digests.resume(at) {
            self.count(TargetPhase::Digest, self.core.now() - begun);
            return turn;
        }
        let (phase, mut turn) = (self.phase, None);
        match phase {
            TargetPhase::Receive => self.receive(fabric, queues),
            TargetPhase::Submit => self.submit(fabric, queues),
            TargetPhase::Complete => self.complete(fabric, queues),
            TargetPhase::Digest => turn = self.digest(fabric, queues),
            TargetPhase::Send => self.send(fabric, queues),
            TargetPhase::End => turn = self.end_round(queues),
        }
        self.count(phase, self.core.now() - begun);
        turn.unwrap_or(Turn::Busy(self.core.now()))
    }

    fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    fn account(&self, now: Picos) -> Account {
        let (idle, answered) = self.waited(now);
        let Drivers { pool, rx, tx, .. } = &self.drivers;
        let answers = self.replies.answered();
        Account {
            idle: self.account.idle + idle,
            work: answers,
            packets_in_work: self.arrived.len() + self.ended.len() + rx.pending() + tx.waiting(),
            packets_in_ring: tx.in_ring(),
            buffers_free: pool.borrow().free(),
            offload: self.digests.times(now),
            target: TargetCounts {
                answered_bytes: answers * self.config.read_bytes,
                digesting: self.counts.digesting + answered,
                ..self.counts
            },
            ..self.account
        }
    }

    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.digests.engines().map(Offloader::take_phases)
    }
}

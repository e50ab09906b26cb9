//! A virtual switch on the host: it forwards packets between its NIC and a guest, and copies each twice.
//!
//! Models: a core that takes a burst from the NIC, copies it into buffers that the guest has offered,
//! takes what the guest sends, copies that into buffers of its pool, and sends it. The core copies itself,
//! or copy engines do while it goes on ([`pipeline`]); packets reach the guest and the wire in order.
//! Source: DPDK's vhost library and testpmd with its asynchronous data path; ASPLOS'24, section 6.4.
//! Simplifies: every packet goes to one guest and back; the header of a packet in a virtqueue has a line
//! of its own; a packet for which the guest offers no buffer is dropped at once.

pub mod guest;
pub mod pipeline;

use super::packet_loop::{Drivers, PacketLoopConfig};
use crate::driver::offloader::OnCore;
use crate::driver::tx::TxDriver;
use guest::{GuestQueues, header_line};
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::nic::rings::{Buffer, Packet};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::software::{Account, CopyCounts, DESCRIPTOR_PHASES, Software, SwitchCounts, Turn};
use model::tracer::Tracer;
use pipeline::{Pipeline, SwitchBurst, SwitchDirection, Transfer};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, LINE_BYTES, Picos};

/// Lines that a core copies in a turn.
const LINES_PER_TURN: u64 = 16;

/// Costs of a switch beside its accesses to memory.
#[derive(Clone, Copy, Debug)]
pub struct VhostSwitchConfig {
    /// Parameters of the packet loop: polling and bursts.
    pub polling: PacketLoopConfig,
    /// Cycles to hand a packet to the guest, without the copy.
    pub enqueue: Cycles,
    /// Cycles to take a packet from the guest, without the copy.
    pub dequeue: Cycles,
    /// Cycles to track a packet whose copy an engine does.
    pub track: Cycles,
    /// Cycles of a call of the core's copy.
    pub copy_call: Cycles,
    /// Cycles for each line that the core copies.
    pub copy_line: Cycles,
}

/// The next step of the core in its round.
#[derive(Debug)]
enum SwitchPhase {
    Receive,
    Dequeue,
    /// The core copies a burst: the transfer in progress, its next line, when all loaded data arrive.
    Copy {
        burst: SwitchBurst,
        transfer: usize,
        line: u64,
        arrived: Picos,
    },
    Complete,
    Send,
}

/// A switch on its core.
#[derive(Debug)]
pub struct VhostSwitch {
    config: VhostSwitchConfig,
    core: Core,
    drivers: Drivers,
    guest: Rc<RefCell<GuestQueues>>,
    /// The copy engines, if the core does not copy itself.
    pipeline: Option<Pipeline>,
    queues: Vec<QueueId>,
    phase: SwitchPhase,
    /// Whether this round of the loop has found work.
    has_worked: bool,
    /// Packets that the guest has and will send.
    in_guest: usize,
    /// Packets received that have neither been handed to the send queue nor dropped.
    held: usize,
    idle_since: Option<Picos>,
    account: Account,
    copies: CopyCounts,
    events: SwitchCounts,
}

impl VhostSwitch {
    /// A switch at time zero.
    #[must_use]
    pub fn new(
        config: VhostSwitchConfig,
        core: Core,
        drivers: Drivers,
        guest: Rc<RefCell<GuestQueues>>,
        pipeline: Option<Pipeline>,
    ) -> Self {
        let engines = pipeline.iter().flat_map(|it| it.offloader.queues());
        let queues = std::iter::once(&drivers.queue).chain(engines).copied().collect();
        Self {
            config,
            core,
            drivers,
            guest,
            pipeline,
            queues,
            phase: SwitchPhase::Receive,
            has_worked: false,
            in_guest: 0,
            held: 0,
            idle_since: None,
            account: Account::default(),
            copies: CopyCounts::default(),
            events: SwitchCounts::default(),
        }
    }

    /// Whether another burst may begin.
    fn has_room(&self) -> bool {
        self.pipeline.as_ref().is_none_or(|pipeline| pipeline.offloader.has_room())
    }

    /// Takes a burst from the NIC and finds a buffer of the guest for each packet.
    fn receive<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let has_room = self.has_room();
        let pair = queues.nic_pair(self.drivers.queue);
        self.drivers.refill(&mut self.core, fabric, pair);
        let Drivers { pool, rx, .. } = &mut self.drivers;
        let mut arrived = Vec::new();
        let mut pool = pool.borrow_mut();
        while has_room
            && arrived.len() < self.config.polling.burst
            && let Some(packet) = rx.receive(&mut self.core, fabric, &mut pair.rx, &mut pool)
        {
            arrived.push(packet);
        }
        drop(pool);
        self.held += arrived.len();
        let count = arrived.len();
        let buffers = match count {
            0 => Vec::new(),
            _ => self.guest.borrow_mut().receive.take(&mut self.core, fabric, count),
        };
        let dropped: Vec<u32> =
            arrived.drain(buffers.len()..).map(|packet| packet.buffer.id).collect();
        self.events.dropped += dropped.len() as u64;
        self.account.packets_consumed += dropped.len() as u64;
        self.held -= dropped.len();
        self.drivers.free(&mut self.core, fabric, &dropped);
        let transfers = arrived.into_iter().zip(buffers);
        let transfers = transfers.map(|(packet, to)| Transfer { packet, to }).collect();
        self.begin(fabric, queues, SwitchBurst { direction: SwitchDirection::ToGuest, transfers })
    }

    /// Takes a burst that the guest sends, and a buffer of the pool for each packet.
    fn dequeue<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let direction = SwitchDirection::FromGuest;
        let mut transfers = Vec::new();
        let waits = self.guest.borrow().send.next_available() <= self.core.now();
        if waits && self.has_room() && self.drivers.tx.has_room() {
            let burst = self.config.polling.burst;
            let mut fresh = Vec::new();
            let mut pool = self.drivers.pool.borrow_mut();
            if pool.get(&mut self.core, fabric, burst, &mut fresh) {
                let mut guest = self.guest.borrow_mut();
                let packets = guest.send.take(&mut self.core, fabric, burst);
                let spare = fresh.split_off(packets.len());
                pool.put(&mut self.core, fabric, &spare);
                let to = fresh.iter().map(|&id| pool.buffer(id));
                let pairs = packets.into_iter().zip(to);
                transfers = pairs.map(|(packet, to)| Transfer { packet, to }).collect();
            }
        }
        self.in_guest -= transfers.len();
        self.begin(fabric, queues, SwitchBurst { direction, transfers })
    }

    /// Begins the copies of a burst, if it is not empty.
    fn begin<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        queues: &mut Queues,
        burst: SwitchBurst,
    ) -> Turn {
        let direction = burst.direction;
        if burst.transfers.is_empty() {
            self.phase = after(direction);
            return Turn::Busy(self.core.now());
        }
        self.has_worked = true;
        let (cost, extra) = match direction {
            SwitchDirection::ToGuest => (self.config.enqueue, self.config.polling.extra_cycles),
            SwitchDirection::FromGuest => (self.config.dequeue, Cycles(0.0)),
        };
        for _ in &burst.transfers {
            self.core.compute(cost);
            self.core.compute(extra);
        }
        let Some(pipeline) = &mut self.pipeline else {
            // The data of the first packets arrive while the descriptors of all are read.
            for transfer in &burst.transfers {
                self.core.prefetch(fabric, transfer.packet.buffer.data);
            }
            let arrived = self.core.now();
            self.phase = SwitchPhase::Copy { burst, transfer: 0, line: 0, arrived };
            return Turn::Busy(arrived);
        };
        for _ in &burst.transfers {
            self.core.compute(self.config.track);
        }
        self.phase = after(direction);
        let waits = pipeline.submit(&mut OnCore { core: &mut self.core, fabric, queues }, burst);
        waits.unwrap_or(Turn::Busy(self.core.now()))
    }

    /// The core copies some lines of a burst.
    fn copy<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        burst: SwitchBurst,
        (mut transfer, mut line): (usize, u64),
        mut arrived: Picos,
    ) -> Turn {
        let begun = self.core.now();
        let Transfer { packet, to } = burst.transfers[transfer];
        let (lines, from) = (packet.bytes.0.div_ceil(LINE_BYTES), packet.buffer.data);
        if line == 0 {
            self.core.compute(self.config.copy_call);
        }
        let end = lines.min(line + LINES_PER_TURN);
        for number in line..end {
            arrived = arrived.max(self.core.load_independent(fabric, from.step(number)));
            self.core.store(fabric, to.data.step(number));
            self.core.compute(self.config.copy_line);
        }
        line = end;
        if line == lines {
            self.copies.copies += 1;
            self.copies.bytes += packet.bytes.0;
            (transfer, line) = (transfer + 1, 0);
        }
        if transfer < burst.transfers.len() {
            self.phase = SwitchPhase::Copy { burst, transfer, line, arrived };
            self.events.copying += self.core.now() - begun;
        } else {
            self.core.wait_until(arrived);
            self.phase = after(burst.direction);
            self.events.copying += self.core.now() - begun;
            self.deliver(fabric, &burst);
        }
        Turn::Busy(self.core.now())
    }

    /// Hands a burst whose copies have ended to the guest, or to the send queue.
    fn deliver<T: Tracer>(&mut self, fabric: &mut Fabric<T>, burst: &SwitchBurst) {
        let mut guest = self.guest.borrow_mut();
        match burst.direction {
            SwitchDirection::ToGuest => {
                let to_guest = |it: &Transfer| Packet { buffer: it.to, ..it.packet };
                for transfer in &burst.transfers {
                    self.core.store(fabric, header_line(transfer.to));
                }
                self.in_guest += burst.transfers.len();
                let filled: Vec<Packet> = burst.transfers.iter().map(to_guest).collect();
                guest.receive.give_back(&mut self.core, fabric, filled);
                drop(guest);
                let ended: Vec<u32> =
                    burst.transfers.iter().map(|it| it.packet.buffer.id).collect();
                self.drivers.free(&mut self.core, fabric, &ended);
            }
            SwitchDirection::FromGuest => {
                self.held -= burst.transfers.len();
                self.account.work += burst.transfers.len() as u64;
                for transfer in &burst.transfers {
                    let packet = Packet { buffer: transfer.to, ..transfer.packet };
                    self.core.store(fabric, self.drivers.pool.borrow().mbuf_line(packet.buffer.id));
                    self.drivers.tx.enqueue(&mut self.core, fabric, packet);
                }
                let emptied: Vec<Buffer> =
                    burst.transfers.iter().map(|it| it.packet.buffer).collect();
                guest.send.give_back(&mut self.core, fabric, emptied);
            }
        }
    }

    /// Looks for copies of engines that have ended.
    fn complete<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        self.phase = SwitchPhase::Send;
        let Some(pipeline) = &mut self.pipeline else { return Turn::Busy(self.core.now()) };
        self.has_worked |= pipeline.reap(&mut OnCore { core: &mut self.core, fabric, queues });
        while let Some(burst) = self.pipeline.as_mut().and_then(Pipeline::next_in_order) {
            let bytes: u64 = burst.transfers.iter().map(|it| it.packet.bytes.0).sum();
            let copies = burst.transfers.len() as u64;
            self.copies.copies += copies;
            self.copies.bytes += bytes;
            self.copies.offloaded += copies;
            self.copies.offloaded_bytes += bytes;
            self.deliver(fabric, &burst);
        }
        Turn::Busy(self.core.now())
    }

    /// Posts a burst to the NIC. Ends the round: without any work the core polls.
    fn send<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Turn {
        let pair = queues.nic_pair(self.drivers.queue);
        let Drivers { pool, rx, tx, .. } = &mut self.drivers;
        let sent = tx.send_burst(&mut self.core, fabric, &mut pair.tx, &mut pool.borrow_mut());
        self.phase = SwitchPhase::Receive;
        if std::mem::take(&mut self.has_worked) || sent > 0 {
            return Turn::Busy(self.core.now());
        }
        let begun = self.core.now();
        self.core.compute(self.config.polling.poll_cycles);
        self.account.idle += self.core.now() - begun;
        let until = rx
            .next_visible(&pair.rx)
            .min(tx.next_chance(&pair.tx))
            .min(TxDriver::next_completion(&pair.tx));
        if self.in_guest > 0 {
            // No device tells the core of what its guest sends.
            return Turn::Busy(self.core.now());
        }
        let now = self.core.now();
        let engines = self.pipeline.as_ref().map(|it| it.offloader.next_known(queues));
        let until = until.min(engines.unwrap_or(Picos::NEVER));
        if until <= now {
            return Turn::Busy(now);
        }
        self.idle_since = Some(now);
        Turn::Idle(until)
    }
}

/// The step that follows the copies of a burst.
fn after(direction: SwitchDirection) -> SwitchPhase {
    match direction {
        SwitchDirection::ToGuest => SwitchPhase::Dequeue,
        SwitchDirection::FromGuest => SwitchPhase::Complete,
    }
}

impl<T: Tracer> Software<T> for VhostSwitch {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(since) = self.idle_since.take() {
            self.account.idle += self.core.now() - since;
        }
        if let Some(pipeline) = &mut self.pipeline {
            let at = &mut OnCore { core: &mut self.core, fabric, queues };
            if let Some(turn) = pipeline.offloader.resume(at) {
                return turn;
            }
        }
        match std::mem::replace(&mut self.phase, SwitchPhase::Receive) {
            SwitchPhase::Receive => self.receive(fabric, queues),
            SwitchPhase::Dequeue => self.dequeue(fabric, queues),
            SwitchPhase::Copy { burst, transfer, line, arrived } => {
                self.copy(fabric, burst, (transfer, line), arrived)
            }
            SwitchPhase::Complete => self.complete(fabric, queues),
            SwitchPhase::Send => self.send(fabric, queues),
        }
    }

    fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    fn account(&self, now: Picos) -> Account {
        let waited = self.idle_since.map_or(Picos::ZERO, |since| now.saturating_sub(since));
        let Drivers { pool, rx, tx, .. } = &self.drivers;
        let pipeline = self.pipeline.as_ref();
        let idle = self.account.idle + waited;
        Account {
            idle,
            packets_in_work: self.held + rx.pending() + tx.waiting(),
            packets_in_ring: tx.in_ring(),
            buffers_free: pool.borrow().free(),
            offload: pipeline.map(|it| it.offloader.times(now)).unwrap_or_default(),
            copies: self.copies,
            switch: SwitchCounts {
                working: now.saturating_sub(idle),
                overtaking: pipeline.map_or(0, |it| it.overtaking),
                ..self.events
            },
            ..self.account
        }
    }

    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.pipeline.as_mut().map(|pipeline| pipeline.offloader.take_phases())
    }
}

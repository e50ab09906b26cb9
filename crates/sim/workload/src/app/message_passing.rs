//! Ranks that pass messages through shared memory: ping-pong, remote writes, all-reduce.
//!
//! Models: a rank on each core with a program of steps, in each of which it sends to one rank and receives
//! from another; copies into and out of [`channel`]s by the core or by copy engines, several at a time; sums
//! by the core.
//! Source: ASPLOS'24, section 6.3 and appendix A: libfabric and MPI with copies by DSA; the ring algorithm
//! for all-reduce.
//! Simplifies: ranks do nothing else; a rank that waits polls.

pub mod channel;

use crate::driver::core_mover::CoreMover;
use crate::driver::offloader::{Offloader, OnCore};
use channel::MessageChannel;
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::dsa::descriptor::{Descriptor, Destination, Operation};
use model::device::queues::{QueueId, Queues};
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::reading::Reading;
use model::software::{Account, CopyCounts, DESCRIPTOR_PHASES, OffloadTimes, Software, Turn};
use model::tracer::Tracer;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use units::{Cycles, LINE_BYTES, LineAddr, Picos};

/// Lines that a core adds up in a turn.
const LINES_PER_TURN: u64 = 16;

/// A channel that two ranks share.
pub type SharedChannel = Rc<RefCell<MessageChannel>>;

/// A step of a rank's program.
#[derive(Clone, Debug)]
pub struct Step {
    /// The message to send: its channel, its bytes, and the first line of its data. None: no message.
    pub send: Option<(SharedChannel, u64, LineAddr)>,
    /// The message to receive: its channel, its bytes, and the first line of its destination. None: no
    /// message.
    pub receive: Option<(SharedChannel, u64, LineAddr)>,
    /// The line from which on what was received is added to the rank's own data.
    pub sum: Option<LineAddr>,
    /// Messages that are complete when the step ends, and their bytes.
    pub messages: (u64, u64),
}

/// Cycles that a rank takes for calls, looks at channels and sums.
#[derive(Clone, Copy, Debug)]
pub struct RankConfig {
    /// Cycles of a call to send or to receive.
    pub call: Cycles,
    /// Cycles of a look at a channel.
    pub poll: Cycles,
    /// Cycles to add a line to another.
    pub sum: Cycles,
}

/// A piece of a message that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessagePiece {
    tag: u64,
    bytes: u64,
    has_ended: bool,
}

/// One direction of a step.
#[derive(Debug, Default)]
struct StepProgress {
    /// Bytes whose copy has begun, and those that have been handed on.
    begun: u64,
    done: u64,
    /// Pieces that are copied, in their order.
    pieces: VecDeque<MessagePiece>,
}

/// A rank on its core, with its program and the state of its present step.
#[derive(Debug)]
pub struct MessageRank {
    config: RankConfig,
    core: Core,
    mover: CoreMover,
    engines: Option<Offloader>,
    program: Vec<Step>,
    next: usize,
    sending: StepProgress,
    receiving: StepProgress,
    /// Lines that are summed up, once all has arrived.
    summed: u64,
    /// The tag of the piece that the core copies, and of the next piece.
    own_piece: Option<u64>,
    next_tag: u64,
    /// When the program began its present round.
    begun: Picos,
    own: OffloadTimes,
    account: Account,
    latency_ns: Histogram<u64>,
}

impl StepProgress {
    /// Notes the end of a piece's copy, if it belongs here.
    fn end(&mut self, tag: u64) -> bool {
        let piece = self.pieces.iter_mut().find(|piece| piece.tag == tag);
        piece.map(|piece| piece.has_ended = true).is_some()
    }

    /// The oldest piece, if its copy has ended.
    fn pop(&mut self) -> Option<u64> {
        self.pieces.front().filter(|piece| piece.has_ended)?;
        let piece = self.pieces.pop_front()?;
        self.done += piece.bytes;
        Some(piece.bytes)
    }
}

impl MessageRank {
    /// A rank at time zero that repeats `program`.
    ///
    /// # Panics
    /// Without steps. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(
        config: RankConfig,
        core: Core,
        (mover, engines): (CoreMover, Option<Offloader>),
        program: Vec<Step>,
    ) -> Self {
        assert!(!program.is_empty());
        Self {
            config,
            core,
            mover,
            engines,
            program,
            next: 0,
            sending: StepProgress::default(),
            receiving: StepProgress::default(),
            summed: 0,
            own_piece: None,
            next_tag: 0,
            begun: Picos::ZERO,
            own: OffloadTimes::default(),
            account: Account::default(),
            latency_ns: latency_histogram(),
        }
    }

    /// Whether another copy may begin.
    fn has_room(&self) -> bool {
        match &self.engines {
            Some(engines) => engines.has_room(),
            None => self.own_piece.is_none(),
        }
    }

    /// Begins the copy of a piece; returns a turn if the core waits for an answer.
    fn copy<T: Tracer>(
        &mut self,
        at: (&mut Fabric<T>, &mut Queues),
        (source, second, bytes): (LineAddr, LineAddr, u64),
    ) -> (MessagePiece, Option<Turn>) {
        let copy = Descriptor {
            id: 0,
            operation: Operation::Move,
            bytes,
            source,
            second,
            third: second,
            record: second,
            destination: Destination::Cache,
            fence: false,
            block_on_fault: true,
            wants_record: true,
        };
        let tag = self.next_tag;
        self.next_tag += 1;
        self.account.copies.copies += 1;
        self.account.copies.bytes += bytes;
        let piece = MessagePiece { tag, bytes, has_ended: false };
        let (fabric, queues) = at;
        let Some(engines) = &mut self.engines else {
            self.mover.begin(&mut self.core, &copy);
            self.own_piece = Some(tag);
            return (piece, None);
        };
        let CopyCounts { offloaded, offloaded_bytes, .. } = &mut self.account.copies;
        *offloaded += 1;
        *offloaded_bytes += bytes;
        let at = &mut OnCore { core: &mut self.core, fabric, queues };
        (piece, engines.offload(at, tag, &[copy]))
    }

    /// Begins to receive or to send a piece, if one is ready. Returns the turn that follows.
    fn begin<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Option<Turn> {
        let Step { send, receive, .. } = self.program[self.next].clone();
        if let Some((channel, bytes, first)) = receive
            && self.receiving.begun < bytes
            && let Some((line, piece)) = channel.borrow_mut().begin_drain(&mut self.core, fabric)
        {
            let offset = self.receiving.begun;
            self.receiving.begun += piece;
            let Some(line) = line else {
                self.receiving.done += piece;
                return Some(Turn::Busy(self.core.now()));
            };
            let to = first.step(offset / LINE_BYTES);
            let (piece, waits) = self.copy((fabric, queues), (line, to, piece));
            self.receiving.pieces.push_back(piece);
            return Some(waits.unwrap_or(Turn::Busy(self.core.now())));
        }
        let (channel, bytes, first) = send.filter(|(_, bytes, _)| self.sending.begun < *bytes)?;
        let offset = self.sending.begun;
        let piece = channel.borrow().piece(offset, bytes);
        let to = channel.borrow_mut().begin_fill(&mut self.core, fabric, offset)?;
        self.sending.begun += piece;
        let from = first.step(offset / LINE_BYTES);
        let (piece, waits) = self.copy((fabric, queues), (from, to, piece));
        self.sending.pieces.push_back(piece);
        Some(waits.unwrap_or(Turn::Busy(self.core.now())))
    }

    /// Goes on with copies under way. Returns a turn if one has ended or the core is busy with it.
    fn go_on<T: Tracer>(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues) -> Option<Turn> {
        let ended = match (&mut self.engines, self.own_piece) {
            (Some(engines), _) => {
                let at = &mut OnCore { core: &mut self.core, fabric, queues };
                engines.reap(at).map(|done| done.tag)?
            }
            (None, Some(tag)) => {
                let begun = self.core.now();
                let has_ended = self.mover.advance(&mut self.core, fabric);
                self.own.work += self.core.now() - begun;
                if !has_ended {
                    return Some(Turn::Busy(self.core.now()));
                }
                self.own_piece = None;
                tag
            }
            (None, None) => return None,
        };
        let is_known = self.sending.end(ended) || self.receiving.end(ended);
        debug_assert!(is_known, "the piece is under way");
        let Step { send, receive, .. } = self.program[self.next].clone();
        while let Some(bytes) = self.sending.pop() {
            self.own.bytes += bytes;
            if let Some((channel, ..)) = &send {
                channel.borrow_mut().end_fill(&mut self.core, fabric, bytes);
            }
        }
        while let Some(bytes) = self.receiving.pop() {
            self.own.bytes += bytes;
            if let Some((channel, ..)) = &receive {
                channel.borrow_mut().end_drain(&mut self.core, fabric);
            }
        }
        Some(Turn::Busy(self.core.now()))
    }

    /// Adds up some lines of what has arrived, or ends the step if nothing is left to do.
    fn end_step<T: Tracer>(&mut self, fabric: &mut Fabric<T>) -> bool {
        let step = &self.program[self.next];
        let bytes = |part: &Option<(SharedChannel, u64, LineAddr)>| {
            part.as_ref().map_or(0, |(_, bytes, _)| *bytes)
        };
        if self.sending.done < bytes(&step.send) || self.receiving.done < bytes(&step.receive) {
            return false;
        }
        if let (Some(to), Some((_, bytes, from))) = (step.sum, &step.receive) {
            let all = bytes.div_ceil(LINE_BYTES);
            let end = all.min(self.summed + LINES_PER_TURN);
            for line in self.summed..end {
                self.core.load_independent(fabric, from.step(line));
                self.core.load_independent(fabric, to.step(line));
                self.core.store(fabric, to.step(line));
                self.core.compute(self.config.sum);
            }
            self.summed = end;
            if end < all {
                return true;
            }
        }
        let (messages, bytes) = step.messages;
        self.account.work += messages;
        self.account.message_bytes += bytes;
        (self.sending, self.receiving, self.summed) = Default::default();
        self.next = (self.next + 1) % self.program.len();
        if self.next == 0 {
            let now = self.core.now();
            self.latency_ns.saturating_record((now - self.begun).0 / 1_000);
            self.begun = now;
        }
        self.core.compute(self.config.call);
        true
    }
}

impl<T: Tracer> Software<T> for MessageRank {
    fn step(&mut self, fabric: &mut Fabric<T>, queues: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(engines) = &mut self.engines
            && let Some(turn) = engines.resume(&mut OnCore { core: &mut self.core, fabric, queues })
        {
            return turn;
        }
        if let Some(turn) = self.go_on(fabric, queues) {
            return turn;
        }
        if self.end_step(fabric) {
            return Turn::Busy(self.core.now());
        }
        if self.has_room()
            && let Some(turn) = self.begin(fabric, queues)
        {
            return turn;
        }
        let begun = self.core.now();
        self.core.compute(self.config.poll);
        self.account.idle += self.core.now() - begun;
        Turn::Busy(self.core.now())
    }

    fn queues(&self) -> &[QueueId] {
        self.engines.as_ref().map_or(&[], Offloader::queues)
    }

    fn account(&self, now: Picos) -> Account {
        let engines = self.engines.as_ref().map(|engines| engines.times(now));
        Account { offload: engines.unwrap_or_default().plus(&self.own), ..self.account }
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }

    fn take_descriptor_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.engines.as_mut().map(Offloader::take_phases)
    }
}

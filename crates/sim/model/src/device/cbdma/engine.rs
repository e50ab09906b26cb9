//! The device: its channels at work, and the order of what happens in them.
//!
//! Models: doorbells seen; events of all channels in the order of time.
//! Source: Linux drivers/dma/ioat; SPDK's ioat driver.

use super::channel::Channel;
use super::job::{CopyJob, CopyPiece};
use super::{CbdmaConfig, CbdmaCounters, PIECE_LINES};
use crate::fabric::Fabric;
use crate::tracer::Tracer;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::Picos;

/// An event inside the device, scheduled for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChannelEvent {
    /// Descriptors have arrived at a channel: this many.
    Fetched(usize, u64),
    /// A channel may ask for lines.
    Issue(usize),
    /// A piece's data has arrived.
    Arrived(CopyPiece),
    /// A piece has been handed to its destination.
    Handed(CopyPiece),
    /// All data of a channel's oldest descriptor is visible.
    Complete(usize),
}

/// State of a channel that serves its descriptors.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelWork {
    /// Number of descriptors that doorbells have told of.
    pub known: u64,
    /// Number of descriptors whose fetch has been asked for.
    pub asked: u64,
    /// When the doorbells of descriptors that are not fetched were seen: up to which number.
    pub seen: VecDeque<(u64, Picos)>,
    /// Descriptors fetched and not completed, the oldest first.
    pub jobs: VecDeque<CopyJob>,
    /// Number of descriptors completed.
    pub done: u64,
    /// Number of the descriptor that asks for lines.
    pub issuing: u64,
    /// Time at which the next descriptor may begin.
    pub next_begin: Picos,
    /// Number of lines asked for and not handed on.
    pub lines: u64,
    /// Time at which its last completion is visible: the next one's write is ordered behind it.
    pub recorded: Picos,
    /// Whether the completion of the oldest descriptor is on its way.
    pub is_completing: bool,
    pub busy_since: Option<Picos>,
    pub short_since: Option<Picos>,
}

/// The CBDMA of a socket, with the state of its channels.
#[derive(Clone, Debug)]
pub struct Cbdma {
    pub(super) config: CbdmaConfig,
    pub(super) channels: Vec<ChannelWork>,
    events: BinaryHeap<Reverse<(Picos, u64, ChannelEvent)>>,
    next_event: u64,
    pub(super) counters: CbdmaCounters,
}

impl Cbdma {
    /// Idle channels.
    ///
    /// # Panics
    /// If a number of the configuration is 0. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(config: CbdmaConfig) -> Self {
        assert!(config.channels > 0 && config.fetched_descriptors > 0);
        assert!(u64::from(config.lines_per_channel) >= PIECE_LINES);
        Self {
            channels: vec![ChannelWork::default(); config.channels as usize],
            events: BinaryHeap::new(),
            next_event: 0,
            counters: CbdmaCounters::default(),
            config,
        }
    }

    /// Parameters of the device.
    #[must_use]
    pub fn config(&self) -> &CbdmaConfig {
        &self.config
    }

    /// Counters of the device at `now`, with waits that still continue.
    #[must_use]
    pub fn counters_at(&self, now: Picos) -> CbdmaCounters {
        let mut counters = self.counters;
        let since = |start: Option<Picos>| start.map_or(Picos::ZERO, |it| now.saturating_sub(it));
        for channel in &self.channels {
            counters.channel_busy += since(channel.busy_since);
            counters.line_wait += since(channel.short_since);
            // Intervals are given in advance and without gaps: what lies ahead has not passed.
            let ahead = channel.next_begin.saturating_sub(now);
            counters.front_busy = counters.front_busy.saturating_sub(ahead);
        }
        counters
    }

    pub(super) fn counters(&self) -> &CbdmaCounters {
        &self.counters
    }

    pub(super) fn descriptors_in_work(&self) -> u64 {
        self.channels.iter().map(|channel| channel.jobs.len() as u64).sum()
    }

    pub(super) fn lines_in_use(&self) -> u64 {
        self.channels.iter().map(|channel| channel.lines).sum()
    }

    pub(super) fn at(&mut self, time: Picos, event: ChannelEvent) {
        self.events.push(Reverse((time, self.next_event, event)));
        self.next_event += 1;
    }

    pub(super) fn next_event_at(&self) -> Picos {
        self.events.peek().map_or(Picos::NEVER, |Reverse((time, ..))| *time)
    }

    pub(super) fn pop_event(&mut self, now: Picos) -> Option<ChannelEvent> {
        if self.next_event_at() > now {
            return None;
        }
        self.events.pop().map(|Reverse((_, _, event))| event)
    }

    /// A channel sees its next doorbell.
    pub(super) fn see<T: Tracer>(
        &mut self,
        number: usize,
        fabric: &mut Fabric<T>,
        channel: &mut Channel,
        now: Picos,
    ) {
        let Some(doorbell) = channel.doorbells.pop_front() else { return };
        let work = &mut self.channels[number];
        self.counters.doorbells += 1;
        self.counters.submitted += doorbell.count - work.known;
        work.known = doorbell.count;
        work.seen.push_back((doorbell.count, now));
        work.busy_since = work.busy_since.or(Some(now));
        self.fetch(number, fabric, channel, now);
    }

    /// Does what is due. Returns a channel whose client can see something new, and when.
    pub(super) fn act<T: Tracer>(
        &mut self,
        event: ChannelEvent,
        fabric: &mut Fabric<T>,
        channels: &mut [Channel],
        now: Picos,
    ) -> Option<(usize, Picos)> {
        match event {
            ChannelEvent::Fetched(channel, count) => {
                self.fetched(channel, count, fabric, &mut channels[channel], now);
            }
            ChannelEvent::Issue(channel) => self.issue(channel, fabric, now),
            ChannelEvent::Arrived(piece) => self.arrived(piece, fabric, now),
            ChannelEvent::Handed(piece) => self.handed(piece, fabric, now),
            ChannelEvent::Complete(channel) => {
                return self.complete(channel, fabric, &mut channels[channel], now);
            }
        }
        None
    }
}

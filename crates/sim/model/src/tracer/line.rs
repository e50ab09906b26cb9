//! The trace of one line of memory.
//!
//! Models: no hardware; it records the events of a line from time zero on.
//! Simplifies: a trace ends after [`WatchLine::MOST_EVENTS`] events.

use super::{Event, Tracer};
use units::LineAddr;

/// Records the events of a line, of any agent.
#[derive(Clone, Debug)]
pub struct WatchLine {
    line: LineAddr,
    /// Events in the order of simulation.
    pub events: Vec<Event>,
}

impl WatchLine {
    /// Most events that a trace keeps.
    pub const MOST_EVENTS: usize = 10_000;

    /// A trace of `line`.
    #[must_use]
    pub fn new(line: LineAddr) -> Self {
        Self { line, events: Vec::new() }
    }

    /// The traced line.
    #[must_use]
    pub fn line(&self) -> LineAddr {
        self.line
    }
}

impl Tracer for WatchLine {
    const WATCHING: bool = true;

    fn record(&mut self, event: Event) {
        let pushed_out = event.pushed_out.is_some_and(|out| out.line == self.line);
        if (event.line == self.line || pushed_out) && self.events.len() < Self::MOST_EVENTS {
            self.events.push(event);
        }
    }

    fn packet_arrives(&mut self, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _first: LineAddr) {}
}

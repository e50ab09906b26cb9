//! The story of one line of memory.
//!
//! Models: nothing; it watches the line from the beginning on.
//! Source: none needed.
//! Simplifies: a story ends after [`WatchLine::MOST_EVENTS`] events.

use super::{Event, Tracer};
use units::LineAddr;

/// Keeps what happens to a line, whoever uses it for whatever.
#[derive(Clone, Debug)]
pub struct WatchLine {
    line: LineAddr,
    /// What happened, in the order in which it was simulated.
    pub events: Vec<Event>,
}

impl WatchLine {
    /// Events kept at most.
    pub const MOST_EVENTS: usize = 10_000;

    /// Waits for `line`.
    #[must_use]
    pub fn new(line: LineAddr) -> Self {
        Self { line, events: Vec::new() }
    }

    /// Which line.
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

    fn packet_arrives(&mut self, _sequence: u64, _first: LineAddr, _lines: u64) {}

    fn packet_leaves(&mut self, _sequence: u64) {}
}

//! Buffers of reads, and the requests that wait for one.
//!
//! Models: the buffers of a core; the one that became free last, whose lines are most likely to be cached, is
//! used next.
//! Source: SPDK's buffer pools: a cache of each thread, last in, first out.
//! Simplifies: cores do not share buffers.

use std::collections::VecDeque;
use units::narrow::fit;
use units::{LineAddr, Picos};

/// A buffer in use.
#[derive(Clone, Copy, Debug)]
pub struct ReadBuffer {
    /// First line of the buffer.
    pub first: LineAddr,
    /// Time at which the request arrived whose data it holds.
    pub arrival: Picos,
}

/// The buffers of a core.
#[derive(Debug)]
pub struct TargetBuffers {
    all: Vec<ReadBuffer>,
    free: Vec<u32>,
    /// Arrivals of requests that have none.
    waiting: VecDeque<Picos>,
}

impl TargetBuffers {
    /// Free buffers with these first lines.
    ///
    /// # Panics
    /// Without buffers. Scenarios are checked before they get here.
    #[must_use]
    pub fn new(first_lines: Vec<LineAddr>) -> Self {
        assert!(!first_lines.is_empty());
        let buffer = |first| ReadBuffer { first, arrival: Picos::ZERO };
        Self {
            free: (0..fit(first_lines.len())).rev().collect(),
            all: first_lines.into_iter().map(buffer).collect(),
            waiting: VecDeque::new(),
        }
    }

    /// A request that arrived then waits for a buffer, behind others.
    pub fn wait(&mut self, arrival: Picos) {
        self.waiting.push_back(arrival);
    }

    /// Gives the request that has waited longest a buffer, if there are both.
    pub fn take(&mut self) -> Option<(u32, LineAddr)> {
        let &arrival = self.waiting.front()?;
        let number = self.free.pop()?;
        self.waiting.pop_front();
        let buffer = &mut self.all[number as usize];
        buffer.arrival = arrival;
        Some((number, buffer.first))
    }

    /// A buffer in use.
    #[must_use]
    pub fn buffer(&self, number: u32) -> ReadBuffer {
        self.all[number as usize]
    }

    /// A buffer is free again.
    pub fn free(&mut self, number: u32) {
        self.free.push(number);
    }
}

//! Descriptors that engines have taken and hold back: an injected reordering.

use super::group::Work;
use std::collections::VecDeque;

/// In the order in which they were taken, each with the number of others that go first.
pub(super) struct Held(VecDeque<(Work, u32)>);

impl Held {
    pub fn new() -> Self {
        // A drain passes through here too, and a drain does not allocate.
        Self(VecDeque::with_capacity(8))
    }

    pub fn hold(&mut self, work: Work, others: u32) {
        self.0.push_back((work, others));
    }

    pub fn has_of(&self, queue: usize) -> bool {
        self.0.iter().any(|(work, _)| work.queue == queue)
    }

    /// The first whose others have gone.
    pub fn take_due(&mut self) -> Option<Work> {
        let due = self.0.iter().position(|(_, others)| *others == 0)?;
        self.0.remove(due).map(|(work, _)| work)
    }

    /// The first: nothing else is there.
    pub fn take_first(&mut self) -> Option<Work> {
        self.0.pop_front().map(|(work, _)| work)
    }

    /// Another one goes.
    pub fn pass(&mut self) {
        for (_, others) in &mut self.0 {
            *others = others.saturating_sub(1);
        }
    }

    /// Holds those of a queue back no longer: a drain waits for them.
    pub fn release(&mut self, queue: usize) {
        for (_, others) in self.0.iter_mut().filter(|(work, _)| work.queue == queue) {
            *others = 0;
        }
    }
}

//! Injected reordering: descriptors that engines have taken out of a queue and delay.

use super::group::TakenDescriptor;
use std::collections::VecDeque;

/// The delayed descriptors in the order in which they were taken, each with the number of other descriptors
/// that still go first.
pub(super) struct DelayedDescriptors(VecDeque<(TakenDescriptor, u32)>);

impl DelayedDescriptors {
    pub fn new() -> Self {
        // A drain passes through here too, and a drain does not allocate.
        Self(VecDeque::with_capacity(8))
    }

    /// Delays a descriptor until `others` other descriptors have gone.
    pub fn hold(&mut self, work: TakenDescriptor, others: u32) {
        self.0.push_back((work, others));
    }

    /// Whether a descriptor of a queue is delayed.
    pub fn has_of(&self, queue: usize) -> bool {
        self.0.iter().any(|(work, _)| work.queue == queue)
    }

    /// Takes the first delayed descriptor behind which enough others have gone.
    pub fn take_due(&mut self) -> Option<TakenDescriptor> {
        let due = self.0.iter().position(|(_, others)| *others == 0)?;
        self.0.remove(due).map(|(work, _)| work)
    }

    /// Takes the first delayed descriptor, if no other work exists.
    pub fn take_first(&mut self) -> Option<TakenDescriptor> {
        self.0.pop_front().map(|(work, _)| work)
    }

    /// Counts a descriptor that goes before the delayed ones.
    pub fn pass(&mut self) {
        for (_, others) in &mut self.0 {
            *others = others.saturating_sub(1);
        }
    }

    /// Ends the delay of all descriptors of a queue: a drain waits for them.
    pub fn release(&mut self, queue: usize) {
        for (_, others) in self.0.iter_mut().filter(|(work, _)| work.queue == queue) {
            *others = 0;
        }
    }
}

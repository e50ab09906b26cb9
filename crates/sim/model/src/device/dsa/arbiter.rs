//! The arbiter of a group: which work queue gives the next descriptor to an engine.
//!
//! Models: a counter for each queue, reloaded with its priority when no queue with work has any left;
//! queues in turn.
//! Source: Intel DSA specification, section 4 (priority without starvation).

/// The arbiter of a group.
#[derive(Clone, Debug)]
pub(super) struct Arbiter {
    priorities: Vec<u32>,
    left: Vec<u32>,
    next: usize,
}

impl Arbiter {
    pub(super) fn new(priorities: Vec<u32>) -> Self {
        Self { left: priorities.clone(), priorities, next: 0 }
    }

    /// The queue whose turn it is, among those with work.
    pub(super) fn choose(&mut self, has_work: impl Fn(usize) -> bool) -> Option<usize> {
        let queues = self.left.len();
        if !(0..queues).any(&has_work) {
            return None;
        }
        if (0..queues).all(|queue| self.left[queue] == 0 || !has_work(queue)) {
            self.left.clone_from(&self.priorities);
        }
        let turns = (0..queues).map(|turn| (self.next + turn) % queues);
        let chosen = turns.into_iter().find(|&queue| self.left[queue] > 0 && has_work(queue))?;
        self.left[chosen] -= 1;
        self.next = (chosen + 1) % queues;
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_queues_share_by_priority_and_idle_ones_cost_nothing() {
        let mut arbiter = Arbiter::new(vec![3, 1, 15]);
        let turns: Vec<_> = (0..8).filter_map(|_| arbiter.choose(|queue| queue < 2)).collect();
        assert_eq!(turns.iter().filter(|&&queue| queue == 1).count(), 2);
        assert_eq!(turns.len(), 8);
        assert_eq!(arbiter.choose(|_| false), None);
    }
}

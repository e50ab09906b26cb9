//! The arbiter of a group: it chooses the queue whose descriptor is dispatched next [S 4.2].
//!
//! Each queue has a counter, which begins at its priority. Queues with work and a counter above zero
//! take turns and count down. When every queue with work is at zero, all counters begin again.

/// Weighted round robin among the queues of a group.
#[derive(Clone, Debug)]
pub(super) struct QueueArbiter {
    priorities: Vec<u8>,
    /// Descriptors that each queue may still give before the counters begin again.
    remaining: Vec<u8>,
    next: usize,
}

impl QueueArbiter {
    pub fn new(priorities: Vec<u8>) -> Self {
        Self { remaining: priorities.clone(), priorities, next: 0 }
    }

    /// Chooses the queue that is next, and counts a descriptor of it; `None` if no queue has work.
    pub fn choose(&mut self, has_work: impl Fn(usize) -> bool) -> Option<usize> {
        let queues = self.priorities.len();
        for _ in 0..2 {
            let turns = (0..queues).map(|turn| (self.next + turn) % queues);
            let found = { turns }.find(|&queue| has_work(queue) && self.remaining[queue] > 0);
            if let Some(queue) = found {
                self.remaining[queue] -= 1;
                self.next = (queue + 1) % queues;
                return Some(queue);
            }
            self.remaining.copy_from_slice(&self.priorities);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_queues_get_shares_by_priority() {
        let mut arbiter = QueueArbiter::new(vec![1, 3, 12]);
        let mut shares = [0; 3];
        for _ in 0..160 {
            shares[arbiter.choose(|_| true).expect("all have work")] += 1;
        }
        assert_eq!(shares, [10, 30, 120]);
    }

    #[test]
    fn an_empty_queue_costs_nothing() {
        let mut arbiter = QueueArbiter::new(vec![15, 1]);
        for _ in 0..100 {
            assert_eq!(arbiter.choose(|queue| queue == 1), Some(1));
        }
        assert_eq!(arbiter.choose(|_| false), None);
    }
}

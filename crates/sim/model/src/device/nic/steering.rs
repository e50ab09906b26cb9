//! The choice of a packet's queue.
//!
//! Models: a table of rules that match a flow exactly, then RSS with an indirection table.
//! Source: Microsoft's RSS specification (low bits of the hash choose an entry, entries name queues);
//! DPDK's rte_flow (rules come first).
//! Simplifies: rules cost no time or memory; the indirection table is filled in turn and does not
//! change.

use crate::traffic::Arrival;
use units::narrow::fit;

/// How a port chooses among its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    indirection: Vec<u16>,
    /// Queue of each flow with a rule, by the flow's number.
    rules: Vec<Option<u16>>,
}

impl Steering {
    /// RSS alone: `entries` entries that name `queues` queues in turn.
    ///
    /// # Panics
    /// If there are no entries or no queues. Platforms are checked before they get here.
    #[must_use]
    pub fn rss(entries: u32, queues: usize) -> Self {
        assert!(entries > 0 && queues > 0);
        let indirection = (0..entries as usize).map(|entry| fit(entry % queues)).collect();
        Self { indirection, rules: Vec::new() }
    }

    /// Puts rules before RSS: the queue of each flow number, or none.
    pub fn set_rules(&mut self, rules: Vec<Option<u16>>) {
        self.rules = rules;
    }

    /// The queue of a packet.
    #[must_use]
    pub fn queue(&self, arrival: &Arrival) -> usize {
        let rule = arrival.flow.and_then(|flow| *self.rules.get(flow as usize)?);
        let (hash, entries) = (arrival.rss_hash as usize, self.indirection.len());
        // Most tables have a power of two entries; a mask then avoids a division per packet.
        let entry = if entries.is_power_of_two() { hash & (entries - 1) } else { hash % entries };
        usize::from(rule.unwrap_or(self.indirection[entry]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Picos};

    fn arrival(rss_hash: u32, flow: Option<u32>) -> Arrival {
        Arrival { time: Picos::ZERO, bytes: Bytes(60), rss_hash, flow }
    }

    #[test]
    fn the_low_bits_of_the_hash_choose_the_entry_and_the_entry_the_queue() {
        let steering = Steering::rss(128, 3);
        for (hash, queue) in [(0, 0), (1, 1), (2, 2), (127, 1), (128, 0), (130, 2)] {
            assert_eq!(steering.queue(&arrival(hash, None)), queue, "hash {hash}");
        }
    }

    #[test]
    fn a_rule_comes_before_rss_and_only_for_its_flow() {
        let mut steering = Steering::rss(512, 4);
        steering.set_rules(vec![None, Some(3)]);
        assert_eq!(steering.queue(&arrival(1, Some(1))), 3);
        assert_eq!(steering.queue(&arrival(1, Some(0))), 1);
        assert_eq!(steering.queue(&arrival(1, Some(7))), 1);
        assert_eq!(steering.queue(&arrival(1, None)), 1);
    }
}

//! A packet filter in software.
//!
//! Models: rules in a balanced search tree that every packet walks from its root; each step is a load
//! that depends on the one before it.
//! Source: ATC'20 (a router with 2423 filter rules); Click's IPFilter compiles its rules to a decision
//! tree.
//! Simplifies: the real tree's shape depends on the rules, which are not public: here it is balanced,
//! and the flow's hash decides the path.

use super::super::work::Work;
use crate::host_memory::Region;
use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::LINE_BYTES;

/// Bytes of a node: offset, mask, value, two successors.
const NODE_BYTES: u64 = 16;

/// Rules in memory; all cores share them.
#[derive(Clone, Debug)]
pub struct RuleTree {
    rules: u32,
    nodes: Region,
    /// Cost of one step.
    step: Work,
}

impl RuleTree {
    /// Bytes of a tree of `rules` rules.
    #[must_use]
    pub fn bytes(rules: u32) -> u64 {
        (u64::from(rules) + 1) * NODE_BYTES
    }

    /// A tree of `rules` rules in memory of [`Self::bytes`].
    #[must_use]
    pub fn new(rules: u32, nodes: Region, step: Work) -> Self {
        Self { rules, nodes, step }
    }

    /// Walks the tree for the flow of `hash`; returns the number of steps.
    pub fn classify<T: Tracer>(&self, core: &mut Core, fabric: &mut Fabric<T>, hash: u32) -> u32 {
        // The successors of node n are 2n and 2n + 1; the root is node 1.
        let (mut node, mut steps) = (1, 0);
        while node <= u64::from(self.rules) {
            core.load(fabric, self.nodes.line(node * NODE_BYTES / LINE_BYTES));
            self.step.run_on(core);
            node = 2 * node + u64::from(hash.rotate_left(steps) >> 31);
            steps += 1;
        }
        steps
    }
}

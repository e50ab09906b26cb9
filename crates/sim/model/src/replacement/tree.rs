//! Tree-PLRU: one bit per inner node of a binary tree over the ways of a set.
//!
//! Models: each use or fill of a way turns the nodes above it to the other side; the victim is the way
//! that the nodes point to.
//! Source: the textbook policy.
//! Simplifies: if the number of ways is not a power of two, they are at the left of the tree over the
//! next power of two. A node with no candidate on one side, because the ways are absent or outside the
//! mask, leads to the other side.

use tag_array::Table;
use units::{SetIndex, WayMask};

/// Leaves of the largest tree. Every smaller one is stored as its left end, so that the nodes above a
/// way are the same for all.
const LEAVES: u32 = 32;
/// Per way, the nodes above it.
const ABOVE: [u32; LEAVES as usize] = nodes_above(false);
/// Per way, the nodes above it that have it on their left side.
const WITH_WAY_ON_THE_LEFT: [u32; LEAVES as usize] = nodes_above(true);

const fn nodes_above(only_if_on_the_left: bool) -> [u32; LEAVES as usize] {
    let mut nodes = [0; LEAVES as usize];
    let mut way = 0;
    while way < LEAVES {
        let mut node = LEAVES + way;
        while node > 1 {
            let on_the_left = node & 1 == 0;
            node /= 2;
            if on_the_left || !only_if_on_the_left {
                nodes[way as usize] |= 1 << node;
            }
        }
        way += 1;
    }
    nodes
}

/// The trees of all sets.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    /// Bit n of a set is node n: 1 is the root over all leaves, 2n and 2n + 1 are the sides of n. A
    /// set bit points to the right, where the higher ways are.
    nodes: Table<u32>,
    /// Leaves of the tree over the ways, a power of two.
    leaves: u32,
}

impl Trees {
    /// Trees that all point to the lowest way.
    pub(super) fn new(sets: u32, ways: u32) -> Self {
        Self { nodes: Table::new(0, sets as usize), leaves: ways.next_power_of_two() }
    }

    /// Turns all nodes above `way` to the other side.
    #[inline]
    pub(super) fn point_away(&mut self, set: SetIndex, way: u32) {
        let nodes = &mut self.nodes[set.0 as usize];
        *nodes = *nodes & !ABOVE[way as usize] | WITH_WAY_ON_THE_LEFT[way as usize];
    }

    /// The way of `within` that the nodes point to.
    #[inline]
    pub(super) fn follow(&self, set: SetIndex, within: WayMask) -> u32 {
        let nodes = self.nodes[set.0 as usize];
        let (mut node, mut leaves) = (LEAVES / self.leaves, self.leaves);
        let (mut candidates, mut lowest_way) = (within.0, 0);
        while leaves > 1 {
            leaves /= 2;
            let left = candidates & ((1 << leaves) - 1);
            let right = candidates >> leaves;
            let to_the_right = right != 0 && (left == 0 || nodes >> node & 1 == 1);
            candidates = if to_the_right { right } else { left };
            lowest_way += if to_the_right { leaves } else { 0 };
            node = 2 * node + u32::from(to_the_right);
        }
        lowest_way
    }
}

//! The order in which a fixed number of slots were last used.
//!
//! Models: exact LRU, in constant time per use, for structures of any size.
//! Source: the textbook's doubly linked list, closed to a ring by a node that belongs to no slot.

use tag_array::Table;
use units::narrow::fit;

/// The node between the newest and the oldest; slot s is node s + 1.
const ENDS: usize = 0;

#[derive(Clone, Copy, Debug)]
struct RecencyNode<T> {
    value: T,
    older: u32,
    newer: u32,
}

/// Slots with a value each, in order of use.
#[derive(Clone, Debug)]
pub(crate) struct Recency<T: Copy> {
    nodes: Table<RecencyNode<T>>,
}

impl<T: Copy> Recency<T> {
    /// All slots with the value `blank`; slot 0 is the newest.
    ///
    /// # Panics
    /// If there are no slots, or 2^31 and more. Sizes are checked before they get here.
    #[must_use]
    pub(crate) fn new(slots: u32, blank: T) -> Self {
        assert!((1..1 << 31).contains(&slots));
        let node = RecencyNode { value: blank, older: 0, newer: 0 };
        let mut nodes = Table::new(node, slots as usize + 1);
        for (node, number) in nodes.iter_mut().zip(0..) {
            node.older = if number == slots { 0 } else { number + 1 };
            node.newer = if number == 0 { slots } else { number - 1 };
        }
        Self { nodes }
    }

    /// The value of a slot.
    #[inline]
    pub(crate) fn value(&self, slot: usize) -> &T {
        &self.nodes[slot + 1].value
    }

    /// As [`Self::value`], for changes.
    #[inline]
    pub(crate) fn value_mut(&mut self, slot: usize) -> &mut T {
        &mut self.nodes[slot + 1].value
    }

    /// The values of all slots.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.nodes[1..].iter_mut().map(|node| &mut node.value)
    }

    /// The slot used longest ago.
    #[inline]
    pub(crate) fn oldest(&self) -> usize {
        self.nodes[ENDS].newer as usize - 1
    }

    /// Marks the slot as used: it becomes the newest.
    #[inline]
    pub(crate) fn renew(&mut self, slot: usize) {
        let newest = self.nodes[ENDS].older as usize;
        if slot + 1 != newest {
            self.unlink(slot + 1);
            self.link_newer_than(slot + 1, newest);
        }
    }

    /// Frees the slot: it becomes the oldest.
    #[inline]
    pub(crate) fn retire(&mut self, slot: usize) {
        self.unlink(slot + 1);
        self.link_newer_than(slot + 1, ENDS);
    }

    #[inline]
    fn unlink(&mut self, node: usize) {
        let RecencyNode { older, newer, .. } = self.nodes[node];
        self.nodes[newer as usize].older = older;
        self.nodes[older as usize].newer = newer;
    }

    /// Links a node in as the next newer one of `older`. [`ENDS`] counts as older than the oldest.
    #[inline]
    fn link_newer_than(&mut self, node: usize, older: usize) {
        let newer = self.nodes[older].newer;
        self.nodes[node].older = fit(older);
        self.nodes[node].newer = newer;
        self.nodes[newer as usize].older = fit(node);
        self.nodes[older].newer = fit(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The reference lists slots from the newest to the oldest.
        #[test]
        fn the_oldest_slot_is_that_of_a_plain_list(
            slots in 1u32..8,
            steps in prop::collection::vec((0usize..8, any::<bool>()), 1..100),
        ) {
            let mut recency = Recency::new(slots, ());
            let mut list: Vec<usize> = (0..slots as usize).collect();
            for (slot, used) in steps {
                let slot = slot % slots as usize;
                list.retain(|&other| other != slot);
                if used {
                    recency.renew(slot);
                    list.insert(0, slot);
                } else {
                    recency.retire(slot);
                    list.push(slot);
                }
                prop_assert_eq!(Some(&recency.oldest()), list.last());
            }
            // The whole order, by using the oldest repeatedly.
            for &expected in list.iter().rev() {
                prop_assert_eq!(recency.oldest(), expected);
                recency.renew(expected);
            }
        }
    }
}

//! Chains of buffers: what the mbufs of a pool say of the next one of their packet.
//!
//! Models: the field `next` of an mbuf, apart from the caches, which hold no data.
//! Source: DPDK rte_mbuf_core.h.

/// A buffer with none behind it.
const LAST: u32 = u32::MAX;

/// The next buffer of each buffer of a pool. It takes memory from the first chain on.
#[derive(Debug)]
pub(super) struct Chains {
    buffers: u32,
    next: Vec<u32>,
}

impl Chains {
    pub(super) fn new(buffers: u32) -> Self {
        Self { buffers, next: Vec::new() }
    }

    pub(super) fn link(&mut self, id: u32, next: u32) {
        self.next.resize(self.buffers as usize, LAST);
        self.next[id as usize] = next;
    }

    pub(super) fn behind(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |id: &u32| self.next.get(*id as usize).copied().filter(|&next| next != LAST);
        std::iter::successors(next(&first), next)
    }

    pub(super) fn take(&mut self, first: u32, out: &mut Vec<u32>) {
        let from = out.len();
        out.push(first);
        out.extend(self.behind(first));
        if self.next.is_empty() {
            return;
        }
        for &id in &out[from..] {
            self.next[id as usize] = LAST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_taken_apart_once() {
        let mut chains = Chains::new(8);
        for (id, next) in [(3, 5), (5, 1)] {
            chains.link(id, next);
        }
        let mut all = Vec::new();
        chains.take(3, &mut all);
        assert_eq!(all, [3, 5, 1]);
        all.clear();
        chains.take(3, &mut all);
        chains.take(7, &mut all);
        assert_eq!(all, [3, 7]);
    }
}

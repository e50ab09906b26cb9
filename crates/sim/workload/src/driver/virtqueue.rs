//! A virtqueue: what a guest and the switch on the host tell each other about buffers of the guest.
//!
//! Models: a split ring: the guest writes descriptors and makes them available, the host reads them and
//! returns them used; lines of the three tables and of the buffers move between the cores of both sides.
//! Source: Virtual I/O Device (VIRTIO) specification 1.2, section 2.7; DPDK's vhost library and virtio
//! driver, which poll.
//! Simplifies: a packet takes one descriptor; neither side notifies the other; the line of an index is the
//! first of its table. The content is kept apart from the caches, as for the rings of a NIC.

use crate::host_memory::Arena;
use model::core::Core;
use model::device::ring::Ring;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::Picos;

/// Bytes of a descriptor, of an entry of the available ring, and of one of the used ring.
const DESCRIPTOR_BYTES: u64 = 16;
const AVAILABLE_BYTES: u64 = 2;
const USED_BYTES: u64 = 8;

/// One side of a ring: entries that became visible, and the count of those ever written.
#[derive(Debug)]
struct VirtqueueTable<E> {
    lines: Ring,
    entries: VecDeque<(Picos, E)>,
    written: u64,
    read: u64,
}

/// A queue of buffers: the guest makes `A` available, the host returns `U`.
#[derive(Debug)]
pub struct Virtqueue<A, U> {
    descriptors: Ring,
    available: VirtqueueTable<A>,
    used: VirtqueueTable<U>,
}

impl<E> VirtqueueTable<E> {
    fn new(entries: u32, entry_bytes: u64, arena: &mut Arena) -> Self {
        let first = arena.place(Ring::bytes(entries, entry_bytes));
        let lines = Ring { first, entries, entry_bytes };
        Self { lines, entries: VecDeque::new(), written: 0, read: 0 }
    }

    /// Writes an entry. The other side sees it when [`Self::publish`] has written the index.
    fn write<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>, entry: E) {
        core.store(fabric, self.lines.line_of(self.written));
        self.written += 1;
        self.entries.push_back((Picos::NEVER, entry));
    }

    fn publish<T: Tracer>(&mut self, core: &mut Core, fabric: &mut Fabric<T>) {
        let visible = core.store(fabric, self.lines.first);
        let hidden = self.entries.iter_mut().rev().take_while(|(at, _)| *at == Picos::NEVER);
        hidden.for_each(|(at, _)| *at = visible);
    }

    fn next_visible(&self) -> Picos {
        self.entries.front().map_or(Picos::NEVER, |(visible, _)| *visible)
    }

    /// Reads the index and up to `most` visible entries, with their numbers.
    fn read<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        most: usize,
    ) -> Vec<(u64, E)> {
        core.load(fabric, self.lines.first);
        let now = core.now();
        let mut taken = Vec::new();
        while taken.len() < most
            && self.next_visible() <= now
            && let Some((_, entry)) = self.entries.pop_front()
        {
            core.load_independent(fabric, self.lines.line_of(self.read));
            taken.push((self.read, entry));
            self.read += 1;
        }
        taken
    }
}

impl<A, U> Virtqueue<A, U> {
    /// An empty queue with its tables in `arena`.
    #[must_use]
    pub fn new(entries: u32, arena: &mut Arena) -> Self {
        let first = arena.place(Ring::bytes(entries, DESCRIPTOR_BYTES));
        Self {
            descriptors: Ring { first, entries, entry_bytes: DESCRIPTOR_BYTES },
            available: VirtqueueTable::new(entries, AVAILABLE_BYTES, arena),
            used: VirtqueueTable::new(entries, USED_BYTES, arena),
        }
    }

    /// Bytes of its tables, with what their alignment to lines may add.
    #[must_use]
    pub fn arena_bytes(entries: u32) -> u64 {
        Ring::bytes(entries, DESCRIPTOR_BYTES + AVAILABLE_BYTES + USED_BYTES)
            + 3 * units::LINE_BYTES
    }

    /// The guest has made buffers available before time zero.
    pub fn stock(&mut self, buffers: impl IntoIterator<Item = A>) {
        for buffer in buffers {
            self.available.written += 1;
            self.available.entries.push_back((Picos::ZERO, buffer));
        }
    }

    /// The guest makes buffers available.
    pub fn offer<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        buffers: impl IntoIterator<Item = A>,
    ) {
        for buffer in buffers {
            core.store(fabric, self.descriptors.line_of(self.available.written));
            self.available.write(core, fabric, buffer);
        }
        self.available.publish(core, fabric);
    }

    /// The host takes up to `most` available buffers.
    pub fn take<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        most: usize,
    ) -> Vec<A> {
        let taken = self.available.read(core, fabric, most);
        let read = |(number, buffer)| {
            core.load_independent(fabric, self.descriptors.line_of(number));
            buffer
        };
        taken.into_iter().map(read).collect()
    }

    /// The host returns buffers.
    pub fn give_back<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        buffers: impl IntoIterator<Item = U>,
    ) {
        for buffer in buffers {
            self.used.write(core, fabric, buffer);
        }
        self.used.publish(core, fabric);
    }

    /// The guest takes up to `most` buffers that the host has returned.
    pub fn reclaim<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        most: usize,
    ) -> Vec<U> {
        self.used.read(core, fabric, most).into_iter().map(|(_, buffer)| buffer).collect()
    }

    /// When the host can take the next buffer.
    #[must_use]
    pub fn next_available(&self) -> Picos {
        self.available.next_visible()
    }
}

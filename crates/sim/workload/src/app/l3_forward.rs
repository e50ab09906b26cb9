//! L3 forwarder and packet sink: applications that read headers.
//!
//! Models: a look-up of the destination in a routing table, time to live and MAC addresses rewritten in
//! the header line; or a receiver that reads the header and drops the packet. Either may read the
//! payload too.
//! Source: DPDK l3fwd with a longest-prefix-match table (24 bits of the address index 4-byte entries,
//! one access per packet); ISPASS'20 (receive with headers-only processing); ATC'20 (header-only
//! applications).
//! Simplifies: the flow's hash spreads destinations over consecutive /24 networks; no prefix is longer
//! than 24 bits; each packet costs the same work.

use super::packet_loop::{Fate, Handler};
use super::work::Work;
use crate::driver::mempool::Mempool;
use crate::host_memory::Region;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::LINE_BYTES;

/// Bytes of an entry of the routing table.
pub const ROUTE_BYTES: u64 = 4;

/// Access to the lines of a packet after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// No access.
    Untouched,
    /// The core reads the lines.
    Read,
}

impl Payload {
    /// Reads the lines of a packet after the first, if the application does.
    pub fn touch<T: Tracer>(
        self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        (packet, pool): (&Packet, &Mempool),
    ) {
        if self == Self::Read {
            for line in 1..packet.bytes.0.div_ceil(LINE_BYTES) {
                core.load_independent(fabric, pool.data_line(packet, line));
            }
        }
    }
}

/// An L3 forwarder's work on a packet.
#[derive(Clone, Debug)]
pub struct L3Forward {
    work: Work,
    payload: Payload,
    /// First-level table of the networks that traffic goes to.
    table: Region,
    networks: u64,
    /// The pool, which gives the buffers of a chained packet.
    pool: Rc<RefCell<Mempool>>,
}

impl L3Forward {
    /// A forwarder whose routing table, of which `table` has the memory and the number of networks, has
    /// an entry for each of them.
    #[must_use]
    pub fn new(
        work: Work,
        payload: Payload,
        (table, networks): (Region, u64),
        pool: Rc<RefCell<Mempool>>,
    ) -> Self {
        Self { work, payload, table, networks, pool }
    }
}

impl Handler for L3Forward {
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate {
        core.load(fabric, packet.buffer.data);
        let network = (u64::from(packet.rss_hash) * self.networks) >> 32;
        core.load(fabric, self.table.line(network * ROUTE_BYTES / LINE_BYTES));
        self.payload.touch(core, fabric, (packet, &self.pool.borrow()));
        core.store(fabric, packet.buffer.data);
        self.work.run_on(core);
        Fate::Send(packet.bytes)
    }
}

/// A receiver that reads the header of every packet and drops it.
#[derive(Clone, Debug)]
pub struct PacketSink {
    /// Work per packet.
    pub work: Work,
    /// Whether the core reads the lines of a packet after the first.
    pub payload: Payload,
    /// The pool, which gives the buffers of a chained packet.
    pub pool: Rc<RefCell<Mempool>>,
}

impl Handler for PacketSink {
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate {
        core.load(fabric, packet.buffer.data);
        self.payload.touch(core, fabric, (packet, &self.pool.borrow()));
        self.work.run_on(core);
        Fate::Consume
    }
}

//! Software prefetches of received packets.
//!
//! Models: `rte_prefetch0` on lines of the mbuf and of the data of a packet that is some packets ahead of
//! the one in work, as DPDK's sample applications do.
//! Source: DPDK examples/l3fwd (PREFETCH_OFFSET) and app/test-pmd/macfwd.c.

use crate::driver::mempool::Mempool;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::fabric::Fabric;
use model::tracer::Tracer;
use units::{LINE_BYTES, Picos};

/// Lines that software prefetches of each packet, and how far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwarePrefetch {
    /// Distance from the packet in work, in packets of a burst; 0 if nothing is prefetched.
    pub packets_ahead: usize,
    /// Lines at the head of the packet.
    pub packet_lines: u64,
    /// Lines of the mbuf.
    pub mbuf_lines: u64,
}

impl SoftwarePrefetch {
    /// Prefetches a packet; returns when its first line arrives, which is the one that applications wait
    /// for: what they access of the others later work overlaps.
    pub fn fetch<T: Tracer>(
        self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
        pool: &Mempool,
    ) -> Picos {
        let mbuf = pool.mbuf_line(packet.buffer.id);
        for line in 0..self.mbuf_lines {
            core.prefetch(fabric, mbuf.step(line));
        }
        let lines = self.packet_lines.min(packet.bytes.0.div_ceil(LINE_BYTES));
        let line_of = |line| pool.data_line(packet, line);
        let arrivals = (0..lines).map(|line| core.prefetch(fabric, line_of(line)));
        arrivals.reduce(|first, _| first).unwrap_or(Picos::ZERO)
    }
}

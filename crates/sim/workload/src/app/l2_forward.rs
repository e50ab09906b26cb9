//! L2 forwarder: swap the MAC addresses of every packet and send it back.
//!
//! Models: the forwarder of the measured testbed: it reads and writes the header line, and writes
//! annotations in the private area of the buffer.
//! Source: public scripts of ddio-bench (github aliireza/ddio-bench@55d0542).
//! Simplifies: work between memory accesses is a number of cycles per packet (platform key).

use super::packet_loop::{Fate, Handler};
use crate::driver::mempool::Mempool;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::Cycles;

/// An L2 forwarder's work on a packet.
#[derive(Clone, Debug)]
pub struct L2Forward {
    /// Cycles of work per packet, outside memory stalls.
    pub cycles_per_packet: Cycles,
    /// Number of lines of the private area that are written.
    pub annotation_lines: u64,
    /// The pool, which gives a buffer's private area.
    pub pool: Rc<RefCell<Mempool>>,
}

impl Handler for L2Forward {
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate {
        core.load(fabric, packet.buffer.data);
        core.store(fabric, packet.buffer.data);
        let private = self.pool.borrow().private_line(packet.buffer.id);
        for line in 0..self.annotation_lines {
            core.store(fabric, private.step(line));
        }
        core.compute(self.cycles_per_packet);
        Fate::Send(packet.bytes)
    }
}

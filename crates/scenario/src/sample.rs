//! Everything that can be read off a machine, as numbers that only grow, and differences of two
//! readings: one batch.

use crate::assemble::ForwarderMachine;
use model::attribution::AgentId;
use model::counters::{CoreCounters, Counters};
use model::device::nic::rx::RxCounters;
use model::tracer::Tracer;
use units::Picos;

/// A reading, or the difference of two.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Simulated time.
    pub span: Picos,
    /// The fabric's counters.
    pub counters: Counters,
    /// Counters of each core.
    pub cores: Vec<CoreCounters>,
    /// The receive port's counters.
    pub rx: RxCounters,
    /// Packets that left.
    pub tx_packets: u64,
    /// Bytes of them without FCS.
    pub tx_bytes: u64,
    /// Lines read from and written to DRAM.
    pub dram_lines: (u64, u64),
    /// Lines read from and written to CXL memory.
    pub cxl_lines: (u64, u64),
    /// Time that the link was busy (up, down).
    pub link_busy: (Picos, Picos),
    /// Entry-time of the IIO.
    pub iio_occupied: Picos,
    /// Time of all cores polling in vain.
    pub idle: Picos,
    /// Time of all cores waiting for the send ring.
    pub sender_blocked: Picos,
    /// Evictions: evictor x owner x [unread, read], flattened.
    pub evictions: Vec<u64>,
    /// Bytes of the LLC held for each agent: a level, so a difference keeps the later reading.
    pub occupancy: Vec<u64>,
}

impl Sample {
    /// Reads a machine.
    #[must_use]
    pub fn read<T: Tracer>(machine: &ForwarderMachine<T>) -> Self {
        let fabric = &machine.fabric;
        let cores = machine.software.len() + machine.kernels.len();
        let agents = cores + 1;
        let shares = machine.software.iter().map(|core| core.time_shares(machine.now()));
        let (idle, sender_blocked) = shares.fold((Picos::ZERO, Picos::ZERO), |sum, share| {
            (sum.0 + share.idle, sum.1 + share.sender_blocked)
        });
        let ids = || (0..agents as u8).map(AgentId);
        let evictions = ids()
            .flat_map(|evictor| ids().map(move |owner| (evictor, owner)))
            .flat_map(|(evictor, owner)| {
                [false, true].map(|read| fabric.evictions().count(evictor, owner, read))
            })
            .collect();
        Self {
            span: machine.now(),
            counters: *fabric.counters(),
            cores: (0..cores as u8).map(|core| *fabric.core_counters(core)).collect(),
            rx: machine.port.counters,
            tx_packets: machine.egress.packets,
            tx_bytes: machine.egress.bytes,
            dram_lines: fabric.memory().dram_lines_moved(),
            cxl_lines: fabric.memory().cxl_lines_moved(),
            link_busy: fabric.link(0).busy_until(machine.now()),
            iio_occupied: fabric.iio(fabric.socket_of_port(0)).total_occupied(),
            idle,
            sender_blocked,
            evictions,
            occupancy: fabric.llc_occupancy_bytes(),
        }
    }

    /// What happened between `earlier` and this reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut cores = self.cores.clone();
        for (core, before) in cores.iter_mut().zip(&earlier.cores) {
            core.subtract(before);
        }
        let mut counters = self.counters;
        counters.subtract(&earlier.counters);
        let mut rx = self.rx;
        rx.subtract(&earlier.rx);
        Self {
            span: self.span - earlier.span,
            counters,
            cores,
            rx,
            tx_packets: self.tx_packets - earlier.tx_packets,
            tx_bytes: self.tx_bytes - earlier.tx_bytes,
            dram_lines: (
                self.dram_lines.0 - earlier.dram_lines.0,
                self.dram_lines.1 - earlier.dram_lines.1,
            ),
            cxl_lines: (
                self.cxl_lines.0 - earlier.cxl_lines.0,
                self.cxl_lines.1 - earlier.cxl_lines.1,
            ),
            link_busy: (
                self.link_busy.0 - earlier.link_busy.0,
                self.link_busy.1 - earlier.link_busy.1,
            ),
            iio_occupied: self.iio_occupied - earlier.iio_occupied,
            idle: self.idle - earlier.idle,
            sender_blocked: self.sender_blocked - earlier.sender_blocked,
            evictions: self.evictions.iter().zip(&earlier.evictions).map(|(a, b)| a - b).collect(),
            occupancy: self.occupancy.clone(),
        }
    }
}

//! Everything that can be read off a machine, as numbers that only grow, and differences of two
//! readings: one batch.

use crate::assemble::ScenarioMachine;
use crate::assemble::traffic::Traffic;
use model::attribution::AgentId;
use model::counters::{CoreCounters, Counters, PortCounters, ProbeCounts};
use model::device::nic::card::Nic;
use model::device::nic::rx::RxCounters;
use model::device::nvme::NvmeCounters;
use model::device::{Device, Levels};
use model::fabric::Fabric;
use model::root_complex::ddio::Ddio;
use model::software::Account;
use model::tracer::Tracer;
use units::Picos;

/// A reading, or the difference of two.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Simulated time.
    pub span: Picos,
    /// What the run counts as progress.
    pub progress: u64,
    /// The fabric's counters.
    pub counters: Counters,
    /// Counters of each core.
    pub cores: Vec<CoreCounters>,
    /// What the software of each core has done.
    pub software: Vec<SoftwareSample>,
    /// What each NIC has done.
    pub nics: Vec<NicSample>,
    /// What each SSD has done.
    pub ssds: Vec<NvmeCounters>,
    /// What each root port has counted.
    pub ports: Vec<PortSample>,
    /// Lines read from and written to DRAM.
    pub dram_lines: (u64, u64),
    /// Lines read from and written to CXL memory.
    pub cxl_lines: (u64, u64),
    /// Evictions: evictor x owner x [unread, read], flattened.
    pub evictions: Vec<u64>,
    /// Packets that have been received and have not left: a level, so a difference keeps the later
    /// reading.
    pub backlog: u64,
    /// Receive rings that have been used at all, and those that have been used from end to end; a level
    /// too.
    pub rings_used: (usize, usize),
    /// Bytes of the LLC held for each agent: a level too.
    pub occupancy: Vec<u64>,
}

impl Sample {
    /// Reads a machine.
    #[must_use]
    pub fn read<T: Tracer>(machine: &ScenarioMachine<T>) -> Self {
        let (fabric, levels) = (&machine.fabric, machine.levels());
        let agents = fabric.agents();
        let cores = 0..machine.software.len() as u8;
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
            progress: machine.progress(),
            cores: cores.map(|core| *fabric.core_counters(core)).collect(),
            software: machine
                .software
                .iter()
                .map(|software| SoftwareSample::of(&software.account(machine.now())))
                .collect(),
            ssds: machine
                .devices
                .iter()
                .filter_map(Device::as_ssd)
                .map(|ssd| ssd.counters)
                .collect(),
            nics: machine
                .devices
                .iter()
                .filter_map(Device::as_nic)
                .map(|nic| NicSample::read(machine, nic))
                .collect(),
            ports: (0..agents - machine.software.len())
                .map(|port| PortSample::read(fabric, port))
                .collect(),
            dram_lines: fabric.memory().dram_lines_moved(),
            cxl_lines: fabric.memory().cxl_lines_moved(),
            evictions,
            backlog: backlog(machine, &levels),
            rings_used: (levels.rings_used, levels.rings_used_whole),
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
        let lines = |now: (u64, u64), then: (u64, u64)| (now.0 - then.0, now.1 - then.1);
        let software = self.software.iter().zip(&earlier.software);
        Self {
            span: self.span - earlier.span,
            progress: self.progress - earlier.progress,
            counters,
            cores,
            software: software.map(|(now, then)| now.since(then)).collect(),
            nics: self.nics.iter().zip(&earlier.nics).map(|(now, then)| now.since(then)).collect(),
            ssds: self.ssds.iter().zip(&earlier.ssds).map(|(now, then)| now.since(then)).collect(),
            ports: self.ports.iter().zip(&earlier.ports).map(|(a, b)| a.since(b)).collect(),
            dram_lines: lines(self.dram_lines, earlier.dram_lines),
            cxl_lines: lines(self.cxl_lines, earlier.cxl_lines),
            evictions: self.evictions.iter().zip(&earlier.evictions).map(|(a, b)| a - b).collect(),
            backlog: self.backlog,
            rings_used: self.rings_used,
            occupancy: self.occupancy.clone(),
        }
    }
}

/// Packets in receive queues, in the software's hands and in send queues.
fn backlog<T: Tracer>(machine: &ScenarioMachine<T>, levels: &Levels) -> u64 {
    let accounts = machine.software.iter().map(|software| software.account(machine.now()));
    let in_work: usize = accounts.map(|account| account.packets_in_work).sum();
    (levels.packets_unseen + in_work + levels.packets_to_send) as u64
}

/// What the software of a core has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftwareSample {
    /// Time of polling in vain.
    pub idle: Picos,
    /// Time of waiting for the send ring.
    pub sender_blocked: Picos,
    /// Units of work.
    pub work: u64,
    /// Instructions retired, where its software counts them all.
    pub instructions: Option<u64>,
    /// What it has observed.
    pub probes: ProbeCounts,
}

impl SoftwareSample {
    fn of(account: &Account) -> Self {
        let &Account { idle, sender_blocked, work, instructions, probes, .. } = account;
        Self { idle, sender_blocked, work, instructions, probes }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            idle: self.idle - earlier.idle,
            sender_blocked: self.sender_blocked - earlier.sender_blocked,
            work: self.work - earlier.work,
            instructions: self.instructions.zip(earlier.instructions).map(|(now, then)| now - then),
            probes: self.probes.since(&earlier.probes),
        }
    }
}

/// What a NIC and its link have done.
#[derive(Clone, Copy, Debug, Default)]
pub struct NicSample {
    /// The receive port's counters.
    pub rx: RxCounters,
    /// Packets that left.
    pub tx_packets: u64,
    /// Bytes of them without FCS.
    pub tx_bytes: u64,
    /// Time that the link was busy (up, down).
    pub link_busy: (Picos, Picos),
    /// Entry-time of the IIO of its socket.
    pub iio_occupied: Picos,
}

impl NicSample {
    fn read<T: Tracer>(machine: &ScenarioMachine<T>, nic: &Nic<Traffic>) -> Self {
        let fabric = &machine.fabric;
        Self {
            rx: nic.port.counters,
            tx_packets: nic.egress.packets,
            tx_bytes: nic.egress.bytes,
            link_busy: fabric.link(nic.root_port()).busy_until(machine.now()),
            iio_occupied: fabric.iio(fabric.socket_of_port(nic.root_port())).total_occupied(),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let mut rx = self.rx;
        rx.subtract(&earlier.rx);
        Self {
            rx,
            tx_packets: self.tx_packets - earlier.tx_packets,
            tx_bytes: self.tx_bytes - earlier.tx_bytes,
            link_busy: (
                self.link_busy.0 - earlier.link_busy.0,
                self.link_busy.1 - earlier.link_busy.1,
            ),
            iio_occupied: self.iio_occupied - earlier.iio_occupied,
        }
    }
}

/// What a root port has counted, and what it may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortSample {
    /// Its counters.
    pub counters: PortCounters,
    /// Ways in which its devices may allocate: a level, so a difference keeps the later reading.
    pub ddio_ways: u32,
}

impl PortSample {
    fn read<T: Tracer>(fabric: &Fabric<T>, port: usize) -> Self {
        let ddio_ways = match fabric.io_policy(port).payload {
            Ddio::Off => 0,
            Ddio::Ways(mask) => mask.count(),
        };
        Self { counters: *fabric.port_counters(port), ddio_ways }
    }

    fn since(&self, earlier: &Self) -> Self {
        let mut counters = self.counters;
        counters.subtract(&earlier.counters);
        Self { counters, ddio_ways: self.ddio_ways }
    }
}

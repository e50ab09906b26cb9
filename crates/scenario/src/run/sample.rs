//! All readings of a machine, as numbers that only grow, and differences of two readings: one batch.

use crate::assemble::ScenarioMachine;
use crate::devices::sample::DeviceSample;
use model::attribution::AgentId;
use model::counters::{CoreCounters, Counters, PortCounters};
use model::device::{DeviceId, Levels};
use model::fabric::Fabric;
use model::miss_kinds::AccessCounts;
use model::reading;
use model::root_complex::ddio::Ddio;
use model::software::Account;
use model::tracer::Tracer;
use units::narrow::fit;
use units::{CoreId, Id, Picos, RootPortId};

/// A reading, or the difference of two.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Simulated time.
    pub span: Picos,
    /// Work that the run counts as progress.
    pub progress: u64,
    /// The fabric's counters.
    pub counters: Counters,
    /// Counters of each core.
    pub cores: Vec<CoreCounters>,
    /// Account of the software of each core.
    pub software: Vec<Account>,
    /// Counters of each device.
    pub devices: Vec<DeviceSample>,
    /// Counters of each root port.
    pub ports: Vec<PortSample>,
    /// Lines read from and written to DRAM.
    pub dram_lines: (u64, u64),
    /// Lines read from and written to CXL memory.
    pub cxl_lines: (u64, u64),
    /// Time for which each resource of the fabric was busy, in the order of [`Fabric::resources`].
    pub busy: Vec<Picos>,
    /// Evictions: evictor x owner x [unread, read], flattened.
    pub evictions: Vec<u64>,
    /// Packets that have been received and have not left: a level, so a difference keeps the later
    /// reading.
    pub backlog: u64,
    /// Receive rings with a used entry, and those in which every entry has been used; levels too.
    pub rings_used: (usize, usize),
    /// Kinds of LLC misses of each agent, if the run counts them.
    pub misses: Vec<AccessCounts>,
    /// Bytes of the LLC held for each agent: a level too.
    pub occupancy: Vec<u64>,
}

reading!(
    Sample {
        span,
        progress,
        counters,
        cores,
        software,
        devices,
        ports,
        dram_lines,
        cxl_lines,
        busy,
        evictions,
        misses
    },
    levels { backlog, rings_used, occupancy }
);

impl Sample {
    /// Reads a machine.
    #[must_use]
    pub fn read<T: Tracer>(machine: &ScenarioMachine<T>) -> Self {
        let (fabric, levels) = (&machine.fabric, machine.levels());
        let agents = fabric.agents();
        let cores = (0..machine.software.len()).map(CoreId::at);
        let ids = || (0..fit(agents)).map(AgentId);
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
            cores: cores.map(|core| fabric.private_caches(core).counters).collect(),
            software: accounts(machine).collect(),
            devices: machine
                .devices
                .iter()
                .map(|device| DeviceSample::read(device, fabric, machine.now()))
                .collect(),
            ports: (0..agents - machine.software.len())
                .map(|port| PortSample::read(fabric, RootPortId::at(port)))
                .collect(),
            dram_lines: fabric.memory().dram_lines_moved(),
            cxl_lines: fabric.memory().cxl_lines_moved(),
            busy: fabric.resources(machine.now()).map(|resource| resource.busy).collect(),
            evictions,
            misses: fabric.tracer.miss_counts().to_vec(),
            backlog: backlog(machine, &levels),
            rings_used: (levels.rings_used, levels.rings_used_whole),
            occupancy: fabric.llc_occupancy_bytes(),
        }
    }
}

impl Sample {
    /// What a device has counted.
    pub(crate) fn device(&self, id: DeviceId) -> &DeviceSample {
        &self.devices[id.index()]
    }
}

fn accounts<T: Tracer>(machine: &ScenarioMachine<T>) -> impl Iterator<Item = Account> {
    machine.software.iter().map(|software| software.account(machine.now()))
}

/// Packets in receive queues, in work by software, and in send queues.
fn backlog<T: Tracer>(machine: &ScenarioMachine<T>, levels: &Levels) -> u64 {
    let in_work: usize = accounts(machine).map(|account| account.packets_in_work).sum();
    (levels.packets_unseen + in_work + levels.packets_to_send) as u64
}

/// Counters and DDIO ways of a root port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortSample {
    /// Its counters.
    pub counters: PortCounters,
    /// Ways in which its devices may allocate: a level, so a difference keeps the later reading.
    pub ddio_ways: u32,
}

reading!(PortSample { counters }, levels { ddio_ways });

impl PortSample {
    fn read<T: Tracer>(fabric: &Fabric<T>, port: RootPortId) -> Self {
        let ddio_ways = match fabric.root_port(port).policy().payload {
            Ddio::Off => 0,
            Ddio::Ways(mask) => mask.count(),
        };
        Self { counters: *fabric.root_port(port).counters(), ddio_ways }
    }
}

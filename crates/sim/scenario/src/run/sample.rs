//! Reads all counters of a machine into a sample.

use crate::contract::sample::{PortSample, Sample};
use crate::kinds;
use crate::run::assemble::ScenarioMachine;
use model::attribution::AgentId;
use model::device::{DeviceId, Levels};
use model::fabric::Fabric;
use model::root_complex::ddio::Ddio;
use model::software::Account;
use model::tracer::{LevelSample, QueueLevels, Tracer};
use units::narrow::fit;
use units::{CoreId, Id, RootPortId};

/// Reads all counters of a machine at its simulated time.
pub fn read_sample<T: Tracer>(machine: &ScenarioMachine<T>) -> Sample {
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
    Sample {
        span: machine.now(),
        counters: *fabric.counters(),
        progress: machine.progress(),
        cores: cores.map(|core| fabric.private_caches(core).counters).collect(),
        software: accounts(machine).collect(),
        devices: machine
            .devices
            .iter()
            .map(|device| kinds::read_device(device, fabric, machine.now()))
            .collect(),
        ports: (0..agents - machine.software.len())
            .map(|number| port(fabric, RootPortId::at(number)))
            .collect(),
        dram_lines: fabric.memory().dram_lines_moved(),
        cxl_lines: fabric.memory().cxl_lines_moved(),
        busy: fabric.resources(machine.now()).map(|resource| resource.busy).collect(),
        evictions,
        misses: fabric.tracer.miss_counts().to_vec(),
        device_writes: fabric.tracer.device_write_counts().to_vec(),
        backlog: backlog(machine, &levels),
        rings_used: (levels.rings_used, levels.rings_used_whole),
        occupancy: fabric.llc_occupancy_bytes(),
    }
}

/// Gives the tracer the fill levels of the machine at its simulated time, if it wants them now.
pub(super) fn sample_levels<T: Tracer>(machine: &mut ScenarioMachine<T>) {
    if !machine.fabric.tracer.levels_are_due(machine.now()) {
        return;
    }
    let (time, occupancy_bytes) = (machine.now(), machine.fabric.llc_occupancy_bytes());
    let devices = (0..).map(DeviceId).zip(&machine.devices);
    let devices = devices.map(|(id, device)| {
        let levels = device.levels(machine.queues.device(id));
        QueueLevels {
            buffers_posted: levels.buffers_posted,
            packets_unseen: levels.packets_unseen,
            packets_to_send: levels.packets_to_send,
        }
    });
    let sample = LevelSample { time, occupancy_bytes, devices: devices.collect() };
    machine.fabric.tracer.sample_levels(sample);
}

fn accounts<T: Tracer>(machine: &ScenarioMachine<T>) -> impl Iterator<Item = Account> {
    machine.software.iter().map(|software| software.account(machine.now()))
}

/// Packets in receive queues, in work by software, and in send queues.
fn backlog<T: Tracer>(machine: &ScenarioMachine<T>, levels: &Levels) -> u64 {
    let in_work: usize = accounts(machine).map(|account| account.packets_in_work).sum();
    (levels.packets_unseen + in_work + levels.packets_to_send) as u64
}

fn port<T: Tracer>(fabric: &Fabric<T>, port: RootPortId) -> PortSample {
    let ddio_ways = match fabric.root_port(port).policy().payload {
        Ddio::Off => 0,
        Ddio::Ways(mask) => mask.count(),
    };
    PortSample { counters: *fabric.root_port(port).counters(), ddio_ways }
}

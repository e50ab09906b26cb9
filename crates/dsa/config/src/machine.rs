//! The devices of a machine, as a simulated driver in the same state.

use crate::bus::{Bus, MachineError};
use idxd::config_file::{ConfigStep, SavedConfig};
use idxd::{BusNode, Driver};

/// The devices of a machine.
#[derive(Clone, Debug)]
pub struct MachineDevices {
    /// A simulated driver in the state of the machine's driver.
    pub driver: Driver,
    /// Numbers of the devices.
    pub numbers: Vec<usize>,
}

impl MachineDevices {
    /// Reads all devices of a machine.
    ///
    /// # Errors
    /// If there is no device, or an attribute cannot be read or parsed.
    pub fn read(bus: &dyn Bus) -> Result<Self, MachineError> {
        let numbers = bus.numbers()?;
        let driver = Driver::from_sysfs(&numbers, bus, bus.tc_override())?;
        Ok(Self { driver, numbers })
    }

    /// The present configuration of some devices.
    #[must_use]
    pub fn configuration(&self, numbers: &[usize]) -> SavedConfig {
        SavedConfig::from_devices(&self.driver, numbers)
    }
}

/// A queue that programs have open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// Node of the queue.
    pub queue: BusNode,
    /// Number of clients of the queue.
    pub clients: u64,
    /// PIDs of the processes; empty if the kernel does not list them.
    pub processes: Vec<u32>,
}

impl std::fmt::Display for InUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { queue, clients, processes } = self;
        write!(f, "{queue} is in use: {clients} client(s)")?;
        if processes.is_empty() {
            return Ok(());
        }
        let processes: Vec<String> = processes.iter().map(ToString::to_string).collect();
        write!(f, ", of process(es) {}", processes.join(", "))
    }
}

/// Returns a queue and its clients; `None` if it has no clients.
///
/// # Errors
/// If the number of clients cannot be read.
pub fn in_use(bus: &dyn Bus, queue: BusNode) -> Result<Option<InUse>, MachineError> {
    let clients = crate::bus::clients(bus, queue)
        .map_err(|errno| MachineError::Unread(bus.shown(queue, "clients"), errno))?;
    Ok((clients > 0).then(|| InUse { queue, clients, processes: bus.processes(queue) }))
}

/// Lists the queues in use that steps would disable.
///
/// # Errors
/// As [`in_use`].
pub fn disturbed_queues(bus: &dyn Bus, steps: &[ConfigStep]) -> Result<Vec<InUse>, MachineError> {
    let mut all = Vec::new();
    for step in steps {
        if let ConfigStep::Unbind { node: queue @ BusNode::Queue(..), .. } = step {
            all.extend(in_use(bus, *queue)?);
        }
    }
    Ok(all)
}

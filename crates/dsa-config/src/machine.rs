//! The devices of a machine, as a driver of ours in the same state.

use crate::bus::{Bus, MachineError};
use idxd::config_file::{ConfigStep, SavedConfig};
use idxd::{BusNode, Driver};

/// The devices of a machine.
#[derive(Clone, Debug)]
pub struct MachineDevices {
    /// A driver in the state of the machine's.
    pub driver: Driver,
    /// Numbers of the devices.
    pub numbers: Vec<usize>,
}

impl MachineDevices {
    /// Reads it.
    ///
    /// # Errors
    /// If there is no device, or an attribute cannot be read or understood.
    pub fn read(bus: &dyn Bus) -> Result<Self, MachineError> {
        let numbers = bus.numbers()?;
        let driver = Driver::from_sysfs(&numbers, bus, bus.tc_override())?;
        Ok(Self { driver, numbers })
    }

    /// The configuration of some devices.
    #[must_use]
    pub fn configuration(&self, numbers: &[usize]) -> SavedConfig {
        SavedConfig::from_devices(&self.driver, numbers)
    }
}

/// A queue that programs have open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// The queue.
    pub queue: BusNode,
    /// Its users.
    pub clients: u64,
    /// The processes, where the kernel names them.
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

/// Whether a queue has users.
///
/// # Errors
/// If that cannot be read.
pub fn in_use(bus: &dyn Bus, queue: BusNode) -> Result<Option<InUse>, MachineError> {
    let clients = crate::bus::clients(bus, queue)
        .map_err(|errno| MachineError::Unread(bus.shown(queue, "clients"), errno))?;
    Ok((clients > 0).then(|| InUse { queue, clients, processes: bus.processes(queue) }))
}

/// The queues in use that steps would disable.
///
/// # Errors
/// As [`in_use`].
pub fn disturbed(bus: &dyn Bus, steps: &[ConfigStep]) -> Result<Vec<InUse>, MachineError> {
    let mut all = Vec::new();
    for step in steps {
        if let ConfigStep::Unbind { node: queue @ BusNode::Queue(..), .. } = step {
            all.extend(in_use(bus, *queue)?);
        }
    }
    Ok(all)
}

//! The driver's state of a device.

use crate::{CommandStatus, IdxdEngine, IdxdGroup, IdxdQueue, WorkQueueMode};
use dsa::hardware::capabilities::{Capabilities, gencap, wqcap};

/// A device and its place in the machine: capabilities, NUMA node, address, kernel settings.
#[derive(Clone, Debug)]
pub struct Part {
    /// Capabilities of the device.
    pub capabilities: Capabilities,
    /// NUMA node; -1 if the machine does not have NUMA nodes.
    pub numa_node: i32,
    /// PCI address of the device, as in `0000:6a:01.0`.
    pub pci_address: String,
    /// Whether programs can share their address spaces with the device (an IOMMU in scalable mode).
    pub user_pasid: bool,
    /// Whether the kernel's queues use a PASID.
    pub kernel_pasid: bool,
    /// Whether traffic classes can be written on devices of versions 1 and 2 (`tc_override` of the module).
    pub tc_override: bool,
    /// Attributes that this kernel does not have: `driver_name` came with Linux 6.7.
    pub without: Vec<&'static str>,
}

impl Part {
    /// A device on node 0, with shared virtual memory for programs, at the address of the first device of a
    /// Sapphire Rapids.
    #[must_use]
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            numa_node: 0,
            pci_address: "0000:6a:01.0".to_owned(),
            user_pasid: true,
            kernel_pasid: false,
            tc_override: false,
            without: Vec::new(),
        }
    }

    /// Placeholder for a number that no device has: other accelerators of the bus share the numbers.
    #[must_use]
    pub fn gap() -> Self {
        Self::new(Capabilities {
            version: 0,
            work_queues: 0,
            groups: 0,
            engines: 0,
            ..Capabilities::VERSION_1
        })
    }
}

/// Buses of the eight devices of a machine with two Sapphire Rapids [recalled].
const BUSES: [u8; 8] = [0x6a, 0x6f, 0x74, 0x79, 0xe7, 0xec, 0xf1, 0xf6];

impl Part {
    /// The devices of a machine, each at its own PCI address: the addresses of a machine with two
    /// Sapphire Rapids, then the same addresses in further PCI domains, which are made up.
    #[must_use]
    pub fn for_machine(capabilities: &[Capabilities]) -> Vec<Self> {
        let part = |(number, can): (usize, &Capabilities)| {
            let (domain, bus) = (number / BUSES.len(), BUSES[number % BUSES.len()]);
            Self { pci_address: format!("{domain:04x}:{bus:02x}:01.0"), ..Self::new(*can) }
        };
        capabilities.iter().enumerate().map(part).collect()
    }
}

/// State of a device. Default: disabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceState {
    /// Disabled: it can be configured.
    #[default]
    Disabled,
    /// Enabled: it is bound, and its queues can be bound.
    Enabled,
    /// Halted by an error: it has to be unbound and bound.
    Halted,
}

/// Least number of entries of an event log, and the default [`IDXD_EVL_SIZE_MIN`].
pub(crate) const LEAST_EVENT_LOG: u16 = 64;

/// State of a device in the driver: its configuration, queues, groups and engines.
#[derive(Clone, Debug)]
pub struct IdxdDevice {
    pub(crate) part: Part,
    pub(crate) state: DeviceState,
    pub(crate) bound: bool,
    pub(crate) command_status: CommandStatus,
    pub(crate) read_buffer_limit: u16,
    pub(crate) event_log_size: u16,
    pub(crate) queues: Vec<IdxdQueue>,
    pub(crate) groups: Vec<IdxdGroup>,
    pub(crate) engines: Vec<IdxdEngine>,
    pub(crate) generation: u64,
}

impl IdxdDevice {
    pub(crate) fn new(part: Part) -> Self {
        let can = part.capabilities;
        Self {
            state: DeviceState::Disabled,
            bound: false,
            command_status: CommandStatus::SUCCESS,
            read_buffer_limit: 0,
            event_log_size: LEAST_EVENT_LOG,
            queues: vec![IdxdQueue::new(&can); can.work_queues.into()],
            groups: vec![IdxdGroup::new(&can); can.groups.into()],
            engines: vec![IdxdEngine::default(); can.engines.into()],
            generation: 0,
            part,
        }
    }

    /// Clears the whole configuration, as disabling the device does.
    pub(crate) fn reset(&mut self) {
        let can = self.part.capabilities;
        for queue in &mut self.queues {
            queue.reset(&can);
            (queue.size, queue.group) = (0, None);
        }
        self.groups.fill(IdxdGroup::new(&can));
        self.engines.fill(IdxdEngine::default());
        self.read_buffer_limit = 0;
        self.event_log_size = LEAST_EVENT_LOG;
    }

    /// Capabilities and place of the device.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Capabilities of the device.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.part.capabilities
    }

    /// State of the device.
    #[must_use]
    pub fn state(&self) -> DeviceState {
        self.state
    }

    /// Whether programs' queues have PASIDs.
    #[must_use]
    pub fn pasid_enabled(&self) -> bool {
        self.part.user_pasid
    }

    /// Result of its last command, or of the driver's last refusal.
    #[must_use]
    pub fn command_status(&self) -> CommandStatus {
        self.command_status
    }

    /// Most read buffers that all groups with `use_read_buffer_limit` take together; 0: no limit.
    #[must_use]
    pub fn read_buffer_limit(&self) -> u16 {
        self.read_buffer_limit
    }

    /// Number of entries of the device's event log.
    #[must_use]
    pub fn event_log_size(&self) -> u16 {
        self.event_log_size
    }

    /// Queues of the device, by number.
    #[must_use]
    pub fn queues(&self) -> &[IdxdQueue] {
        &self.queues
    }

    /// Groups of the device, by number.
    #[must_use]
    pub fn groups(&self) -> &[IdxdGroup] {
        &self.groups
    }

    /// Engines of the device, by number.
    #[must_use]
    pub fn engines(&self) -> &[IdxdEngine] {
        &self.engines
    }

    /// Number of changes until now. A state that was published with a lower generation is out of date.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether software may configure the device.
    #[must_use]
    pub fn is_configurable(&self) -> bool {
        self.part.capabilities.has(gencap::CONFIGURABLE)
    }

    /// Whether it is a placeholder for a number without a device.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.part.capabilities.version == 0
    }

    pub(crate) fn is_on(&self) -> bool {
        self.state == DeviceState::Enabled
    }

    /// Whether its shared queues can be used: they need a PASID for each descriptor.
    pub(crate) fn can_share(&self) -> bool {
        self.part.user_pasid
    }

    pub(crate) fn has_mode(&self, mode: WorkQueueMode) -> bool {
        self.part.capabilities.queues_have(match mode {
            WorkQueueMode::Shared => wqcap::SHARED,
            WorkQueueMode::Dedicated => wqcap::DEDICATED,
        })
    }

    /// Numbers of the engines of a group.
    pub(crate) fn engines_of(&self, group: usize) -> impl Iterator<Item = usize> {
        let inside = move |engine: &IdxdEngine| engine.group == Some(group);
        self.engines.iter().enumerate().filter(move |(_, it)| inside(it)).map(|(number, _)| number)
    }

    /// Numbers of the queues of a group.
    pub(crate) fn queues_of(&self, group: usize) -> impl Iterator<Item = usize> {
        let inside = move |queue: &IdxdQueue| queue.group == Some(group);
        self.queues.iter().enumerate().filter(move |(_, it)| inside(it)).map(|(number, _)| number)
    }

    /// Sum of the entries of all queues but `queue`.
    pub(crate) fn entries_beside(&self, queue: usize) -> u64 {
        let others = self.queues.iter().enumerate().filter(|&(number, _)| number != queue);
        others.map(|(_, it)| u64::from(it.size)).sum()
    }

    /// Number of read buffers that no group has reserved.
    pub(crate) fn free_read_buffers(&self) -> u16 {
        let reserved = self.groups.iter().map(|group| group.read_buffers_reserved);
        reserved.fold(self.part.capabilities.read_buffers, u16::saturating_sub)
    }
}

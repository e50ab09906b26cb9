//! A device, as the driver keeps it.

use crate::{CommandStatus, IdxdEngine, IdxdGroup, IdxdQueue, WorkQueueMode};
use dsa::hardware::capabilities::{Capabilities, gencap, wqcap};

/// What one device is, and how the machine has it.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it can do.
    pub capabilities: Capabilities,
    /// NUMA node; -1 if the machine has none.
    pub numa_node: i32,
    /// PCI address, as in `0000:6a:01.0`.
    pub pci_address: String,
    /// Whether programs can share their address spaces with it: an IOMMU in scalable mode.
    pub user_pasid: bool,
    /// Whether the kernel's queues use a PASID.
    pub kernel_pasid: bool,
    /// Whether traffic classes can be written on versions 1 and 2 (`tc_override` of the module).
    pub tc_override: bool,
    /// Attributes that this kernel does not have: `driver_name` came with Linux 6.7.
    pub without: Vec<&'static str>,
}

impl Part {
    /// On node 0, with shared virtual memory for programs, at the first address that Sapphire Rapids
    /// has one at.
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

    /// A number that no device has: other accelerators of the bus share the numbers.
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
    /// The devices of a machine, each with a PCI address of its own: those of Sapphire Rapids, and after
    /// them the same in further PCI domains, which are made up.
    #[must_use]
    pub fn of_machine(capabilities: &[Capabilities]) -> Vec<Self> {
        let part = |(number, can): (usize, &Capabilities)| {
            let (domain, bus) = (number / BUSES.len(), BUSES[number % BUSES.len()]);
            Self { pci_address: format!("{domain:04x}:{bus:02x}:01.0"), ..Self::new(*can) }
        };
        capabilities.iter().enumerate().map(part).collect()
    }
}

/// State of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceState {
    /// It can be configured.
    #[default]
    Disabled,
    /// It is bound, and its queues can be.
    Enabled,
    /// It found an error of its own, and has to be unbound and bound.
    Halted,
}

/// Least entries of an event log, and how many it has unless configured [`IDXD_EVL_SIZE_MIN`].
pub(crate) const LEAST_EVENT_LOG: u16 = 64;

/// A device.
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

    /// What disabling the device leaves of its configuration: nothing.
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

    /// What it is.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// What it can do.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.part.capabilities
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> DeviceState {
        self.state
    }

    /// Whether programs' queues have PASIDs.
    #[must_use]
    pub fn pasid_enabled(&self) -> bool {
        self.part.user_pasid
    }

    /// What its last command, or the driver's last refusal, said.
    #[must_use]
    pub fn command_status(&self) -> CommandStatus {
        self.command_status
    }

    /// Read buffers that groups with the use bit take together; 0 if there is no such limit.
    #[must_use]
    pub fn read_buffer_limit(&self) -> u16 {
        self.read_buffer_limit
    }

    /// Entries of its event log.
    #[must_use]
    pub fn event_log_size(&self) -> u16 {
        self.event_log_size
    }

    /// Its queues, by number.
    #[must_use]
    pub fn queues(&self) -> &[IdxdQueue] {
        &self.queues
    }

    /// Its groups, by number.
    #[must_use]
    pub fn groups(&self) -> &[IdxdGroup] {
        &self.groups
    }

    /// Its engines, by number.
    #[must_use]
    pub fn engines(&self) -> &[IdxdEngine] {
        &self.engines
    }

    /// Number of changes up to now: what was published of a lower generation is out of date.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether software may configure it.
    #[must_use]
    pub fn is_configurable(&self) -> bool {
        self.part.capabilities.has(gencap::CONFIGURABLE)
    }

    /// Whether there is none of its number.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.part.capabilities.version == 0
    }

    pub(crate) fn is_on(&self) -> bool {
        self.state == DeviceState::Enabled
    }

    /// Whether its shared queues can be used: they need a PASID for each descriptor.
    pub(crate) fn shares(&self) -> bool {
        self.part.user_pasid
    }

    pub(crate) fn has_mode(&self, mode: WorkQueueMode) -> bool {
        self.part.capabilities.queues_have(match mode {
            WorkQueueMode::Shared => wqcap::SHARED,
            WorkQueueMode::Dedicated => wqcap::DEDICATED,
        })
    }

    /// Engines of a group.
    pub(crate) fn engines_of(&self, group: usize) -> impl Iterator<Item = usize> {
        let inside = move |engine: &IdxdEngine| engine.group == Some(group);
        self.engines.iter().enumerate().filter(move |(_, it)| inside(it)).map(|(number, _)| number)
    }

    /// Queues of a group.
    pub(crate) fn queues_of(&self, group: usize) -> impl Iterator<Item = usize> {
        let inside = move |queue: &IdxdQueue| queue.group == Some(group);
        self.queues.iter().enumerate().filter(move |(_, it)| inside(it)).map(|(number, _)| number)
    }

    /// Entries that queues other than `queue` have together.
    pub(crate) fn entries_beside(&self, queue: usize) -> u64 {
        let others = self.queues.iter().enumerate().filter(|&(number, _)| number != queue);
        others.map(|(_, it)| u64::from(it.size)).sum()
    }

    /// Read buffers that no group has reserved.
    pub(crate) fn free_read_buffers(&self) -> u16 {
        let reserved = self.groups.iter().map(|group| group.read_buffers_reserved);
        reserved.fold(self.part.capabilities.read_buffers, u16::saturating_sub)
    }
}

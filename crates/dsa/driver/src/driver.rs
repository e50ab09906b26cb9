//! The driver of all devices: binding and unbinding.

use crate::files::OpenFile;
use crate::{
    BusNode, CommandStatus, DeviceState, Errno, HardwareAccess, IdxdDevice, IdxdQueue, Part,
    QueueType, enable,
};
use std::fmt;
use std::str::FromStr;

/// A driver of the bus: a directory in `/sys/bus/dsa/drivers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DriverName {
    /// `idxd`, for devices.
    Idxd,
    /// `user`, for queues of programs, which have a file.
    User,
    /// `dmaengine`, for queues of the kernel.
    Dmaengine,
    /// `dsa`, the compatibility form. It binds to one of the other three, by type.
    Dsa,
}

impl DriverName {
    /// All drivers of the bus.
    pub const ALL: [Self; 4] = [Self::Idxd, Self::User, Self::Dmaengine, Self::Dsa];

    /// Name of the driver, as of its directory.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idxd => "idxd",
            Self::User => "user",
            Self::Dmaengine => "dmaengine",
            Self::Dsa => "dsa",
        }
    }
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DriverName {
    type Err = Errno;

    fn from_str(text: &str) -> Result<Self, Errno> {
        Self::ALL.into_iter().find(|driver| driver.name() == text).ok_or(Errno::ENODEV)
    }
}

/// The driver of all devices of a machine.
#[derive(Clone, Debug)]
pub struct Driver {
    pub(crate) devices: Vec<IdxdDevice>,
    pub(crate) files: Vec<OpenFile>,
}

impl Driver {
    /// A driver with devices that are disabled and unconfigured.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Self {
        Self { devices: parts.into_iter().map(IdxdDevice::new).collect(), files: Vec::new() }
    }

    /// All devices, by number.
    #[must_use]
    pub fn devices(&self) -> &[IdxdDevice] {
        &self.devices
    }

    /// All nodes: each device, then its queues, groups and engines.
    pub fn nodes(&self) -> impl Iterator<Item = BusNode> {
        let devices = self.devices.iter().enumerate().filter(|(_, device)| !device.is_gap());
        devices.flat_map(|(number, device)| {
            let queues = (0..device.queues.len()).map(move |it| BusNode::Queue(number, it));
            let groups = (0..device.groups.len()).map(move |it| BusNode::Group(number, it));
            let engines = (0..device.engines.len()).map(move |it| BusNode::Engine(number, it));
            std::iter::once(BusNode::Device(number)).chain(queues).chain(groups).chain(engines)
        })
    }

    /// Whether a node exists.
    #[must_use]
    pub fn has(&self, node: BusNode) -> bool {
        self.devices.get(node.device()).is_some_and(|device| match node {
            BusNode::Device(_) => !device.is_gap(),
            BusNode::Queue(_, number) => number < device.queues.len(),
            BusNode::Group(_, number) => number < device.groups.len(),
            BusNode::Engine(_, number) => number < device.engines.len(),
        })
    }

    /// The driver that a device or queue is bound to; `None` if it is not bound.
    #[must_use]
    pub fn bound(&self, node: BusNode) -> Option<DriverName> {
        match node {
            BusNode::Device(device) => self.devices.get(device)?.bound.then_some(DriverName::Idxd),
            BusNode::Queue(device, queue) => self.queue(device, queue)?.bound,
            BusNode::Group(..) | BusNode::Engine(..) => None,
        }
    }

    /// Binds a device or queue, which enables it: the write of `name` to `drivers/<driver>/bind`.
    ///
    /// # Errors
    /// `ENODEV` if the driver is not for a node of that name, `EBUSY` if the node is bound, or the error
    /// of the checks before enabling, with the reason in the device's `cmd_status`.
    pub fn bind(
        &mut self,
        driver: DriverName,
        name: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), Errno> {
        let node = self.named(name)?;
        if self.bound(node).is_some() {
            // The compatibility form tests this by itself, the bus otherwise.
            return Err(if driver == DriverName::Dsa { Errno::ENODEV } else { Errno::EBUSY });
        }
        match (self.target_driver(driver, node)?, node) {
            (DriverName::Idxd, BusNode::Device(device)) => self.bind_device(device, hardware),
            (
                driver @ (DriverName::User | DriverName::Dmaengine),
                BusNode::Queue(device, queue),
            ) => self.bind_queue(device, queue, driver, hardware),
            _ => Err(Errno::ENODEV),
        }
    }

    /// Unbinds a device or queue, which disables it: the write of `name` to `drivers/<driver>/unbind`, or to
    /// `<device>/driver/unbind`.
    ///
    /// # Errors
    /// `ENODEV` if the node is not bound to that driver.
    pub fn unbind(
        &mut self,
        driver: DriverName,
        name: &str,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), Errno> {
        match self.unbindable(driver, name)? {
            BusNode::Device(device) => self.unbind_device(device, hardware),
            BusNode::Queue(device, queue) => self.unbind_queue(device, queue, hardware),
            BusNode::Group(..) | BusNode::Engine(..) => return Err(Errno::ENODEV),
        }
        Ok(())
    }

    /// The queues (device, number) that [`Self::unbind`] would drain. A server that waits for them before
    /// it calls `unbind` can answer other requests meanwhile.
    #[must_use]
    pub fn drained_by_unbind(&self, driver: DriverName, name: &str) -> Vec<(usize, usize)> {
        let Ok(node) = self.unbindable(driver, name) else { return Vec::new() };
        let own = &self.devices[node.device()];
        let queues = own.queues.iter().enumerate().filter(|(number, queue)| {
            let is_meant = node == BusNode::Device(node.device())
                || node == BusNode::Queue(node.device(), *number);
            is_meant && queue.bound.is_some() && queue.enabled
        });
        queues.map(|(number, _)| (node.device(), number)).collect()
    }

    /// Finds the node of a name that can be unbound from a driver.
    fn unbindable(&self, driver: DriverName, name: &str) -> Result<BusNode, Errno> {
        let node = self.named(name)?;
        let bound = self.bound(node).ok_or(Errno::ENODEV)?;
        if driver == DriverName::Dsa || driver == bound { Ok(node) } else { Err(Errno::ENODEV) }
    }

    /// Halts a device after an error of its own: its queues accept nothing, and its configuration is
    /// lost. Bound nodes stay bound until they are unbound.
    pub fn halt(&mut self, device: usize, hardware: &dyn HardwareAccess) {
        let own = &mut self.devices[device];
        if own.is_on() {
            own.state = DeviceState::Halted;
            own.reset();
            self.changed(device, hardware);
        }
    }

    fn named(&self, name: &str) -> Result<BusNode, Errno> {
        let node = name.strip_suffix('\n').unwrap_or(name).parse().map_err(|_| Errno::ENODEV)?;
        if self.has(node) { Ok(node) } else { Err(Errno::ENODEV) }
    }

    /// The driver that a node is bound to; the compatibility form chooses one by the type of the queue.
    fn target_driver(&self, driver: DriverName, node: BusNode) -> Result<DriverName, Errno> {
        if driver != DriverName::Dsa {
            return Ok(driver);
        }
        match node {
            BusNode::Device(_) => Ok(DriverName::Idxd),
            BusNode::Queue(device, queue) => match self.devices[device].queues[queue].kind {
                QueueType::User => Ok(DriverName::User),
                QueueType::Kernel => Ok(DriverName::Dmaengine),
                QueueType::None => Err(Errno::ENODEV),
            },
            BusNode::Group(..) | BusNode::Engine(..) => Err(Errno::ENODEV),
        }
    }

    fn bind_device(&mut self, device: usize, hardware: &dyn HardwareAccess) -> Result<(), Errno> {
        let own = &mut self.devices[device];
        if let Err(refused) = enable::check_device(own) {
            return Err(refused.note(own));
        }
        own.command_status = CommandStatus::SUCCESS;
        own.state = DeviceState::Enabled;
        own.bound = true;
        self.changed(device, hardware);
        Ok(())
    }

    fn bind_queue(
        &mut self,
        device: usize,
        queue: usize,
        driver: DriverName,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), Errno> {
        let minor = self.free_minor();
        let own = &mut self.devices[device];
        if let Err(refused) = enable::check_queue(own, queue, driver) {
            return Err(refused.note(own));
        }
        own.command_status = CommandStatus::SUCCESS;
        let state = &mut own.queues[queue];
        state.size = enable::size(state);
        state.bound = Some(driver);
        state.enabled = true;
        if driver == DriverName::User {
            state.kind = QueueType::User;
            state.cdev_minor = Some(minor);
        } else {
            state.kind = QueueType::Kernel;
        }
        self.changed(device, hardware);
        Ok(())
    }

    fn unbind_queue(&mut self, device: usize, queue: usize, hardware: &dyn HardwareAccess) {
        let own = &mut self.devices[device];
        let can = own.part.capabilities;
        if own.queues[queue].enabled {
            hardware.drain(device, queue);
        }
        let state = &mut own.queues[queue];
        state.reset(&can);
        (state.bound, state.cdev_minor) = (None, None);
        own.command_status = CommandStatus::SUCCESS;
        self.changed(device, hardware);
    }

    fn unbind_device(&mut self, device: usize, hardware: &dyn HardwareAccess) {
        for queue in 0..self.devices[device].queues.len() {
            if self.devices[device].queues[queue].bound.is_some() {
                self.unbind_queue(device, queue, hardware);
            }
        }
        let own = &mut self.devices[device];
        own.bound = false;
        own.state = DeviceState::Disabled;
        own.command_status = CommandStatus::SUCCESS;
        if own.is_configurable() {
            own.reset();
        }
        self.changed(device, hardware);
    }

    pub(crate) fn queue(&self, device: usize, queue: usize) -> Option<&IdxdQueue> {
        self.devices.get(device)?.queues.get(queue)
    }

    pub(crate) fn changed(&mut self, device: usize, hardware: &dyn HardwareAccess) {
        self.devices[device].generation += 1;
        hardware.publish(device, &self.devices[device]);
    }
}

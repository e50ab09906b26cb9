//! The queues of all devices, as software and devices access them. The `rings.rs` of each kind of
//! device defines its queues and the access for software (`nic_pair`, `nvme_pair`).

use super::{DeviceId, DeviceQueues};

/// Queues in host memory between software and devices.
#[derive(Debug, Default)]
pub struct Queues {
    of: Vec<DeviceQueues>,
}

impl Queues {
    /// Adds the queues of the next device, and returns its id.
    ///
    /// # Panics
    /// If there are 65,536 devices: a machine has root ports for fewer.
    pub fn push(&mut self, queues: DeviceQueues) -> DeviceId {
        let device = u16::try_from(self.of.len()).expect("there are fewer devices than root ports");
        self.of.push(queues);
        DeviceId(device)
    }

    /// Number of devices that have queues.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.of.len()
    }

    /// The queues of a device.
    #[inline]
    #[must_use]
    pub fn device(&self, device: DeviceId) -> &DeviceQueues {
        &self.of[device.index()]
    }

    /// The queues of a device, for changes.
    #[inline]
    pub fn device_mut(&mut self, device: DeviceId) -> &mut DeviceQueues {
        &mut self.of[device.index()]
    }
}

/// A queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueId {
    /// Device to which the queue belongs.
    pub device: DeviceId,
    /// Number of the queue among those of the device.
    pub queue: u16,
}

impl QueueId {
    /// Number among the queues of its device.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.queue)
    }
}

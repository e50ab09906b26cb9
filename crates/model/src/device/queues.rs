//! The queues of all devices, as software and devices find them. What a queue is made of, and how software
//! gets at it (`nic_pair`, `nvme_pair`), is in the `rings.rs` of each kind of device.

use super::{DeviceId, DeviceQueues};

/// Queues in host memory, through which software and devices speak.
#[derive(Debug, Default)]
pub struct Queues {
    of: Vec<DeviceQueues>,
}

impl Queues {
    /// Puts in the queues of the next device, and returns its number.
    ///
    /// # Panics
    /// If there are 65,536 devices: a machine has root ports for fewer.
    pub fn push(&mut self, queues: DeviceQueues) -> DeviceId {
        let device = u16::try_from(self.of.len()).expect("there are fewer devices than root ports");
        self.of.push(queues);
        DeviceId(device)
    }

    /// Devices that have queues.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.of.len()
    }

    /// The queues of a device.
    #[inline]
    #[must_use]
    pub fn of(&self, device: DeviceId) -> &DeviceQueues {
        &self.of[device.index()]
    }

    /// The queues of a device, to be changed.
    #[inline]
    pub fn of_mut(&mut self, device: DeviceId) -> &mut DeviceQueues {
        &mut self.of[device.index()]
    }
}

/// A queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueId {
    /// The device.
    pub device: DeviceId,
    /// Number among its queues.
    pub queue: u16,
}

impl QueueId {
    /// Number among the queues of its device.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.queue)
    }
}

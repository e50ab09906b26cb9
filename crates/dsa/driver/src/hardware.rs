//! The driver's access to the hardware of the devices.

use crate::IdxdDevice;

/// Access to the hardware of all devices of a driver, by device and queue number.
pub trait HardwareAccess {
    /// Number of descriptors in a queue that no engine has taken yet.
    fn occupancy(&self, device: usize, queue: usize) -> u32;
    /// Reads the software error register (SWERROR), lowest word first.
    fn software_error(&self, device: usize) -> [u64; 4];
    /// Waits until all descriptors that a queue has accepted have ended. A server that has waited already
    /// for the queues of [`crate::Driver::drained_by_unbind`] need not wait again.
    fn drain(&self, device: usize, queue: usize);
    /// Waits until all descriptors that a queue has accepted from one address space have ended. Default:
    /// waits for all descriptors of the queue.
    fn drain_pasid(&self, device: usize, queue: usize, _pasid: u32) {
        self.drain(device, queue);
    }
    /// Called after each change that the driver has accepted, with the new state of the device. Default: does
    /// nothing, for hardware that polls [`IdxdDevice::generation`].
    fn publish(&self, _device: usize, _state: &IdxdDevice) {}
}

/// Hardware without work: all queues are empty, and no error has occurred.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleHardware;

impl HardwareAccess for IdleHardware {
    fn occupancy(&self, _: usize, _: usize) -> u32 {
        0
    }

    fn software_error(&self, _: usize) -> [u64; 4] {
        [0; 4]
    }

    fn drain(&self, _: usize, _: usize) {}
}

//! What the driver asks of a device and tells it.

use crate::IdxdDevice;

/// A device as the driver reaches it.
pub trait HardwareAccess {
    /// Descriptors in a queue that no engine has taken yet.
    fn occupancy(&self, device: usize, queue: usize) -> u32;
    /// SWERROR, lowest word first.
    fn software_error(&self, device: usize) -> [u64; 4];
    /// Waits until all that a queue has taken has ended. A server that has waited already, for what
    /// [`crate::Driver::drained_by_unbind`] names, need not wait again.
    fn drain(&self, device: usize, queue: usize);
    /// Waits until all that a queue has taken of one address space has ended. A device that does not tell
    /// address spaces apart waits for all of the queue.
    fn drain_pasid(&self, device: usize, queue: usize, _pasid: u32) {
        self.drain(device, queue);
    }
    /// Called after each change that the driver has accepted, with the state that the device has to take
    /// on. What reads [`IdxdDevice::generation`] instead needs no call.
    fn publish(&self, _device: usize, _state: &IdxdDevice) {}
}

/// Devices that do nothing: queues are empty, and no error was found.
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

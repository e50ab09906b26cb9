//! Checks before a device or a queue is enabled: first those of the driver [K device.c], then those of the
//! device itself [S 9.2.18, errors of its commands].

use crate::queue::DEFAULT_SIZE;
use crate::{
    CommandStatus as Status, DeviceState, DriverName, Errno, IdxdDevice, IdxdQueue, QueueType,
    WorkQueueMode,
};
use dsa::hardware::capabilities::{gencap, wqcap};

/// Reason why a device or queue is not enabled.
pub(crate) struct EnableRefusal {
    errno: Errno,
    /// `None` leaves `cmd_status` as it was.
    status: Option<Status>,
}

impl EnableRefusal {
    /// Stores the reason in `cmd_status`. Returns the error number.
    pub fn note(self, device: &mut IdxdDevice) -> Errno {
        device.command_status = self.status.unwrap_or(device.command_status);
        self.errno
    }
}

fn check(holds: bool, errno: Errno, status: Status) -> Result<(), EnableRefusal> {
    if holds { Ok(()) } else { Err(EnableRefusal { errno, status: Some(status) }) }
}

/// Makes a check of the device itself.
fn device_check(holds: bool, status: Status) -> Result<(), EnableRefusal> {
    check(holds, Errno::ENXIO, status)
}

/// Checks a device before it is bound.
pub(crate) fn check_device(device: &IdxdDevice) -> Result<(), EnableRefusal> {
    let off = device.state == DeviceState::Disabled;
    check(off, Errno::ENXIO, Status::DRIVER_DEVICE_ENABLED)?;
    for queue in device.queues.iter().filter(|queue| queue.group.is_some()) {
        let shares = device.can_share() || queue.mode == WorkQueueMode::Dedicated;
        check(shares, Errno::ENXIO, Status::DRIVER_NO_SHARED)?;
    }
    let any = device.queues.iter().any(|queue| queue.group.is_some());
    check(any, Errno::ENXIO, Status::DRIVER_NOTHING)?;
    if !device.engines.iter().any(|engine| engine.group.is_some()) {
        return Err(EnableRefusal { errno: Errno::ENXIO, status: None });
    }
    let available = u64::from(device.part.capabilities.queue_entries);
    let asked: u64 = device.queues.iter().map(|queue| u64::from(queue.size)).sum();
    device_check(asked <= available, Status::SIZES)?;
    for group in 0..device.groups.len() {
        let queues = device.queues_of(group).next().is_some();
        let engines = device.engines_of(group).next().is_some();
        device_check(queues == engines, Status::HALF_A_GROUP)?;
    }
    device_check(has_read_buffers(device), Status::READ_BUFFERS)
}

/// Whether each group with engines has the read buffers that these need, within its reservation and the
/// limit.
fn has_read_buffers(device: &IdxdDevice) -> bool {
    let free = device.free_read_buffers();
    let mut limited = 0;
    for (number, group) in device.groups.iter().enumerate() {
        let least = 4 * device.engines_of(number).count();
        if least == 0 {
            continue;
        }
        let allowed = group.read_buffers_allowed;
        let most = group.read_buffers_reserved.saturating_add(free);
        if usize::from(allowed) < least || !(group.read_buffers_reserved..=most).contains(&allowed)
        {
            return false;
        }
        if group.use_read_buffer_limit {
            limited += least;
        }
    }
    limited == 0 || usize::from(device.read_buffer_limit) >= limited
}

/// Checks a queue before it is bound.
pub(crate) fn check_queue(
    device: &IdxdDevice,
    number: usize,
    driver: DriverName,
) -> Result<(), EnableRefusal> {
    let queue = &device.queues[number];
    if !device.is_on() {
        return Err(EnableRefusal { errno: Errno::ENXIO, status: None });
    }
    // Before Linux 6.7 there was no such name to compare.
    let unnamed = device.part.without.contains(&"driver_name");
    let named = unnamed || queue.driver_name == driver.name();
    check(named, Errno::ENODEV, Status::DRIVER_NO_DRIVER_NAME)?;
    let user = driver == DriverName::User;
    let pasid = device.pasid_enabled() || !user;
    check(pasid, Errno::EOPNOTSUPP, Status::DRIVER_NO_IOMMU)?;
    check(!queue.enabled, Errno::EBUSY, Status::DRIVER_QUEUE_ENABLED)?;
    check(queue.group.is_some(), Errno::ENXIO, Status::DRIVER_NO_GROUP)?;
    check(!queue.name.is_empty(), Errno::ENXIO, Status::DRIVER_NO_NAME)?;
    if queue.mode == WorkQueueMode::Shared {
        check(device.can_share(), Errno::ENXIO, Status::DRIVER_NO_SVM)?;
        check(queue.threshold > 0, Errno::ENXIO, Status::DRIVER_NO_THRESHOLD)?;
    }
    enable_command(device, number)
}

/// The size in entries with which a queue is enabled.
pub(crate) fn size(queue: &IdxdQueue) -> u16 {
    let unset = queue.size == 0 && queue.kind != QueueType::None;
    if unset { DEFAULT_SIZE } else { queue.size }
}

/// Makes the device's own checks of a queue, in the order of their codes.
fn enable_command(device: &IdxdDevice, number: usize) -> Result<(), EnableRefusal> {
    let (queue, can) = (&device.queues[number], &device.part.capabilities);
    let size = u64::from(size(queue));
    let fits = device.entries_beside(number) + size <= u64::from(can.queue_entries);
    device_check(size > 0 && fits, Status::QUEUE_SIZE)?;
    device_check(queue.priority > 0, Status::QUEUE_PRIORITY)?;
    device_check(device.has_mode(queue.mode), Status::QUEUE_MODE)?;
    let blocks = !queue.block_on_fault || can.has(gencap::BLOCK_ON_FAULT);
    device_check(blocks, Status::QUEUE_BLOCK_ON_FAULT)?;
    device_check(queue.most_batch <= can.most_batch(), Status::QUEUE_BATCH)?;
    device_check(queue.most_transfer_bytes <= can.most_transfer_bytes(), Status::QUEUE_TRANSFER)?;
    device_check(!queue.ats_disable || can.queues_have(wqcap::ATS), Status::QUEUE_ATS)?;
    let operations = queue.operations & !can.op_cap == 0;
    device_check(operations, Status::QUEUE_OPERATIONS)?;
    // Without page requests its faults go to the event log.
    let without_prs = can.queues_have(wqcap::PRS) && can.has_event_log();
    device_check(!queue.prs_disable || without_prs, Status::QUEUE_PRS)
}

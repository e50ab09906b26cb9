//! Writes to a queue.

use super::{group_id, require, up_to};
use crate::queue::{DRIVER_NAME_BYTES, MOST_PRIORITY, MOST_RETRIES, NAME_BYTES, shown_operations};
use crate::{Errno, IdxdDevice, QueueType, WorkQueueMode, parse};
use dsa::hardware::capabilities::gencap;

pub(super) fn store(
    device: &mut IdxdDevice,
    number: usize,
    attribute: &str,
    text: &str,
) -> Result<(), Errno> {
    match attribute {
        "group_id" => {
            parse::signed(text)?;
            is_off(device, number)?;
            device.queues[number].group = group_id(device, text)?;
            Ok(())
        }
        "priority" => {
            let priority = parse::unsigned(text)?;
            is_off(device, number)?;
            // 0 passes, and the device refuses it when the queue is enabled.
            device.queues[number].priority = up_to(priority, MOST_PRIORITY)?;
            Ok(())
        }
        "size" => store_size(device, number, text),
        "threshold" => store_threshold(device, number, text),
        "block_on_fault" => store_block_on_fault(device, number, text),
        "enqcmds_retries" => {
            let queue = &mut device.queues[number];
            require(queue.mode == WorkQueueMode::Shared, Errno::EOPNOTSUPP)?;
            let retries: u32 = up_to(parse::unsigned(text)?, u32::MAX)?;
            queue.enqcmds_retries = retries.min(MOST_RETRIES);
            Ok(())
        }
        "type" | "name" | "driver_name" => store_name(device, number, attribute, text),
        _ => store_limit(device, number, attribute, text),
    }
}

fn is_off(device: &IdxdDevice, number: usize) -> Result<(), Errno> {
    require(!device.queues[number].enabled, Errno::EPERM)
}

fn store_size(device: &mut IdxdDevice, number: usize, text: &str) -> Result<(), Errno> {
    let size = parse::unsigned(text)?;
    require(!device.is_on(), Errno::EPERM)?;
    is_off(device, number)?;
    let all = u64::from(device.part.capabilities.queue_entries);
    let most = all.saturating_sub(device.entries_beside(number));
    device.queues[number].size = up_to(size, most)?;
    Ok(())
}

fn store_threshold(device: &mut IdxdDevice, number: usize, text: &str) -> Result<(), Errno> {
    let queue = &mut device.queues[number];
    let threshold = up_to(parse::unsigned(text)?, queue.size)?;
    require(threshold > 0, Errno::EINVAL)?;
    require(!queue.enabled, Errno::ENXIO)?;
    require(queue.mode == WorkQueueMode::Shared, Errno::EINVAL)?;
    queue.threshold = threshold;
    Ok(())
}

fn store_block_on_fault(device: &mut IdxdDevice, number: usize, text: &str) -> Result<(), Errno> {
    let can = device.part.capabilities.has(gencap::BLOCK_ON_FAULT);
    require(can, Errno::EOPNOTSUPP)?;
    let queue = &mut device.queues[number];
    require(!queue.enabled, Errno::ENXIO)?;
    let block = parse::boolean(text)?;
    require(!(block && queue.prs_disable), Errno::EOPNOTSUPP)?;
    queue.block_on_fault = block;
    Ok(())
}

fn store_name(
    device: &mut IdxdDevice,
    number: usize,
    attribute: &str,
    text: &str,
) -> Result<(), Errno> {
    is_off(device, number)?;
    let kernel_pasid = device.part.kernel_pasid;
    let queue = &mut device.queues[number];
    match attribute {
        "type" => {
            let kinds = [
                ("none", QueueType::None),
                ("kernel", QueueType::Kernel),
                ("user", QueueType::User),
            ];
            let named = kinds.into_iter().find(|(word, _)| parse::is_word(text, word));
            let (_, kind) = named.ok_or(Errno::EINVAL)?;
            if kind != queue.kind {
                queue.name.clear();
            }
            queue.kind = kind;
        }
        "name" => {
            let name = parse::name(text, NAME_BYTES)?;
            require(!(queue.kind == QueueType::Kernel && kernel_pasid), Errno::EOPNOTSUPP)?;
            name.clone_into(&mut queue.name);
        }
        _ => parse::name(text, DRIVER_NAME_BYTES)?.clone_into(&mut queue.driver_name),
    }
    Ok(())
}

/// Limits and switches.
fn store_limit(
    device: &mut IdxdDevice,
    number: usize,
    attribute: &str,
    text: &str,
) -> Result<(), Errno> {
    is_off(device, number)?;
    let can = device.part.capabilities;
    let queue = &mut device.queues[number];
    match attribute {
        "mode" => {
            if parse::is_word(text, "dedicated") {
                (queue.mode, queue.threshold) = (WorkQueueMode::Dedicated, 0);
            } else if parse::is_word(text, "shared") {
                queue.mode = WorkQueueMode::Shared;
            } else {
                return Err(Errno::EINVAL);
            }
        }
        "max_transfer_size" => {
            let bytes = parse::power_of_two(text)?;
            queue.most_transfer_bytes = up_to(bytes, can.most_transfer_bytes())?;
        }
        "max_batch_size" => {
            queue.most_batch = up_to(parse::power_of_two(text)?, can.most_batch())?;
        }
        "ats_disable" => queue.ats_disable = parse::boolean(text)?,
        "prs_disable" => {
            queue.prs_disable = parse::boolean(text)?;
            queue.block_on_fault &= !queue.prs_disable;
        }
        "op_config" => {
            let operations = parse::operations(text)?;
            require(operations & !shown_operations(&can) == 0, Errno::EINVAL)?;
            queue.operations = operations;
        }
        _ => return Err(Errno::EACCES),
    }
    Ok(())
}

//! Settings of a device and a queue, for the reference.

use crate::reference::Settings;

use dsa::checks::QueueLimits;
use dsa::hardware::capabilities::Capabilities;

pub fn settings_of(capabilities: &Capabilities, limits: &QueueLimits) -> Settings {
    Settings {
        gen_cap: capabilities.gen_cap,
        op_cap: capabilities.op_cap,
        block_on_fault: limits.block_on_fault,
        max_transfer_bytes: limits.most_transfer_bytes,
        max_batch: limits.most_batch,
        user_interrupts: limits.user_interrupts,
        interrupt_handles: limits.interrupt_handles,
        privileged: limits.privileged,
    }
}

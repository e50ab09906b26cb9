//! Codes of `cmd_status`: the result of the device's last command, or of the driver's last refusal.
//!
//! Source: codes up to 0xff are the device's [S 9.2, CMDSTS], the others those of `linux/idxd.h`.

use std::fmt;

/// The value of a device's `cmd_status`. Default: success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandStatus(pub u32);

macro_rules! codes {
    ($($name:ident $code:literal $sentence:literal)*) => {
        impl CommandStatus {
            $(
                #[doc = $sentence]
                pub const $name: Self = Self($code);
            )*

            /// All known codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The meaning of the code; `None` if the code is not known.
            #[must_use]
            pub fn sentence(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($sentence),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    SUCCESS 0 "the last command succeeded"
    DEVICE_NOT_DISABLED 0x10 "the device is not disabled"
    DEVICE_CONFIG 0x11 "the configuration of the device has an error of no code of its own"
    BUS_MASTER 0x12 "bus mastering is off in the PCI command register"
    PAGE_REQUESTS 0x13 "the number of outstanding page requests is not supported"
    SIZES 0x14 "the sizes of all queues together exceed the entries of the device"
    HALF_A_GROUP 0x15 "a group has queues and no engine, or an engine and no queue"
    QUEUE_GROUPS 0x16 "a queue is in no group, or in several"
    ENGINE_GROUPS 0x17 "an engine is in several groups"
    READ_BUFFERS 0x18 "the read buffers of a group are too few, or more than the device has left"
    EVENT_LOG 0x19 "the event log is misconfigured"
    DEVICE_ATS 0x1a "the queues need address translation services, which are off"
    DEVICE_PASID 0x1b "the queues need PASIDs, which are off"
    QUEUE_DEVICE_OFF 0x20 "the device is not enabled"
    QUEUE_NOT_DISABLED 0x21 "the queue is not disabled"
    QUEUE_SIZE 0x22 "the size of the queue is 0"
    QUEUE_PRIORITY 0x23 "the priority of the queue is 0; allowed are 1 to 15"
    QUEUE_MODE 0x24 "the device does not have queues of that mode"
    QUEUE_BLOCK_ON_FAULT 0x25 "the device cannot block on faults"
    QUEUE_PASID 0x26 "a shared queue needs PASIDs, which are off"
    QUEUE_BATCH 0x27 "the largest batch of the queue exceeds that of the device"
    QUEUE_TRANSFER 0x28 "the largest transfer of the queue exceeds that of the device"
    QUEUE_PRIVILEGE 0x2a "the queue asks for privilege that PCI does not grant"
    QUEUE_INTERRUPT 0x2b "the occupancy interrupt of the queue is misconfigured"
    QUEUE_ATS 0x2c "the device cannot switch off address translation services"
    QUEUE_OPERATIONS 0x2d "the queue allows operations that the device does not have"
    QUEUE_PRS 0x2e "the device cannot switch off page requests"
    DEVICE_OFF 0x31 "the device is not enabled, so the command has nothing to act on"
    QUEUE_OFF 0x32 "the queue is not enabled, so the command has nothing to act on"
    HANDLE_INDEX 0x41 "no interrupt of that index"
    HANDLE_NONE 0x42 "no interrupt handle is left"
    DRIVER_DEVICE_ENABLED 0x8000_0010 "the device is enabled, or halted; only a disabled one is bound"
    DRIVER_DEVICE_OFF 0x8000_0020 "the device is not enabled; enable it before its queues"
    DRIVER_QUEUE_ENABLED 0x8000_0021 "the queue is enabled already"
    DRIVER_DMA 0x8002_0000 "the device could not be registered for DMA clients of the kernel"
    DRIVER_NO_GROUP 0x8003_0000 "the queue is in no group: write its group_id"
    DRIVER_NO_NAME 0x8004_0000 "the queue has no name: write its name"
    DRIVER_NO_SVM 0x8005_0000 "a shared queue needs shared virtual memory, which is off"
    DRIVER_NO_THRESHOLD 0x8006_0000 "a shared queue needs a threshold: write its threshold"
    DRIVER_PORTAL 0x8007_0000 "the portal of the queue could not be mapped"
    DRIVER_RESOURCES 0x8008_0000 "resources of the queue could not be allocated"
    DRIVER_PERCPU 0x8009_0000 "counters of the queue could not be allocated"
    DRIVER_DMA_CHANNEL 0x800a_0000 "the DMA channel of the queue could not be registered"
    DRIVER_CDEV 0x800b_0000 "the character device of the queue could not be made"
    DRIVER_NO_SHARED 0x800c_0000 "a shared queue is configured, and shared queues are not supported here"
    DRIVER_NOTHING 0x800d_0000 "no queue of the device is in a group"
    DRIVER_NO_SIZE 0x800e_0000 "the queue has no size: write its size"
    DRIVER_NO_PRIVILEGE 0x800f_0000 "a kernel queue needs privilege, which is off"
    DRIVER_INTERRUPT 0x8010_0000 "the interrupt of the queue could not be set up"
    DRIVER_NO_IOMMU 0x8011_0000 "a user queue needs an IOMMU with shared virtual memory, which is off"
    DRIVER_EVENT_LOG 0x8012_0000 "the event log could not be set up"
    DRIVER_NO_DRIVER_NAME 0x8020_0000 "driver_name of the queue is not the driver that it is bound to"
}

impl fmt::Display for CommandStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.sentence().unwrap_or("a code that is not known");
        write!(f, "cmd_status {:#x}: {sentence}", self.0)
    }
}

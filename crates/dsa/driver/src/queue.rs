//! The driver's state of a work queue.

use crate::DriverName;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;

/// Mode of a work queue. Default: shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkQueueMode {
    /// Shared: all clients submit by ENQCMD.
    #[default]
    Shared,
    /// Dedicated: one client submits by MOVDIR64B.
    Dedicated,
}

/// Type of a work queue: the kind of its clients. Default: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueType {
    /// Not configured.
    #[default]
    None,
    /// Clients in the kernel, as of dmaengine.
    Kernel,
    /// User programs.
    User,
}

/// Default of the largest transfer in bytes [`WQ_DEFAULT_MAX_XFER`].
pub(crate) const DEFAULT_TRANSFER_BYTES: u64 = 2 << 20;
/// Default of the largest batch in descriptors [`WQ_DEFAULT_MAX_BATCH`].
pub(crate) const DEFAULT_BATCH: u32 = 32;
/// Size in entries of a queue that is enabled without one [`WQ_DEFAULT_QUEUE_DEPTH`].
pub(crate) const DEFAULT_SIZE: u16 = 16;
/// Default number of retries of ENQCMDS [`IDXD_ENQCMDS_RETRIES`].
pub(crate) const DEFAULT_RETRIES: u32 = 32;
/// Largest number of retries of ENQCMDS [`IDXD_ENQCMDS_MAX_RETRIES`].
pub(crate) const MOST_RETRIES: u32 = 64;
/// Most bytes of a queue's name.
pub(crate) const NAME_BYTES: usize = 1024;
/// Most bytes of a driver's name.
pub(crate) const DRIVER_NAME_BYTES: usize = 128;
/// Largest priority of a queue.
pub(crate) const MOST_PRIORITY: u8 = 15;

/// State of a work queue in the driver: its configuration, binding and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdxdQueue {
    pub(crate) enabled: bool,
    pub(crate) bound: Option<DriverName>,
    pub(crate) group: Option<usize>,
    pub(crate) mode: WorkQueueMode,
    pub(crate) size: u16,
    pub(crate) priority: u8,
    pub(crate) threshold: u16,
    pub(crate) block_on_fault: bool,
    pub(crate) ats_disable: bool,
    pub(crate) prs_disable: bool,
    pub(crate) kind: QueueType,
    pub(crate) name: String,
    pub(crate) driver_name: String,
    pub(crate) most_transfer_bytes: u64,
    pub(crate) most_batch: u32,
    pub(crate) enqcmds_retries: u32,
    pub(crate) operations: u64,
    pub(crate) cdev_minor: Option<u32>,
    pub(crate) pasid: Option<u32>,
}

impl IdxdQueue {
    pub(crate) fn new(part: &Capabilities) -> Self {
        Self {
            enabled: false,
            bound: None,
            group: None,
            mode: WorkQueueMode::default(),
            size: 0,
            priority: 0,
            threshold: 0,
            block_on_fault: false,
            ats_disable: false,
            prs_disable: false,
            kind: QueueType::default(),
            name: String::new(),
            driver_name: String::new(),
            most_transfer_bytes: DEFAULT_TRANSFER_BYTES,
            most_batch: DEFAULT_BATCH,
            enqcmds_retries: DEFAULT_RETRIES,
            operations: shown_operations(part),
            cdev_minor: None,
            pasid: None,
        }
    }

    /// Clears the configuration, as disabling does. Size, group and name of the driver remain, and so do
    /// binding and file, as long as the queue is bound.
    pub(crate) fn reset(&mut self, part: &Capabilities) {
        let driver_name = std::mem::take(&mut self.driver_name);
        let Self { size, group, bound, cdev_minor, .. } = *self;
        *self = Self { size, group, bound, cdev_minor, driver_name, ..Self::new(part) };
    }

    /// Whether the queue is enabled, so that it accepts descriptors.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Number in the device of its group; `None` if it is in no group.
    #[must_use]
    pub fn group(&self) -> Option<usize> {
        self.group
    }

    /// Mode of the queue.
    #[must_use]
    pub fn mode(&self) -> WorkQueueMode {
        self.mode
    }

    /// Size of the queue in entries; 0 while not configured.
    #[must_use]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Priority, 1 to 15: descriptors that engines take in a turn of the arbiter; 0 while not configured.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Threshold of a shared queue in entries: the occupancy from which submissions are refused.
    #[must_use]
    pub fn threshold(&self) -> u16 {
        self.threshold
    }

    /// Whether its descriptors may ask to block on page faults.
    #[must_use]
    pub fn block_on_fault(&self) -> bool {
        self.block_on_fault
    }

    /// Whether its address translation services are off.
    #[must_use]
    pub fn ats_disable(&self) -> bool {
        self.ats_disable
    }

    /// Whether page requests of the queue are off.
    #[must_use]
    pub fn prs_disable(&self) -> bool {
        self.prs_disable
    }

    /// Type of the queue.
    #[must_use]
    pub fn kind(&self) -> QueueType {
        self.kind
    }

    /// Name of the queue, by which programs choose it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the driver that the queue may be bound to.
    #[must_use]
    pub fn driver_name(&self) -> &str {
        &self.driver_name
    }

    /// Most bytes that a descriptor may transfer: a power of two.
    #[must_use]
    pub fn most_transfer_bytes(&self) -> u64 {
        self.most_transfer_bytes
    }

    /// Most descriptors that a batch may have: a power of two.
    #[must_use]
    pub fn most_batch(&self) -> u32 {
        self.most_batch
    }

    /// Number of times that the kernel repeats a refused ENQCMDS of a `write()`.
    #[must_use]
    pub fn enqcmds_retries(&self) -> u32 {
        self.enqcmds_retries
    }

    /// Operations that programs may request: bit n for opcode n. It limits the device only if the device
    /// has OPCFG (WQCAP 54).
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Minor number of its file in `/dev/dsa`; `None` while it does not have one.
    #[must_use]
    pub fn cdev_minor(&self) -> Option<u32> {
        self.cdev_minor
    }

    /// PASID of the program that has a dedicated queue open; `None` otherwise.
    #[must_use]
    pub fn pasid(&self) -> Option<u32> {
        self.pasid
    }
}

/// The operations that the driver shows. On version 1 it hides batches, as programs could exceed their
/// limits by them (INTEL-SA-01084).
pub(crate) fn shown_operations(part: &Capabilities) -> u64 {
    let hidden = if part.version <= 0x100 { Opcode::Batch.bit() } else { 0 };
    part.op_cap & !hidden
}

//! A work queue, as the driver keeps it.

use crate::DriverName;
use dsa::hardware::Opcode;
use dsa::hardware::capabilities::Capabilities;

/// How a queue takes descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkQueueMode {
    /// By ENQCMD, from all who have it open.
    #[default]
    Shared,
    /// By MOVDIR64B, from one.
    Dedicated,
}

/// For whom a queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueType {
    /// Not said yet.
    #[default]
    None,
    /// Clients in the kernel.
    Kernel,
    /// Programs.
    User,
}

/// Largest transfer of a queue that was not configured [`WQ_DEFAULT_MAX_XFER`].
pub(crate) const DEFAULT_TRANSFER_BYTES: u64 = 2 << 20;
/// Largest batch of a queue that was not configured [`WQ_DEFAULT_MAX_BATCH`].
pub(crate) const DEFAULT_BATCH: u32 = 32;
/// Entries of a queue that is enabled without a size [`WQ_DEFAULT_QUEUE_DEPTH`].
pub(crate) const DEFAULT_SIZE: u16 = 16;
/// Retries of ENQCMDS, also the most at first [`IDXD_ENQCMDS_RETRIES`].
pub(crate) const DEFAULT_RETRIES: u32 = 32;
/// Most retries of ENQCMDS [`IDXD_ENQCMDS_MAX_RETRIES`].
pub(crate) const MOST_RETRIES: u32 = 64;
/// Bytes of a queue's name.
pub(crate) const NAME_BYTES: usize = 1024;
/// Bytes of a driver's name.
pub(crate) const DRIVER_NAME_BYTES: usize = 128;
/// Largest priority.
pub(crate) const MOST_PRIORITY: u8 = 15;

/// A work queue.
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

    /// What disabling it leaves: its size, its group and the name of its driver, and that it is bound
    /// and has a file as long as it is.
    pub(crate) fn reset(&mut self, part: &Capabilities) {
        let driver_name = std::mem::take(&mut self.driver_name);
        let Self { size, group, bound, cdev_minor, .. } = *self;
        *self = Self { size, group, bound, cdev_minor, driver_name, ..Self::new(part) };
    }

    /// Whether it takes descriptors.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Number of its group in the device.
    #[must_use]
    pub fn group(&self) -> Option<usize> {
        self.group
    }

    /// How it takes descriptors.
    #[must_use]
    pub fn mode(&self) -> WorkQueueMode {
        self.mode
    }

    /// Entries.
    #[must_use]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Descriptors that it gives in a turn of the arbiter; 0 while not configured.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Occupancy from which programs have to try again, of a shared queue.
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

    /// Whether its page requests are off.
    #[must_use]
    pub fn prs_disable(&self) -> bool {
        self.prs_disable
    }

    /// For whom it is.
    #[must_use]
    pub fn kind(&self) -> QueueType {
        self.kind
    }

    /// Its name, by which programs choose it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The driver that it may be bound to.
    #[must_use]
    pub fn driver_name(&self) -> &str {
        &self.driver_name
    }

    /// Largest transfer, in bytes: a power of two.
    #[must_use]
    pub fn most_transfer_bytes(&self) -> u64 {
        self.most_transfer_bytes
    }

    /// Largest batch, in descriptors: a power of two.
    #[must_use]
    pub fn most_batch(&self) -> u32 {
        self.most_batch
    }

    /// Times that the kernel repeats a refused ENQCMDS of a `write()`.
    #[must_use]
    pub fn enqcmds_retries(&self) -> u32 {
        self.enqcmds_retries
    }

    /// Operations that programs may ask for: bit n for opcode n. It acts on the device only if that has
    /// OPCFG (WQCAP 54).
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Minor number of its file in `/dev/dsa`, while it has one.
    #[must_use]
    pub fn cdev_minor(&self) -> Option<u32> {
        self.cdev_minor
    }

    /// PASID of the program that has a dedicated queue open.
    #[must_use]
    pub fn pasid(&self) -> Option<u32> {
        self.pasid
    }
}

/// The operations that the driver shows: on version 1 it hides batches from programs, which could leave
/// their limits with them (INTEL-SA-01084).
pub(crate) fn shown_operations(part: &Capabilities) -> u64 {
    let hidden = if part.version <= 0x100 { Opcode::Batch.bit() } else { 0 };
    part.op_cap & !hidden
}

//! Capability registers [S 9.2], and the capabilities of known devices.
//!
//! Source of the values of shipped processors: `accel-config list` of servers, as public reports show it.
//! Sapphire and Emerald Rapids agree in four of them; two older reports (idxd-config issues 8 and 40) have
//! the capabilities of [`Capabilities::VERSION_1`].

use super::Opcode;

/// Bits of GENCAP.
pub mod gencap {
    /// Capability bit: descriptors may block on page faults.
    pub const BLOCK_ON_FAULT: u64 = 1 << 0;
    /// Capability bit: source and destination of a move may overlap.
    pub const OVERLAP: u64 = 1 << 1;
    /// Capability bit: cache control of destination writes is supported.
    pub const CACHE_CONTROL: u64 = 1 << 2;
    /// Capability bit: cache control of flushes is supported.
    pub const FLUSH_CONTROL: u64 = 1 << 3;
    /// Capability bit: durable writes are supported.
    pub const DURABLE: u64 = 1 << 5;
    /// Capability bit: strides of translation fetches are supported.
    pub const FETCH_STRIDE: u64 = 1 << 7;
    /// Capability bit: destination readback is supported.
    pub const READBACK: u64 = 1 << 8;
    /// Capability bit: readback addresses of drains are supported.
    pub const DRAIN_READBACK: u64 = 1 << 9;
    /// Capability bit: fills with patterns of 16 bytes are supported.
    pub const FILL_16: u64 = 1 << 10;
    /// Capability bit: CRCs of 64 bits are supported.
    pub const CRC_64: u64 = 1 << 11;
    /// Capability bit: completion records have fault information.
    pub const FAULT_INFO: u64 = 1 << 12;
    /// Capability bit: a batch can be continued behind a fault of its list.
    pub const BATCH_CONTINUATION: u64 = 1 << 15;
    /// Capability bit: queues can be configured.
    pub const CONFIGURABLE: u64 = 1 << 31;
    /// Capability bit: batches of one descriptor are allowed.
    pub const BATCH_OF_ONE: u64 = 1 << 52;
    /// Lowest bit of the field for the size of event log entries: 0: no log, 1 to 3: 64, 128 and 256 bytes.
    pub const EVENT_LOG_SHIFT: u32 = 13;
    /// Capability bit: a full event log drops entries instead of blocking.
    pub const EVENT_LOG_OVERFLOW: u64 = 1 << 32;
    /// Lowest bit of the field for the largest transfer, as a binary logarithm of bytes.
    pub const MOST_TRANSFER_SHIFT: u32 = 16;
    /// Lowest bit of the field for the largest batch, as a binary logarithm of descriptors.
    pub const MOST_BATCH_SHIFT: u32 = 21;
}

/// Bits of WQCAP: features of queues.
pub mod wqcap {
    /// Capability bit: queues can be shared.
    pub const SHARED: u64 = 1 << 48;
    /// Capability bit: queues can be dedicated.
    pub const DEDICATED: u64 = 1 << 49;
    /// Capability bit: address translation services can be switched off for a queue.
    pub const ATS: u64 = 1 << 50;
    /// Capability bit: queues have priorities.
    pub const PRIORITY: u64 = 1 << 51;
    /// Capability bit: the occupancy of a queue can be read.
    pub const OCCUPANCY: u64 = 1 << 52;
    /// Capability bit: a queue can interrupt at an occupancy.
    pub const OCCUPANCY_INTERRUPT: u64 = 1 << 53;
    /// Capability bit: a queue can be restricted to some operations.
    pub const OPERATIONS: u64 = 1 << 54;
    /// Capability bit: page requests can be switched off for a queue.
    pub const PRS: u64 = 1 << 55;
}

/// Bits of GRPCAP: features of groups.
pub mod grpcap {
    /// Capability bit: read buffers can be reserved and limited.
    pub const BUFFER_CONTROL: u64 = 1 << 16;
    /// Capability bit: several groups can have one limit of read buffers.
    pub const BUFFER_LIMIT: u64 = 1 << 17;
    /// Capability bit: descriptors and batches in progress can be limited.
    pub const PROGRESS_LIMIT: u64 = 1 << 18;
}

/// Capabilities of a device, as its registers show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Value of the version register: 0x100 or 0x200.
    pub version: u32,
    /// General capabilities: the bits of [`gencap`] and other fields of GENCAP.
    pub gen_cap: u64,
    /// Operations of the device: bit n for opcode n.
    pub op_cap: u64,
    /// Number of work queues.
    pub work_queues: u8,
    /// Number of entries of all queues together.
    pub queue_entries: u16,
    /// Number of groups.
    pub groups: u8,
    /// Number of engines.
    pub engines: u8,
    /// Number of read buffers.
    pub read_buffers: u16,
    /// Features of queues: the bits of [`wqcap`], without the counts in WQCAP.
    pub queue_features: u64,
    /// Features of groups: the bits of [`grpcap`], without the counts in GRPCAP.
    pub group_features: u64,
    /// Values of the registers DSACAP0 to DSACAP2 (version 3).
    pub dsa_caps: [u64; 3],
}

impl Capabilities {
    /// A device of version 1 as it ships in Sapphire and Emerald Rapids: without delta records.
    pub const SAPPHIRE_RAPIDS: Self =
        Self { gen_cap: 0x40_915f_0107, op_cap: 0x1_003f_027f, ..Self::VERSION_1 };

    /// A device of version 2 as it ships in Sierra Forest: without delta records, with `op_config` for each
    /// queue. Operations between domains are in its list, and are refused here. Its GENCAP is not published:
    /// it is that of [`Self::VERSION_2`] without cache control of flushes.
    pub const SIERRA_FOREST: Self = Self {
        gen_cap: Self::VERSION_2.gen_cap & !gencap::FLUSH_CONTROL,
        op_cap: 0x7b_00bf_067f,
        queue_features: Self::VERSION_2.queue_features | wqcap::OPERATIONS,
        ..Self::VERSION_2
    };

    /// A device of version 1 with more operations than shipped processors list.
    pub const VERSION_1: Self = Self {
        version: 0x100,
        gen_cap: 0x40_915f_010f,
        op_cap: 0x1_003f_03ff,
        work_queues: 8,
        queue_entries: 128,
        groups: 4,
        engines: 4,
        read_buffers: 96,
        queue_features: 0x3f << 48,
        group_features: grpcap::BUFFER_CONTROL | grpcap::BUFFER_LIMIT,
        dsa_caps: [0; 3],
    };

    /// A device of version 2: the sizes of Sapphire Rapids and all additions of version 2 [recalled: which
    /// of the additions a shipping device has is not published].
    pub const VERSION_2: Self = Self {
        version: 0x200,
        gen_cap: Self::VERSION_1.gen_cap
            | gencap::FETCH_STRIDE
            | gencap::DRAIN_READBACK
            | gencap::FILL_16
            | gencap::CRC_64
            | gencap::FAULT_INFO
            | gencap::BATCH_CONTINUATION
            | gencap::BATCH_OF_ONE
            | 1 << gencap::EVENT_LOG_SHIFT
            | gencap::EVENT_LOG_OVERFLOW,
        op_cap: Self::VERSION_1.op_cap
            | 1 << Opcode::TranslationFetch as u8
            | 1 << Opcode::DixGenerate as u8,
        ..Self::VERSION_1
    };

    /// Whether GENCAP has all `bits`.
    #[must_use]
    pub fn has(&self, bits: u64) -> bool {
        self.gen_cap & bits == bits
    }

    /// Whether queues have all `features` of [`wqcap`].
    #[must_use]
    pub fn queues_have(&self, features: u64) -> bool {
        self.queue_features & features == features
    }

    /// Whether groups have all `features` of [`grpcap`].
    #[must_use]
    pub fn groups_have(&self, features: u64) -> bool {
        self.group_features & features == features
    }

    /// Whether the device has an event log.
    #[must_use]
    pub fn has_event_log(&self) -> bool {
        self.gen_cap >> gencap::EVENT_LOG_SHIFT & 3 != 0
    }

    /// Most bytes that a descriptor can transfer.
    #[must_use]
    pub fn most_transfer_bytes(&self) -> u64 {
        1 << (self.gen_cap >> gencap::MOST_TRANSFER_SHIFT & 0x1f)
    }

    /// Most descriptors that a batch can have.
    #[must_use]
    pub fn most_batch(&self) -> u32 {
        1 << (self.gen_cap >> gencap::MOST_BATCH_SHIFT & 0xf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sapphire_rapids_is_as_posted() {
        let part = Capabilities::VERSION_1;
        assert_eq!(part.most_transfer_bytes(), 1 << 31);
        assert_eq!(part.most_batch(), 1 << 10);
        assert!(part.has(gencap::CONFIGURABLE | gencap::BLOCK_ON_FAULT | gencap::READBACK));
        assert_eq!(part.op_cap & (1 << Opcode::TranslationFetch as u8), 0);
        assert_ne!(part.op_cap & (1 << Opcode::CacheFlush as u8), 0);
    }
}

//! Counts of digests and bytes, by device and CPU.

use std::ops::AddAssign;

/// Numbers of bytes of which a device and the CPU computed the CRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestBytes {
    /// Number of bytes of which a device computed the CRC.
    pub device_bytes: u64,
    /// Number of bytes of which the CPU computed the CRC.
    pub cpu_bytes: u64,
}

/// Counts of digests, by device and CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestTally {
    /// Number of digests that a device computed alone.
    pub device: u64,
    /// Number of digests that the CPU computed alone.
    pub cpu: u64,
    /// Digests that both computed: begun by one and ended by the other, or buffer by buffer.
    pub both: u64,
    /// Numbers of bytes of all digests, by device and CPU.
    pub bytes: DigestBytes,
}

impl DigestTally {
    /// Counts a digest with these bytes; a digest of no bytes counts for the CPU.
    pub fn count(&mut self, bytes: DigestBytes) {
        match (bytes.device_bytes > 0, bytes.cpu_bytes > 0) {
            (true, true) => self.both += 1,
            (true, false) => self.device += 1,
            (false, _) => self.cpu += 1,
        }
        self.bytes.device_bytes += bytes.device_bytes;
        self.bytes.cpu_bytes += bytes.cpu_bytes;
    }

    /// Number of all digests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.device + self.cpu + self.both
    }
}

impl AddAssign for DigestTally {
    fn add_assign(&mut self, other: Self) {
        self.device += other.device;
        self.cpu += other.cpu;
        self.both += other.both;
        self.bytes.device_bytes += other.bytes.device_bytes;
        self.bytes.cpu_bytes += other.bytes.cpu_bytes;
    }
}

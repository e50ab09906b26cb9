//! Who computed digests.

use std::ops::AddAssign;

/// Bytes of a digest by who computed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Bytes that a device did.
    pub device_bytes: u64,
    /// Bytes that the CPU did.
    pub cpu_bytes: u64,
}

/// Digests by who computed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Digests by a device alone.
    pub device: u64,
    /// By the CPU alone.
    pub cpu: u64,
    /// Begun by one and ended by the other, or piece by piece.
    pub both: u64,
    /// Their bytes.
    pub bytes: Share,
}

impl Tally {
    /// Counts a digest.
    pub fn count(&mut self, share: Share) {
        match (share.device_bytes > 0, share.cpu_bytes > 0) {
            (true, true) => self.both += 1,
            (true, false) => self.device += 1,
            (false, _) => self.cpu += 1,
        }
        self.bytes.device_bytes += share.device_bytes;
        self.bytes.cpu_bytes += share.cpu_bytes;
    }

    /// Digests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.device + self.cpu + self.both
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.device += other.device;
        self.cpu += other.cpu;
        self.both += other.both;
        self.bytes.device_bytes += other.bytes.device_bytes;
        self.bytes.cpu_bytes += other.bytes.cpu_bytes;
    }
}
